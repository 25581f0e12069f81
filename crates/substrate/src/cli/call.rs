//! Asking the daemon; starting it if there is none; doing without it if it can't be had.

use std::path::Path;
use std::time::{Duration, Instant};

use ipc::{Conn, ConnError, Kind as Frame, Reply};
use serde::Serialize;
use serde_json::Value;
use substrate_core::{Access, Cx, Db, Facts, Output, Verb};
use substrate_store::{Durability, Readers};

use super::Context;
use crate::config::{Home, SettingsFiles};
use crate::daemon::{self, Ask, Call, Status};
use crate::error::{AppError, Kind, Result};
use crate::{clock, host, ui};

/// How long a command waits for its answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long it waits for a daemon to take the connection, or to come up.
const CONNECT: Duration = Duration::from_secs(2);

/// Runs a verb in the daemon, or here if there is none.
pub(super) fn verb(context: &Context, verb: &'static Verb, body: Value) -> Result<Output> {
    let settings = SettingsFiles::new(context.home.config()).at(dir(context));
    for problem in &settings.problems {
        ui::talk(&format!("warning: {problem} ({})\n", problem.hint));
    }
    let call = Call {
        path: verb.path.iter().map(|word| (*word).to_owned()).collect(),
        body,
        caller: context.caller.clone(),
    };
    let begun = Instant::now();
    let asked = match ask(&context.home, Frame::Command, &call, PATIENCE) {
        Err(ConnError::Absent) if settings.on("daemon.autostart") && start(context) => {
            ask(&context.home, Frame::Command, &call, PATIENCE)
        }
        asked => asked,
    };
    if context.verbose {
        let by = asked.as_ref().map_or_else(
            |error| format!("no daemon ({})", error.name()),
            |_| "the daemon".to_owned(),
        );
        ui::talk(&format!("{by}, after {} us\n", begun.elapsed().as_micros()));
    }
    match asked {
        Ok((0, json)) => serde_json::from_slice(&json).map_err(|error| AppError::from_error(Kind::Internal, &error)),
        Ok((_, json)) => Err(serde_json::from_slice(&json).map_err(|error| AppError::from_error(Kind::Internal, &error))?),
        // Nothing was sent, or nothing came of it.
        Err(ConnError::Absent | ConnError::Foreign) => here(context, verb, call.body, &settings),
        // A read can be repeated; a write may have happened.
        Err(_) if verb.access == Access::Read => here(context, verb, call.body, &settings),
        Err(error) => Err(AppError::new(Kind::Daemon, format!("the daemon did not answer ({})", error.name()))
            .hint("it may have been done or not: look before you repeat it; `substrate daemon status` tells more")),
    }
}

/// Asks the daemon about itself.
pub(super) fn control(
    home: &Home,
    ask_for: &Ask,
    patience: Duration,
) -> std::result::Result<(u8, Status), ConnError> {
    let (exit, json) = ask(home, Frame::Control, ask_for, patience)?;
    Ok((exit, serde_json::from_slice(&json).map_err(|_| ConnError::Foreign)?))
}

fn ask(
    home: &Home,
    kind: Frame,
    body: &impl Serialize,
    patience: Duration,
) -> std::result::Result<(u8, Vec<u8>), ConnError> {
    let json = serde_json::to_vec(body).map_err(|_| ConnError::Foreign)?;
    let mut conn = Conn::open(home.root(), CONNECT.min(patience))?;
    conn.send(kind, [&json], patience)?;
    match conn.receive(patience)? {
        (Frame::Reply, body) => Reply::read(&body)
            .map(|reply| (reply.exit, reply.stdout.to_vec()))
            .ok_or(ConnError::Foreign),
        _ => Err(ConnError::Foreign),
    }
}

fn start(context: &Context) -> bool {
    daemon::start(&context.env, &context.home).is_ok()
        && daemon::wait_until_up(&context.home, CONNECT).is_ok()
}

/// The same verb in our own process, on the same database.
fn here(
    context: &Context,
    verb: &'static Verb,
    body: Value,
    settings: &substrate_core::Settings,
) -> Result<Output> {
    context.home.ensure()?;
    let mut writer = host::open(&context.home, PATIENCE)?;
    let run = |db: &mut dyn Db| {
        let mut cx = Cx { now: clock::now(), db, settings, facts: &Facts::default() };
        (verb.run)(&mut cx, &context.caller, body).map_err(AppError::from)
    };
    if verb.access == Access::Read {
        return Readers::new(&context.home.database()).read(run);
    }
    let mut tx = writer.begin(Durability::Full)?;
    let output = run(&mut tx)?;
    tx.commit()?;
    Ok(output)
}

pub(super) fn dir(context: &Context) -> &Path {
    Path::new(context.caller.project_dir.as_deref().unwrap_or(&context.caller.cwd))
}
