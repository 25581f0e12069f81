//! `substrate up|down|uninstall`: everything at once.

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::{Context, ask, call, daemon, doctor, hooks as hooks_command};
use crate::error::{AppError, Kind, Result};
use crate::hooks::{self, Manifest, Request, Scope};
use crate::ui;

pub(super) fn commands() -> [Command; 3] {
    let yes = || Arg::new("yes").long("yes").action(ArgAction::SetTrue).help("Don't ask");
    [
        Command::new("up").about("Start the daemon, register the hooks for the clients that are here, and check everything").arg(yes()),
        Command::new("down").about("Stop the daemon; hooks go on without it, and start it again when they are used"),
        Command::new("uninstall")
            .about("Take the hooks out everywhere they were installed; ask before any data is deleted")
            .arg(yes())
            .arg(Arg::new("delete-data").long("delete-data").action(ArgAction::SetTrue).help("Delete the state home with the journal and the backups as well")),
    ]
}

pub(super) fn up(context: &Context, flags: &ArgMatches) -> Result<()> {
    daemon::start(context)?;
    let request = Request {
        scope: Scope::User,
        profiles: hooks::Profiles::default(),
        scripts: false,
        allow: false,
        rules: hooks_command::rules(),
        dir: call::dir(context),
    };
    let whole = hooks::status(&context.env, &context.home, request.dir)?
        .iter()
        .any(|state| state.scope == "user" && state.is_whole());
    let yes = flags.get_flag("yes");
    if whole {
        ui::talk("claude-code: the hooks are registered\n");
    } else if !is_client_here(context)? {
        ui::talk(
            "no client that we know was found (no `claude` on the PATH, no folder of its own); `substrate hooks install` registers the hooks all the same\n",
        );
    } else if yes || ask::is_possible() {
        hooks_command::install(context, request, false, yes)?;
    } else {
        ui::talk(
            "claude-code: the hooks are not registered; `substrate up --yes` or `substrate hooks install` does it\n",
        );
    }
    let healthy = doctor::quick(context);
    ui::talk(
        "\nNext: start a session of your client, then `substrate journal tail` shows it; `substrate doctor` says more.\n",
    );
    if healthy {
        Ok(())
    } else {
        Err(AppError::new(Kind::User, "something is not as it should be")
            .hint("the lines above say what to do"))
    }
}

/// Whether the client is on this machine: its program, or its folder.
fn is_client_here(context: &Context) -> Result<bool> {
    let on_path = context
        .env
        .get("PATH")
        .into_iter()
        .flat_map(std::env::split_paths)
        .any(|folder| folder.join("claude").is_file());
    Ok(on_path || hooks::client_home(&context.env)?.is_dir())
}

pub(super) fn down(context: &Context) -> Result<()> {
    daemon::stop(&context.home)
}

pub(super) fn uninstall(context: &Context, flags: &ArgMatches) -> Result<()> {
    let mut failed = None;
    match Manifest::all(&context.home) {
        Ok(manifests) => {
            for manifest in manifests {
                match hooks::remove(&context.home, &manifest) {
                    Ok(removed) => hooks_command::report(&manifest, &removed),
                    // The others shall not stay because of this one.
                    Err(error) => {
                        ui::talk(&error.render());
                        failed = Some(error);
                    }
                }
            }
        }
        Err(error) => failed = Some(error),
    }
    daemon::stop(&context.home)?;
    let question =
        format!("Delete `{}` with the journal and all backups?", context.home.root().display());
    let asked = || ask::is_possible() && ask::yes(&question);
    // Without a person to ask, only both flags together delete anything.
    let delete = match (flags.get_flag("delete-data"), flags.get_flag("yes")) {
        (wanted, true) => wanted,
        (_, false) => asked(),
    };
    if flags.get_flag("delete-data") && !flags.get_flag("yes") && !ask::is_possible() {
        failed = failed.or_else(|| {
            Some(
                AppError::new(Kind::User, "no data was deleted: nobody is there to be asked")
                    .hint("add `--yes` if you are sure"),
            )
        });
    }
    if delete && failed.is_none() {
        delete_data(context);
    } else {
        ui::talk(&format!("your data stays in `{}`\n", context.home.root().display()));
    }
    failed.map_or(Ok(()), Err)
}

/// Deletes only what is ours by name: the folder may be one that somebody else uses too.
fn delete_data(context: &Context) {
    let root = context.home.root();
    let files = [
        "subtrate.db",
        "subtrate.db-wal",
        "subtrate.db-shm",
        "daemon.lock",
        "daemon.sock",
        "daemon.sock.stalled",
        "install.lock",
        "config.toml",
    ];
    for name in files {
        let _maybe_absent = std::fs::remove_file(root.join(name));
    }
    for name in ["logs", "backups", "spool", "manifests", "identities"] {
        let _maybe_absent = std::fs::remove_dir_all(root.join(name));
    }
    match std::fs::remove_dir(root) {
        Ok(()) => ui::talk("your data is deleted\n"),
        Err(_) => ui::talk(&format!(
            "our files in `{}` are deleted; others are there, so the folder stays\n",
            root.display()
        )),
    }
}
