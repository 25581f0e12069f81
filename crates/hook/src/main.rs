//! `substrate-hook CLIENT EVENT`: bytes in, bytes out.
//!
//! The hot path of every tool call of every agent, so nothing enters it without a measurement (`cargo xtask gate`).
//! It connects before it reads, always drains stdin, prints the reply, exits 0 (unless the reply says otherwise), and
//! never waits beyond its deadline. It reads no clock: the limits are those of its `poll` calls. Whatever goes wrong,
//! the agent goes on.

mod handover;
mod input;
mod surroundings;

use std::process::ExitCode;
use std::time::Duration;

use ipc::{Conn, ConnError, HookRequest, Kind, Reply, place};
use surroundings::Surroundings;

const USAGE: &str = "usage: substrate-hook CLIENT EVENT   (the payload on stdin)
Sends one lifecycle event of a coding agent to the Substrate daemon and prints its answer.
`substrate hooks install` registers it; `substrate doctor` checks it.
";

fn main() -> ExitCode {
    let around = Surroundings::look();
    let args: Vec<&[u8]> = around.args.iter().skip(1).map(Vec::as_slice).collect();
    match args[..] {
        [b"--version" | b"-V"] => {
            return say(concat!("substrate-hook ", env!("CARGO_PKG_VERSION"), "\n"));
        }
        [] | [_] => return say(USAGE),
        _ => {}
    }
    let deadline_ms = around.deadline_ms.unwrap_or_else(|| place::deadline_ms(args[1]));
    let patience = Duration::from_millis(u64::from(place::patience_ms(deadline_ms)));
    let conn = around
        .state_home
        .as_deref()
        .map_or(Err(ConnError::Absent), |home| Conn::open(home, patience / 4));
    let input = input::drain(patience / 2);
    let mut id = [0; 16];
    let _random = rustix::rand::getrandom(&mut id[..], rustix::rand::GetRandomFlags::empty());
    let request = HookRequest {
        id,
        deadline_ms,
        truncated: input.truncated,
        args,
        cwd: &around.cwd,
        env: around.passed(),
        stdin: &[],
    };
    let head = request.head();
    let asked = conn.and_then(|mut conn| ask(&mut conn, &head, &input.bytes, patience));
    let reply = match &asked {
        Ok(body) => Reply::read(body).ok_or(ConnError::Foreign),
        Err(error) => Err(*error),
    };
    let reply = match reply {
        Ok(reply) => reply,
        Err(why) => {
            let spent =
                input.waited + if why == ConnError::TooSlow { patience } else { Duration::ZERO };
            return handover::to_substrate(&around, why, spent, [&head, &input.bytes]);
        }
    };
    write_all(rustix::stdio::stderr(), reply.stderr);
    write_all(rustix::stdio::stdout(), reply.stdout);
    ExitCode::from(reply.exit)
}

/// One request, one reply.
fn ask(
    conn: &mut Conn,
    head: &[u8],
    stdin: &[u8],
    mut patience: Duration,
) -> Result<Vec<u8>, ConnError> {
    conn.send(Kind::Hook, [head, stdin], patience)?;
    loop {
        match conn.receive(patience)? {
            (Kind::Reply, body) => return Ok(body),
            // Waiting is the job of this event: the daemon says for how long.
            (Kind::Wait, body) => {
                let ms = body.first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes));
                patience = Duration::from_millis(u64::from(ms));
            }
            _ => return Err(ConnError::Foreign),
        }
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
