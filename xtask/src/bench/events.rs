//! `cargo xtask bench events`: how many events per second are durable, with 64 clients and a new connection for each
//! event.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use ipc::frame::HEADER_LEN;
use ipc::{Header, Kind, Reply};
use rustix::process::Signal;

use crate::args::Args;
use crate::frames::Caller;
use crate::journal::{self, Sent};
use crate::sandbox::{Autostart, Sandbox};
use crate::say::{Judgement, Table, say};
use crate::stats::{Times, us};
use crate::{dist, payload, proc};

const N_CLIENTS: usize = 64;

/// The daemon's rate and its slowest hundredth, as parts of an echo server's with the same frames.
const MIN_RATE: f64 = 0.6;
const MAX_P99: f64 = 3.0;

/// An echo server whose two rates, before and after, are further apart is too noisy a base.
const STEADY: f64 = 1.25;

pub(super) fn run(mut args: Args) -> Result<bool> {
    let seconds = args.value("--seconds")?.unwrap_or(5);
    args.end()?;
    let dist = dist::build()?;
    let sandbox = Sandbox::new(&dist, Autostart::Off)?;
    sandbox.settings("[journal]\nmax_size = \"100GB\"\n")?;
    let caller = Caller::new(&payload::environment(&sandbox.path("project"))?);
    let time = Duration::from_secs(seconds);
    let echo = || with_echo(&sandbox, |state| flood(&caller, state, time / 2, "echo"));
    let before = echo()?;
    sandbox.start_daemon()?;
    let load = flood(&caller, &sandbox.state(), time, "toolu");
    let rss = sandbox.daemon().and_then(crate::procfs::rss_kb).context("the daemon is gone")?;
    sandbox.stop_daemon()?;
    let found = journal::compare(&sandbox.database(), &load.sent)?;
    let after = echo()?;

    let mut table = Table::default();
    let (slow, fast) = (before.rate().min(after.rate()), before.rate().max(after.rate()));
    let judged = |holds: bool| match fast <= slow * STEADY {
        true => Judgement::of(holds),
        false => Judgement::NotJudged("the base is unsteady"),
    };
    table.figure(
        "echo server, the same load, before and after",
        format!("{:.0}/s, {:.0}/s", before.rate(), after.rate()),
    );
    table.figure("durable events", format!("{:.0}/s", load.rate()));
    let ratio = load.rate() / f64::midpoint(slow, fast);
    let bar = format!("≥ {MIN_RATE} ×");
    table.row("durable events ÷ echo", format!("{ratio:.2} ×"), bar, judged(ratio >= MIN_RATE));
    let p99 = |load: &Load| load.times.permille(990).as_secs_f64();
    let ratio = p99(&load) / f64::midpoint(p99(&before), p99(&after));
    let bar = format!("≤ {MAX_P99} ×");
    table.row("latency p99 ÷ echo", format!("{ratio:.2} ×"), bar, judged(ratio <= MAX_P99));
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
    std::fs::create_dir_all(&state)?;
    let _none_yet = std::fs::remove_file(state.join(ipc::place::SOCKET));
    let mut server = sandbox.command(std::env::current_exe()?).arg("__echo").arg(&state).spawn()?;
    proc::wait_until(Duration::from_secs(2), || state.join(ipc::place::SOCKET).exists());
    let load = load(&state);
    proc::signal(i32::try_from(server.id())?, Signal::KILL);
    server.wait()?;
    Ok(load)
}

/// `xtask __echo FOLDER`, until it is killed: a server that answers every hook with nothing, the baseline for the daemon.
pub(crate) fn echo(mut args: Args) -> Result<bool> {
    let folder = args.word().context("no folder")?;
    let listener = UnixListener::bind(Path::new(&folder).join(ipc::place::SOCKET))?;
    let body = Reply::default().bytes();
    let mut answer = Header::bytes(Kind::Reply, body.len()).to_vec();
    answer.extend_from_slice(&body);
    let mut scratch = vec![0; 64 << 10];
    for stream in listener.incoming() {
        let _caller_gone = serve(stream?, &mut scratch, &answer);
    }
    Ok(true)
}

fn serve(mut stream: UnixStream, scratch: &mut [u8], answer: &[u8]) -> std::io::Result<()> {
    let mut n = 0;
    loop {
        n += match stream.read(&mut scratch[n..])? {
            0 => return Ok(()),
            n => n,
        };
        let header = scratch.first_chunk::<HEADER_LEN>().filter(|_| n >= HEADER_LEN);
        if header.and_then(Header::read).is_some_and(|header| n >= HEADER_LEN + header.len) {
            return stream.write_all(answer);
        }
    }
}
