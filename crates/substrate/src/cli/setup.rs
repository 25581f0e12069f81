//! `substrate up|down|uninstall`: everything at once.

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Value, json};

use super::{Context, ask, call, daemon, commit_hook, doctor, hooks as hooks_command, say, tmux};
use crate::error::{AppError, Kind, Result};
use crate::hooks::{self, Manifest, Request, Scope};
use crate::{remnants, ui};

/// What a new user can see at once.
const TRY_FIRST: &str = "\nTry first: start `claude` in two terminals, then in a third one
  substrate fleet                        # both are there, by name
  substrate send NAME \"hello\"            # the one of that name reads it when its turn ends
  substrate journal tail                 # what happens, as it happens; `substrate doctor` says whether all is well\n";

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
    let daemon = daemon::start(context)?;
    let request = Request {
        scope: Scope::User,
        profiles: hooks::Profiles::default(),
        scripts: None,
        allow: false,
        rules: hooks_command::rules(),
        dir: call::dir(context),
    };
    let whole = hooks::status(&context.env, &context.home, request.dir)?
        .iter()
        .any(|state| state.scope == "user" && state.is_whole());
    let yes = flags.get_flag("yes");
    let mut installed = Value::Null;
    if whole {
        ui::talk("claude-code: the hooks are registered\n");
    } else if !hooks::is_client_here(&context.env) {
        ui::talk(
            "no client that we know was found (no `claude` on the PATH, no folder of its own); `substrate hooks install` registers the hooks all the same\n",
        );
    } else if yes || ask::is_possible() {
        if yes {
            let plan = hooks::plan(&context.env, &context.home, &request)?;
            ui::talk(&hooks_command::summary(context, &plan));
        }
        installed = hooks_command::install(context, &request, false, yes)?;
        ui::talk(hooks_command::LATER);
    } else {
        return Err(AppError::new(
            Kind::User,
            "the hooks were not registered: `up` asks first, and this is no terminal",
        )
        .hint("`substrate up --yes` registers them without asking"));
    }
    let report = doctor::quick(context);
    let mut json = report.json();
    json["daemon"] = daemon;
    json["installed"] = installed;
    say::to_programs(context, &json);
    ui::talk(TRY_FIRST);
    if report.is_healthy() {
        Ok(())
    } else {
        Err(AppError::new(Kind::User, "something is not as it should be")
            .hint("the lines above say what to do"))
    }
}

pub(super) fn down(context: &Context) -> Result<()> {
    say::to_programs(context, &daemon::stop(&context.home)?);
    Ok(())
}

pub(super) fn uninstall(context: &Context, flags: &ArgMatches) -> Result<()> {
    let mut failed = None;
    let mut undone = Vec::new();
    // What fails does not keep the rest.
    let mut note = |done: Result<()>| {
        if let Err(error) = done {
            ui::talk(&error.render());
            failed = Some(error);
        }
    };
    let left = remnants::look(&context.env, &context.home, call::dir(context));
    for socket in &left.tmux {
        note(tmux::leave(context, socket));
    }
    for hooks in &left.guards {
        let done = commit_hook::take_out(&context.home, hooks);
        if done.is_ok() {
            ui::talk(&format!("{}: our git guard is gone\n", hooks.display()));
        }
        note(done);
    }
    match installations(context) {
        Ok(manifests) => {
            for manifest in manifests {
                let removed = hooks::remove(&context.home, &manifest);
                note(removed.map(|removed| {
                    undone.push(hooks_command::report(&manifest, &removed));
                }));
            }
        }
        Err(error) => note(Err(error)),
    }
    for file in &left.status_lines {
        let done = remnants::take_status_line(file);
        if done.is_ok() {
            ui::talk(&format!("{}: our status line is gone\n", file.display()));
        }
        note(done);
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
    let delete = delete && failed.is_none();
    say::to_programs(context, &json!({"uninstalled": undone, "data_deleted": delete}));
    if delete {
        delete_data(context);
    } else {
        ui::talk(&format!("your data stays in `{}`\n", context.home.root().display()));
    }
    failed.map_or(Ok(()), Err)
}

/// What was installed, as it was noted, or as it can be recognised where nobody noted it.
fn installations(context: &Context) -> Result<Vec<Manifest>> {
    let mut out = Manifest::all(&context.home)?;
    let settings = Scope::User.settings(&context.env, call::dir(context))?;
    if out.iter().all(|manifest| manifest.settings != settings) {
        out.extend(hooks::recognised(&context.env, Scope::User, &settings)?);
    }
    if !out.is_empty() {
        context.home.ensure()?;
    }
    Ok(out)
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
        "git-guards",
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
