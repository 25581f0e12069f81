//! Asking the daemon; starting it if there is none; doing without it if it can't be had.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ipc::{Conn, ConnError, Kind as Frame, Reply, frame};
use serde::Serialize;
use serde_json::Value;
use substrate_core::{Access, Caller, Db, Output, Settings, Timestamp, Verb, WaitFor};
use substrate_store::{Durability, Readers, Writer};

use super::Context;
use crate::config::{Home, SettingsFiles};
use crate::daemon::{self, Ask, Call, Status};
use crate::error::{AppError, Kind, Result};
use crate::host::{self, Gathered, Ran};
use crate::machine::Machine;
use crate::{clock, effects, gather, ui};

/// How long a command waits for its answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The same, for one that can be done without a daemon.
const SHORT: Duration = Duration::from_secs(4);

/// How long it waits for a daemon to take the connection, or to come up.
const CONNECT: Duration = Duration::from_secs(2);

/// How often a command that can be repeated is, when a daemon ends in the middle of it.
const REPEATS: u32 = 5;

/// How often a command that waits looks again where no daemon wakes it.
const LOOK: Duration = Duration::from_millis(300);

/// One or more calls of a verb, over one connection.
pub(super) struct Line<'a> {
    context: &'a Context,
    verb: &'static Verb,
    settings: Arc<Settings>,
    project: Arc<str>,
    conn: Option<Conn>,
    /// Whether a daemon is started where there is none.
    starts: bool,
}

impl<'a> Line<'a> {
    pub(super) fn new(context: &'a Context, verb: &'static Verb) -> Self {
        let (settings, project) = SettingsFiles::new(context.home.config()).around(dir(context));
        for problem in &settings.problems {
            ui::talk(&format!("warning: {problem} ({})\n", problem.hint));
        }
        let starts = settings.on("daemon.autostart");
        Self { context, verb, settings, project, conn: None, starts }
    }

    /// For whoever asks in the background: says nothing about the settings, and starts no daemon that somebody stopped.
    pub(super) fn quiet(context: &'a Context, verb: &'static Verb) -> Self {
        let (settings, project) = SettingsFiles::new(context.home.config()).around(dir(context));
        Self { context, verb, settings, project, conn: None, starts: false }
    }

    /// Runs the verb in the daemon, or here if there is none.
    pub(super) fn call(&mut self, body: Value, request: &str) -> Result<Output> {
        let caller = Caller { request: request.to_owned(), ..self.context.caller.clone() };
        let path = self.verb.path.iter().map(|word| (*word).to_owned()).collect();
        let call = Call { path, body, caller };
        let begun = Instant::now();
        let asked = self.asked(&call);
        if self.context.verbose {
            let by = asked.as_ref().map_or_else(
                |error| format!("no daemon ({})", error.name()),
                |_| "the daemon".to_owned(),
            );
            ui::talk(&format!("{by}, after {} us\n", begun.elapsed().as_micros()));
        }
        let internal = |error: serde_json::Error| AppError::from_error(Kind::Internal, &error);
        match asked {
            Ok((0, json)) => serde_json::from_slice(&json).map_err(internal),
            Ok((_, json)) => Err(serde_json::from_slice(&json).map_err(internal)?),
            // Nothing was sent, or nothing came of it.
            Err(ConnError::Absent | ConnError::Foreign) => self.here(call),
            // What can be repeated is; anything else may have happened.
            Err(_) if self.verb.access == Access::Read || self.verb.repeatable => self.here(call),
            Err(error) => Err(AppError::new(
                Kind::Daemon,
                format!("the daemon did not answer ({})", error.name()),
            )
            .hint("it may have been done or not: look before you repeat it; `substrate daemon status` tells more")),
        }
    }

    /// Asks until there is an answer, or a reason to do without.
    fn asked(&mut self, call: &Call) -> std::result::Result<(u8, Vec<u8>), ConnError> {
        let json = serde_json::to_vec(call).map_err(|_| ConnError::Foreign)?;
        let mut tries = 0;
        loop {
            let asked = self.ask_once(&json);
            match asked {
                Err(ConnError::Absent) if tries == 0 && self.starts && start(self.context) => {}
                Err(ConnError::Broken) if self.verb.repeatable && tries < REPEATS => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                asked => return asked,
            }
            tries += 1;
        }
    }

    fn ask_once(&mut self, json: &[u8]) -> std::result::Result<(u8, Vec<u8>), ConnError> {
        let mut conn = match self.conn.take() {
            Some(conn) => conn,
            None => Conn::open(self.context.home.root(), CONNECT)?,
        };
        // What can be done here as well does not wait long for a daemon that may hang.
        let can_do_without = self.verb.access == Access::Read || self.verb.repeatable;
        let patience = if can_do_without { SHORT } else { PATIENCE };
        let answer = exchange(&mut conn, Frame::Command, json, patience)?;
        self.conn = Some(conn);
        Ok(answer)
    }

    /// The same verb in our own process, on the same database.
    fn here(&self, mut call: Call) -> Result<Output> {
        let home = &self.context.home;
        home.ensure()?;
        let mut writer = host::open(home, PATIENCE)?;
        call.caller.project = self.project.as_ref().to_owned();
        loop {
            // Before the look: whatever is written after it is looked at.
            let seen = writer.foreign_writes()?;
            let output = self.run_here(&mut writer, &call.caller, &call.body)?;
            let Some(WaitFor { until_ms, body, .. }) = output.wait else { return Ok(output) };
            pause(&mut writer, seen, Timestamp(until_ms))?;
            call.body = body;
        }
    }

    fn run_here(&self, writer: &mut Writer, caller: &Caller, body: &Value) -> Result<Output> {
        let mut gathered = Gathered::default();
        loop {
            let run = |db: &mut dyn Db| self.run(db, &gathered, caller, body.clone());
            let ran = if self.verb.access == Access::Read {
                Readers::new(writer.path()).read(run)?
            } else {
                let mut tx = writer.begin(Durability::Full)?;
                let ran = run(&mut tx)?;
                tx.commit()?;
                ran
            };
            match ran {
                Ran::Look(needs) => gathered.add(needs.clone(), gather::gather(needs)),
                Ran::Done(output, after) => {
                    // A daemon that has waiters notices by itself that somebody else has written.
                    let _keys = effects::carry_out(&self.context.home, after);
                    return Ok(*output);
                }
            }
        }
    }

    fn run(
        &self,
        db: &mut dyn Db,
        gathered: &Gathered,
        caller: &Caller,
        body: Value,
    ) -> Result<Ran> {
        let machine = Machine::default();
        host::run_verb(db, &machine, &self.settings, gathered, self.verb, caller, body)
    }
}

/// Until somebody else has written, or that time.
fn pause(writer: &mut Writer, seen: i64, until: Timestamp) -> Result<()> {
    while writer.foreign_writes()? == seen && clock::now() < until {
        let left = u64::try_from(until.since(clock::now())).unwrap_or(0);
        std::thread::sleep(LOOK.min(Duration::from_millis(left + 1)));
    }
    Ok(())
}

/// Asks the daemon about itself.
pub(super) fn control(
    home: &Home,
    ask_for: &Ask,
    patience: Duration,
) -> std::result::Result<(u8, Status), ConnError> {
    let json = to_json(ask_for)?;
    let mut conn = Conn::open(home.root(), CONNECT.min(patience))?;
    let (exit, json) = exchange(&mut conn, Frame::Control, &json, patience)?;
    Ok((exit, serde_json::from_slice(&json).map_err(|_| ConnError::Foreign)?))
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

fn start(context: &Context) -> bool {
    daemon::start(&context.env, &context.home).is_ok()
        && daemon::wait_until_up(&context.home, CONNECT).is_ok()
}

pub(super) fn dir(context: &Context) -> &Path {
    Path::new(context.caller.project_dir.as_deref().unwrap_or(&context.caller.cwd))
}
