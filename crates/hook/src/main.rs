//! `substrate-hook CLIENT EVENT`: bytes in, bytes out.
//!
//! This is the hot path of every tool call of every agent, so every change here is measured (`cargo xtask gate`). The
//! hook connects before it reads, always drains stdin, prints the reply, exits 0 (unless the reply says otherwise), and
//! never waits beyond its deadline. It reads no clock: the limits are those of its `poll` calls. Whatever goes wrong,
//! the agent goes on.
//!
//! On Linux the C library calls us directly. The runtime that std starts before `main` would install signal handlers
//! and a stack for them: 13 of 32 system calls, for a process that lives less than a millisecond. We do the rest of its
//! work here: a closed stream gets the null device (`streams`), and a reader that went away raises no signal
//! (`ipc::conn`, `ipc::out`).
#![cfg_attr(all(target_os = "linux", not(test)), no_main)]

mod draft;
mod given;
mod handover;
mod input;
mod streams;
mod surroundings;
mod wait;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use draft::{Draft, Finished};
use given::Given;
use handover::Handover;
use ipc::{Conn, ConnError, HookRequest, Kind, Reply, frame, out, place};
use surroundings::Surroundings;

const USAGE: &str = "usage: substrate-hook CLIENT EVENT   (the payload on stdin)
Sends one lifecycle event of a coding agent to the Substrate daemon and prints its answer.
`substrate hooks install` registers it; `substrate doctor` checks it.
";

/// Room for a usual request and its reply. The system provides only the pages that are touched, and they are zero already.
static SPACE: Mutex<[u8; 256 << 10]> = Mutex::new([0; 256 << 10]);

#[cfg(all(target_os = "linux", not(test)))]
#[expect(
    unsafe_code,
    reason = "the name by which the C library calls a program, and what it passes"
)]
#[unsafe(no_mangle)]
extern "C" fn main(
    _n_args: std::ffi::c_int,
    args: *const *const std::ffi::c_char,
    vars: *const *const std::ffi::c_char,
) -> std::ffi::c_int {
    // SAFETY: this is what the C library promises. This process changes neither.
    std::ffi::c_int::from(run(unsafe { Given::new(args, vars) }))
}

#[cfg(not(all(target_os = "linux", not(test))))]
fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(run(Given::by_std()))
}

/// Returns the exit code.
fn run(given: Given) -> u8 {
    let mut space = SPACE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut draft = Draft::new(&mut *space);
    let around = Surroundings::look(given, &mut draft);
    let mut args = draft.args().split(|byte| *byte == 0);
    let event = match (args.next(), args.next()) {
        (Some(b"--version" | b"-V"), _) => {
            return say(concat!("substrate-hook ", env!("CARGO_PKG_VERSION"), "\n"));
        }
        (Some(client), Some(event)) if !client.is_empty() && !event.is_empty() => event,
        _ => return say(USAGE),
    };
    let deadline_ms = around.deadline_ms.unwrap_or_else(|| place::deadline_ms(event));
    let patience = Duration::from_millis(u64::from(place::patience_ms(deadline_ms)));
    let mut conn = connect(&around, patience / 4);
    let drained = input::drain(&mut draft, Duration::from_millis(u64::from(deadline_ms / 4)));
    let mut id = [0; 16];
    let _random = rustix::rand::getrandom(&mut id[..], rustix::rand::GetRandomFlags::empty());
    let Finished { request, frame, rest } = draft.finish(id, deadline_ms, drained.truncated);
    let mut asking = Asking { patience, begun: None };
    let answered = match &mut conn {
        Ok(conn) => conn
            .send_frame(frame, patience)
            .and_then(|()| ask(conn, &around, &request, rest, &mut asking)),
        Err(error) => Err(*error),
    };
    match answered {
        Ok(exit) => {
            // The system frees everything in a moment. Closing and freeing first would cost a tenth of the program.
            std::mem::forget(conn);
            exit
        }
        Err(why) => without(&around, &request, why, &asking, drained.waited, conn.ok()),
    }
}

/// The state of a request.
struct Asking {
    /// How long the next frame may take.
    patience: Duration,
    /// Since when the daemon has kept us waiting, if it does.
    begun: Option<wait::Begun>,
}

/// The daemon did not answer. If it ended while it kept us waiting, ask its successor. Otherwise `substrate` takes
/// over.
#[cold]
fn without(
    around: &Surroundings,
    request: &HookRequest<'_>,
    mut why: ConnError,
    asking: &Asking,
    waited: Duration,
    conn: Option<Conn>,
) -> u8 {
    let home = around.state_home();
    let patience = Duration::from_millis(u64::from(place::patience_ms(request.deadline_ms)));
    let Some(begun) = asking.begun else {
        let is_late = why == ConnError::TooSlow;
        let spent = waited + if is_late { patience } else { Duration::ZERO };
        let conn = conn.filter(|_| is_late).and_then(Conn::into_unread);
        return Handover { home: home.as_deref(), why: why.name(), spent, exit: 0, conn }
            .hand_over(request);
    };
    while let (Some(home), ConnError::Broken) = (&home, why) {
        let mut asking = Asking { patience, begun: Some(begun) };
        let answered = wait::ask_again(home, request, begun, patience)
            .and_then(|mut conn| hear(&mut conn, around, request, &mut asking));
        match answered {
            Ok(exit) => return exit,
            Err(error) => why = error,
        }
    }
    let request = HookRequest { waited_ms: begun.waited_ms(), ..*request };
    let (home, why) = (home.as_deref(), why.name());
    Handover { home, why, spent: Duration::ZERO, exit: 0, conn: None }.hand_over(&request)
}

fn connect(around: &Surroundings, patience: Duration) -> Result<Conn, ConnError> {
    let open = || match around.socket(&mut [0; 108]) {
        Some(socket) => Conn::open_at(socket, patience),
        None => Conn::open(&around.state_home().ok_or(ConnError::Absent)?, patience),
    };
    match open() {
        Ok(conn) if !conn.is_in_place_of_a_stream() => Ok(conn),
        Ok(conn) => {
            drop(conn);
            streams::fill();
            open()
        }
        Err(error) => {
            streams::fill();
            Err(error)
        }
    }
}

/// The reply to a request that was sent. It is printed. Returns the exit code.
fn ask(
    conn: &mut Conn,
    around: &Surroundings,
    request: &HookRequest<'_>,
    space: &mut [u8],
    asking: &mut Asking,
) -> Result<u8, ConnError> {
    let received = conn.receive_in(space, asking.patience)?;
    match received {
        // The usual end.
        Some((Kind::Reply, body)) => print(body),
        Some((kind, body)) => match more(kind, body, asking)? {
            More::Wait => hear(conn, around, request, asking),
            More::Confirm => confirmed(conn, around, request, body),
        },
        None => hear(conn, around, request, asking),
    }
}

/// What comes after the first frame, or instead of it.
#[cold]
fn hear(
    conn: &mut Conn,
    around: &Surroundings,
    request: &HookRequest<'_>,
    asking: &mut Asking,
) -> Result<u8, ConnError> {
    loop {
        let (kind, body) = conn.receive(asking.patience)?;
        if kind == Kind::Reply {
            return print(&body);
        }
        if let More::Confirm = more(kind, &body, asking)? {
            return confirmed(conn, around, request, &body);
        }
    }
}

/// What the daemon asks for.
enum More {
    /// More patience, because waiting is the job of this event.
    Wait,
    /// A confirmation that its answer was printed.
    Confirm,
}

#[cold]
fn more(kind: Kind, body: &[u8], asking: &mut Asking) -> Result<More, ConnError> {
    match kind {
        Kind::Wait => {
            asking.patience = frame::patience(body);
            asking.begun.get_or_insert_with(wait::Begun::now);
            Ok(More::Wait)
        }
        Kind::Confirm => Ok(More::Confirm),
        Kind::Reply
        | Kind::Hook
        | Kind::Command
        | Kind::Control
        | Kind::Printed
        | Kind::Leaving
        | Kind::Refused => Err(ConnError::Foreign),
    }
}

fn print(body: &[u8]) -> Result<u8, ConnError> {
    let reply = Reply::read(body).ok_or(ConnError::Foreign)?;
    out::print(reply.stdout, reply.stderr);
    Ok(reply.exit)
}

/// Prints, and confirms it before the client can go on. If no daemon receives that, our own `substrate` finds one that
/// does.
#[cold]
fn confirmed(
    conn: &mut Conn,
    around: &Surroundings,
    request: &HookRequest<'_>,
    body: &[u8],
) -> Result<u8, ConnError> {
    let reply = Reply::read(body).ok_or(ConnError::Foreign)?;
    let exit = reply.exit;
    if !out::printed(reply.stdout, reply.stderr) {
        // The daemon gets no confirmation, so it tells the model again.
        return Ok(exit);
    }
    let patience = Duration::from_millis(u64::from(place::patience_ms(request.deadline_ms)));
    let sent = conn.send(Kind::Printed, [&request.id], patience);
    let heard = sent.and_then(|()| conn.receive(patience));
    if matches!(heard, Ok((Kind::Reply, _))) {
        let _nothing_more_to_do = conn.send(Kind::Leaving, [], patience);
        return Ok(exit);
    }
    // A late daemon has the confirmation already. Keep the same connection: a second one would look like a hook that
    // was killed.
    let conn = (heard == Err(ConnError::TooSlow)).then(|| conn.another()).flatten();
    let home = around.state_home();
    let (home, why) = (home.as_deref(), handover::PRINTED);
    let _in_vain = Handover { home, why, spent: Duration::ZERO, exit, conn }
        .hand_over(&HookRequest { stdin: b"", ..*request });
    Ok(exit)
}

fn say(text: &str) -> u8 {
    out::print(b"", text.as_bytes());
    0
}
