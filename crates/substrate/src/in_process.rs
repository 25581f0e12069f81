//! The engine in the hook's own process, because no daemon answered in time: `substrate __hook WHY SPENT_MS EXIT`, with
//! the request on stdin.
//!
//! Never fails: whatever goes wrong, it prints nothing, leaves a line in the trace file and exits 0.

mod wait;

use std::io::Read as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ipc::frame::HEADER_LEN;
use ipc::{Conn, ConnError, Header, HookRequest, Kind as Frame, place};
use substrate_core::engine::{self, HostKind, once};
use substrate_core::{DbError, RequestId, Settings};
use substrate_store::{Durability, Writer};

use crate::config::{Env, Home, SettingsFiles};
use crate::daemon;
use crate::error::{AppError, Kind, Result};
use crate::host::{self, Applied, Decoded, Prepared, When};
use crate::machine::Machine;
use crate::{clock, effects, gather, spool, ui};

/// Why a hook hands over that has printed its answer already.
const PRINTED: &str = "printed";

/// How long such a note may wait for others who write.
const PATIENCE: Duration = Duration::from_secs(2);

/// The database's log is emptied when it is longer than this: without a daemon nobody else does it.
const MAX_LOG: u64 = 2 << 20;

pub(crate) fn main(args: &[String]) -> ExitCode {
    let env = Env::of_this_process();
    let why = why(args.first().map_or("", String::as_str));
    let spent = args.get(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    let exit = args.get(2).and_then(|text| text.parse().ok()).unwrap_or(0);
    let Ok(home) = Home::find(&env) else { return ExitCode::from(exit) };
    if args.first().is_some_and(|word| word == PRINTED) {
        // The hook has printed its answer and could not say so; the client waits for its exit code.
        let _told_again = read_request().and_then(|body| note_printed(&home, &body));
        return ExitCode::from(exit);
    }
    // Whatever it is, the agent goes on: a panic must not become an exit code.
    let ran = catch_unwind(AssertUnwindSafe(|| run(&env, &home, why, spent)));
    let panicked = || AppError::new(Kind::Internal, "it panicked");
    match ran.unwrap_or_else(|_| Err(panicked())) {
        Ok(exit) => ExitCode::from(exit),
        Err(error) => {
            place::leave_trace(
                home.root(),
                &format!(
                    "{} hook without daemon ({}): {}",
                    clock::now().0,
                    why.name(),
                    error.render()
                ),
            );
            ExitCode::SUCCESS
        }
    }
}

/// Answers the client. The exit code.
fn run(env: &Env, home: &Home, why: ConnError, spent_ms: u32) -> Result<u8> {
    let begun_us = clock::micros();
    let body = Arc::new(read_request()?);
    let request = HookRequest::read(&body).ok_or_else(unreadable)?;
    let left =
        Duration::from_millis(u64::from(request.deadline_ms.saturating_sub(spent_ms).max(50)));
    let answered = give_up_after(left, home.clone(), RequestId(request.id), Arc::clone(&body));
    if request.waited_ms > 0 && !home.root().is_dir() {
        // It was taken away while we waited; whoever did that wants it to be gone.
        return Ok(0);
    }
    home.ensure()?;
    let mut prepared = surround(home, host::decode(&request, clock::now(), begun_us));
    let autostart = prepared.settings.on("daemon.autostart");
    let mut writer = host::open(home, patience_with_others(home, left))?;
    writer.leave_checkpoints()?;
    let mut applied = match recorded(&mut writer, &mut prepared, why) {
        Ok(applied) => applied,
        // Somebody holds the database (a frozen daemon most likely), or the disk is full. The verdict can't wait; the
        // record can.
        Err(error) => {
            let applied = host::apply(
                &mut writer.begin_reading()?,
                &prepared,
                &Machine::default(),
                HostKind::InProcess(why.name()),
                When::Now,
            );
            let may_pass = matches!(error, DbError::Busy | DbError::Full);
            let kept = may_pass && spool::keep(home, prepared.decoded.request(), &body).is_ok();
            let word = if kept { "kept for later" } else { "not recorded" };
            place::leave_trace(
                home.root(),
                &format!("{} hook without daemon: {error}; answered, {word}\n", clock::now().0),
            );
            applied
        }
    };
    answered.store(true, Ordering::Relaxed);
    finish(home, &mut applied);
    let _somebody_reads = writer.shorten_log(MAX_LOG);
    if applied.wait.is_none() {
        print(&mut writer, &prepared, &applied);
        afterwards(env, home, why, autostart);
        return Ok(applied.answer.exit);
    }
    afterwards(env, home, why, autostart);
    wait::until_answered(home, &mut writer, &body, prepared, applied)
}

/// An event with its settings, its project and the facts that features need.
pub(crate) fn surround(home: &Home, mut decoded: Decoded) -> Prepared {
    let (settings, project) = SettingsFiles::new(home.config()).around(decoded.dir());
    decoded.event.project = project.as_ref().to_owned();
    let needs = engine::needs(substrate_features::ALL, &decoded.event, &settings);
    let mut prepared = Prepared::new(decoded, settings);
    prepared.gathered.facts = gather::gather(needs);
    prepared
}

/// What must have happened before the client reads the answer.
fn finish(home: &Home, applied: &mut Applied) {
    applied.answer.exports.iter().for_each(host::export);
    // A daemon that has waiters notices by itself that somebody else has written.
    let _keys = effects::carry_out(home, std::mem::take(&mut applied.effects));
}

/// Prints the answer, and tells the features that want to know.
fn print(writer: &mut Writer, prepared: &Prepared, applied: &Applied) {
    let printed = ui::talked(&applied.answer.stderr) && ui::printed(&applied.answer.stdout);
    if applied.receipt && printed {
        let request = prepared.decoded.request();
        let _told_again = tell_printed(writer, &prepared.settings, request);
    }
}

fn tell_printed(writer: &mut Writer, settings: &Settings, request: RequestId) -> Result<()> {
    let mut tx = writer.begin(Durability::Normal)?;
    host::printed(&mut tx, &Machine::default(), settings, request, true)
        .map_err(|error| AppError::from_error(Kind::Internal, &error))?;
    Ok(tx.commit()?)
}

fn note_printed(home: &Home, body: &[u8]) -> Result<()> {
    let request = HookRequest::read(body).ok_or_else(unreadable)?;
    let settings = SettingsFiles::new(home.config()).at(std::path::Path::new("/"));
    tell_printed(&mut host::open(home, PATIENCE)?, &settings, RequestId(request.id))
}

fn unreadable() -> AppError {
    AppError::new(Kind::Internal, "the request is not of our form")
}

/// One event, one transaction; unless the daemon has answered it already, then its answer.
fn recorded(
    writer: &mut Writer,
    prepared: &mut Prepared,
    why: ConnError,
) -> std::result::Result<Applied, DbError> {
    let mut tx = writer.begin(Durability::Normal)?;
    // Only a daemon that was reached can have the request too.
    let may_have = matches!(why, ConnError::TooSlow | ConnError::Broken);
    if (may_have || prepared.decoded.is_repeated())
        && let Some(given) =
            once::take_over(&mut tx, prepared.decoded.request(), prepared.decoded.event.at)?
    {
        return Ok(Applied::again(given));
    }
    let host::Scope { digest, origin } = prepared.decoded.scope();
    if once::is_twin(&mut tx, digest, origin, prepared.decoded.event.at)? {
        tx.commit()?;
        return Ok(Applied::default());
    }
    once::note_scope(&mut tx, digest, origin, prepared.decoded.event.at)?;
    let host = HostKind::InProcess(why.name());
    let mut applied = host::apply(&mut tx, prepared, &Machine::default(), host, When::Now);
    while !applied.look.is_empty() {
        prepared.look_up(std::mem::take(&mut applied.look));
        applied = host::apply(&mut tx, prepared, &Machine::default(), host, When::Now);
    }
    tx.commit()?;
    Ok(applied)
}

/// How long to wait for others who write. A daemon that hangs may hold the database for ever.
fn patience_with_others(home: &Home, left: Duration) -> Duration {
    let hangs = home.stalled_socket().symlink_metadata().is_ok();
    if hangs { left.min(Duration::from_millis(50)) } else { left * 6 / 10 }
}

fn read_request() -> Result<Vec<u8>> {
    let fail = |error: std::io::Error| AppError::from_error(Kind::Internal, &error);
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).map_err(fail)?;
    let header = bytes.first_chunk::<HEADER_LEN>().and_then(Header::read);
    if header.is_none_or(|header| header.len != bytes.len() - HEADER_LEN) {
        return Err(AppError::new(Kind::Internal, "the request is not a frame"));
    }
    bytes.drain(..HEADER_LEN);
    Ok(bytes)
}

/// A thread of its own, since a disk that hangs can't be interrupted: at the deadline the agent goes on, unless the answer
/// is there, which is what the returned flag says.
#[expect(
    clippy::exit,
    reason = "the main thread hangs in the operating system; there is nobody to return to"
)]
fn give_up_after(
    left: Duration,
    home: Home,
    request: RequestId,
    body: Arc<Vec<u8>>,
) -> Arc<AtomicBool> {
    let answered = Arc::new(AtomicBool::new(false));
    let is_answered = Arc::clone(&answered);
    std::thread::spawn(move || {
        std::thread::sleep(left);
        if is_answered.load(Ordering::Relaxed) {
            return;
        }
        let kept = spool::keep(&home, request, &body);
        let word = if kept.is_ok() { "kept for later" } else { "lost" };
        place::leave_trace(
            home.root(),
            &format!("{} hook without daemon: gave up at its deadline, {word}\n", clock::now().0),
        );
        std::process::exit(0);
    });
    answered
}

/// The next hooks shall not have to do without a daemon.
fn afterwards(env: &Env, home: &Home, why: ConnError, autostart: bool) {
    match why {
        ConnError::TooSlow => hide_socket(home),
        ConnError::Absent | ConnError::Broken if autostart => {
            let _next_time = daemon::start(env, home);
        }
        ConnError::Absent | ConnError::Broken | ConnError::Foreign => {}
    }
}

/// Moves the socket of a daemon that hangs out of the way: the next hooks find none, and don't wait. The daemon moves it
/// back when it runs again. One that was only slow answers a ping, and keeps its socket.
fn hide_socket(home: &Home) {
    let ping = serde_json::to_vec(&daemon::Ask::Ping).unwrap_or_default();
    let conn = Conn::open(home.root(), Duration::ZERO);
    let mut conn = conn
        .and_then(|conn| conn.send(Frame::Control, [&ping], Duration::ZERO).map(|()| conn))
        .ok();
    let mut answers =
        |ms| conn.as_mut().is_some_and(|conn| conn.receive(Duration::from_millis(ms)).is_ok());
    if answers(100) {
        return;
    }
    if std::fs::rename(home.socket(), home.stalled_socket()).is_ok() && answers(0) {
        // It woke up just now, perhaps before it could see that the socket was gone.
        let _put_back = std::fs::rename(home.stalled_socket(), home.socket());
    }
}

fn why(word: &str) -> ConnError {
    [ConnError::TooSlow, ConnError::Broken, ConnError::Foreign]
        .into_iter()
        .find(|why| why.name() == word)
        .unwrap_or(ConnError::Absent)
}
