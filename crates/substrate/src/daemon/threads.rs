//! Threads for work that touches a project's files. A thread that hangs costs its caller a moment and its facts, and
//! other callers nothing.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::{JoinHandle, spawn_blocking, spawn_local};
use tokio::time::timeout;

use super::hangs::{Admission, Hangs};
use super::state::State;

/// How long a blocked thread is waited for.
const BLOCKED: Duration = Duration::from_millis(300);

/// How long a runnable thread is waited for: on a busy machine it is not at fault.
const STARVED: Duration = Duration::from_secs(5);

/// How often we check which of the two it is.
const STEP: Duration = Duration::from_millis(50);

/// The lookups of a daemon.
#[derive(Default)]
pub(super) struct Threads {
    hangs: RefCell<Hangs>,
    /// Notified when a lookup has ended or hangs.
    changed: Notify,
}

/// How far a lookup got, as its thread reports.
#[derive(Clone, Default)]
pub(super) struct Progress {
    thread: Arc<AtomicI32>,
    step: Arc<AtomicUsize>,
}

impl Progress {
    /// Starts the next step.
    pub(super) fn at(&self, step: usize) {
        self.step.store(step, Ordering::Relaxed);
    }

    fn begins(&self) {
        #[cfg(target_os = "linux")]
        self.thread.store(rustix::thread::gettid().as_raw_nonzero().get(), Ordering::Relaxed);
    }

    /// Whether the thread waits for nothing but the CPU.
    fn is_starved(&self) -> bool {
        let thread = self.thread.load(Ordering::Relaxed);
        // It has not started: only our own threads can be ahead of it.
        thread == 0 || may_run(thread)
    }
}

/// Whether `who` may look below that folder now. Waits for a free slot.
async fn admitted(state: &State, folder: &str, who: &str) -> bool {
    let begun = Instant::now();
    loop {
        let changed = state.threads.changed.notified();
        match state.threads.hangs.borrow().may(folder, who) {
            Admission::Begin => return true,
            Admission::Refuse => return false,
            Admission::Wait if begun.elapsed() > STARVED => return false,
            Admission::Wait => {}
        }
        let _or_look_again = timeout(STEP, changed).await;
    }
}

/// The folders below which `who` may look, without repeats.
pub(super) async fn open(state: &State, folders: &[Box<str>], who: &str) -> Vec<Box<str>> {
    let mut out: Vec<Box<str>> = Vec::new();
    for folder in folders {
        if !out.contains(folder) && admitted(state, folder, who).await {
            out.push(folder.clone());
        }
    }
    out
}

/// Runs a lookup below these folders on a thread. `None`: it hangs and is abandoned. `stuck` says where, by its step.
pub(super) async fn look<T: Send + 'static>(
    state: &Rc<State>,
    folders: Vec<Box<str>>,
    who: &str,
    stuck: impl FnOnce(usize) -> Option<Box<str>>,
    body: impl FnOnce(&Progress) -> T + Send + 'static,
) -> Option<T> {
    let id = state.threads.hangs.borrow_mut().begin(folders, who);
    let progress = Progress::default();
    let told = progress.clone();
    let mut task = spawn_blocking(move || {
        told.begins();
        body(&told)
    });
    let done = patiently(&mut task, &progress).await;
    if done.is_ok() {
        state.threads.hangs.borrow_mut().end(id);
    } else {
        let at = stuck(progress.step.load(Ordering::Relaxed));
        state.threads.hangs.borrow_mut().hangs(id, at);
        let state = Rc::clone(state);
        drop(spawn_local(async move {
            let _came_back_late = task.await;
            state.threads.hangs.borrow_mut().end(id);
            state.threads.changed.notify_waiters();
        }));
    }
    state.threads.changed.notify_waiters();
    done.ok().flatten()
}

/// The thread hangs.
#[derive(Debug)]
pub(super) struct Hung;

/// Waits for a thread as long as that makes sense. `None` if it panicked.
pub(super) async fn patiently<T>(
    task: &mut JoinHandle<T>,
    progress: &Progress,
) -> Result<Option<T>, Hung> {
    let begun = Instant::now();
    let mut patience = BLOCKED;
    loop {
        match timeout(patience, &mut *task).await {
            Ok(done) => return Ok(done.ok()),
            Err(_) if begun.elapsed() < STARVED && progress.is_starved() => patience = STEP,
            Err(_) => return Err(Hung),
        }
    }
}

/// Runs on a thread without a slot: for work that never runs twice at once.
pub(super) fn spawn<T: Send + 'static>(
    body: impl FnOnce() -> T + Send + 'static,
) -> (JoinHandle<T>, Progress) {
    let progress = Progress::default();
    let told = progress.clone();
    let task = spawn_blocking(move || {
        told.begins();
        body()
    });
    (task, progress)
}

#[cfg(target_os = "linux")]
fn may_run(thread: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
    let state = stat.ok().and_then(|stat| {
        let after = stat.rsplit_once(')')?.1;
        after.trim_start().chars().next()
    });
    state == Some('R')
}

#[cfg(not(target_os = "linux"))]
fn may_run(_thread: i32) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn on_loop<T>(body: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let out = runtime.block_on(body);
        runtime.shutdown_background();
        out
    }

    #[test]
    fn who_is_blocked_is_given_up_and_who_works_is_waited_for() {
        let (let_go, held) = mpsc::channel::<()>();
        let blocked = on_loop(async {
            let (mut task, progress) = spawn(move || held.recv().is_ok());
            patiently(&mut task, &progress).await.is_err()
        });
        assert!(blocked);
        drop(let_go);
        let begun = Instant::now();
        let worked = on_loop(async {
            let (mut task, progress) = spawn(move || while begun.elapsed() < BLOCKED * 2 {});
            patiently(&mut task, &progress).await.is_ok()
        });
        assert!(worked || cfg!(not(target_os = "linux")));
    }

    #[test]
    fn a_panic_is_no_answer_and_no_wait() {
        let done = on_loop(async {
            let (mut task, progress) = spawn(|| assert_eq!(1, 2, "on purpose"));
            patiently(&mut task, &progress).await
        });
        assert!(matches!(done, Ok(None)));
    }
}
