//! Garbage thrown at the socket: the daemon goes on, answers the next good request, and does not grow.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use ipc::frame::VERSION;
use ipc::{Header, Kind};

use super::{Report, Setting};
use crate::frames::Caller;
use crate::sandbox::Sandbox;
use crate::stats::{Rng, us};
use crate::{payload, procfs};

/// Connections that send half a request and stay.
const N_HALF: usize = 200;

/// A daemon that trusts every length would need gigabytes.
const MAX_GROWTH_KB: u64 = 64 << 10;

pub(super) fn throw(
    setting: &Setting,
    sandbox: &Sandbox,
    rng: &mut Rng,
    report: &mut Report,
) -> Result<()> {
    let n = if setting.short { 300 } else { 5_000 };
    let socket = sandbox.state().join(ipc::place::SOCKET);
    let caller = Caller::new(&payload::environment(&sandbox.path("project"))?);
    let pid = sandbox.daemon().context("no daemon runs")?;
    let rss = procfs::rss_kb(pid).unwrap_or(0);
    let mut half = Vec::new();
    for _ in 0..N_HALF {
        half.push(send(&socket, &half_frame(rng))?);
    }
    let mut n_refused = 0;
    for n in 0..n {
        let mut stream = send(&socket, &garbage(rng, n))?;
        if n % 10 == 0 {
            stream.shutdown(std::net::Shutdown::Write)?;
            let mut answer = Vec::new();
            let _reset = stream.read_to_end(&mut answer);
            n_refused += usize::from(answer.get(3) == Some(&18));
        }
    }
    let begun = Instant::now();
    let payload = payload::pre_tool_use("toolu_after_garbage", "Write", 2 << 10);
    let answered = caller.ask(&sandbox.state(), &payload);
    let took = begun.elapsed();
    drop(half);
    let grown = procfs::rss_kb(pid).context("the daemon is gone")?.saturating_sub(rss);
    report.figure(
        "garbage frames, and those that were refused in words",
        format!("{n}, {n_refused} of {}", n / 10),
    );
    let (is_answered, bar) = (answered.is_ok(), Duration::from_secs(1));
    let words = answered.map_or_else(|error| error.name().to_owned(), |_| us(took));
    report.promise("the next good event is answered", words, is_answered);
    report.time("… within", took, bar);
    report.promise("the daemon's memory grew by", format!("{grown} KB"), grown < MAX_GROWTH_KB);
    Ok(())
}

/// Connects and writes. The peer may hang up at any time.
fn send(socket: &Path, bytes: &[u8]) -> Result<UnixStream> {
    let mut stream = UnixStream::connect(socket).context("the daemon takes no connections")?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    stream.set_write_timeout(Some(Duration::from_secs(2)))?;
    let _hung_up = stream.write_all(bytes);
    Ok(stream)
}

fn half_frame(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = Header::bytes(Kind::Hook, 1_000_000).to_vec();
    bytes.extend_from_slice(&vec![7; rng.below(5_000)]);
    bytes.truncate(1 + rng.below(bytes.len()));
    bytes
}

fn garbage(rng: &mut Rng, n: usize) -> Vec<u8> {
    let with = |kind: Kind, body: &[u8]| {
        let mut bytes = Header::bytes(kind, body.len()).to_vec();
        bytes.extend_from_slice(body);
        bytes
    };
    match n % 10 {
        // A version that does not exist yet. These are answered.
        0 => {
            let mut bytes = with(Kind::Hook, b"who knows");
            bytes[2] = VERSION + 1 + rng.next().to_le_bytes()[0] % 100;
            bytes
        }
        1 => {
            let len = rng.below(2_000);
            rng.bytes(len)
        }
        2 => Header::bytes(Kind::Hook, usize::try_from(u32::MAX).unwrap_or(0)).to_vec(),
        3 => Header::bytes(Kind::Hook, ipc::frame::MAX_BODY).to_vec(),
        4 => half_frame(rng),
        // A request that claims four thousand million arguments.
        5 => with(Kind::Hook, &[vec![0; 21], vec![255; 64]].concat()),
        6 => with(Kind::Command, b"{\"path\":[\"journal\"],\"body\":[[[[[["),
        7 => with(Kind::Control, b"{\"do\":\"dance\"}"),
        8 => with([Kind::Reply, Kind::Wait, Kind::Refused][rng.below(3)], b"x"),
        _ => {
            let len = rng.below(3_000);
            with(Kind::Hook, &rng.bytes(len))
        }
    }
}
