//! The thread that watches one folder of session files. If the folder hangs, only this thread hangs.

use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock, mpsc};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use substrate_clients::{Client, SessionFiles};
use substrate_core::{Activity, SafeId, Timestamp, World as _};
use tokio::sync::mpsc::UnboundedSender;

use super::notify::{Change, Notify};
use super::settle::{Sessions, Shown};
use super::transcripts::{Transcripts, Turn};
use crate::machine::Machine;
use crate::{clock, gather};

/// The longest file that is read. They have about 1 KB.
const MAX_FILE: usize = 64 << 10;

/// The most files of one folder that are read.
const MAX_FILES: usize = 10_000;

/// A file that does not parse was read half-written. It is read again this soon, and this often.
const AGAIN_US: u64 = 50_000;
const MAX_AGAIN: u8 = 20;

/// How often transcripts, unwatched folders, and the busy one of two terminals on a session are read while a turn runs.
const LOOK_US: u64 = 1_000_000;

/// What the event loop reports to the thread, for clients without session files.
pub(super) enum TurnChange {
    Began(Turn),
    Ended(SafeId),
}

/// A state that a client has shown for long enough.
#[derive(Clone, Debug)]
pub(in super::super) struct Observed {
    pub(super) client: &'static Client,
    pub(super) session: SafeId,
    pub(super) pid: u32,
    pub(super) cwd: String,
    pub(super) config_dir: Box<str>,
    pub(super) now: Activity,
    pub(super) since: Timestamp,
}

/// What the thread is started with.
pub(super) struct Task {
    pub(super) client: &'static Client,
    pub(super) config_dir: Box<str>,
    pub(super) said: mpsc::Receiver<TurnChange>,
    /// One byte means that `said` has something. End of stream means that the daemon ends.
    pub(super) bell: UnixStream,
    pub(super) out: UnboundedSender<Observed>,
    /// The pids whose files are watched.
    pub(super) watched: Watched,
}

/// Processes with session files. The loop does not report their turns.
pub(super) type Watched = Arc<RwLock<HashSet<u32>>>;

/// Watches until the daemon ends.
pub(super) fn watch(task: Task) {
    if let Some(mut watch) = Watch::new(task) {
        watch.begin();
        while watch.round() {}
    }
}

struct Watch {
    task: Task,
    files: SessionFiles,
    folder: PathBuf,
    notify: Option<Notify>,
    sessions: Sessions,
    /// Files that did not parse: when to read them again, and how many tries they had.
    again: HashMap<u32, (u64, u8)>,
    transcripts: Transcripts,
    machine: Machine,
}

impl Watch {
    /// `None` for a client without session files.
    fn new(task: Task) -> Option<Self> {
        let files = task.client.session_files?;
        Some(Self {
            folder: PathBuf::from(&*task.config_dir).join(files.folder),
            task,
            files,
            notify: None,
            sessions: Sessions::default(),
            again: HashMap::new(),
            transcripts: Transcripts::default(),
            machine: Machine::default(),
        })
    }

    /// Reports what has lasted, waits, and reads what has changed. `false`: the daemon ends.
    fn round(&mut self) -> bool {
        if !self.tell() {
            return false;
        }
        self.note_watched();
        if !self.wait() {
            return false;
        }
        let changes = self.notify.as_ref().map_or_else(Vec::new, Notify::changes);
        for change in changes {
            match change {
                Change::File(name) => {
                    if let Some(pid) = (self.files.pid)(&name) {
                        self.read(pid);
                    }
                }
                Change::Anything => self.scan(),
                Change::Folder => self.notify = None,
            }
        }
        self.listen();
        let now = clock::micros();
        let due = self.again.iter().filter(|(_, (at, _))| *at <= now);
        let due: Vec<u32> = due.map(|(pid, _)| *pid).collect();
        due.into_iter().for_each(|pid| self.read(pid));
        self.sessions.to_look_after().into_iter().for_each(|pid| self.read(pid));
        if !self.transcripts.is_empty() {
            self.look();
        }
        true
    }

    /// Starts watching the folder if possible, and reads what is there.
    fn begin(&mut self) {
        self.notify = Notify::new(&self.folder);
        self.scan();
    }

    /// Publishes whose files are watched, if that changed.
    fn note_watched(&self) {
        let is_watching = self.notify.is_some();
        let now: HashSet<u32> = self.sessions.pids().into_iter().filter(|_| is_watching).collect();
        let mut noted = self.task.watched.write().unwrap_or_else(PoisonError::into_inner);
        if *noted != now {
            *noted = now;
        }
    }

    fn scan(&mut self) {
        let found = std::fs::read_dir(&self.folder).into_iter().flatten().take(MAX_FILES);
        let names = found.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut pids: Vec<u32> = names.filter_map(|name| (self.files.pid)(&name)).collect();
        // Reading those that are gone fails, which removes them.
        pids.extend(self.sessions.pids());
        pids.sort_unstable();
        pids.dedup();
        pids.into_iter().for_each(|pid| self.read(pid));
    }

    /// Reads the file of one process. A file whose process is gone is ignored.
    fn read(&mut self, pid: u32) {
        let now = clock::micros();
        let n_reads = self.again.remove(&pid).map_or(0, |(_, n)| n);
        let Some(text) = gather::beginning(self.folder.join(format!("{pid}.json")), MAX_FILE)
        else {
            return self.sessions.lost(pid, now, clock::now());
        };
        match (self.files.read)(text.as_bytes()) {
            Some(file) if file.pid == pid && is_alive(&self.machine, pid, file.began) => {
                self.sessions.saw(file, now);
            }
            Some(_) => self.sessions.lost(pid, now, clock::now()),
            None if n_reads < MAX_AGAIN => {
                self.again.insert(pid, (now + AGAIN_US, n_reads + 1));
            }
            None => {}
        }
    }

    /// Takes the loop's reports. A folder that did not exist may exist by now.
    fn listen(&mut self) {
        let mut rung = [0; 256];
        while matches!(self.task.bell.read(&mut rung), Ok(n) if n == rung.len()) {}
        let mut heard = false;
        while let Ok(said) = self.task.said.try_recv() {
            heard = true;
            match said {
                TurnChange::Began(turn) => self.transcripts.begin(turn),
                TurnChange::Ended(session) => self.transcripts.end(&session),
            }
        }
        if heard && self.notify.is_none() {
            self.begin();
        }
    }

    /// Checks what the system does not report: a folder that now exists or can't be watched, and transcripts of clients
    /// without files.
    fn look(&mut self) {
        if self.notify.is_none() {
            self.begin();
        }
        // A file that is watched needs no polling.
        let Self { transcripts, sessions, machine, notify, .. } = self;
        let is_told = |pid: u32| notify.is_some() && sessions.has(pid);
        transcripts.retain(|pid| machine.process_began(pid).is_some() && !is_told(pid));
        for turn in self.transcripts.interrupted(self.task.client.was_interrupted) {
            let now = Activity::Idle { in_background: false };
            self.send(turn.session, turn.pid, turn.cwd, now, clock::now());
        }
    }

    /// Reports what has lasted. `false`: the receiver is gone.
    fn tell(&mut self) -> bool {
        let Self { sessions, machine, .. } = self;
        let is_alive = |pid: u32, began: Option<i64>| is_alive(machine, pid, began);
        let settled = sessions.settled(clock::micros(), clock::now(), is_alive);
        for Shown { session, pid, cwd, now, since, .. } in settled {
            self.send(session, pid, cwd, now, since);
        }
        !self.task.out.is_closed()
    }

    fn send(&self, session: SafeId, pid: u32, cwd: String, now: Activity, since: Timestamp) {
        let Task { client, config_dir, .. } = &self.task;
        let config_dir = config_dir.clone();
        let observed = Observed { client, session, pid, cwd, config_dir, now, since };
        let _the_daemon_ends = self.task.out.send(observed);
    }

    /// When to look although nothing has changed. `None`: sleep until something does.
    fn next_us(&self, now: u64) -> Option<u64> {
        let again = self.again.values().map(|(at, _)| *at).min();
        let looks = !self.transcripts.is_empty() || !self.sessions.to_look_after().is_empty();
        let look = looks.then_some(now + LOOK_US);
        [self.sessions.next_us(), again, look].into_iter().flatten().min()
    }

    /// Waits for a change, a deadline or the loop. `false`: the daemon ends.
    fn wait(&self) -> bool {
        let now = clock::micros();
        let pause = self.next_us(now).map(|at| {
            // A little later, so that it is due when we wake.
            let us = at.saturating_sub(now) + 1_000;
            let (s, ns) = (us / 1_000_000, us % 1_000_000 * 1_000);
            Timespec { tv_sec: s.try_into().unwrap_or(1), tv_nsec: ns.try_into().unwrap_or(0) }
        });
        let bell = PollFd::from_borrowed_fd(self.task.bell.as_fd(), PollFlags::IN);
        let mut fds = vec![bell];
        let watched = self.notify.as_ref().and_then(Notify::fd);
        fds.extend(watched.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let _interrupted = poll(&mut fds, pause.as_ref());
        !fds[0].revents().contains(PollFlags::HUP)
    }
}

/// Whether this is the same process, and not another one that got its pid.
fn is_alive(machine: &Machine, pid: u32, began: Option<i64>) -> bool {
    let found = machine.process_began(pid);
    found.is_some() && (began.is_none() || cfg!(not(target_os = "linux")) || found == began)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::Write as _;

    use substrate_clients::DEFAULT as CLIENT;
    use substrate_testkit::write_file;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;

    /// A watch of a folder of its own, with both ends of the loop's channels.
    struct Rig {
        folder: tempfile::TempDir,
        watch: Watch,
        said: mpsc::Sender<TurnChange>,
        bell: UnixStream,
        heard: UnboundedReceiver<Observed>,
    }

    fn rig() -> Rig {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sessions")).unwrap();
        let (said, to_hear) = mpsc::channel();
        let (bell, rung) = UnixStream::pair().unwrap();
        rung.set_nonblocking(true).unwrap();
        let (out, heard) = unbounded_channel();
        let config_dir = folder.path().to_str().unwrap().into();
        let watched = Watched::default();
        let task = Task { client: CLIENT, config_dir, said: to_hear, bell: rung, out, watched };
        let watch = Watch::new(task).unwrap();
        Rig { folder, watch, said, bell, heard }
    }

    impl Rig {
        /// Makes this process look like a client's session in that state.
        fn shows(&self, status: &str) {
            let pid = std::process::id();
            let began = Machine::default().process_began(pid).unwrap().to_string();
            let file = serde_json::json!({
                "pid": pid, "sessionId": "s1", "cwd": "/repo", "procStart": began, "status": status,
                "statusUpdatedAt": 1,
            });
            let path = self.folder.path().join(format!("sessions/{pid}.json"));
            write_file(&path, file.to_string());
        }

        /// The loop reports that a turn has begun.
        fn turn_begins(&mut self) {
            let transcript = self.folder.path().join("t.jsonl").display().to_string();
            let session = SafeId::new("s1").unwrap();
            let turn =
                Turn { session, pid: std::process::id(), cwd: "/repo".to_owned(), transcript };
            self.said.send(TurnChange::Began(turn)).unwrap();
            self.bell.write_all(b"!").unwrap();
        }

        /// Steps until the thread would sleep without a deadline, with a limit.
        fn is_quiet_soon(&mut self) -> bool {
            (0..20).any(|_| {
                self.watch.tell();
                self.watch.next_us(clock::micros()).is_none() || !self.watch.round()
            })
        }
    }

    #[test]
    fn while_a_turn_runs_and_nothing_changes_nothing_is_looked_at() {
        let mut rig = rig();
        rig.shows("busy");
        rig.watch.begin();
        rig.turn_begins();
        assert!(rig.watch.round(), "the turn is heard of");
        assert!(rig.is_quiet_soon(), "what lasts was told, and its file is watched");
        assert_eq!(rig.heard.try_recv().unwrap().now, Activity::Working);
        rig.shows("idle");
        assert!(rig.watch.round(), "the change is seen");
        assert!(rig.watch.next_us(clock::micros()).is_some(), "and told when it has lasted");
    }

    #[test]
    fn without_a_file_the_transcript_is_looked_at_again_and_again() {
        let mut rig = rig();
        rig.watch.begin();
        assert!(rig.is_quiet_soon());
        rig.turn_begins();
        assert!(rig.watch.round());
        assert!(rig.watch.next_us(clock::micros()).is_some());
        drop(rig.bell);
        assert!(!rig.watch.round(), "the daemon ends");
    }
}
