//! Many senders, many receivers, and a daemon that is killed again and again: acknowledged mail arrives, and nothing is
//! repeated to a session that has seen it.

use std::collections::HashSet;
use std::io::Write as _;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::history::mail::Acknowledged;
use super::history::{self, Act, Record, Verdict};
use super::session::{HookAnswer, Session};
use super::{Report, Setting};
use crate::journal::{self, Sent};
use crate::proc;
use crate::sandbox::{Autostart, Sandbox};

const N_SENDERS: usize = 50;
const N_RECEIVERS: usize = 20;

/// What a hook was delivering when the daemon died is told by another one within this time.
const TOLD: Duration = Duration::from_secs(20);

/// The client ends a turn after this many blocks.
const MAX_STOPS: usize = 8;

/// What senders and receivers share.
#[derive(Default)]
struct Ring {
    senders_stop: AtomicBool,
    receivers_stop: AtomicBool,
    told: Mutex<HashSet<String>>,
}

pub(super) fn run(setting: &Setting, report: &mut Report) -> Result<()> {
    let n_kills = setting.rounds(8, 40);
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    let ring = Ring::default();
    let mut receivers: Vec<Receiver<'_>> =
        (0..N_RECEIVERS).map(|at| Receiver::new(&sandbox, &ring, at)).collect();
    for receiver in &mut receivers {
        receiver.hear(Act::Start, "SessionStart", json!({"source": "startup"}))?;
    }
    let names = names(&sandbox)?;
    let mut rng = setting.rng();
    let (sent, mut receivers, n_killed) = std::thread::scope(|scope| {
        let (sandbox, names, ring) = (&sandbox, &names, &ring);
        let senders: Vec<_> = (0..N_SENDERS)
            .map(|n| scope.spawn(move || send_until(sandbox, names, n, &ring.senders_stop)))
            .collect();
        let hearing: Vec<_> = receivers
            .into_iter()
            .map(|receiver| scope.spawn(move || receiver.work_until_enough()))
            .collect();
        let mut n_killed = 0;
        for _ in 0..n_kills {
            if setting.is_late() {
                break;
            }
            let _back = proc::wait_until(Duration::from_secs(10), || sandbox.daemon().is_some());
            std::thread::sleep(rng.millis(20, 400));
            if let Some(pid) = sandbox.daemon() {
                n_killed += usize::from(proc::signal(pid, Signal::KILL));
            }
        }
        ring.senders_stop.store(true, Ordering::Relaxed);
        let mut sends = Sends::default();
        for sender in senders {
            sends.add(sender.join().map_err(|_| anyhow::anyhow!("a sender panicked"))??);
        }
        proc::wait_until(TOLD, || {
            let told = ring.told.lock();
            told.is_ok_and(|told| sends.acknowledged.iter().all(|one| told.contains(&one.id)))
        });
        ring.receivers_stop.store(true, Ordering::Relaxed);
        let mut heard = Vec::new();
        for receiver in hearing {
            heard.push(receiver.join().map_err(|_| anyhow::anyhow!("a receiver panicked"))??);
        }
        Ok::<_, anyhow::Error>((sends, heard, n_killed))
    })?;
    for receiver in &mut receivers {
        receiver.drain()?;
    }
    let records: Vec<Record> =
        receivers.into_iter().flat_map(|receiver| receiver.session.records).collect();
    report.figure("kills", n_killed);
    judge(&sandbox, &sent, &records, report)
}

/// The history of the hooks, and then the program's own table.
fn judge(sandbox: &Sandbox, sent: &Sends, records: &[Record], report: &mut Report) -> Result<()> {
    report.figure("acknowledged sends", sent.acknowledged.len());
    report.no("sends that failed", &sent.failed);
    let found = history::mail::read(records, &sent.acknowledged);
    report.no("acknowledged and never told", &found.untold);
    report.no("told again after it was seen", &found.repeated);
    report.no("told to another session", &found.misdirected);
    report.no("acknowledged with the id of another", &found.doubled);
    report.figure("introductions beyond the first", found.n_more);
    for line in found.untold.iter().chain(&found.repeated).take(3) {
        let id: String = line.chars().skip(1).take_while(char::is_ascii_digit).collect();
        report.evidence(format!("#{id}: {}", ledger(sandbox, &id)?));
    }
    // A waiter that fails is one that we killed.
    let failed = records.iter().filter(|record| record.verdict == Verdict::Failed);
    let failed = failed.filter(|record| record.act != Act::Waiter);
    let words = |record: &Record| format!("{:?} of {}", record.act, record.actor);
    report.no("hooks that failed", &failed.map(words).collect::<Vec<_>>());
    let hooks = records.iter().filter(|record| record.act != Act::Waiter);
    report.hooks(hooks.map(|record| record.ended - record.began));
    let there = journal::tally(subjects(sandbox)?, &sent.subjects);
    report.promise("messages", there.words(), there.is_exact());
    Ok(())
}

/// What the senders know.
#[derive(Default)]
struct Sends {
    acknowledged: Vec<Acknowledged>,
    subjects: Sent,
    failed: Vec<String>,
}

impl Sends {
    fn add(&mut self, other: Self) {
        self.acknowledged.extend(other.acknowledged);
        self.subjects.add(other.subjects);
        self.failed.extend(other.failed);
    }
}

fn send_until(
    sandbox: &Sandbox,
    names: &[(String, String)],
    sender: usize,
    stop: &AtomicBool,
) -> Result<Sends> {
    let mut sends = Sends::default();
    for n in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let (name, session) = &names[(sender * 7 + n) % names.len()];
        let subject = format!("m-{sender}-{n}");
        let priority = ["normal", "urgent", "low"][n % 3];
        let mut args = vec!["send", "--to", name, "--subject", &subject, "--body", "x"];
        args.extend(["--priority", priority, "--format", "json"]);
        let out = sandbox.substrate(&args)?;
        if out.status.success() {
            let said: Value = serde_json::from_slice(&out.stdout)?;
            let id = said["id"].as_i64().context("a send without an id")?.to_string();
            sends.acknowledged.push(Acknowledged { id, recipient: session.clone() });
            sends.subjects.answered.push(subject);
        } else {
            let said = String::from_utf8_lossy(&out.stderr).trim().replace('\n', " ");
            sends.failed.push(format!("{subject}: {said}"));
            sends.subjects.unanswered.push(subject);
        }
        std::thread::sleep(Duration::from_millis(40));
    }
    Ok(sends)
}

/// A session that works one turn after the other, and receives its mail.
struct Receiver<'a> {
    sandbox: &'a Sandbox,
    ring: &'a Ring,
    session: Session,
}

impl<'a> Receiver<'a> {
    fn new(sandbox: &'a Sandbox, ring: &'a Ring, at: usize) -> Self {
        let id = format!("5e551011-0000-4000-8000-{at:012}");
        let session = Session { is_attended: at % 2 == 1, ..Session::new(id) };
        Self { sandbox, ring, session }
    }

    fn work_until_enough(mut self) -> Result<Self> {
        let mut prompt = Act::Prompt;
        while !self.ring.receivers_stop.load(Ordering::Relaxed) {
            self.turn(prompt)?;
            // Every other session is idle between its turns, with a waiter beside it.
            let woken = self.session.is_attended && self.wait()?;
            prompt = if woken { Act::Notified } else { Act::Prompt };
            std::thread::sleep(Duration::from_millis(30));
        }
        Ok(self)
    }

    /// Whether anything was told.
    fn turn(&mut self, prompt: Act) -> Result<bool> {
        let words = if prompt == Act::Notified { "<task-notification>" } else { "go on" };
        let tool = json!({"tool_name": "Bash", "tool_input": {"command": "true"}, "tool_use_id": "toolu_1"});
        let mut told = self.hear(prompt, "UserPromptSubmit", json!({"prompt": words}))?;
        told |= self.hear(Act::Before, "PreToolUse", tool.clone())?;
        told |= self.hear(Act::After, "PostToolUse", tool)?;
        // A block makes the model go on, and stop again.
        for n in 0..MAX_STOPS {
            let act = if n == 0 { Act::Stop } else { Act::StopAgain };
            if !self.hear(act, "Stop", json!({"stop_hook_active": n > 0}))? {
                break;
            }
            told = true;
        }
        Ok(told)
    }

    /// The waiter beside the session, until it starts a turn. Returns whether it did.
    fn wait(&mut self) -> Result<bool> {
        let mut hook = self.session.command(self.sandbox, "Stop");
        hook.arg("--wake").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let payload =
            self.session.payload(self.sandbox, "Stop", json!({"stop_hook_active": false}));
        let began = history::now();
        let mut child = hook.spawn()?;
        child.stdin.take().context("no stdin")?.write_all(payload.as_bytes())?;
        while child.try_wait()?.is_none() && !self.ring.receivers_stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(2));
        }
        let ended_by_itself = child.try_wait()?.is_some();
        if !ended_by_itself {
            child.kill()?;
        }
        let out = child.wait_with_output()?;
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        let ok = ended_by_itself && matches!(out.status.code(), Some(0 | 2));
        Ok(self.heard(Act::Waiter, &HookAnswer { ok, text, began, ended: history::now() }))
    }

    /// Until nothing new comes.
    fn drain(&mut self) -> Result<()> {
        for _ in 0..200 {
            if !self.turn(Act::Prompt)? {
                break;
            }
        }
        Ok(())
    }

    /// One hook process. Returns whether it told anything.
    fn hear(&mut self, act: Act, event: &str, with: Value) -> Result<bool> {
        let heard = self.session.hear(self.sandbox, event, with)?;
        Ok(self.heard(act, &heard))
    }

    fn heard(&mut self, act: Act, heard: &HookAnswer) -> bool {
        let ids = introduced(&heard.text);
        let verdict = if heard.ok { Verdict::Allowed } else { Verdict::Failed };
        if let (true, Ok(mut told)) = (heard.ok, self.ring.told.lock()) {
            told.extend(ids.iter().cloned());
        }
        let told = !ids.is_empty();
        self.session.note(act, ids, verdict, heard);
        told
    }
}

/// The ids in an introduction: `[#42]`.
fn introduced(text: &str) -> Vec<String> {
    let id = |rest: &str| Some(rest.split_once(']')?.0.to_owned());
    let is_number = |id: &String| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    text.split("[#").skip(1).filter_map(id).filter(is_number).collect()
}

/// The names of the agents and their sessions.
fn names(sandbox: &Sandbox) -> Result<Vec<(String, String)>> {
    let conn = journal::open(&sandbox.database())?;
    let mut statement = conn.prepare(
        "select a.name, s.session from agents a join agent_sessions s on s.agent = a.id order by s.session",
    )?;
    let names = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<Vec<(String, String)>>>()?;
    ensure!(names.len() == N_RECEIVERS, "{} agents instead of {N_RECEIVERS}", names.len());
    Ok(names)
}

/// The subjects of all messages that are there.
pub(super) fn subjects(sandbox: &Sandbox) -> Result<Vec<String>> {
    let conn = journal::open(&sandbox.database())?;
    let mut statement = conn.prepare("select subject from messages")?;
    let subjects = statement.query_map([], |row| row.get(0))?;
    Ok(subjects.collect::<rusqlite::Result<_>>()?)
}

fn ledger(sandbox: &Sandbox, id: &str) -> Result<String> {
    let out = sandbox.substrate(&["status", id, "--format", "json"])?;
    Ok(String::from_utf8_lossy(&out.stdout).split_whitespace().collect::<Vec<_>>().join(" "))
}
