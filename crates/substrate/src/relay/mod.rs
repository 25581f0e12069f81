//! `substrate __hook WHY SPENT_MS EXIT REQUEST_FD`: the hook found no daemon, or got no answer.
//!
//! It starts a daemon, or replaces a frozen one, and waits for the answer. If no daemon can run at all, it answers from
//! the event and the settings. Whatever goes wrong, the agent goes on, and a line is left for `substrate doctor`.

mod last_resort;

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ipc::{Conn, HookRequest, Kind as Frame, Reply, out, place};
use rustix::fs::FileType;

use substrate_core::EventKind;
use substrate_core::redact::clean;

use crate::clock;
use crate::config::{Env, Home, settings_at};
use crate::daemon::{Answer, Reach, Stay};
use crate::error::{AppError, Kind, Result};
use crate::hooks::Scope;
use last_resort::Failure;

/// Says that the hook has printed its answer and could not confirm that.
const PRINTED: &str = "printed";

/// How long the confirmation may take.
const NOTED: Duration = Duration::from_secs(10);

pub(crate) fn main(args: &[String]) -> ExitCode {
    let number = |at: usize| args.get(at).and_then(|text| text.parse::<u32>().ok()).unwrap_or(0);
    let exit = u8::try_from(number(2)).unwrap_or(0);
    let why = args.first().map_or("", String::as_str);
    let env = Env::of_this_process();
    let body = read_request(number(3)).unwrap_or_default();
    let Some(request) = HookRequest::read(&body) else {
        // The request would say which call it was, so the person can't be asked about it.
        trace(Home::find(&env).ok().as_ref(), "the hook's request could not be read");
        out::print(
            b"",
            b"substrate: the hook's request could not be read; see `substrate doctor`\n",
        );
        return ExitCode::from(exit);
    };
    if why == PRINTED {
        // The client waits for the exit code that goes with the printed answer.
        let _told_again = Home::find(&env).and_then(|home| note_printed(&env, &home, &request));
        return ExitCode::from(exit);
    }
    let spent = Duration::from_millis(u64::from(number(1)));
    // A panic must neither become an exit code nor let a call pass.
    let ran = catch_unwind(AssertUnwindSafe(|| answer(&env, &request, spent)));
    ExitCode::from(ran.unwrap_or_else(|_| last_resort::unjudged_answer(&request)))
}

/// Answers the client. Returns the exit code.
fn answer(env: &Env, request: &HookRequest<'_>, spent: Duration) -> u8 {
    let home = match Home::find(env) {
        Ok(home) => home,
        Err(error) => return last_resort::answer(None, request, &Failure::NoDaemon(error)),
    };
    let is_waiting = request.waited_ms > 0;
    if is_waiting && !home.root().is_dir() {
        // The home was removed while we waited. Don't create it again.
        return 0;
    }
    if !home.root().exists() && was_uninstalled(env, request) {
        return 0;
    }
    let deadline = Duration::from_millis(u64::from(request.deadline_ms));
    let left = if is_waiting { deadline } else { deadline.saturating_sub(spent) };
    let stay = (!tells_of_settings(request)).then(|| stay(&home));
    let mut reach = Reach::new(env, &home, Instant::now() + left, stay);
    match ask(&mut reach, request) {
        Ok(Some(exit)) => exit,
        Err(_) if stay.is_none() => 0,
        Ok(None) => last_resort::answer(Some(&home), request, &Failure::Late),
        Err(error) => last_resort::answer(Some(&home), request, &Failure::NoDaemon(error)),
    }
}

/// Whether the event reports changed settings. Running clients report an uninstall like this, too, when it has just stopped
/// the daemon and perhaps deleted its home. So this event starts no daemon. No feature answers it.
fn tells_of_settings(request: &HookRequest<'_>) -> bool {
    last_resort::decode(&request.bytes()).event.kind == EventKind::ConfigChange
}

/// Whether the client's settings have no hooks of ours any more. A running client calls the hooks that it knows until it
/// notices that, and must not bring back a state home that was deleted. Without any settings the hook was run by hand.
fn was_uninstalled(env: &Env, request: &HookRequest<'_>) -> bool {
    let name = request.each_arg().next().unwrap_or_default();
    let Some(client) = substrate_clients::ALL.iter().find(|client| client.name.as_bytes() == name)
    else {
        return false;
    };
    let dir = Path::new(OsStr::from_bytes(request.cwd));
    let files = [Scope::User, Scope::Project, Scope::Local]
        .into_iter()
        .filter_map(|scope| scope.settings(client, env, dir).ok());
    let texts: Vec<String> = files.filter_map(|file| std::fs::read_to_string(file).ok()).collect();
    let is_registered = |text: &String| {
        // What can't be read may have them.
        (client.install.format.registered)(text).map_or(true, |entries| !entries.is_empty())
    };
    !texts.is_empty() && !texts.iter().any(is_registered)
}

/// Whether a daemon that we start stays. The user's own settings decide, so no project is read.
fn stay(home: &Home) -> Stay {
    let settings = settings_at(&home.config(), home.root());
    if settings.on("daemon.autostart") { Stay::Long } else { Stay::Brief }
}

/// Asks until there is an answer, and prints it. `None`: not in time.
fn ask(reach: &mut Reach<'_>, request: &HookRequest<'_>) -> Result<Option<u8>> {
    // The hook's own connection, on which the request is already waiting.
    let mut waiting = inherited();
    loop {
        let mut conn = match waiting.take() {
            Some(conn) => conn,
            None => {
                let conn = reach.connect()?;
                let waited_ms = request.waited_ms.saturating_add(reach.waited_ms());
                let request = HookRequest { repeated: true, waited_ms, ..*request }.bytes();
                if conn.send(Frame::Hook, [&request], reach.left()).is_err() {
                    continue;
                }
                conn
            }
        };
        match reach.hear(&mut conn) {
            Answer::Frame(Frame::Reply, body) => return printed(&body).map(|(exit, _)| Some(exit)),
            Answer::Frame(Frame::Confirm, body) => {
                let (exit, has_printed) = printed(&body)?;
                if has_printed {
                    // This daemon may have ended meanwhile. Then its successor is told.
                    let told = conn.send(Frame::Printed, [&request.id], NOTED).is_ok();
                    // If no daemon hears of it, the model is told again. That is all.
                    let _told_again = confirm(reach, told.then_some(conn), request);
                }
                return Ok(Some(exit));
            }
            Answer::Frame(..) => return Err(unreadable()),
            Answer::Ended | Answer::Foreign if reach.left().is_zero() => return Ok(None),
            Answer::Ended | Answer::Foreign => {}
            Answer::Late => return Ok(None),
        }
    }
}

fn printed(body: &[u8]) -> Result<(u8, bool)> {
    let reply = Reply::read(body).ok_or_else(unreadable)?;
    Ok((reply.exit, out::printed(reply.stdout, reply.stderr)))
}

/// Waits until the daemon, or its successor, has recorded that the answer was printed.
fn confirm(reach: &mut Reach<'_>, mut told: Option<Conn>, request: &HookRequest<'_>) -> Result<()> {
    reach.extend(NOTED);
    loop {
        let mut conn = match told.take() {
            Some(conn) => conn,
            None => {
                let conn = reach.connect()?;
                if conn.send(Frame::Printed, [&request.id], reach.left()).is_err() {
                    continue;
                }
                conn
            }
        };
        match reach.hear(&mut conn) {
            Answer::Frame(Frame::Reply, _) => {
                let _gone = conn.send(Frame::Leaving, [], NOTED);
                return Ok(());
            }
            Answer::Late => return Err(unreadable()),
            Answer::Frame(..) | Answer::Ended | Answer::Foreign => {}
        }
    }
}

fn note_printed(env: &Env, home: &Home, request: &HookRequest<'_>) -> Result<()> {
    let mut reach = Reach::new(env, home, Instant::now() + NOTED, Some(stay(home)));
    confirm(&mut reach, inherited(), request)
}

/// The connection that the hook left on our stdin, if any.
fn inherited() -> Option<Conn> {
    let stdin = rustix::stdio::stdin();
    let found = rustix::fs::fstat(stdin).ok()?;
    let is_socket = FileType::from_raw_mode(found.st_mode) == FileType::Socket;
    is_socket.then(|| stdin.as_fd().try_clone_to_owned().ok()).flatten().map(Conn::inherited)
}

fn read_request(fd: u32) -> Result<Vec<u8>> {
    let fail = |error: std::io::Error| AppError::from_error(Kind::Internal, &error);
    let mut file = std::fs::File::open(format!("/dev/fd/{fd}")).map_err(fail)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(fail)?;
    Ok(bytes)
}

fn unreadable() -> AppError {
    AppError::new(Kind::Internal, "the daemon's answer is malformed")
}

/// Leaves a line for `substrate doctor`.
fn trace(home: Option<&Home>, text: &str) {
    if let Some(home) = home {
        place::leave_trace(home.root(), &clean(&format!("{} hook: {text}\n", clock::now().0)));
    }
}
