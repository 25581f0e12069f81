//! Effects that write files: after the commit, beside the loop, one thread per folder, in order. A reply waits for its
//! own effects, unless their folder hangs.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::rc::Rc;

use substrate_clients::Exports;
use substrate_core::Effect;
use tokio::sync::oneshot;
use tokio::task::spawn_local;

use super::state::State;
use super::threads;
use crate::{effects, host};

/// The most batches that wait for a folder that hangs. Beyond that the oldest are dropped.
const MAX_WAITING: usize = 1_000;

/// The batches on their way to each folder. A folder has an entry while a thread works on it.
#[derive(Default)]
pub(super) struct Carrier {
    folders: RefCell<HashMap<Box<str>, Folder>>,
}

#[derive(Default)]
struct Folder {
    waiting: VecDeque<Batch>,
    hangs: bool,
}

/// What one request writes to one folder, and the channel that reports completion.
struct Batch {
    chores: Vec<Chore>,
    done: oneshot::Sender<()>,
}

enum Chore {
    Effect(Effect),
    Export(Exports),
}

/// What a reply has to wait for.
#[must_use]
pub(super) struct Carrying(Vec<oneshot::Receiver<()>>);

impl Carrying {
    pub(super) const fn is_done(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns when everything is written, or when the thread gave up.
    pub(super) async fn done(self) {
        for one in self.0 {
            let _or_given_up = one.await;
        }
    }
}

/// Carries effects out: those in memory at once, the rest on threads. Returns the keys whose waiters must look again,
/// and what the reply has to wait for.
pub(super) fn carry_out(
    state: &Rc<State>,
    effects: Vec<Effect>,
    exports: Option<Exports>,
) -> (Vec<String>, Carrying) {
    let (keys, mut files) = effects::split(&state.painter, effects);
    files.retain(|effect| match effect {
        Effect::Soon { feature } => {
            state.soon.borrow_mut().insert(feature);
            false
        }
        _ => true,
    });
    let mut loads: Vec<(Box<str>, Vec<Chore>)> = Vec::new();
    let mut add =
        |folder: Box<str>, chore: Chore| match loads.iter_mut().find(|(other, _)| *other == folder)
        {
            Some((_, chores)) => chores.push(chore),
            None => loads.push((folder, vec![chore])),
        };
    let named = |folder: &Path| folder.to_string_lossy().into();
    if let Some(exports) = exports {
        let folder = Path::new(&exports.file).parent().unwrap_or(Path::new("/"));
        add(named(folder), Chore::Export(exports));
    }
    for effect in files {
        add(named(effects::folder(&state.home, &effect)), Chore::Effect(effect));
    }
    let carrying = loads.into_iter().filter_map(|(folder, chores)| send(state, folder, chores));
    (keys, Carrying(carrying.collect()))
}

/// Hands a batch to the thread of its folder. A folder that hangs delays no reply.
fn send(state: &Rc<State>, folder: Box<str>, chores: Vec<Chore>) -> Option<oneshot::Receiver<()>> {
    let (done, told) = oneshot::channel();
    let mut folders = state.carrier.folders.borrow_mut();
    let is_new = !folders.contains_key(&folder);
    let here = folders.entry(folder.clone()).or_default();
    here.waiting.push_back(Batch { chores, done });
    if here.waiting.len() > MAX_WAITING {
        here.waiting.pop_front();
        tracing::warn!(folder, "too many writes are queued; dropping the oldest");
    }
    let hangs = here.hangs;
    if is_new {
        drop(spawn_local(work(Rc::clone(state), folder)));
    }
    (!hangs).then_some(told)
}

/// Works on one folder until nothing is queued for it.
async fn work(state: Rc<State>, folder: Box<str>) {
    while let Some(loads) = next(&state, &folder) {
        let (chores, waiting): (Vec<Vec<Chore>>, Vec<oneshot::Sender<()>>) =
            loads.into_iter().map(|Batch { chores, done }| (chores, done)).unzip();
        let home = state.home.clone();
        let (mut task, progress) = threads::spawn(move || {
            for chore in chores.into_iter().flatten() {
                match chore {
                    Chore::Effect(effect) => effects::write(&home, effect),
                    Chore::Export(exports) => host::export(&exports),
                }
            }
        });
        let done = threads::patiently(&mut task, &progress).await;
        // The reply goes out either way.
        drop(waiting);
        if done.is_err() {
            tracing::warn!(folder, "writing to this folder hangs");
            set_hangs(&state, &folder, true);
            let _came_back_late = task.await;
            set_hangs(&state, &folder, false);
        }
    }
}

/// The batches queued for the folder. If there are none, its entry is removed.
fn next(state: &State, folder: &str) -> Option<VecDeque<Batch>> {
    let mut folders = state.carrier.folders.borrow_mut();
    let loads = std::mem::take(&mut folders.get_mut(folder)?.waiting);
    if loads.is_empty() {
        folders.remove(folder);
        return None;
    }
    Some(loads)
}

fn set_hangs(state: &State, folder: &str, hangs: bool) {
    let mut folders = state.carrier.folders.borrow_mut();
    let Some(here) = folders.get_mut(folder) else { return };
    here.hangs = hangs;
    if hangs {
        // Release the replies that joined the queue meanwhile.
        for load in &mut here.waiting {
            load.done = oneshot::channel().0;
        }
    }
}
