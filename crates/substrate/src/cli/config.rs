//! `substrate config [list|check|get KEY|set KEY VALUE|edit]`

use std::fmt::Write as _;

use clap::{Arg, ArgMatches, Command};
use serde_json::{Value as Json, json};
use substrate_core::Format;
use substrate_core::settings::{Effective, Table, Value};

use super::{Context, call, config_set, verbs};
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
        .subcommands(config_set::commands())
}

pub(super) fn run(context: &Context, matches: &ArgMatches) -> Result<()> {
    match matches.subcommand() {
        Some(("set", flags)) => return config_set::set(context, flags),
        Some(("edit", flags)) => return config_set::edit(context, flags),
        _ => {}
    }
    let settings = SettingsFiles::new(context.home.config()).at(call::dir(context));
    match matches.subcommand() {
        Some(("check", _)) => {
            let problems: Vec<Json> = settings
                .problems
                .iter()
                .map(|problem| json!({"file": problem.file, "line": problem.line, "message": problem.message, "hint": problem.hint}))
                .collect();
            let n = problems.len();
            if context.format == Format::Json {
                ui::data(&format!("{}\n", verbs::pretty(&json!({"problems": problems}))));
            } else {
                for problem in &settings.problems {
                    ui::data(&format!("{problem}\n  {}\n", problem.hint));
                }
            }
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
            ui::data(&if context.format == Format::Json {
                format!("{}\n", verbs::pretty(&as_json(key, found)))
            } else {
                format!("{}\n", text(&found.value))
            });
            Ok(())
        }
        _ => {
            if context.format == Format::Json {
                let all: Vec<Json> =
                    settings.iter().map(|(name, found)| as_json(name, found)).collect();
                ui::data(&format!("{}\n", verbs::pretty(&json!(all))));
                return Ok(());
            }
            let mut out = String::new();
            for (name, found) in settings.iter() {
                let origin = found.origin.as_deref().unwrap_or(found.scope.name());
                let _infallible =
                    writeln!(out, "{name:<22} = {:<24} # {origin}", text(&found.value));
            }
            ui::data(&out);
            Ok(())
        }
    }
}

fn as_json(name: &str, found: &Effective) -> Json {
    let value = match &found.value {
        Value::Bool(on) => json!(on),
        Value::Int(number) => json!(number),
        Value::Word(text) | Value::Text(text) => json!(text),
        Value::Texts(texts) => json!(texts),
        Value::Tables(tables) => tables.iter().map(table).collect(),
    };
    json!({"key": name, "value": value, "scope": found.scope.name(), "origin": found.origin})
}

fn text(value: &Value) -> String {
    match value {
        Value::Bool(on) => on.to_string(),
        Value::Int(number) => number.to_string(),
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
