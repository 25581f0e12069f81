//! `substrate db check|backup|restore|path`

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches};
use serde_json::json;
use substrate_core::Audience;
use substrate_store::{Database, StoreError};

use super::table::Definition;
use super::{Context, print};
use crate::daemon::Lock;
use crate::error::{AppError, Kind, RESTORE, Result};
use crate::{clock, host, ui};

pub(super) const COMMANDS: &[Definition] = &[
    Definition::new(
        &["db", "check"],
        Audience::Both,
        "Read the whole database and report damage",
        |context, _| look(context),
    ),
    // It writes a file wherever it is told to.
    Definition::new(
        &["db", "backup"],
        Audience::User,
        "Copy the database as it is now to a new file",
        backup,
    )
    .taking(|command| {
        let help = "The new file (default: one in the state home's `backups`)";
        command.arg(Arg::new("to").value_name("FILE").help(help))
    }),
    Definition::new(
        &["db", "restore"],
        Audience::User,
        "Replace the database with a copy and keep the old file beside it",
        put_back,
    )
    .taking(|command| {
        let help = "The copy (default: the newest good one in `backups`)";
        command.arg(Arg::new("from").value_name("FILE").help(help))
    }),
    Definition::new(
        &["db", "path"],
        Audience::Both,
        "Print where the database is",
        |context, _| {
            let path = context.home.database();
            print::result(context, &json!({"path": path}), || format!("{}\n", path.display()));
            Ok(())
        },
    ),
];

fn backup(context: &Context, flags: &ArgMatches) -> Result<()> {
    let database = context.home.database();
    let given = flags.get_one::<String>("to").map(PathBuf::from);
    if !database.exists() {
        return Err(AppError::new(Kind::User, "there is no database yet")
            .hint(format!("it will be `{}`", database.display())));
    }
    // A mistyped folder is an error, not a new folder.
    if let Some(folder) = given.as_deref().and_then(Path::parent)
        && !folder.as_os_str().is_empty()
        && !folder.is_dir()
    {
        let message = format!("there is no folder `{}`", folder.display());
        return Err(AppError::new(Kind::User, message).hint("create it, or name another file"));
    }
    let name = format!("subtrate-{}.db", clock::now().0);
    let target = given.unwrap_or_else(|| context.home.backups().join(name));
    let progress = ui::progress("Copying the database", copied(&database, &target));
    Database::at(&database).back_up(&target)?;
    drop(progress);
    print::result(context, &json!({"path": target}), || format!("{}\n", target.display()));
    Ok(())
}

/// How much of the database is in the copy, which has a name of its own until it is whole.
fn copied(database: &Path, target: &Path) -> impl Fn() -> Option<String> + Send + use<> {
    let (database, folder) = (database.to_owned(), target.parent().map(Path::to_owned));
    let mark = format!("{}-", std::process::id());
    move || {
        let is_ours = |name: &str| name.contains(&mark) && name.ends_with(".db");
        let folder = folder.as_deref().filter(|folder| !folder.as_os_str().is_empty());
        let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
        let part =
            entries.flatten().find(|entry| entry.file_name().to_str().is_some_and(is_ours))?;
        let whole = std::fs::metadata(&database).ok()?.len().max(1);
        Some(format!("{} %", (part.metadata().ok()?.len() * 100 / whole).min(100)))
    }
}

fn look(context: &Context) -> Result<()> {
    let database = context.home.database();
    let exists = database.exists();
    let progress = ui::progress("Reading the database", || None);
    let damage = if exists { Database::at(&database).check()? } else { Vec::new() };
    drop(progress);
    if damage.is_empty() && exists {
        Database::at(&database).missing_steps(&host::schema())?;
    }
    let json = json!({"path": database, "exists": exists, "damage": damage});
    let word = match (exists, damage.is_empty()) {
        (true, true) => "ok",
        (true, false) => "damaged",
        (false, _) => "no database yet",
    };
    print::result(context, &json, || format!("{word}: {}\n", database.display()));
    if damage.is_empty() {
        return Ok(());
    }
    let message = format!("the database `{}` is damaged", database.display());
    let mut error = AppError::new(Kind::State, message);
    error.causes = damage;
    Err(error.hint(RESTORE))
}

/// The copy that was named.
fn given_copy(path: &str, backups: &Path) -> Result<PathBuf> {
    let copy = PathBuf::from(path);
    let problem = match copy.metadata() {
        Ok(found) if found.is_file() => return Ok(copy),
        Ok(_) => format!("`{path}` is not a file"),
        Err(error) if error.kind() == ErrorKind::NotFound => format!("there is no file `{path}`"),
        Err(error) => format!("can't read `{path}`: {error}"),
    };
    let hint = format!(
        "daily copies are in `{}`; without FILE the newest good one is restored",
        backups.display()
    );
    Err(AppError::new(Kind::User, problem).hint(hint))
}

/// Whatever can fail because of the copy happens before the daemon stops.
fn put_back(context: &Context, flags: &ArgMatches) -> Result<()> {
    let (home, database) = (&context.home, context.home.database());
    let backups = home.backups();
    let copy = match flags.get_one::<String>("from") {
        Some(path) => given_copy(path, &backups)?,
        None => Database::newest_good_copy(&backups).ok_or_else(|| {
            AppError::new(Kind::User, format!("there is no good copy in `{}`", backups.display()))
                .hint("name one: `substrate db restore FILE`")
                .hint(format!("or move `{}` away to start with an empty one", database.display()))
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
    let progress = ui::progress("Restoring the database", || None);
    let aside = Database::at(&database).restore(&copy, clock::now())?;
    drop(progress);
    if let Some(aside) = &aside {
        ui::talk(&format!("what was there is kept as `{}`\n", aside.display()));
    }
    let json = json!({"path": database, "from": copy, "aside": aside});
    print::result(context, &json, || format!("restored from {}\n", copy.display()));
    Ok(())
}
