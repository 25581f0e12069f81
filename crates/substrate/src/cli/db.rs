//! `substrate db check|backup|restore|path`

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command};
use serde_json::json;
use substrate_store::{Database, StoreError};

use super::{Context, say};
use crate::daemon::Lock;
use crate::error::{AppError, Kind, RESTORE, Result};
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
        .subcommand(
            Command::new("restore")
                .about("Put a copy in its place; what was there is kept beside it")
                .arg(
                    Arg::new("from")
                        .value_name("FILE")
                        .help("Which copy (default: the newest good one in `backups`)"),
                ),
        )
        .subcommand(Command::new("path").about("Where it is"))
}

pub(super) fn run(context: &Context, matches: &ArgMatches) -> Result<()> {
    let database = context.home.database();
    match matches.subcommand() {
        Some(("check", _)) => look(context),
        Some(("restore", flags)) => put_back(context, flags.get_one::<String>("from")),
        Some(("backup", flags)) => {
            let target = flags.get_one::<String>("to").map_or_else(
                || context.home.backups().join(format!("subtrate-{}.db", clock::now().0)),
                PathBuf::from,
            );
            if !database.exists() {
                return Err(AppError::new(Kind::User, "there is no database yet")
                    .hint(format!("it will be `{}`", database.display())));
            }
            // A folder that was typed wrong is not made.
            if let (Some(_), Some(folder)) = (flags.get_one::<String>("to"), target.parent())
                && !folder.as_os_str().is_empty()
                && !folder.is_dir()
            {
                let message = format!("there is no folder `{}`", folder.display());
                return Err(
                    AppError::new(Kind::User, message).hint("make it, or name another file")
                );
            }
            Database::at(&database).back_up(&target)?;
            say::result(context, &json!({"path": target}), || format!("{}\n", target.display()));
            Ok(())
        }
        _ => {
            say::result(context, &json!({"path": database}), || {
                format!("{}\n", database.display())
            });
            Ok(())
        }
    }
}

fn look(context: &Context) -> Result<()> {
    let database = context.home.database();
    let exists = database.exists();
    let damage = if exists { Database::at(&database).check()? } else { Vec::new() };
    if damage.is_empty() && exists {
        Database::at(&database).missing_steps(&host::schema())?;
    }
    let json = json!({"path": database, "exists": exists, "damage": damage});
    let word = match (exists, damage.is_empty()) {
        (true, true) => "ok",
        (true, false) => "damaged",
        (false, _) => "no database yet",
    };
    say::result(context, &json, || format!("{word}: {}\n", database.display()));
    if damage.is_empty() {
        return Ok(());
    }
    let message = format!("the database `{}` is damaged", database.display());
    let mut error = AppError::new(Kind::State, message);
    error.causes = damage;
    Err(error.hint(RESTORE))
}

/// Everything that can fail because of the copy is done before the daemon stops.
fn put_back(context: &Context, from: Option<&String>) -> Result<()> {
    let (home, database) = (&context.home, context.home.database());
    let backups = home.backups();
    let copy = match from {
        Some(path) => PathBuf::from(path),
        None => Database::newest_good_copy(&backups).ok_or_else(|| {
            AppError::new(Kind::User, format!("there is no good copy in `{}`", backups.display()))
                .hint("name one: `substrate db restore FILE`")
                .hint(format!("or move `{}` away to begin with an empty one", database.display()))
        })?,
    };
    if let Some(how) = Database::at(&copy).check()?.into_iter().next() {
        return Err(StoreError::DamagedCopy { path: copy, how }.into());
    }
    Database::at(&copy).missing_steps(&host::schema())?;
    home.ensure()?;
    super::daemon::stop(home)?;
    let _lock = Lock::try_take(home)?.ok_or_else(|| {
        AppError::new(Kind::Daemon, "a daemon has just started, and holds the database")
            .hint("run the command again")
    })?;
    let aside = Database::at(&database).restore(&copy, clock::now())?;
    if let Some(aside) = &aside {
        ui::talk(&format!("what was there is kept as `{}`\n", aside.display()));
    }
    let json = json!({"path": database, "from": copy, "aside": aside});
    say::result(context, &json, || format!("restored from {}\n", copy.display()));
    Ok(())
}
