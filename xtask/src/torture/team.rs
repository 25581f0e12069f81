//! Three machines and a hub, each killed, frozen and restarted at any moment, and a hub whose database goes back to an
//! earlier state: what a `send` acknowledged arrives, once, in the order of its sender.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;
use serde_json::Value;

use super::{Report, Setting};
use crate::journal;
use crate::proc;
use crate::sandbox::{Autostart, Sandbox};
use crate::stats::Rng;

const NAMES: [&str; 3] = ["laptop", "desk", "shed"];

/// Everything is where it belongs within this time after the last fault. Links wait up to a minute between two tries.
const SETTLED: Duration = Duration::from_secs(240);

const BACK: Duration = Duration::from_secs(30);

pub(super) fn run(setting: &Setting, report: &mut Report) -> Result<()> {
    let n_faults = setting.rounds(10, 200);
    let mut hub = Hub::start(Sandbox::new(&setting.dist, Autostart::On)?)?;
    let machines: Vec<Sandbox> =
        NAMES.iter().map(|_| Sandbox::new(&setting.dist, Autostart::On)).collect::<Result<_>>()?;
    for (machine, name) in machines.iter().zip(NAMES) {
        let line = hub.invitation()?;
        let joined = machine.substrate(&["team", "join", &line, "--name", name])?;
        ensure!(joined.status.success(), "{}", String::from_utf8_lossy(&joined.stderr));
    }
    let known = |machine: &Sandbox| {
        let members = machine.substrate(&["team", "members"]);
        members.is_ok_and(|out| {
            let text = String::from_utf8_lossy(&out.stdout).into_owned();
            NAMES.iter().all(|name| text.contains(name))
        })
    };
    ensure!(proc::wait_until(BACK, || machines.iter().all(known)), "not all know each other");

    let stop = AtomicBool::new(false);
    let mut rng = setting.rng();
    let (sent, faults) = std::thread::scope(|scope| {
        let (machines, stop) = (&machines, &stop);
        let senders: Vec<_> = (0..machines.len())
            .map(|from| scope.spawn(move || send_until(&machines[from], from, stop)))
            .collect();
        let faults = strike(setting, &mut hub, machines, &mut rng, n_faults);
        stop.store(true, Ordering::Relaxed);
        let mut sent = Sends::default();
        for sender in senders {
            let one = sender.join().map_err(|_| anyhow::anyhow!("a sender panicked"))??;
            sent.pairs.extend(one.pairs);
            sent.failed.extend(one.failed);
        }
        Ok::<_, anyhow::Error>((sent, faults?))
    })?;
    for (what, n) in &faults {
        report.figure(what, n);
    }
    judge(&machines, &sent, report)
}

/// The subjects that were acknowledged, by sender and receiver, in order. A send that failed may still have happened.
#[derive(Default)]
struct Sends {
    pairs: BTreeMap<(usize, usize), Vec<String>>,
    failed: Vec<String>,
}

fn send_until(machine: &Sandbox, from: usize, stop: &AtomicBool) -> Result<Sends> {
    let mut sends = Sends::default();
    for n in 0_usize.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let to = (from + 1 + n % (NAMES.len() - 1)) % NAMES.len();
        let subject = format!("m-{from}-{to}-{n:06}");
        let address = format!("User@{}", NAMES[to]);
        let out =
            machine.substrate(&["send", "--to", &address, "--subject", &subject, "--body", "x"])?;
        if out.status.success() {
            sends.pairs.entry((from, to)).or_default().push(subject);
        } else {
            let said = String::from_utf8_lossy(&out.stderr).trim().replace('\n', " ");
            sends.failed.push(format!("{subject}: {said}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(sends)
}

/// One fault after the other. Returns how many of which.
fn strike(
    setting: &Setting,
    hub: &mut Hub,
    machines: &[Sandbox],
    rng: &mut Rng,
    n_faults: usize,
) -> Result<BTreeMap<&'static str, usize>> {
    let mut struck: BTreeMap<&'static str, usize> = BTreeMap::new();
    for n in 0..n_faults {
        if setting.is_late() {
            break;
        }
        std::thread::sleep(rng.millis(100, 900));
        let victim = &machines[rng.below(machines.len())];
        let what = match n % 5 {
            0 => {
                hub.kill()?;
                std::thread::sleep(rng.millis(0, 1_500));
                hub.serve()?;
                "hub killed"
            }
            1 => {
                proc::signal(hub.pid()?, Signal::STOP);
                std::thread::sleep(rng.millis(200, 2_500));
                proc::signal(hub.pid()?, Signal::CONT);
                "hub frozen"
            }
            2 => {
                if let Some(pid) = victim.daemon() {
                    proc::signal(pid, Signal::KILL);
                }
                "daemon killed"
            }
            3 => {
                // The next command replaces a daemon that is frozen.
                if let Some(pid) = victim.daemon() {
                    proc::signal(pid, Signal::STOP);
                }
                "daemon frozen"
            }
            _ => {
                hub.forget()?;
                "hub's database went back"
            }
        };
        *struck.entry(what).or_default() += 1;
    }
    Ok(struck)
}

fn judge(machines: &[Sandbox], sent: &Sends, report: &mut Report) -> Result<()> {
    let n_sent: usize = sent.pairs.values().map(Vec::len).sum();
    report.figure("acknowledged sends", n_sent);
    report.no("sends that failed", &sent.failed);
    let begun = Instant::now();
    let is_empty = |machine: &Sandbox| {
        let out = machine.substrate(&["team", "status", "--format", "json"]);
        let json = out.ok().and_then(|out| serde_json::from_slice::<Value>(&out.stdout).ok());
        json.is_some_and(|json| json["outbox"] == 0)
    };
    proc::wait_until(SETTLED, || machines.iter().all(is_empty));
    report.figure("until every outbox was empty", format!("{:.1?}", begun.elapsed()));
    let (mut lost, mut doubled, mut disordered) = (Vec::new(), Vec::new(), Vec::new());
    for (to, machine) in machines.iter().enumerate() {
        let got = received(machine)?;
        for ((from, _), subjects) in sent.pairs.iter().filter(|((_, at), _)| *at == to) {
            let of = format!("m-{from}-{to}-");
            let theirs: Vec<&String> = got.iter().filter(|one| one.starts_with(&of)).collect();
            lost.extend(subjects.iter().filter(|one| !theirs.contains(one)).cloned());
            let twice = theirs.iter().enumerate().filter(|(n, one)| theirs[..*n].contains(one));
            doubled.extend(twice.map(|(_, one)| (*one).clone()));
            let pairs = theirs.windows(2).filter(|pair| pair[0] > pair[1]);
            disordered.extend(pairs.map(|pair| format!("{} before {}", pair[0], pair[1])));
        }
    }
    report.no("acknowledged and lost", &lost);
    report.no("handed over twice", &doubled);
    report.no("out of order", &disordered);
    Ok(())
}

/// The subjects that a machine got, in the order in which they were handed over.
fn received(machine: &Sandbox) -> Result<Vec<String>> {
    let conn = journal::open(&machine.database())?;
    let mut statement = conn.prepare(
        "select m.subject from messages m join deliveries d on d.message = m.id
         where d.agent = 1 order by m.id",
    )?;
    let subjects = statement.query_map([], |row| row.get(0))?;
    Ok(subjects.collect::<rusqlite::Result<_>>()?)
}

/// A hub on a file, that comes back at its address.
struct Hub {
    office: Sandbox,
    child: Option<Child>,
}

impl Hub {
    fn start(office: Sandbox) -> Result<Self> {
        let mut hub = Self { office, child: None };
        hub.serve()?;
        Ok(hub)
    }

    fn folder(&self) -> PathBuf {
        self.office.state().join("hub")
    }

    fn pid(&self) -> Result<i32> {
        let child = self.child.as_ref().context("no hub runs")?;
        Ok(i32::try_from(child.id())?)
    }

    fn serve(&mut self) -> Result<()> {
        let note = self.folder().join("serves.json");
        let kept = std::fs::read_to_string(&note).unwrap_or_default();
        let kept: Value = serde_json::from_str(&kept).unwrap_or_default();
        let listen = kept["address"].as_str().unwrap_or("127.0.0.1:0").to_owned();
        let _maybe_gone = std::fs::remove_file(&note);
        let mut command = self.office.command(self.office.program("substrate"));
        command.args(["hub", "serve", "--listen", &listen]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.child = Some(command.spawn()?);
        ensure!(proc::wait_until(BACK, || note.exists()), "the hub does not listen on {listen}");
        Ok(())
    }

    fn kill(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// The database goes back to what it was at the last such fault, and remembers what it is now for the next one.
    fn forget(&mut self) -> Result<()> {
        self.kill()?;
        let (now, before) = (self.folder(), self.office.path("before"));
        let kept = self.office.path("kept");
        copy_database(&now, &kept)?;
        if before.exists() {
            copy_database(&before, &now)?;
            std::fs::remove_dir_all(&before)?;
        }
        std::fs::rename(&kept, &before)?;
        self.serve()
    }

    fn invitation(&self) -> Result<String> {
        let out = self.office.substrate(&["hub", "invite"])?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        Ok(text.trim().rsplit(' ').next().context("no invitation")?.to_owned())
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let _it_ends_with_us = self.kill();
    }
}

/// Copies a database that is not open, with its log.
fn copy_database(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for name in ["hub.db", "hub.db-wal", "hub.db-shm"] {
        let _maybe_none = std::fs::remove_file(to.join(name));
        if from.join(name).exists() {
            std::fs::copy(from.join(name), to.join(name))?;
        }
    }
    Ok(())
}
