//! Many claimants share a queue while the daemon is killed again and again, and some of them vanish with what they have:
//! every item is done by exactly one who is there.

use std::collections::HashMap;
use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Report, Setting};
use crate::proc;
use crate::sandbox::{Autostart, Sandbox};
use crate::stats::Rng;

const N_CLAIMANTS: usize = 64;

/// One of so many claims ends with the death of its claimant.
const DEATHS: usize = 25;

/// How long it may take in all.
const PATIENCE: Duration = Duration::from_secs(900);

/// What all claimants see.
#[derive(Default)]
struct Ring {
    /// Who was told that an item is done.
    done: Mutex<HashMap<i64, Vec<String>>>,
    n_done: AtomicUsize,
    n_deaths: AtomicUsize,
    n_sessions: AtomicUsize,
    /// Dead claimants who were told that they have done something.
    n_from_the_grave: AtomicUsize,
    failures: Mutex<Vec<String>>,
}

pub(super) fn run(setting: &Setting) -> Result<Report> {
    let n_items = setting.rounds(200, 10_000);
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    add(&sandbox, n_items)?;
    let ring = Ring::default();
    let mut rng = setting.rng();
    let begun = Instant::now();
    let n_kills = std::thread::scope(|scope| {
        let claimants: Vec<_> = (0..N_CLAIMANTS as u64)
            .map(|at| {
                let (sandbox, ring, seed) = (&sandbox, &ring, setting.seed + at);
                scope.spawn(move || work(sandbox, ring, n_items, seed))
            })
            .collect();
        let mut n_kills = 0_usize;
        while ring.n_done.load(Ordering::Relaxed) < n_items
            && !claimants.iter().any(|claimant| claimant.is_finished())
        {
            std::thread::sleep(rng.millis(300, 1_500));
            if let Some(pid) = sandbox.daemon() {
                n_kills += usize::from(proc::signal(pid, Signal::KILL));
            }
        }
        for claimant in claimants {
            claimant.join().map_err(|_| anyhow::anyhow!("a claimant panicked"))??;
        }
        Ok::<_, anyhow::Error>(n_kills)
    })?;
    report(&sandbox, &ring, n_items, n_kills, begun.elapsed())
}

/// All items, over one connection.
fn add(sandbox: &Sandbox, n_items: usize) -> Result<()> {
    let lines: String =
        (0..n_items).map(|n| format!("{}\n", json!({"title": format!("item {n}")}))).collect();
    let mut command = sandbox.command(sandbox.program("substrate"));
    let ran = proc::feed(command.args(["work", "add", "--jsonl", "-"]), lines.as_bytes())?;
    ensure!(ran.ok(), "nothing was added");
    Ok(())
}

fn report(
    sandbox: &Sandbox,
    ring: &Ring,
    n_items: usize,
    n_kills: usize,
    took: Duration,
) -> Result<Report> {
    let get = |n: &AtomicUsize| n.load(Ordering::Relaxed);
    let mut report = Report::default();
    report.figure("items", n_items);
    report.figure("kills of the daemon", n_kills);
    report.figure("claimants that died with an item", get(&ring.n_deaths));
    report.figure("items a second", n_items / usize::try_from(took.as_secs().max(1))?);
    let list = sandbox.substrate(&["work", "list", "-n", "20000", "--format", "json"])?;
    let list: Value = serde_json::from_slice(&list.stdout).context("no list of work")?;
    let items = list["work"].as_array().context("no work")?;
    let done = ring.done.lock().map_err(|_| anyhow::anyhow!("a claimant panicked"))?;
    let is_done_once = |item: &&Value| {
        let told = item["id"].as_i64().and_then(|id| done.get(&id));
        item["state"] == "done"
            && told.is_some_and(|told| told.len() == 1 && item["session"] == told[0].as_str())
    };
    report.none("items that were lost", n_items.saturating_sub(items.len()));
    let n_once = items.iter().filter(is_done_once).count();
    report.none("items not done by exactly one", items.len() - n_once);
    report.none("items done by the dead", get(&ring.n_from_the_grave));
    let failures = ring.failures.lock().map_err(|_| anyhow::anyhow!("a claimant panicked"))?;
    report.none("commands that failed", failures.len());
    for failure in failures.iter().take(5) {
        report.evidence(failure.clone());
    }
    Ok(report)
}

/// Takes items and does them until all are done; now and then it dies with one, and another takes its place.
fn work(sandbox: &Sandbox, ring: &Ring, n_items: usize, seed: u64) -> Result<()> {
    let mut rng = Rng::new(seed);
    let begun = Instant::now();
    let mut me = Claimant::begin(sandbox, ring)?;
    while ring.n_done.load(Ordering::Relaxed) < n_items {
        if begun.elapsed() > PATIENCE {
            bail!("not done after {PATIENCE:?}");
        }
        let Some(id) = me.claim(sandbox, ring)? else {
            std::thread::sleep(rng.millis(50, 250));
            continue;
        };
        if rng.below(DEATHS) == 0 {
            me.die()?;
            ring.n_deaths.fetch_add(1, Ordering::Relaxed);
            if me.says_done(sandbox, id)?.status.success() {
                ring.n_from_the_grave.fetch_add(1, Ordering::Relaxed);
            }
            me = Claimant::begin(sandbox, ring)?;
            continue;
        }
        let out = me.says_done(sandbox, id)?;
        if out.status.success() {
            let mut done = ring.done.lock().map_err(|_| anyhow::anyhow!("a claimant panicked"))?;
            done.entry(id).or_default().push(me.session.clone());
            ring.n_done.fetch_add(1, Ordering::Relaxed);
        } else {
            me.failed(ring, &out)?;
        }
    }
    Ok(())
}

/// A session, and the process that stands for its client.
struct Claimant {
    session: String,
    client: Child,
}

impl Claimant {
    fn begin(sandbox: &Sandbox, ring: &Ring) -> Result<Self> {
        let at = ring.n_sessions.fetch_add(1, Ordering::Relaxed);
        let session = format!("3043c1a1-0000-4000-8000-{at:012}");
        let client = proc::command("/bin/sleep").arg("3600").spawn()?;
        let me = Self { session, client };
        let payload = json!({
            "session_id": me.session, "cwd": sandbox.path("project"),
            "hook_event_name": "SessionStart", "source": "startup",
        });
        let mut hook = sandbox.as_hook(sandbox.program("substrate-hook"));
        hook.env("CLAUDE_CODE_SESSION_ATTENDED", "0")
            .env("CLAUDE_PID", me.client.id().to_string())
            .env_remove("AGENT_ID");
        let ran =
            proc::feed(hook.args(["claude-code", "SessionStart"]), payload.to_string().as_bytes())?;
        ensure!(ran.ok(), "a hook failed");
        Ok(me)
    }

    /// Its client is gone, as after `kill -9`.
    fn die(&mut self) -> Result<()> {
        self.client.kill()?;
        self.client.wait()?;
        Ok(())
    }

    /// The next item; `None`: nothing is queued right now.
    fn claim(&self, sandbox: &Sandbox, ring: &Ring) -> Result<Option<i64>> {
        let args = ["work", "claim", "--session-id", &self.session, "--format", "json"];
        let out = sandbox.substrate(&args)?;
        if out.status.success() {
            let item: Value = serde_json::from_slice(&out.stdout).context("no item")?;
            return Ok(item["id"].as_i64());
        }
        if !String::from_utf8_lossy(&out.stderr).contains("no work is queued") {
            self.failed(ring, &out)?;
        }
        Ok(None)
    }

    fn says_done(&self, sandbox: &Sandbox, id: i64) -> Result<std::process::Output> {
        sandbox.substrate(&["work", "done", &id.to_string(), "--session-id", &self.session])
    }

    fn failed(&self, ring: &Ring, out: &std::process::Output) -> Result<()> {
        let words = String::from_utf8_lossy(&out.stderr).trim().replace('\n', " ");
        let mut failures =
            ring.failures.lock().map_err(|_| anyhow::anyhow!("a claimant panicked"))?;
        failures.push(format!("{}: {words}", self.session));
        Ok(())
    }
}

impl Drop for Claimant {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _gone = self.client.kill();
        let _reaped = self.client.wait();
    }
}
