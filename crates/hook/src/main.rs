//! `substrate-hook CLIENT EVENT`: bytes in, bytes out.
//!
//! The hot path of every tool call of every agent, so nothing enters it without a measurement (`cargo xtask gate`).
//! It connects before it reads, always drains stdin, prints the reply, exits 0 (unless the reply says otherwise), and
//! never waits beyond its deadline. It reads no clock: the limits are those of its `poll` calls. Whatever goes wrong,
//! the agent goes on.

mod handover;
mod input;
mod surroundings;

use std::mem::MaybeUninit;
use std::process::ExitCode;
use std::time::Duration;

use ipc::{Conn, ConnError, HookRequest, Kind, Reply, place};
use surroundings::{Space, Surroundings};

const USAGE: &str = "usage: substrate-hook CLIENT EVENT   (the payload on stdin)
Sends one lifecycle event of a coding agent to the Substrate daemon and prints its answer.
`substrate hooks install` registers it; `substrate doctor` checks it.
";

fn main() -> ExitCode {
    let mut space = Space::new();
    let around = Surroundings::look(&mut space);
    let mut args = around.args.split(|byte| *byte == 0);
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
    let mut space = [MaybeUninit::uninit(); input::USUAL];
    let input = input::drain(&mut space, patience / 2);
    let mut id = [0; 16];
    let _random = rustix::rand::getrandom(&mut id[..], rustix::rand::GetRandomFlags::empty());
    let request = HookRequest {
        id,
        deadline_ms,
        truncated: input.truncated,
        args: around.args,
        cwd: around.cwd,
        env: around.env,
        stdin: input.bytes(),
    };
    let answered = match &mut conn {
        Ok(conn) => ask(conn, &request, patience),
        Err(error) => Err(*error),
    };
    match answered {
        Ok(exit) => leave(exit),
        Err(why) => {
            let spent =
                input.waited + if why == ConnError::TooSlow { patience } else { Duration::ZERO };
            handover::to_substrate(around.state_home().as_deref(), why, spent, &request)
        }
    }
}

fn connect(around: &Surroundings<'_>, patience: Duration) -> Result<Conn, ConnError> {
    match around.socket(&mut [0; 108]) {
        Some(socket) => Conn::open_at(socket, patience),
        None => Conn::open(&around.state_home().ok_or(ConnError::Absent)?, patience),
    }
}

/// Ends without giving back what the system takes back anyway.
#[expect(
    clippy::exit,
    reason = "freeing memory just before the end costs a tenth of the whole program"
)]
fn leave(exit: u8) -> ExitCode {
    std::process::exit(i32::from(exit))
}

/// One request, one reply, which is printed. The exit code.
fn ask(conn: &mut Conn, request: &HookRequest<'_>, patience: Duration) -> Result<u8, ConnError> {
    let parts = [&request.fixed()[..], request.args, request.cwd, request.env, request.stdin];
    conn.send(Kind::Hook, parts, patience)?;
    let mut space = [MaybeUninit::uninit(); 4096];
    let mut patience = patience;
    if let Some((kind, body)) = conn.receive_in(&mut space, patience)?
        && let Some(exit) = print(kind, body, &mut patience)?
    {
        return Ok(exit);
    }
    loop {
        let (kind, body) = conn.receive(patience)?;
        if let Some(exit) = print(kind, &body, &mut patience)? {
            return Ok(exit);
        }
    }
}

/// Prints a reply. `None`: the daemon asks for more patience, because waiting is the job of this event.
fn print(kind: Kind, body: &[u8], patience: &mut Duration) -> Result<Option<u8>, ConnError> {
    match kind {
        Kind::Reply => {
            let reply = Reply::read(body).ok_or(ConnError::Foreign)?;
            write_all(rustix::stdio::stderr(), reply.stderr);
            write_all(rustix::stdio::stdout(), reply.stdout);
            Ok(Some(reply.exit))
        }
        Kind::Wait => {
            let ms = body.first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes));
            *patience = Duration::from_millis(u64::from(ms));
            Ok(None)
        }
        Kind::Hook | Kind::Command | Kind::Control | Kind::Refused => Err(ConnError::Foreign),
    }
}

fn say(text: &str) -> ExitCode {
    write_all(rustix::stdio::stderr(), text.as_bytes());
    ExitCode::SUCCESS
}

/// Writes without std's buffers. A reader that went away is no reason to fail.
fn write_all(fd: impl std::os::fd::AsFd, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match rustix::io::write(&fd, bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}
