//! `substrate config [list|check|get KEY|set KEY VALUE|edit]`

mod set;

use std::fmt::Write as _;

use clap::ArgMatches;
use serde_json::{Value as Json, json};
use substrate_core::settings::{Effective, Problem, Table, Value};
use substrate_core::{Audience, Settings};

use super::table::Definition;
use super::{Context, call, print};
use crate::config::settings_at;
use crate::error::{AppError, Kind, Result};
use crate::ui;

pub(super) const COMMANDS: &[Definition] = &[
    Definition::new(
        &["config", "list"],
        Audience::Both,
        "List every setting, its value, and where it comes from",
        list,
    )
    .by_default(),
    Definition::new(&["config", "get"], Audience::Both, "Print the value of one setting", get)
        .taking(|command| command.arg(set::key())),
    Definition::new(
        &["config", "check"],
        Audience::Both,
        "Report mistakes in the settings files by file and line",
        check,
    ),
    Definition::new(
        &["config", "set"],
        Audience::User,
        "Change one setting and leave the rest of the file as it is",
        set::set,
    )
    .taking(set::set_flags),
    Definition::new(
        &["config", "edit"],
        Audience::User,
        "Open a settings file in your editor, then check it",
        set::edit,
    )
    .taking(set::edit_flags),
];

/// The longest value that the column of origins leaves room for.
const MAX_VALUE: usize = 40;

fn settings(context: &Context) -> Settings {
    settings_at(&context.home.config(), call::dir(context))
}

fn list(context: &Context, _: &ArgMatches) -> Result<()> {
    let settings = settings(context);
    let all: Json = settings.iter().map(|(name, found)| as_json(name, found)).collect();
    print::result(context, &all, || {
        let wide = settings.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let mut out = String::new();
        let values = settings.iter().map(|(name, found)| text(name, found).chars().count());
        // A long list pushes only its own line.
        let wide_value = values.filter(|n| *n <= MAX_VALUE).max().unwrap_or(0);
        for (name, found) in settings.iter() {
            let origin = found.origin.as_deref().unwrap_or(found.scope.name());
            let value = text(name, found);
            let _infallible = writeln!(out, "{name:<wide$} = {value:<wide_value$} # {origin}");
        }
        out
    });
    Ok(())
}

fn get(context: &Context, flags: &ArgMatches) -> Result<()> {
    let settings = settings(context);
    let key = flags.get_one::<String>("key").map_or("", String::as_str);
    let found = settings.get(key).ok_or_else(|| set::unknown(key))?;
    print::result(context, &as_json(key, found), || format!("{}\n", text(key, found)));
    Ok(())
}

fn check(context: &Context, _: &ArgMatches) -> Result<()> {
    let settings = settings(context);
    let rules = substrate_features::unreadable_rules(&settings);
    let found: Vec<Problem> =
        settings.problems.iter().cloned().chain(rules.into_iter().map(of_rule)).collect();
    let n = found.len();
    print::result(context, &json!({"problems": problems(&found)}), || {
        let told = |problem: &Problem| format!("{problem}\n  {}\n", problem.hint);
        found.iter().map(told).collect()
    });
    if n > 0 {
        let s = if n == 1 { "" } else { "s" };
        let message = format!("{n} problem{s} in the settings; the rest is in force");
        return Err(AppError::new(Kind::State, message)
            .hint("fix the lines named above; nothing has to be restarted"));
    }
    ui::talk("the settings are fine\n");
    Ok(())
}

/// What is wrong with a rule, and where: `config.toml:7`.
fn of_rule((origin, message): (String, String)) -> Problem {
    let (file, line) = origin.rsplit_once(':').unwrap_or((&origin, ""));
    let hint = "the rule does nothing, unless it has `fails = \"closed\"`; `substrate guard check` tries the others";
    Problem {
        file: file.to_owned(),
        line: line.parse().unwrap_or(1),
        message,
        hint: hint.to_owned(),
    }
}

/// Problems of settings files, for programs.
pub(super) fn problems(all: &[Problem]) -> Vec<Json> {
    let one = |problem: &Problem| json!({"file": problem.file, "line": problem.line, "message": problem.message, "hint": problem.hint});
    all.iter().map(one).collect()
}

fn as_json(name: &str, found: &Effective) -> Json {
    let value = match &found.value {
        Value::Bool(on) => json!(on),
        Value::Int(number) => json!(number),
        Value::Word(text) | Value::Text(text) => json!(text),
        Value::Texts(texts) => json!(texts),
        Value::Tables(tables) => tables.iter().map(table).collect(),
    };
    let mut json =
        json!({"key": name, "value": value, "scope": found.scope.name(), "origin": found.origin});
    // Milliseconds or bytes. A settings file writes them as `7d` or `10MB`.
    if let Value::Int(number) = found.value
        && let Some(text) = written(name, number)
    {
        json["written"] = json!(text);
    }
    json
}

/// A duration or a size as people write it.
fn written(name: &str, number: i64) -> Option<String> {
    let keys = substrate_features::keys();
    keys.iter().find(|key| key.name == name)?.kind.written(number)
}

/// As a settings file has it.
fn text(name: &str, found: &Effective) -> String {
    match &found.value {
        Value::Bool(on) => on.to_string(),
        Value::Int(number) => {
            written(name, *number).map_or_else(|| number.to_string(), |text| format!("\"{text}\""))
        }
        Value::Word(word) => format!("\"{word}\""),
        Value::Text(text) => json!(text).to_string(),
        Value::Texts(texts) => json!(texts).to_string(),
        Value::Tables(tables) => tables.iter().map(table).collect::<Json>().to_string(),
    }
}

/// As it was written, in JSON.
fn table(table: &Table) -> Json {
    serde_json::from_str(&table.json).unwrap_or_default()
}
