//! `substrate up|down|uninstall`: the whole installation at once.

use clap::{Arg, ArgAction, ArgMatches};
use serde_json::{Value, json};
use substrate_clients::Client;
use substrate_core::Audience;

use super::table::Definition;
use super::{
    Context, call, commit_hook, daemon, doctor, hooks as hooks_command, let_go, print, tmux,
};
use crate::error::{AppError, Kind, Result};
use crate::hooks::{self, Manifest, Request, Scope};
use crate::{clock, remnants, ui};

/// What a new user can try right away.
const TRY_FIRST: &str = "in two terminals, then in a third one
  substrate fleet                        # lists both by name
  substrate send NAME \"hello\"            # read at once, or when a running turn ends
  substrate journal tail                 # shows events as they happen; `substrate doctor` checks the installation\n";

pub(super) const COMMANDS: &[Definition] = &[
    Definition::new(
        &["up"],
        Audience::User,
        "Start the daemon, register the hooks with installed clients, and check everything",
        up,
    )
    .taking(|command| command.arg(yes())),
    Definition::new(
        &["down"],
        Audience::User,
        "Stop the daemon; the next hook starts it again",
        |context, _| {
            print::to_programs(context, &daemon::stop(&context.home)?);
            Ok(())
        },
    ),
    Definition::new(
        &["uninstall"],
        Audience::User,
        "Remove the hooks wherever they were installed, and ask before deleting data",
        uninstall,
    )
    .taking(|command| {
        let delete = Arg::new("delete-data").long("delete-data").action(ArgAction::SetTrue);
        command
            .arg(yes())
            .arg(delete.help("Also delete the state home with the journal and the backups"))
    }),
];

fn yes() -> Arg {
    Arg::new("yes").long("yes").action(ArgAction::SetTrue).help("Don't ask")
}

fn up(context: &Context, flags: &ArgMatches) -> Result<()> {
    let daemon = daemon::start(context)?;
    let yes = flags.get_flag("yes");
    let here: Vec<&'static Client> = substrate_clients::ALL
        .iter()
        .copied()
        .filter(|client| hooks::is_client_here(client, &context.env))
        .collect();
    if here.is_empty() {
        let programs: Vec<String> =
            substrate_clients::ALL.iter().map(|client| format!("`{}`", client.program)).collect();
        ui::talk(&format!(
            "no supported client was found (no {} on the PATH, no folder of its own); `substrate hooks install` registers the hooks anyway\n",
            programs.join(", ")
        ));
    }
    let mut installed = Vec::new();
    for client in &here {
        installed.extend(register(context, client, yes)?);
    }
    if !installed.is_empty() {
        ui::talk(hooks_command::LATER);
    }
    let installed = match installed.len() {
        0 => Value::Null,
        1 => installed.remove(0),
        _ => Value::Array(installed),
    };
    let client = here.first().copied().unwrap_or(substrate_clients::DEFAULT);
    let report = doctor::quick(context);
    let mut json = report.json();
    json["daemon"] = daemon;
    json["installed"] = installed;
    print::to_programs(context, &json);
    ui::talk(&format!("\nTry first: start `{}` {TRY_FIRST}", client.program));
    if report.is_healthy() {
        Ok(())
    } else {
        Err(AppError::new(Kind::User, "something is wrong").hint("the lines above say what to do"))
    }
}

/// Registers the hooks with one client. `None`: they are there already.
fn register(context: &Context, client: &'static Client, yes: bool) -> Result<Option<Value>> {
    let request = Request {
        client,
        scope: Scope::User,
        profiles: hooks::Profiles::default(),
        scripts: None,
        allow: false,
        trust: false,
        rules: hooks_command::rules(client),
        dir: call::dir(context),
    };
    let whole = hooks::status(client, &context.env, &context.home, request.dir)?
        .iter()
        .any(|state| state.scope == "user" && state.is_whole());
    if whole {
        ui::talk(&format!("{}: the hooks are registered\n", client.name));
        return Ok(None);
    }
    if !yes && !ui::can_ask() {
        return Err(AppError::new(
            Kind::User,
            "the hooks were not registered: `up` asks first, and this is not a terminal",
        )
        .hint("`substrate up --yes` registers them without asking"));
    }
    if yes {
        let plan = hooks::plan(&context.env, &context.home, &request)?;
        ui::talk(&hooks_command::summary(context, &plan));
    }
    hooks_command::install(context, &request, false, yes).map(Some)
}

fn uninstall(context: &Context, flags: &ArgMatches) -> Result<()> {
    let mut failed = None;
    let (begun, mut undone) = (clock::now(), Vec::new());
    // A failure does not stop the rest.
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
    for hooks in &left.commit_hooks {
        let done = commit_hook::take_out(&context.home, hooks);
        if done.is_ok() {
            ui::talk(&format!("{}: our commit hook is gone\n", hooks.display()));
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
    for (client, file) in &left.status_lines {
        let done = remnants::take_status_line(client, file);
        if done.is_ok() {
            ui::talk(&format!("{}: our status line is gone\n", file.display()));
        }
        note(done);
    }
    if !undone.is_empty() {
        let_go::wait(context, begun);
    }
    daemon::stop_for_good(&context.home)?;
    let question =
        format!("Delete `{}` with the journal and all backups?", context.home.root().display());
    let asked = || ui::can_ask() && ui::confirm(&question);
    // Without a person to ask, only both flags together delete data.
    let delete = match (flags.get_flag("delete-data"), flags.get_flag("yes")) {
        (wanted, true) => wanted,
        (_, false) => asked(),
    };
    if flags.get_flag("delete-data") && !flags.get_flag("yes") && !ui::can_ask() {
        failed = failed.or_else(|| {
            Some(
                AppError::new(
                    Kind::User,
                    "no data was deleted: this is not a terminal, so you can't be asked",
                )
                .hint("add `--yes` if you are sure"),
            )
        });
    }
    let delete = delete && failed.is_none();
    print::to_programs(context, &json!({"uninstalled": undone, "data_deleted": delete}));
    if delete {
        delete_data(context);
    } else {
        ui::talk(&format!("your data stays in `{}`\n", context.home.root().display()));
    }
    failed.map_or(Ok(()), Err)
}

/// What was installed, from the manifests or, where there is none, as we recognise it.
fn installations(context: &Context) -> Result<Vec<Manifest>> {
    let mut out = Manifest::all(&context.home)?;
    for client in substrate_clients::ALL {
        let settings = Scope::User.settings(client, &context.env, call::dir(context))?;
        if out.iter().all(|manifest| manifest.settings != settings) {
            out.extend(hooks::recognised(client, &context.env, Scope::User, &settings)?);
        }
    }
    if !out.is_empty() {
        context.home.ensure()?;
    }
    Ok(out)
}

/// Deletes only our own files by name, because other programs may use the folder too.
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
            "our files in `{}` are deleted; the folder has others, so it stays\n",
            root.display()
        )),
    }
}
