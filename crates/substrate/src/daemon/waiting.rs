//! Parking callers that wait, and asking their request again when something may have come for them.

use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ipc::{Kind, Reply};
use substrate_core::{Effect, EventKind, RequestId, Timestamp, World as _};
use tokio::task::spawn_local;

use super::conn::{self, Call};
use super::parked::ParkedEvent;
use super::state::{Counted, State};
use super::stream::Stream;
use super::waiters::{self, Parked, Waiting};
use super::{carry, surround};
use crate::clock;
use crate::error::{AppError, Kind as ErrorKind};
use crate::host::{Considered, Decoded, Prepared};

/// How often callers that hung up, and those whose client is gone, are released.
const SWEEP: Duration = Duration::from_secs(5);

/// How much longer a caller waits than its wait takes.
const GRACE_MS: i64 = 5_000;

/// Parks a hook until that time, or until the key is woken.
pub(super) async fn park_hook(
    state: &Rc<State>,
    stream: Stream,
    decoded: Decoded,
    wait: substrate_core::verdict::Wait,
    n_wakes: u64,
) {
    let what = waits(state, decoded);
    let by = what.by();
    park(state, stream, what, (&wait.key, &by, wait.until), n_wakes).await;
}

/// Parks a command until that time, or until the key is woken.
pub(super) async fn park_call(
    state: &Rc<State>,
    stream: Stream,
    call: Call,
    until: (&str, &str, Timestamp),
    n_wakes: u64,
) {
    park(state, stream, Waiting::Verb(Box::new(call)), until, n_wakes).await;
}

/// Parks a caller until that time, under that name among the waiters for the key. `n_wakes` is from before the decision
/// to wait.
async fn park(
    state: &Rc<State>,
    mut stream: Stream,
    what: Waiting,
    (key, by, until): (&str, &str, Timestamp),
    n_wakes: u64,
) {
    let left = until.since(clock::now()).max(0) + GRACE_MS;
    let patience = u32::try_from(left).unwrap_or(u32::MAX).to_le_bytes();
    if conn::write_frame(&mut stream, Kind::Wait, &patience).await.is_err() {
        return;
    }
    let Ok(stream) = stream.into_socket() else { return };
    let dialog = dialog_of(&what, &stream);
    let parked = Parked { stream, what, key: key.into(), by: by.into(), until };
    let (replaced, id) = {
        let mut waiters = state.waiters.borrow_mut();
        (waiters.park(parked), waiters.latest())
    };
    state.parked.notify_one();
    if let Some((request, probe)) = dialog {
        drop(spawn_local(attend(Rc::clone(state), id, request, probe)));
    }
    if let Some(replaced) = replaced {
        let_go(replaced, "another command of this agent waits now").await;
    }
    // Another request may have committed between the decision and the parking.
    if state.waiters.borrow().was_woken_since(key, n_wakes) {
        wake(state, vec![key.to_owned()]);
    }
}

/// The request of a hook that waits beside a dialog, and a second handle of its connection.
fn dialog_of(what: &Waiting, stream: &UnixStream) -> Option<(RequestId, Stream)> {
    let Waiting::Hook { event, .. } = what else { return None };
    if event.kind() != EventKind::PermissionRequest {
        return None;
    }
    Some((event.request(), Stream::new(stream.try_clone().ok()?)))
}

/// The client ends the hook of a dialog that the user declined. That is noticed at once: the dialog must not be shown
/// as open until the next sweep.
async fn attend(state: Rc<State>, id: u64, request: RequestId, mut probe: Stream) {
    let _closed = probe.readable().await;
    let left = state.waiters.borrow_mut().hung_up_at(id);
    if left.is_some() {
        conn::printed(&state, request, false).await;
    }
}

/// Releases a waiter: a hook ends silently, a command says why.
async fn let_go(parked: Parked, why: &str) {
    let mut stream = Stream::new(parked.stream);
    let reply = match parked.what {
        Waiting::Hook { .. } => Reply::default().bytes(),
        Waiting::Verb(_) => conn::verb_reply(&Err(AppError::new(ErrorKind::Daemon, why))),
    };
    let _gone = conn::write_frame(&mut stream, Kind::Reply, &reply).await;
}

/// The daemon is stopped on purpose: release the waiters, or they would start it again.
pub(super) async fn let_all_go(state: &State) {
    let all = state.waiters.borrow_mut().all();
    for parked in all {
        let_go(parked, "the daemon was stopped").await;
    }
}

/// Asks the waiters for these keys again.
pub(super) fn wake(state: &Rc<State>, keys: Vec<String>) {
    for key in keys {
        let woken = state.waiters.borrow_mut().woken(&key);
        ask_again(state, woken);
    }
}

fn ask_again(state: &Rc<State>, woken: Vec<Parked>) {
    for parked in woken {
        // A caller that hung up must not take what another one could have.
        if waiters::has_hung_up(&parked.stream) {
            continue;
        }
        let stream = Stream::new(parked.stream);
        let open = Counted::begin(state, |counts| &counts.open);
        let state = Rc::clone(state);
        drop(spawn_local(async move {
            let _open = open;
            match parked.what {
                Waiting::Hook { event, .. } => {
                    conn::hook_again(&state, stream, event.again()).await;
                }
                Waiting::Verb(call) => conn::call_again(&state, stream, *call).await,
            }
        }));
    }
}

/// A waiter that is answered by the commit that wakes it.
pub(super) struct Woken {
    stream: UnixStream,
    pub(super) prepared: Box<Prepared>,
    pub(super) considered: Considered,
}

/// The waiters that these effects wake and that need nothing but the open transaction.
pub(super) fn woken_by(state: &State, effects: &[Effect]) -> Vec<Woken> {
    let mut out = Vec::new();
    for effect in effects {
        let Effect::Wake { key } = effect else { continue };
        let beside = state.waiters.borrow_mut().beside(key);
        for parked in beside {
            let Waiting::Hook { event, .. } = parked.what else { continue };
            if waiters::has_hung_up(&parked.stream) {
                continue;
            }
            match surround::from_memory(state, event.again()) {
                Ok(prepared) => out.push(Woken {
                    stream: parked.stream,
                    prepared: Box::new(prepared),
                    considered: Considered::default(),
                }),
                // Its settings have to be read first, so it is asked after the commit.
                Err(decoded) => back(state, parked.stream, *decoded, &parked.key, parked.until),
            }
        }
    }
    out
}

/// Answers a waiter after the commit, or parks it again. Returns the keys that it wakes in turn.
pub(super) fn tell(state: &Rc<State>, woken: Woken) -> Vec<String> {
    let Woken { stream, prepared, mut considered } = woken;
    let effects = std::mem::take(&mut considered.effects);
    let (keys, carrying) = carry::carry_out(state, effects, None);
    match considered.wait.take() {
        Some(wait) => back(state, stream, prepared.decoded, &wait.key, wait.until),
        None => {
            let mut stream = Stream::new(stream);
            let request = prepared.decoded.request();
            let open = Counted::begin(state, |counts| &counts.open);
            let state = Rc::clone(state);
            drop(spawn_local(async move {
                let _open = open;
                carrying.done().await;
                conn::answer_hook(&state, &mut stream, request, considered).await;
            }));
        }
    }
    keys
}

/// Nothing was committed: the waiter is parked again, and asked again in a moment.
pub(super) fn put_back(state: &State, woken: Woken) {
    let soon = clock::now().plus_ms(500);
    back(state, woken.stream, woken.prepared.decoded, "a commit that works", soon);
}

fn back(state: &State, stream: UnixStream, decoded: Decoded, key: &str, until: Timestamp) {
    let what = waits(state, decoded);
    let parked = Parked { stream, by: what.by(), what, key: key.into(), until };
    drop(state.waiters.borrow_mut().park(parked));
}

fn waits(state: &State, decoded: Decoded) -> Waiting {
    let event = ParkedEvent::of(decoded);
    let pid = event.client_pid();
    let client = pid.and_then(|pid| Some((pid, state.machine.process_began(pid)?)));
    Waiting::Hook { event: Box::new(event), client }
}

/// Maintains the waiters for as long as there are any.
pub(super) async fn look_after(state: Rc<State>) {
    let mut swept = Instant::now();
    loop {
        if state.waiters.borrow().len() == 0 {
            state.parked.notified().await;
        }
        let now = clock::now();
        let next = state.waiters.borrow().next_due().map_or(SWEEP, |at| {
            Duration::from_millis(u64::try_from(at.since(now)).unwrap_or(0)).min(SWEEP)
        });
        // A caller that is parked meanwhile may be due sooner.
        let pause = tokio::time::sleep(next.max(Duration::from_millis(1)));
        tokio::select! {
            () = pause => {}
            () = state.parked.notified() => {}
        }
        let due = state.waiters.borrow_mut().due(clock::now());
        ask_again(&state, due);
        if swept.elapsed() >= SWEEP {
            swept = Instant::now();
            let lost = state.waiters.borrow_mut().sweep();
            for parked in lost {
                let_go(parked, "its client is gone").await;
            }
        }
    }
}
