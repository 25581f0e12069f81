//! Many senders, many receivers, and a daemon that is killed again and again: whatever was acknowledged arrives, and
//! nothing is told twice to a session that has seen it.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Report, Setting};
use crate::sandbox::{Autostart, Sandbox};
use crate::{journal, proc};

const N_SENDERS: usize = 50;
const N_RECEIVERS: usize = 20;

pub(super) fn run(setting: &Setting) -> Result<Report> {
    let n_kills = setting.rounds(6, 40);
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    let mut receivers: Vec<Receiver> = (0..N_RECEIVERS).map(Receiver::new).collect();
    for receiver in &mut receivers {
        receiver.hear(&sandbox, "SessionStart", json!({"source": "startup"}))?;
    }
    let names = names(&sandbox)?;
    let mut rng = setting.rng();
    let senders_stop = AtomicBool::new(false);
    let receivers_stop = AtomicBool::new(false);
    let (sent, receivers, n_killed) = std::thread::scope(|scope| {
        let (sandbox, names) = (&sandbox, &names);
        let (senders_stop, receivers_stop) = (&senders_stop, &receivers_stop);
        let senders: Vec<_> = (0..N_SENDERS)
            .map(|n| scope.spawn(move || send_until(sandbox, names, n, senders_stop)))
            .collect();
        let hearing: Vec<_> = receivers
            .into_iter()
            .map(|receiver| scope.spawn(move || receiver.work_until(sandbox, receivers_stop)))
            .collect();
        let mut n_killed = 0;
        for _ in 0..n_kills {
            let _back = proc::wait_until(Duration::from_secs(10), || sandbox.daemon().is_some());
            std::thread::sleep(rng.millis(20, 400));
            if let Some(pid) = sandbox.daemon() {
                n_killed += usize::from(proc::signal(pid, Signal::KILL));
            }
        }
        senders_stop.store(true, Ordering::Relaxed);
        let mut sent = Sent::default();
        for sender in senders {
            sent.add(sender.join().map_err(|_| anyhow::anyhow!("a sender panicked"))??);
        }
        // What was claimed by a hook that died with the daemon is free again after some seconds.
        std::thread::sleep(Duration::from_secs(12));
        receivers_stop.store(true, Ordering::Relaxed);
        let mut heard = Vec::new();
        for receiver in hearing {
            heard.push(receiver.join().map_err(|_| anyhow::anyhow!("a receiver panicked"))??);
        }
        Ok::<_, anyhow::Error>((sent, heard, n_killed))
    })?;
    report(&sandbox, &sent, receivers, n_killed)
}

fn report(
    sandbox: &Sandbox,
    sent: &Sent,
    mut receivers: Vec<Receiver>,
    n_killed: usize,
) -> Result<Report> {
    for receiver in &mut receivers {
        receiver.drain(sandbox)?;
    }
    let mut report = Report::default();
    report.figure("kills", n_killed);
    report.figure("acknowledged sends", sent.acknowledged.len());
    report.figure("sends that failed", sent.n_failed);
    let told: HashSet<i64> = receivers.iter().flat_map(|one| one.told.keys().copied()).collect();
    let lost: Vec<i64> =
        sent.acknowledged.values().filter(|id| !told.contains(*id)).copied().collect();
    report.none("acknowledged and never told", lost.len());
    let again: Vec<&String> = receivers.iter().flat_map(|one| &one.told_again).collect();
    report.none("told again after it was seen", again.len());
    let n_introductions: usize = receivers.iter().flat_map(|one| one.told.values()).sum();
    report.figure("introductions beyond the first", n_introductions.saturating_sub(told.len()));
    report.none("hooks that failed", receivers.iter().map(|one| one.n_failed).sum());
    let doubled = doubled(sandbox)?;
    report.none("sent once and there twice", doubled);
    for id in lost.iter().take(3) {
        report.evidence(format!("#{id}: {}", ledger(sandbox, *id)?));
    }
    for line in again.into_iter().take(5) {
        report.evidence(line.clone());
    }
    Ok(report)
}

/// What the senders know.
#[derive(Default)]
struct Sent {
    /// Subject and id.
    acknowledged: HashMap<String, i64>,
    n_failed: usize,
}

impl Sent {
    fn add(&mut self, other: Self) {
        self.acknowledged.extend(other.acknowledged);
        self.n_failed += other.n_failed;
    }
}

fn send_until(
    sandbox: &Sandbox,
    names: &[String],
    sender: usize,
    stop: &AtomicBool,
) -> Result<Sent> {
    let mut sent = Sent::default();
    for n in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let to = &names[(sender * 7 + n) % names.len()];
        let subject = format!("m-{sender}-{n}");
        let priority = ["normal", "urgent", "low"][n % 3];
        let out = sandbox.substrate(&[
            "send",
            "--to",
            to,
            "--subject",
            &subject,
            "--body",
            "x",
            "--priority",
            priority,
            "--format",
            "json",
        ])?;
        if out.status.success() {
            let said: Value = serde_json::from_slice(&out.stdout)?;
            sent.acknowledged.insert(subject, said["id"].as_i64().context("a send without an id")?);
        } else {
            sent.n_failed += 1;
        }
        std::thread::sleep(Duration::from_millis(40));
    }
    Ok(sent)
}

/// One session, as its client would drive it: every event a real hook process.
struct Receiver {
    session: String,
    /// A person watches it, so that it can be woken.
    is_attended: bool,
    /// How often each message was introduced.
    told: HashMap<i64, usize>,
    /// Introduced by the latest answers, not followed by an event that shows that the model was asked.
    fresh: HashSet<i64>,
    seen: HashSet<i64>,
    told_again: Vec<String>,
    n_failed: usize,
}

impl Receiver {
    fn new(at: usize) -> Self {
        Self {
            session: format!("5e551011-0000-4000-8000-{at:012}"),
            is_attended: at % 2 == 1,
            told: HashMap::new(),
            fresh: HashSet::new(),
            seen: HashSet::new(),
            told_again: Vec::new(),
            n_failed: 0,
        }
    }

    /// A turn after the other.
    fn work_until(mut self, sandbox: &Sandbox, stop: &AtomicBool) -> Result<Self> {
        let mut prompt = "go on";
        while !stop.load(Ordering::Relaxed) {
            self.turn(sandbox, prompt)?;
            // Every other session is idle between its turns, with a waiter beside it.
            prompt = "go on";
            if self.is_attended && self.wait(sandbox, stop)? {
                prompt = "<task-notification>";
            }
            std::thread::sleep(Duration::from_millis(30));
        }
        Ok(self)
    }

    fn turn(&mut self, sandbox: &Sandbox, prompt: &str) -> Result<bool> {
        let tool = json!({"tool_name": "Bash", "tool_input": {"command": "true"}, "tool_use_id": "toolu_1"});
        let mut told = self.hear(sandbox, "UserPromptSubmit", json!({"prompt": prompt}))?;
        self.sees(sandbox, "PreToolUse", &tool)?;
        told |= self.hear(sandbox, "PostToolUse", tool)?;
        let mut again = false;
        // A block makes the model go on, and stop again.
        while self.sees(sandbox, "Stop", &json!({"stop_hook_active": again}))? {
            told = true;
            again = true;
        }
        Ok(told)
    }

    /// The waiter beside the session, until it starts a turn; whether it did.
    fn wait(&mut self, sandbox: &Sandbox, stop: &AtomicBool) -> Result<bool> {
        let mut hook = self.hook(sandbox, "Stop");
        hook.arg("--wake").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = hook.spawn()?;
        let payload = self.payload(sandbox, "Stop", json!({"stop_hook_active": false}));
        child.stdin.take().context("no stdin")?.write_all(payload.as_bytes())?;
        while child.try_wait()?.is_none() && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(2));
        }
        if child.try_wait()?.is_none() {
            child.kill()?;
        }
        let out = child.wait_with_output()?;
        Ok(self.heard("Waiter", &String::from_utf8_lossy(&out.stderr)))
    }

    /// Until nothing new comes.
    fn drain(&mut self, sandbox: &Sandbox) -> Result<()> {
        for _ in 0..200 {
            if !self.turn(sandbox, "go on")? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// An event that shows that the model was asked since the last one.
    fn sees(&mut self, sandbox: &Sandbox, event: &str, with: &Value) -> Result<bool> {
        let before = std::mem::take(&mut self.fresh);
        let told = self.hear(sandbox, event, with.clone())?;
        self.seen.extend(before);
        Ok(told)
    }

    /// One hook process. Whether it introduced anything.
    fn hear(&mut self, sandbox: &Sandbox, event: &str, with: Value) -> Result<bool> {
        let payload = self.payload(sandbox, event, with);
        let ran = proc::feed(&mut self.hook(sandbox, event), payload.as_bytes())?;
        self.n_failed += usize::from(!ran.ok());
        Ok(self.heard(event, &String::from_utf8_lossy(&ran.stdout)))
    }

    fn hook(&self, sandbox: &Sandbox, event: &str) -> Command {
        let mut hook = sandbox.as_hook(sandbox.program("substrate-hook"));
        let attended = if self.is_attended { "1" } else { "0" };
        hook.env("CLAUDE_CODE_SESSION_ATTENDED", attended).env_remove("AGENT_ID");
        hook.args(["claude-code", event]);
        hook
    }

    fn payload(&self, sandbox: &Sandbox, event: &str, with: Value) -> String {
        let cwd = sandbox.path("project");
        let mut payload = json!({"session_id": self.session, "cwd": cwd, "hook_event_name": event});
        if let (Value::Object(all), Value::Object(more)) = (&mut payload, with) {
            all.extend(more);
        }
        payload.to_string()
    }

    /// Notes what was introduced; whether anything was.
    fn heard(&mut self, event: &str, text: &str) -> bool {
        let ids = introduced(text);
        for id in &ids {
            *self.told.entry(*id).or_default() += 1;
            if self.seen.contains(id) {
                self.told_again.push(format!("#{id} again at {event} of {}", self.session));
            }
            self.fresh.insert(*id);
        }
        !ids.is_empty()
    }
}

/// The ids in an introduction: `[#42]`.
fn introduced(text: &str) -> Vec<i64> {
    text.split("[#").skip(1).filter_map(|rest| rest.split_once(']')?.0.parse().ok()).collect()
}

fn names(sandbox: &Sandbox) -> Result<Vec<String>> {
    let conn = journal::open(&sandbox.database())?;
    let mut statement = conn.prepare(
        "select a.name from agents a join agent_sessions s on s.agent = a.id order by s.session",
    )?;
    let names =
        statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
    ensure!(names.len() == N_RECEIVERS, "{} agents instead of {N_RECEIVERS}", names.len());
    Ok(names)
}

fn doubled(sandbox: &Sandbox) -> Result<usize> {
    let conn = journal::open(&sandbox.database())?;
    let sql =
        "select count(*) from (select subject from messages group by subject having count(*) > 1)";
    let n: i64 = conn.query_row(sql, [], |row| row.get(0))?;
    Ok(usize::try_from(n)?)
}

fn ledger(sandbox: &Sandbox, id: i64) -> Result<String> {
    let out = sandbox.substrate(&["status", &id.to_string(), "--format", "json"])?;
    Ok(String::from_utf8_lossy(&out.stdout).split_whitespace().collect::<Vec<_>>().join(" "))
}
