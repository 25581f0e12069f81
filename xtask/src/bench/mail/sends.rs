//! How many sends per second are acknowledged, and so on disk.

use std::io::Write as _;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::Console;
use crate::dist::Dist;
use crate::frames::Caller;
use crate::sandbox::{Autostart, Sandbox};
use crate::say::{Judgement, Table};
use crate::{journal, payload};

const TIME: Duration = Duration::from_secs(4);
const N_LINES: usize = 20_000;

pub(super) fn measure(dist: &Dist, table: &mut Table) -> Result<()> {
    let sandbox = Sandbox::new(dist, Autostart::Off)?;
    sandbox.start_daemon()?;
    let caller = Caller::new(&payload::environment(&sandbox.path("project"))?);
    let start = payload::stop("7ac89518-7bff-44f2-b7cc-000000000000");
    caller.ask_as(&sandbox.state(), b"claude-code\0Stop\0", &start).ok().context("no agent")?;
    let to = receiver(&sandbox)?;
    for (n_loops, bar) in [(1, 300.0), (8, 600.0)] {
        let rate = by_processes(&sandbox, &to, n_loops)?;
        let ok = Judgement::of(rate >= bar);
        let what = format!("acknowledged sends, {n_loops} loop(s) of processes");
        table.row(what, format!("{rate:.0}/s"), format!("≥ {bar:.0}/s"), ok);
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

fn by_processes(sandbox: &Sandbox, to: &str, n_loops: usize) -> Result<f64> {
    let n_sent = AtomicUsize::new(0);
    let begun = Instant::now();
    let one_loop = || -> Result<()> {
        while begun.elapsed() < TIME {
            let out = sandbox.substrate(&[
                "send",
                "--to",
                to,
                "--subject",
                "status",
                "--body",
                "all is well",
            ])?;
            ensure!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
            n_sent.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let loops: Vec<_> = (0..n_loops).map(|_| scope.spawn(one_loop)).collect();
        loops.into_iter().try_for_each(|one| one.join().map_err(|_| anyhow::anyhow!("panicked"))?)
    })?;
    Ok(n_sent.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64())
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
