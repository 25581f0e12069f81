//! Many agents want the same few files, and the daemon is killed again and again: each file has one holder at a time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context as _, Result};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::history::{self, Act, Record, Verdict};
use super::session::Session;
use super::{Report, Setting};
use crate::proc;
use crate::sandbox::{Autostart, Sandbox};
use crate::stats::Rng;

const N_AGENTS: usize = 64;
const N_FILES: usize = 8;

/// The client ends a turn after so many blocks.
const MAX_STOPS: usize = 8;

/// What all agents share.
#[derive(Default)]
struct Ring {
    n_won: AtomicUsize,
    enough: AtomicBool,
}

pub(super) fn run(setting: &Setting, report: &mut Report) -> Result<()> {
    let n_rounds = setting.rounds(100, 10_000);
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    std::fs::create_dir(sandbox.path("project").join(".git"))?;
    let ring = Ring::default();
    let mut rng = setting.rng();
    let (n_kills, records) = std::thread::scope(|scope| {
        let agents: Vec<_> = (0..N_AGENTS)
            .map(|at| {
                let (sandbox, ring, seed) = (&sandbox, &ring, setting.seed + at as u64);
                scope.spawn(move || fight(sandbox, ring, at, seed))
            })
            .collect();
        let mut n_kills = 0_usize;
        while ring.n_won.load(Ordering::Relaxed) < n_rounds
            && !setting.is_late()
            && !agents.iter().any(|agent| agent.is_finished())
        {
            std::thread::sleep(rng.millis(300, 1_500));
            if let Some(pid) = sandbox.daemon() {
                n_kills += usize::from(proc::signal(pid, Signal::KILL));
            }
        }
        ring.enough.store(true, Ordering::Relaxed);
        let mut records = Vec::new();
        for agent in agents {
            records.extend(agent.join().map_err(|_| anyhow::anyhow!("an agent panicked"))??);
        }
        Ok::<_, anyhow::Error>((n_kills, records))
    })?;
    let n_left = n_leases(&sandbox)?;
    let refused = probe(&sandbox)?;
    report.figure("kills", n_kills);
    let n_won = ring.n_won.into_inner();
    report.promise("rounds that were won", n_won, n_won >= n_rounds);
    let kept = read(&records, report);
    report.none("leases that were left", n_left);
    report.no("files that a new agent can't have at the end", &refused);
    if !kept || n_left + refused.len() > 0 {
        sandbox.complaints()?.into_iter().for_each(|line| report.evidence(line));
    }
    Ok(())
}

/// Checks the hooks' own times. Returns whether the leases were right.
fn read(records: &[Record], report: &mut Report) -> bool {
    let of = |act: Act, verdict: Verdict| {
        records.iter().filter(move |record| record.act == act && record.verdict == verdict)
    };
    report.figure("edits that were refused", of(Act::Before, Verdict::Refused).count());
    let found = history::locks::read(records);
    report.no("files with two holders", &found.shared);
    report.no("holders that were refused", &found.refused);
    let failed = records.iter().filter(|record| record.verdict == Verdict::Failed);
    let words = |record: &Record| format!("{:?} of {}", record.act, record.actor);
    report.no("hooks that failed or asked the user", &failed.map(words).collect::<Vec<_>>());
    report.hooks(records.iter().map(|record| record.ended - record.began));
    found == history::locks::Locks::default()
}

/// One agent: edits a file if allowed, and stops, which releases the file.
fn fight(sandbox: &Sandbox, ring: &Ring, at: usize, seed: u64) -> Result<Vec<Record>> {
    let mut rng = Rng::new(seed);
    let mut agent = Session::new(format!("10c55e55-0000-4000-8000-{at:012}"));
    while !ring.enough.load(Ordering::Relaxed) {
        let file = rng.below(N_FILES);
        if edit(&mut agent, sandbox, Act::Before, file)? != Verdict::Allowed {
            std::thread::sleep(rng.millis(20, 120));
            continue;
        }
        edit(&mut agent, sandbox, Act::After, file)?;
        edit(&mut agent, sandbox, Act::Before, file)?;
        stop(&mut agent, sandbox)?;
        ring.n_won.fetch_add(1, Ordering::Relaxed);
    }
    Ok(agent.records)
}

/// Stops for good. Mail (another agent changed a file that it held) may hold it once or twice.
fn stop(agent: &mut Session, sandbox: &Sandbox) -> Result<()> {
    for n in 0..MAX_STOPS {
        let heard = agent.hear(sandbox, "Stop", json!({"stop_hook_active": n > 0}))?;
        let is_last = heard.text.is_empty() || n + 1 == MAX_STOPS;
        // An agent that is never released keeps its lease, which is a failure here.
        let ok = heard.ok && (heard.text.is_empty() || n + 1 < MAX_STOPS);
        let act = if n == 0 { Act::Stop } else { Act::StopAgain };
        let verdict = if ok { Verdict::Allowed } else { Verdict::Failed };
        agent.note(act, Vec::new(), verdict, &heard);
        if is_last {
            break;
        }
    }
    Ok(())
}

fn edit(agent: &mut Session, sandbox: &Sandbox, act: Act, file: usize) -> Result<Verdict> {
    let event = if act == Act::Before { "PreToolUse" } else { "PostToolUse" };
    let path = sandbox.path("project").join(format!("f{file}.rs"));
    let heard = agent.hear(
        sandbox,
        event,
        json!({
            "tool_name": "Edit", "tool_use_id": format!("toolu_{file}"), "tool_response": {},
            "tool_input": {"file_path": path, "old_string": "a", "new_string": "b"},
        }),
    )?;
    let verdict = heard.verdict();
    agent.note(act, vec![format!("f{file}")], verdict, &heard);
    Ok(verdict)
}

/// The program's own list.
fn n_leases(sandbox: &Sandbox) -> Result<usize> {
    let left = sandbox.substrate(&["locks", "list", "--all", "--format", "json"])?;
    let left: Value = serde_json::from_slice(&left.stdout).context("no list of locks")?;
    Ok(left["locks"].as_array().or_else(|| left.as_array()).map_or(usize::MAX, Vec::len))
}

/// A new agent must get every file now. Returns those that it can't have.
fn probe(sandbox: &Sandbox) -> Result<Vec<String>> {
    let mut agent = Session::new(format!("10c55e55-0000-4000-8000-{N_AGENTS:012}"));
    let mut refused = Vec::new();
    for file in 0..N_FILES {
        if edit(&mut agent, sandbox, Act::Before, file)? != Verdict::Allowed {
            refused.push(format!("f{file}"));
        }
    }
    Ok(refused)
}
