//! `cargo xtask bench events`: how many events per second are durable, with 64 clients and a new connection for each
//! event.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::Signal;

use crate::args::Args;
use crate::frames::Caller;
use crate::journal::{self, Sent};
use crate::sandbox::{Autostart, Sandbox};
use crate::say::{Judgement, Table, say};
use crate::stats::{Times, us};
use crate::{dist, payload, proc};

const N_CLIENTS: usize = 64;
const MIN_RATE: f64 = 15_000.0;

pub(super) fn run(mut args: Args) -> Result<bool> {
    let seconds = args.value("--seconds")?.unwrap_or(5);
    args.end()?;
    let dist = dist::build()?;
    let sandbox = Sandbox::new(&dist, Autostart::Off)?;
    sandbox.settings("[journal]\nmax_size = \"100GB\"\n")?;
    let caller = Caller::new(&payload::environment(&sandbox.path("project"))?);
    let time = Duration::from_secs(seconds);
    let echo = with_echo(&sandbox, |state| flood(&caller, state, time / 2, "echo"))?;
    sandbox.start_daemon()?;
    let load = flood(&caller, &sandbox.state(), time, "toolu");
    let rss = sandbox.daemon().and_then(crate::procfs::rss_kb).context("the daemon is gone")?;
    sandbox.stop_daemon()?;
    let found = journal::compare(&sandbox.database(), &load.sent)?;

    let mut table = Table::default();
    table.figure("echo server, the same load", format!("{:.0}/s", echo.rate()));
    let rate = load.rate();
    let ok = Judgement::of(rate >= MIN_RATE);
    table.row("durable events", format!("{rate:.0}/s"), format!("≥ {MIN_RATE:.0}/s"), ok);
    table.figure("latency p50", us(load.times.p50()));
    table.figure("latency p99", us(load.times.permille(990)));
    table.figure("latency max", us(load.times.max()));
    table.figure("daemon's memory afterwards", format!("{rss} KB"));
    let n_unanswered = load.sent.unanswered.len();
    table.row("not answered", n_unanswered, "0", Judgement::of(n_unanswered == 0));
    table.row("in the journal", found.words(), "exactly once", Judgement::of(found.is_exact()));
    say!("{N_CLIENTS} clients for {seconds} s, a connection for each event, 2 KB of payload:");
    Ok(table.print())
}

/// The result of a flood of events.
struct Load {
    sent: Sent,
    times: Times,
    took: Duration,
}

impl Load {
    fn rate(&self) -> f64 {
        self.sent.answered.len() as f64 / self.took.as_secs_f64()
    }
}

/// All clients at once, each sending one event after the other.
fn flood(caller: &Caller, state: &Path, time: Duration, prefix: &str) -> Load {
    let enough = AtomicBool::new(false);
    let begun = Instant::now();
    let client = |client: usize| {
        let (mut sent, mut times) = (Sent::default(), Vec::new());
        for n in 0.. {
            if enough.load(Ordering::Relaxed) {
                break;
            }
            let marker = format!("{prefix}_{client}_{n}");
            let payload = payload::pre_tool_use(&marker, "Write", 2 << 10);
            let asked = Instant::now();
            match caller.ask(state, &payload) {
                Ok(_) => sent.answered.push(marker),
                Err(_) => sent.unanswered.push(marker),
            }
            times.push(asked.elapsed());
        }
        (sent, times)
    };
    let (mut sent, mut times) = (Sent::default(), Vec::new());
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..N_CLIENTS).map(|n| scope.spawn(move || client(n))).collect();
        std::thread::sleep(time);
        enough.store(true, Ordering::Relaxed);
        for client in clients {
            if let Ok((of_client, times_of_client)) = client.join() {
                sent.add(of_client);
                times.extend(times_of_client);
            }
        }
    });
    Load { sent, times: Times::of(times), took: begun.elapsed() }
}

/// The same load on a server that does nothing: the cost of the sockets and this generator.
fn with_echo(sandbox: &Sandbox, load: impl FnOnce(&Path) -> Load) -> Result<Load> {
    let state = sandbox.path("echo");
    std::fs::create_dir(&state)?;
    let mut server = sandbox.command(std::env::current_exe()?).arg("__echo").arg(&state).spawn()?;
    proc::wait_until(Duration::from_secs(2), || state.join(ipc::place::SOCKET).exists());
    let load = load(&state);
    proc::signal(i32::try_from(server.id())?, Signal::KILL);
    server.wait()?;
    Ok(load)
}
