//! Many claimants share a queue while the daemon is killed again and again, and some claimants die with an item. Every
//! item is done by exactly one live claimant.

use std::collections::HashMap;
use std::process::{Child, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::history::{self, Act, Moment, Record, Verdict};
use super::session::Session;
use super::{Report, Setting};
use crate::proc;
use crate::sandbox::{Autostart, Sandbox};
use crate::stats::Rng;

const N_CLAIMANTS: usize = 64;

/// One of this many claims ends with the death of its claimant.
const DEATHS: usize = 25;

/// What all claimants share.
#[derive(Default)]
struct Ring {
    n_done: AtomicUsize,
    n_sessions: AtomicUsize,
    records: Mutex<Vec<Record>>,
    failures: Mutex<Vec<String>>,
}

pub(super) fn run(setting: &Setting, report: &mut Report) -> Result<()> {
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
                scope.spawn(move || work(setting, sandbox, ring, n_items, seed))
            })
            .collect();
        let mut n_kills = 0_usize;
        while ring.n_done.load(Ordering::Relaxed) < n_items
            && !setting.is_late()
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
    report.figure("items", n_items);
    report.figure("kills of the daemon", n_kills);
    report.figure("items a second", n_items as u64 / begun.elapsed().as_secs().max(1));
    judge(&sandbox, ring, n_items, report)
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

/// The history of the commands, and then the program's own list.
fn judge(sandbox: &Sandbox, ring: Ring, n_items: usize, report: &mut Report) -> Result<()> {
    let list = sandbox.substrate(&["work", "list", "-n", "20000", "--format", "json"])?;
    let list: Value = serde_json::from_slice(&list.stdout).context("no list of work")?;
    let items = list["work"].as_array().context("no work")?;
    let ids: Vec<String> =
        items.iter().filter_map(|item| Some(item["id"].as_i64()?.to_string())).collect();
    let records = ring.records.into_inner().unwrap_or_default();
    let n_deaths = records.iter().filter(|record| record.act == Act::Death).count();
    report.figure("claimants that died with an item", n_deaths);
    report.none("items that were lost", n_items.saturating_sub(items.len()));
    let found = history::work::read(&records, &ids);
    report.no("items with two claimants at once", &found.shared);
    report.no("items not done exactly once", &found.not_once);
    report.no("items done by the dead", &found.from_the_grave);
    let done = records
        .iter()
        .filter(|record| record.act == Act::Done && record.verdict == Verdict::Allowed);
    let by: HashMap<&str, &str> =
        done.map(|record| (record.about[0].as_str(), record.actor.as_str())).collect();
    let is_told = |(id, item): &(&String, &Value)| {
        item["state"] == "done" && by.get(id.as_str()).is_some_and(|by| item["session"] == *by)
    };
    let n_told = ids.iter().zip(items).filter(is_told).count();
    report.none("items that the list has otherwise", items.len() - n_told);
    report.no("commands that failed", &ring.failures.into_inner().unwrap_or_default());
    report.hooks(Session::times(&records, &[Act::Start]));
    Ok(())
}

/// Takes items and does them until all are done. Now and then it dies with one, and another takes its place.
fn work(
    setting: &Setting,
    sandbox: &Sandbox,
    ring: &Ring,
    n_items: usize,
    seed: u64,
) -> Result<()> {
    let mut rng = Rng::new(seed);
    let mut me = Claimant::begin(sandbox, ring)?;
    while ring.n_done.load(Ordering::Relaxed) < n_items && !setting.is_late() {
        let Some(item) = me.claim()? else {
            std::thread::sleep(rng.millis(50, 250));
            continue;
        };
        if rng.below(DEATHS) == 0 {
            me.die()?;
            me.says_done(&item)?;
            me = Claimant::begin(sandbox, ring)?;
            continue;
        }
        let out = me.says_done(&item)?;
        if out.status.success() {
            ring.n_done.fetch_add(1, Ordering::Relaxed);
        } else {
            me.failed(&out);
        }
    }
    Ok(())
}

/// A session, and the process that stands for its client.
struct Claimant<'a> {
    sandbox: &'a Sandbox,
    ring: &'a Ring,
    session: Session,
    client: Child,
}

impl<'a> Claimant<'a> {
    fn begin(sandbox: &'a Sandbox, ring: &'a Ring) -> Result<Self> {
        let at = ring.n_sessions.fetch_add(1, Ordering::Relaxed);
        let client = proc::command("/bin/sleep").arg("3600").spawn()?;
        let id = format!("3043c1a1-0000-4000-8000-{at:012}");
        let session = Session { client: Some(client.id()), ..Session::new(id) };
        let me = Self { sandbox, ring, session, client };
        let heard = me.session.hear(sandbox, "SessionStart", json!({"source": "startup"}))?;
        ensure!(heard.ok, "a hook failed");
        me.note(Act::Start, None, Verdict::Allowed, heard.began);
        Ok(me)
    }

    /// Its client is gone, as after `kill -9`.
    fn die(&mut self) -> Result<()> {
        let began = history::now();
        self.client.kill()?;
        self.client.wait()?;
        self.note(Act::Death, None, Verdict::Allowed, began);
        Ok(())
    }

    /// The next item; `None`: nothing is queued right now.
    fn claim(&self) -> Result<Option<String>> {
        let began = history::now();
        let args = ["work", "claim", "--session-id", &self.session.id, "--format", "json"];
        let out = self.sandbox.substrate(&args)?;
        if out.status.success() {
            let item: Value = serde_json::from_slice(&out.stdout).context("no item")?;
            let id = item["id"].as_i64().context("an item without an id")?.to_string();
            self.note(Act::Claim, Some(&id), Verdict::Allowed, began);
            return Ok(Some(id));
        }
        if !String::from_utf8_lossy(&out.stderr).contains("no work is queued") {
            self.failed(&out);
        }
        Ok(None)
    }

    fn says_done(&self, item: &str) -> Result<Output> {
        let began = history::now();
        let out =
            self.sandbox.substrate(&["work", "done", item, "--session-id", &self.session.id])?;
        let verdict = if out.status.success() { Verdict::Allowed } else { Verdict::Refused };
        self.note(Act::Done, Some(item), verdict, began);
        Ok(out)
    }

    fn note(&self, act: Act, item: Option<&str>, verdict: Verdict, began: Moment) {
        let (actor, ended) = (self.session.id.clone(), history::now());
        let about = item.into_iter().map(str::to_owned).collect();
        if let Ok(mut records) = self.ring.records.lock() {
            records.push(Record { actor, act, about, verdict, began, ended });
        }
    }

    fn failed(&self, out: &Output) {
        let words = String::from_utf8_lossy(&out.stderr).trim().replace('\n', " ");
        if let Ok(mut failures) = self.ring.failures.lock() {
            failures.push(format!("{}: {words}", self.session.id));
        }
    }
}

impl Drop for Claimant<'_> {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _gone = self.client.kill();
        let _reaped = self.client.wait();
    }
}
