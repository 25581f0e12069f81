//! Many agents want the same few files, and the daemon is killed again and again: each file has one holder at a time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Report, Setting};
use crate::proc;
use crate::sandbox::{Autostart, Sandbox};
use crate::stats::Rng;

const N_AGENTS: usize = 64;
const N_FILES: usize = 8;

/// What all agents see.
struct Ring {
    /// How many believe that they hold each file.
    holders: [AtomicI64; N_FILES],
    n_won: AtomicUsize,
    n_denied: AtomicUsize,
    n_failed: AtomicUsize,
    n_shared: AtomicUsize,
    n_own_refused: AtomicUsize,
    enough: AtomicBool,
    /// When and how a promise was broken.
    broken: Mutex<Vec<String>>,
    begun: Instant,
}

impl Ring {
    fn note(&self, line: &str) {
        if let Ok(mut broken) = self.broken.lock() {
            broken.push(format!("{} ms: {line}", self.begun.elapsed().as_millis()));
        }
    }
}

pub(super) fn run(setting: &Setting) -> Result<Report> {
    let n_rounds = setting.rounds(100, 10_000);
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    std::fs::create_dir(sandbox.path("project").join(".git"))?;
    let ring = Ring {
        holders: std::array::from_fn(|_| AtomicI64::new(0)),
        n_won: AtomicUsize::new(0),
        n_denied: AtomicUsize::new(0),
        n_failed: AtomicUsize::new(0),
        n_shared: AtomicUsize::new(0),
        n_own_refused: AtomicUsize::new(0),
        enough: AtomicBool::new(false),
        broken: Mutex::default(),
        begun: Instant::now(),
    };
    let mut rng = setting.rng();
    let n_kills = std::thread::scope(|scope| {
        let agents: Vec<_> = (0..N_AGENTS)
            .map(|at| {
                let (sandbox, ring, seed) = (&sandbox, &ring, setting.seed + at as u64);
                scope.spawn(move || fight(sandbox, ring, at, seed))
            })
            .collect();
        let mut n_kills = 0_usize;
        while ring.n_won.load(Ordering::Relaxed) < n_rounds
            && !agents.iter().any(|agent| agent.is_finished())
        {
            // Hooks without a daemon cost ten times as much: most rounds shall be fought with one.
            std::thread::sleep(rng.millis(300, 1_500));
            if let Some(pid) = sandbox.daemon() {
                n_kills += usize::from(proc::signal(pid, Signal::KILL));
            }
        }
        ring.enough.store(true, Ordering::Relaxed);
        for agent in agents {
            agent.join().map_err(|_| anyhow::anyhow!("an agent panicked"))??;
        }
        Ok::<_, anyhow::Error>(n_kills)
    })?;
    let get = |n: &AtomicUsize| n.load(Ordering::Relaxed);
    let mut report = Report::default();
    report.figure("kills", n_kills);
    report.figure("rounds that were won", get(&ring.n_won));
    report.figure("edits that were refused", get(&ring.n_denied));
    report.none("files with two holders", get(&ring.n_shared));
    report.none("holders that were refused", get(&ring.n_own_refused));
    report.none("hooks that failed", get(&ring.n_failed));
    let left = sandbox.substrate(&["locks", "list", "--all", "--format", "json"])?;
    let left: Value = serde_json::from_slice(&left.stdout).context("no list of locks")?;
    let n_left = left["locks"].as_array().or_else(|| left.as_array()).map_or(usize::MAX, Vec::len);
    report.none("leases that were left", n_left);
    for line in ring.broken.into_inner().unwrap_or_default() {
        report.evidence(line);
    }
    if get(&ring.n_shared) + get(&ring.n_own_refused) > 0 {
        for line in sandbox.complaints()? {
            report.evidence(line);
        }
    }
    Ok(report)
}

/// One agent: edits a file if it may, and stops, which gives the file back.
fn fight(sandbox: &Sandbox, ring: &Ring, at: usize, seed: u64) -> Result<()> {
    let mut rng = Rng::new(seed);
    let session = format!("10c55e55-0000-4000-8000-{at:012}");
    while !ring.enough.load(Ordering::Relaxed) {
        let file = rng.below(N_FILES);
        if edit(sandbox, ring, &session, "PreToolUse", file)?.is_some() {
            ring.n_denied.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(rng.millis(20, 120));
            continue;
        }
        let before = ring.holders[file].fetch_add(1, Ordering::SeqCst);
        if before != 0 {
            ring.n_shared.fetch_add(1, Ordering::Relaxed);
            ring.note(&format!("{at} got file {file} beside {before} others"));
        }
        edit(sandbox, ring, &session, "PostToolUse", file)?;
        if let Some(words) = edit(sandbox, ring, &session, "PreToolUse", file)? {
            ring.n_own_refused.fetch_add(1, Ordering::Relaxed);
            ring.note(&format!("{at} was refused its own file {file}: {words}"));
        }
        ring.holders[file].fetch_sub(1, Ordering::SeqCst);
        stop(sandbox, ring, &session)?;
        ring.n_won.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// Stops for good: mail (somebody waits for the file) holds it once or twice.
fn stop(sandbox: &Sandbox, ring: &Ring, session: &str) -> Result<()> {
    for again in [false, true, true, true, true, true, true, true] {
        let payload = json!({
            "session_id": session, "cwd": sandbox.path("project"), "hook_event_name": "Stop",
            "stop_hook_active": again,
        });
        if hook(sandbox, ring, "Stop", &payload)?.is_empty() {
            break;
        }
    }
    Ok(())
}

/// The words with which the edit was refused.
fn edit(
    sandbox: &Sandbox,
    ring: &Ring,
    session: &str,
    event: &str,
    file: usize,
) -> Result<Option<String>> {
    let payload = json!({
        "session_id": session, "cwd": sandbox.path("project"), "hook_event_name": event,
        "tool_name": "Edit", "tool_use_id": format!("toolu_{file}"),
        "tool_input": {"file_path": sandbox.path("project").join(format!("f{file}.rs")), "old_string": "a", "new_string": "b"},
        "tool_response": {},
    });
    let said = hook(sandbox, ring, event, &payload)?;
    ensure!(said.is_empty() || said.contains("\"deny\"") || event != "PreToolUse", "{said}");
    Ok(said.contains("\"permissionDecision\":\"deny\"").then_some(said))
}

fn hook(sandbox: &Sandbox, ring: &Ring, event: &str, payload: &Value) -> Result<String> {
    let mut command = sandbox.as_hook(sandbox.program("substrate-hook"));
    command.env("CLAUDE_CODE_SESSION_ATTENDED", "0").env_remove("AGENT_ID");
    let ran = proc::feed(command.args(["claude-code", event]), payload.to_string().as_bytes())?;
    ring.n_failed.fetch_add(usize::from(!ran.ok()), Ordering::Relaxed);
    std::thread::sleep(Duration::from_micros(200));
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}
