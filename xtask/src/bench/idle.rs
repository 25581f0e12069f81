//! `cargo xtask bench idle`: the cost of an idle daemon.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::args::Args;
use crate::sandbox::{Autostart, Sandbox};
use crate::say::{Judgement, Table, say};
use crate::{dist, payload, proc, procfs};

const MAX_RSS_KB: u64 = 12 << 10;
const MAX_TICKS: u64 = 1;
const IDLE: Duration = Duration::from_secs(10);

/// 10,000 of them, and the daemon itself, in 24 MB.
const MAX_KB_PER_CONNECTION: f64 = 1.5;

pub(super) fn run(mut args: Args) -> Result<bool> {
    let n: usize = args.value("--connections")?.unwrap_or(5_000);
    args.end()?;
    let dist = dist::build()?;
    let sandbox = Sandbox::new(&dist, Autostart::Off)?;
    let pid = sandbox.start_daemon()?;
    // A daemon that has done some work, like a real one.
    for marker in 0..20 {
        let payload = payload::pre_tool_use(&format!("toolu_{marker}"), "Write", 2 << 10);
        proc::feed(&mut sandbox.hook(), &payload)?;
    }
    std::thread::sleep(Duration::from_secs(2));
    let rss = || procfs::rss_kb(pid).context("the daemon is gone");
    let ticks = || procfs::ticks(pid).context("the daemon is gone");
    let (idle_rss, ticks_before) = (rss()?, ticks()?);
    std::thread::sleep(IDLE);
    let used = ticks()? - ticks_before;

    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    let before = rss()?;
    let socket = sandbox.state().join(ipc::place::SOCKET);
    let open: std::io::Result<Vec<UnixStream>> =
        (0..n).map(|_| UnixStream::connect(&socket)).collect();
    let open = open.context("could not open the connections; see `ulimit -Hn`")?;
    std::thread::sleep(Duration::from_secs(1));
    let grown = rss()?.saturating_sub(before);
    drop(open);
    std::thread::sleep(Duration::from_secs(1));
    let afterwards = rss()?;
    let per_connection = grown as f64 / n as f64;

    let mut table = Table::default();
    let bar = format!("≤ {MAX_RSS_KB} KB");
    table.row(
        "resident memory",
        format!("{idle_rss} KB"),
        bar,
        Judgement::of(idle_rss <= MAX_RSS_KB),
    );
    let bar = format!("≤ {MAX_TICKS}");
    table.row("ticks of CPU in 10 s", used, bar, Judgement::of(used <= MAX_TICKS));
    let ok = Judgement::of(per_connection <= MAX_KB_PER_CONNECTION);
    let words = format!("{per_connection:.2} KB");
    table.row(format!("(RSS with {n} silent connections − before) ÷ {n}"), words, "≤ 1.5 KB", ok);
    table.figure("resident memory after they closed", format!("{afterwards} KB"));
    say!("A daemon after 20 events, idle:");
    Ok(table.print())
}
