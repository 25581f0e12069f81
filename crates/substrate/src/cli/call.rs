//! Asks the daemon. Starts it if none runs, and replaces it if it is frozen.

use std::path::Path;
use std::time::{Duration, Instant};

use ipc::{Conn, ConnError, Kind as Frame, Reply, frame};
use serde::Serialize;
use serde_json::Value;
use substrate_core::time::Took;
use substrate_core::{Caller, Output, Settings, Verb};

use super::Context;
use crate::config::{Home, settings_at};
use crate::daemon::{Answer, Ask, Call, Reach, Status, Stay, UiAsk};
use crate::error::{AppError, Kind, Result};
use crate::ui;

/// How long a command waits for its answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long it waits for a daemon to take a question about itself.
const CONNECT: Duration = Duration::from_secs(2);

/// One or more calls of a verb, over one connection.
pub(crate) struct Line<'a> {
    context: &'a Context,
    verb: &'static Verb,
    conn: Option<Conn>,
    /// How long a daemon that is started for this stays. `None`: don't start one.
    stay: Option<Stay>,
    patience: Duration,
}

impl<'a> Line<'a> {
    pub(super) fn new(context: &'a Context, verb: &'static Verb) -> Self {
        let settings = settings(context);
        for problem in &settings.problems {
            ui::talk(&format!("warning: {problem} ({})\n", problem.hint));
        }
        Self { context, verb, conn: None, stay: Some(stay(&settings)), patience: PATIENCE }
    }

    /// Without warnings about the settings.
    pub(crate) fn silent(context: &'a Context, verb: &'static Verb) -> Self {
        let stay = Some(stay(&settings(context)));
        Self { context, verb, conn: None, stay, patience: PATIENCE }
    }

    /// For a question in the background: no warnings about the settings, and no start of a daemon that a person stopped. With
    /// `daemon.autostart` off a daemon lives only as long as its requests, so one is started for this one.
    pub(super) fn quiet(context: &'a Context, verb: &'static Verb) -> Self {
        let stay = Some(stay(&settings(context))).filter(|stay| *stay == Stay::Brief);
        Self { context, verb, conn: None, stay, patience: PATIENCE }
    }

    /// For one question after the other over the same connection, to a daemon that runs.
    pub(crate) fn of_running(context: &'a Context, verb: &'static Verb) -> Self {
        Self { context, verb, conn: None, stay: None, patience: PATIENCE }
    }

    /// Waits no longer than that for an answer.
    pub(super) fn within(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// The same connection for another verb.
    pub(crate) fn turn_to(&mut self, verb: &'static Verb) {
        self.verb = verb;
    }

    /// Runs the verb in the daemon. It runs once, even if a daemon ends in the middle of it.
    pub(crate) fn call(&mut self, body: Value, request: &str) -> Result<Output> {
        let caller = Caller { request: request.to_owned(), ..self.context.caller.clone() };
        let path = self.verb.path.iter().map(|word| (*word).to_owned()).collect();
        let begun = Instant::now();
        let answered = self.answered(Call { path, body, caller, repeated: false });
        if self.context.verbose {
            ui::talk(&format!("the daemon, after {}\n", Took::of(begun.elapsed())));
        }
        let internal = |error: serde_json::Error| AppError::from_error(Kind::Internal, &error);
        match answered? {
            (0, json) => serde_json::from_slice(&json).map_err(internal),
            (_, json) => Err(serde_json::from_slice(&json).map_err(internal)?),
        }
    }

    /// Asks until there is an answer.
    fn answered(&mut self, mut call: Call) -> Result<(u8, Vec<u8>)> {
        let Context { env, home, .. } = self.context;
        let mut reach = Reach::new(env, home, Instant::now() + self.patience, self.stay);
        let internal = |error: serde_json::Error| AppError::from_error(Kind::Internal, &error);
        loop {
            let mut conn = match self.conn.take() {
                Some(conn) => conn,
                None => reach.connect()?,
            };
            let json = serde_json::to_vec(&call).map_err(internal)?;
            call.repeated = true;
            if conn.send(Frame::Command, [&json], reach.left()).is_err() {
                continue;
            }
            match reach.hear(&mut conn) {
                Answer::Frame(Frame::Reply, body) => {
                    let reply = Reply::read(&body).ok_or_else(|| no_answer(ConnError::Foreign))?;
                    self.conn = Some(conn);
                    return Ok((reply.exit, reply.stdout.to_vec()));
                }
                Answer::Frame(..) => return Err(no_answer(ConnError::Foreign)),
                Answer::Ended | Answer::Foreign if reach.left().is_zero() => {
                    return Err(no_answer(ConnError::Broken));
                }
                Answer::Ended | Answer::Foreign => {}
                Answer::Late => return Err(no_answer(ConnError::TooSlow)),
            }
        }
    }
}

fn settings(context: &Context) -> Settings {
    settings_at(&context.home.config(), dir(context))
}

fn stay(settings: &Settings) -> Stay {
    if settings.on("daemon.autostart") { Stay::Long } else { Stay::Brief }
}

fn no_answer(error: ConnError) -> AppError {
    AppError::new(Kind::Daemon, format!("the daemon did not answer ({})", error.name()))
        .hint("it may or may not have been done: check before you repeat it; `substrate daemon status` tells more")
}

/// Asks the daemon about itself.
pub(crate) fn control(
    home: &Home,
    ask_for: &Ask,
    patience: Duration,
) -> std::result::Result<(u8, Status), ConnError> {
    let json = to_json(ask_for)?;
    let mut conn = Conn::open(home.root(), CONNECT.min(patience))?;
    let (exit, json) = exchange(&mut conn, Frame::Control, &json, patience)?;
    Ok((exit, serde_json::from_slice(&json).map_err(|_| ConnError::Foreign)?))
}

/// Asks the daemon about its dashboard.
pub(super) fn ask_dashboard(
    home: &Home,
    ask: &UiAsk,
    patience: Duration,
) -> std::result::Result<Result<Value>, ConnError> {
    ask_as_user(home, &Ask::Ui { ask: ask.clone() }, patience)
}

/// Has the daemon send a notification.
pub(super) fn test_notifications(
    home: &Home,
    patience: Duration,
) -> std::result::Result<Result<Value>, ConnError> {
    ask_as_user(home, &Ask::TestNotifications, patience)
}

fn ask_as_user(
    home: &Home,
    ask: &Ask,
    patience: Duration,
) -> std::result::Result<Result<Value>, ConnError> {
    let json = to_json(ask)?;
    let mut conn = Conn::open(home.root(), CONNECT.min(patience))?;
    let (exit, json) = exchange(&mut conn, Frame::Control, &json, patience)?;
    let foreign = |_| ConnError::Foreign;
    match exit {
        0 => Ok(Ok(serde_json::from_slice(&json).map_err(foreign)?)),
        _ => Ok(Err(serde_json::from_slice(&json).map_err(foreign)?)),
    }
}

fn to_json(body: &impl Serialize) -> std::result::Result<Vec<u8>, ConnError> {
    serde_json::to_vec(body).map_err(|_| ConnError::Foreign)
}

fn exchange(
    conn: &mut Conn,
    kind: Frame,
    json: &[u8],
    mut patience: Duration,
) -> std::result::Result<(u8, Vec<u8>), ConnError> {
    conn.send(kind, [json], patience)?;
    loop {
        match conn.receive(patience)? {
            (Frame::Reply, body) => {
                return Reply::read(&body)
                    .map(|reply| (reply.exit, reply.stdout.to_vec()))
                    .ok_or(ConnError::Foreign);
            }
            (Frame::Wait, body) => patience = frame::patience(&body),
            _ => return Err(ConnError::Foreign),
        }
    }
}

pub(super) fn dir(context: &Context) -> &Path {
    Path::new(context.caller.project_dir.as_deref().unwrap_or(&context.caller.cwd))
}
