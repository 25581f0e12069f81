//! How many sends per second are acknowledged, and so on disk.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::Console;
use crate::dist::Dist;
use crate::frames::Caller;
use crate::sandbox::{Autostart, Sandbox};
use crate::say::{Judgement, Table};
use crate::{journal, payload, proc};

const TIME: Duration = Duration::from_secs(4);

/// The time limit for one command.
const COMMAND: Duration = Duration::from_secs(45);
const N_LINES: usize = 20_000;

/// The rate of sends as a part of the rate of `/bin/true`, both by as many loops. A send is a process, a round trip and a commit
/// that is on disk.
const MIN_RATE: f64 = 0.41;

/// What a loop sent per second before commands were made cheaper, on the machine that we measure on, and how many times that
/// it should be.
const BEFORE: f64 = 361.0;
const MIN_TIMES: f64 = 2.0;

/// A base whose two rates, before and after, are further apart is too noisy.
const STEADY: f64 = 1.25;

pub(super) fn measure(dist: &Dist, table: &mut Table) -> Result<()> {
    let sandbox = Sandbox::new(dist, Autostart::Off)?;
    sandbox.start_daemon()?;
    let caller = Caller::new(&payload::environment(&sandbox.path("project"))?);
    let start = payload::stop("7ac89518-7bff-44f2-b7cc-000000000000");
    caller.ask_as(&sandbox.state(), b"claude-code\0Stop\0", &start).ok().context("no agent")?;
    let to = receiver(&sandbox)?;
    let send = ["send", "--to", &to, "--subject", "status", "--body", "all is well"];
    for n_loops in [1, 8] {
        let base = || by_processes(n_loops, TIME / 4, || sandbox.command("/bin/true"));
        let before = base()?;
        let rate = by_processes(n_loops, TIME, || {
            let mut command = sandbox.command(sandbox.program("substrate"));
            command.args(send);
            command
        })?;
        let after = base()?;
        let ratio = rate / f64::midpoint(before, after);
        let judgement = match before.max(after) <= before.min(after) * STEADY {
            true => Judgement::of(ratio >= MIN_RATE),
            false => Judgement::NotJudged("the base is unsteady"),
        };
        table.row(
            format!("acknowledged sends, {n_loops} loop(s) ÷ {BEFORE}/s of before"),
            format!("{:.2} × ({rate:.0}/s)", rate / BEFORE),
            format!("≥ {MIN_TIMES} ×"),
            Judgement::of(rate >= MIN_TIMES * BEFORE),
        );
        let what = format!("sends ÷ /bin/true, {n_loops} loop(s) of processes");
        table.row(what, format!("{ratio:.2} ×"), format!("≥ {MIN_RATE} ×"), judgement);
    }
    let before = count(&sandbox)?;
    let rate = by_lines(&sandbox, &to)?;
    let n = count(&sandbox)? - before;
    ensure!(n == N_LINES, "{n} messages of {N_LINES} lines are there");
    let ok = Judgement::of(rate >= 5_000.0);
    table.row("acknowledged sends, `send --jsonl -`", format!("{rate:.0}/s"), "≥ 5000/s", ok);
    Ok(())
}

fn receiver(sandbox: &Sandbox) -> Result<String> {
    let said = Console::open(&sandbox.state())?.call(&["agent", "list"], &json!({"all": true}))?;
    let conn = journal::open(&sandbox.database())?;
    let name =
        conn.query_row("select name from agents order by id desc limit 1", [], |row| row.get(0));
    name.with_context(|| format!("no agent to write to: {said}"))
}

fn count(sandbox: &Sandbox) -> Result<usize> {
    let conn = journal::open(&sandbox.database())?;
    let n: i64 = conn.query_row("select count(*) from messages", [], |row| row.get(0))?;
    Ok(usize::try_from(n)?)
}

/// How many processes a second end well, started by loops one after the other.
fn by_processes(
    n_loops: usize,
    time: Duration,
    command: impl Fn() -> Command + Sync,
) -> Result<f64> {
    let n_ended = AtomicUsize::new(0);
    let begun = Instant::now();
    let one_loop = || -> Result<()> {
        while begun.elapsed() < time {
            let out = proc::bounded(&mut command(), COMMAND)?;
            ensure!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
            n_ended.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let loops: Vec<_> = (0..n_loops).map(|_| scope.spawn(one_loop)).collect();
        loops.into_iter().try_for_each(|one| one.join().map_err(|_| anyhow::anyhow!("panicked"))?)
    })?;
    Ok(n_ended.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64())
}

fn by_lines(sandbox: &Sandbox, to: &str) -> Result<f64> {
    let lines: String = (0..N_LINES)
        .map(|n| {
            format!(
                "{}\n",
                json!({"to": to, "subject": format!("line {n}"), "body": "all is well"})
            )
        })
        .collect();
    let mut command = sandbox.command(sandbox.program("substrate"));
    command.args(["send", "--jsonl", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let begun = Instant::now();
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    let writing = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let out = child.wait_with_output()?;
    let took = begun.elapsed();
    writing.join().map_err(|_| anyhow::anyhow!("panicked"))??;
    let n_ok = String::from_utf8_lossy(&out.stdout)
        .lines()
        .filter(|line| line.contains("\"ok\":true"))
        .count();
    ensure!(out.status.success() && n_ok == N_LINES, "{n_ok} of {N_LINES} lines were acknowledged");
    Ok(N_LINES as f64 / took.as_secs_f64())
}
