//! The state home, or only its database, is removed or moved away under a running daemon. One daemon that matches the
//! home goes on, and what it acknowledges is in the database that readers open.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::history::{self, Moment};
use super::mail::subjects;
use super::workers::{By, Observations, work_while};
use super::{Report, Setting};
use crate::journal::{self, Sent};
use crate::proc;
use crate::sandbox::{Autostart, Sandbox};

const N_SENDERS: usize = 4;

/// A daemon without its home is gone within this time on a quiet machine, and within the second time on any.
const GONE: Duration = Duration::from_secs(3);
const GONE_BUSY: Duration = Duration::from_secs(15);

/// How long agents go on before and after the change.
const A_WHILE: Duration = Duration::from_millis(1_200);

/// What happens to the home.
#[derive(Clone, Copy, Debug)]
enum Change {
    HomeRemoved,
    HomeMoved,
    DatabaseDeleted,
    DatabaseReplaced,
}

pub(super) fn run(setting: &Setting, report: &mut Report) -> Result<()> {
    for _ in 0..setting.rounds(1, 5) {
        for change in [
            Change::HomeRemoved,
            Change::HomeMoved,
            Change::DatabaseDeleted,
            Change::DatabaseReplaced,
        ] {
            once(setting, change, report)?;
        }
    }
    Ok(())
}

fn once(setting: &Setting, change: Change, report: &mut Report) -> Result<()> {
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    let old = sandbox.start_daemon()?;
    let stop = AtomicBool::new(false);
    let (mut changed, mut left) = (Moment::ZERO, None);
    let (seen, sends) = std::thread::scope(|scope| -> Result<_> {
        let (sandbox, stop) = (&sandbox, &stop);
        let senders: Vec<_> =
            (0..N_SENDERS).map(|n| scope.spawn(move || send_until(sandbox, n, stop))).collect();
        let seen = work_while(sandbox, &[By::Hook; 2], Duration::from_millis(5), || {
            std::thread::sleep(A_WHILE);
            apply(change, sandbox)?;
            changed = history::now();
            let begun = Instant::now();
            let is_alone = || !sandbox.daemons().contains(&old) && sandbox.daemons().len() == 1;
            left = proc::wait_until(GONE_BUSY, is_alone).then(|| begun.elapsed());
            std::thread::sleep(A_WHILE);
            Ok(())
        });
        stop.store(true, Ordering::Relaxed);
        let mut sends = Vec::new();
        for sender in senders {
            sends.extend(sender.join().map_err(|_| anyhow::anyhow!("a sender panicked"))??);
        }
        Ok((seen?, sends))
    })?;
    let what = |words: &str| format!("{change:?}: {words}");
    match left {
        Some(took) => report.time(&what("one daemon, which is not the old one, after"), took, GONE),
        None => {
            let daemons = sandbox.daemons();
            let words = format!("{daemons:?} after {GONE_BUSY:?}, the old one was {old}");
            report.promise(&what("one daemon, which is not the old one"), words, false);
        }
    }
    report.hooks(seen.hook_times());
    report.no(&what("hooks that failed"), &seen.failed);
    sandbox.stop_daemon()?;
    if !sandbox.database().exists() {
        report.promise(&what("readers find a database"), false, false);
        return Ok(());
    }
    let found = journal::compare(&sandbox.database(), &events_after(&seen, changed))?;
    report.promise(&what("journal"), found.words(), found.is_exact());
    let sent = sends_after(&sends, changed);
    report.figure(&what("sends acknowledged after the change"), sent.answered.len());
    let n_failed = sends.iter().filter(|send| !send.acknowledged).count();
    report.figure(&what("sends that were refused"), n_failed);
    let found = journal::tally(subjects(&sandbox)?, &sent);
    let kept = found.is_exact() && !sent.answered.is_empty();
    report.promise(&what("messages"), found.words(), kept);
    Ok(())
}

fn apply(change: Change, sandbox: &Sandbox) -> Result<()> {
    let (state, database) = (sandbox.state(), sandbox.database());
    match change {
        Change::HomeRemoved => remove_all(&state)?,
        Change::HomeMoved => std::fs::rename(&state, sandbox.path("elsewhere"))?,
        Change::DatabaseDeleted => std::fs::remove_file(&database)?,
        Change::DatabaseReplaced => {
            let copy = sandbox.path("copy.db");
            let conn = journal::open(&database)?;
            conn.execute("vacuum into ?1", [copy.to_string_lossy()])?;
            drop(conn);
            // The log of another database must not lie beside it.
            for log in ["subtrate.db-wal", "subtrate.db-shm"] {
                let _maybe_none = std::fs::remove_file(state.join(log));
            }
            std::fs::rename(copy, database)?;
        }
    }
    Ok(())
}

/// `rm -rf`. Files come while others go, so it may take more than one attempt.
fn remove_all(folder: &Path) -> Result<()> {
    let gone = proc::wait_until(Duration::from_secs(5), || std::fs::remove_dir_all(folder).is_ok());
    anyhow::ensure!(gone, "`{}` can't be removed", folder.display());
    Ok(())
}

/// One message.
struct Send {
    subject: String,
    acknowledged: bool,
    began: Moment,
}

fn send_until(sandbox: &Sandbox, sender: usize, stop: &AtomicBool) -> Result<Vec<Send>> {
    let mut sends = Vec::new();
    for n in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let subject = format!("m-{sender}-{n}");
        let began = history::now();
        let args = ["send", "--to", "User", "--subject", &subject, "--body", "x"];
        let out = sandbox.substrate(&args).context("a send")?;
        sends.push(Send { subject, acknowledged: out.status.success(), began });
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(sends)
}

/// A send that began after the change must be there if it was acknowledged. Any other may be there once.
fn sends_after(sends: &[Send], changed: Moment) -> Sent {
    let mut sent = Sent::default();
    for send in sends {
        let must = send.acknowledged && send.began >= changed;
        let list = if must { &mut sent.answered } else { &mut sent.unanswered };
        list.push(send.subject.clone());
    }
    sent
}

/// The same for events.
fn events_after(seen: &Observations, changed: Moment) -> Sent {
    let mut sent = Sent::default();
    for record in &seen.records {
        let must = record.verdict == history::Verdict::Allowed && record.began >= changed;
        let list = if must { &mut sent.answered } else { &mut sent.unanswered };
        list.extend(record.about.iter().cloned());
    }
    sent
}
