//! `substrate db check|backup|path`

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command};
use serde_json::json;
use substrate_core::Format;
use substrate_store::{Readers, back_up, check, missing_steps};

use super::{Context, verbs};
use crate::error::{AppError, Kind, Result};
use crate::{clock, host, ui};

pub(super) fn command() -> Command {
    Command::new("db")
        .about("The database file")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("check").about("Read all of it and say whether anything is damaged"),
        )
        .subcommand(
            Command::new("backup").about("Copy it, as it is now, to a new file").arg(
                Arg::new("to")
                    .value_name("FILE")
                    .help("Where to (default: a new file in the state home's `backups`)"),
            ),
        )
        .subcommand(Command::new("path").about("Where it is"))
}

pub(super) fn run(context: &Context, matches: &ArgMatches) -> Result<()> {
    let database = context.home.database();
    match matches.subcommand() {
        Some(("check", _)) => {
            let exists = database.exists();
            let damage = if exists { check(&database)? } else { Vec::new() };
            if damage.is_empty() && exists {
                Readers::new(&database).read(|db| missing_steps(db, &host::schema()))?;
            }
            let json = json!({"path": database, "exists": exists, "damage": damage});
            let word = if exists { "ok" } else { "no database yet" };
            print(context, &json, &format!("{word}: {}\n", database.display()));
            if damage.is_empty() {
                return Ok(());
            }
            let mut error = AppError::new(
                Kind::State,
                format!("the database `{}` is damaged", database.display()),
            );
            error.causes = damage;
            Err(error.hint("keep the file; put a copy from `backups/` in its place, or move it away to begin anew"))
        }
        Some(("backup", flags)) => {
            let target = flags.get_one::<String>("to").map_or_else(
                || context.home.backups().join(format!("subtrate-{}.db", clock::now().0)),
                PathBuf::from,
            );
            if !database.exists() {
                return Err(AppError::new(Kind::User, "there is no database yet")
                    .hint(format!("it will be `{}`", database.display())));
            }
            back_up(&database, &target)?;
            print(context, &json!({"path": target}), &format!("{}\n", target.display()));
            Ok(())
        }
        _ => {
            print(context, &json!({"path": database}), &format!("{}\n", database.display()));
            Ok(())
        }
    }
}

fn print(context: &Context, json: &serde_json::Value, text: &str) {
    ui::data(&if context.format == Format::Json {
        format!("{}\n", verbs::pretty(json))
    } else {
        text.to_owned()
    });
}
