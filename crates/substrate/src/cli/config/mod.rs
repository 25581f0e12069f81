//! `substrate config [list|check|get KEY|set KEY VALUE|edit]`

mod set;

use std::fmt::Write as _;

use clap::{Arg, ArgMatches, Command};
use serde_json::{Value as Json, json};
use substrate_core::settings::{Effective, Problem, Table, Value};

use super::{Context, call, say};
use crate::config::SettingsFiles;
use crate::error::{AppError, Kind, Result};
use crate::ui;

pub(super) fn command() -> Command {
    Command::new("config")
        .about("The settings in force, and where each comes from")
        .subcommand(
            Command::new("list")
                .about("Every key, its value, and where it comes from (the default)"),
        )
        .subcommand(
            Command::new("get").about("One key's value").arg(
                Arg::new("key")
                    .required(true)
                    .value_name("KEY")
                    .help("Its name, e.g. `journal.max_age`"),
            ),
        )
        .subcommand(
            Command::new("check").about("What is wrong with the settings files, by file and line"),
        )
        .subcommands(set::commands())
}

pub(super) fn run(context: &Context, matches: &ArgMatches) -> Result<()> {
    match matches.subcommand() {
        Some(("set", flags)) => return set::set(context, flags),
        Some(("edit", flags)) => return set::edit(context, flags),
        _ => {}
    }
    let settings = SettingsFiles::new(context.home.config()).at(call::dir(context));
    match matches.subcommand() {
        Some(("check", _)) => {
            let problems = problems(&settings.problems);
            let n = problems.len();
            say::result(context, &json!({"problems": problems}), || {
                let told = |problem: &Problem| format!("{problem}\n  {}\n", problem.hint);
                settings.problems.iter().map(told).collect()
            });
            if n > 0 {
                return Err(AppError::new(
                    Kind::State,
                    format!(
                        "{n} problem{} in the settings; the rest is in force",
                        if n == 1 { "" } else { "s" }
                    ),
                )
                .hint("mend the lines named above; nothing has to be restarted"));
            }
            ui::talk("the settings are fine\n");
            Ok(())
        }
        Some(("get", flags)) => {
            let key = flags.get_one::<String>("key").map_or("", String::as_str);
            let found = settings.get(key).ok_or_else(|| {
                AppError::new(Kind::User, format!("there is no setting `{key}`"))
                    .hint("`substrate config` lists them all")
            })?;
            say::result(context, &as_json(key, found), || format!("{}\n", text(key, found)));
            Ok(())
        }
        _ => {
            let all: Json = settings.iter().map(|(name, found)| as_json(name, found)).collect();
            say::result(context, &all, || {
                let mut out = String::new();
                for (name, found) in settings.iter() {
                    let origin = found.origin.as_deref().unwrap_or(found.scope.name());
                    let _infallible =
                        writeln!(out, "{name:<22} = {:<24} # {origin}", text(name, found));
                }
                out
            });
            Ok(())
        }
    }
}

/// What is wrong with settings files, for programs.
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
    // Milliseconds or bytes; a settings file has them in other words.
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

/// As in a settings file.
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
