//! Group commit: all requests that are ready go into one transaction, and are answered after it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use ipc::place;
use serde_json::Value;
use substrate_clients::Exports;
use substrate_core::engine::{HostKind, once};
use substrate_core::{
    Caller, DbError, Effect, FeatureError, Need, Output, RequestId, Settings, Verb,
};
use substrate_store::{Durability, Tx};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_local;

use super::carry;
use super::state::{State, count};
use super::waiting::{self, Woken};
use crate::clock;
use crate::error::{AppError, Kind};
use crate::host::{self, Applied, Gathered, Prepared, Ran, Scope, When};

/// Requests in one commit at the most, so that the first does not wait for the last of a flood.
const MAX_GROUP: usize = 128;

/// The log is copied into the database after about so many requests.
const CHECKPOINT_EVERY: usize = 2_000;

/// Something that writes, and whoever waits for it.
pub(super) struct Job {
    pub(super) what: What,
    pub(super) settled: oneshot::Sender<Settled>,
}

pub(super) enum What {
    Hook(Box<Prepared>),
    /// A request of the spool: its verdict was given long ago.
    Kept(Box<Prepared>),
    Verb {
        verb: &'static Verb,
        caller: Box<Caller>,
        body: Value,
        settings: Arc<Settings>,
        gathered: Gathered,
    },
    /// Whether the answer to that request reached its client.
    Printed {
        request: RequestId,
        reached: bool,
    },
}

/// What came of a job that was committed.
pub(super) enum Settled {
    Hook {
        prepared: Box<Prepared>,
        applied: Applied,
    },
    Verb(Result<Output, AppError>),
    Printed,
    /// Nothing was done: the job comes back, to be queued again when this was looked up.
    Look {
        what: What,
        needs: Vec<Need>,
    },
}

impl What {
    /// What is acknowledged must be on disk; what nobody was promised need not.
    const fn durability(&self) -> Durability {
        match self {
            Self::Hook(_) | Self::Kept(_) | Self::Printed { .. } => Durability::Normal,
            Self::Verb { .. } => Durability::Full,
        }
    }
}

/// Runs until nobody can send jobs any more.
pub(super) async fn commit_groups(
    state: Rc<State>,
    mut jobs: mpsc::UnboundedReceiver<Job>,
    checkpoint: SyncSender<()>,
) {
    let mut group = Vec::new();
    let mut since_checkpoint = 0;
    while jobs.recv_many(&mut group, MAX_GROUP).await > 0 {
        since_checkpoint += group.len();
        commit(&state, &mut group);
        if since_checkpoint >= CHECKPOINT_EVERY {
            since_checkpoint = 0;
            let _already_asked = checkpoint.try_send(());
        }
    }
}

/// What came of one job, before anybody may know.
enum Done {
    Hook(Applied),
    Verb(Result<Output, AppError>, Vec<Effect>),
    Printed(Vec<Effect>),
    /// Nothing yet: this has to be looked up first.
    Look(Vec<Need>),
}

fn commit(state: &Rc<State>, group: &mut Vec<Job>) {
    let durability =
        group.iter().map(|job| job.what.durability()).max().unwrap_or(Durability::Normal);
    let mut done = Vec::with_capacity(group.len());
    let mut woken = Vec::new();
    let committed = try_commit(state, group, durability, &mut done, &mut woken);
    count(&state.counts.commits);
    match committed {
        Ok(()) => {
            let mut keys = Vec::new();
            for (job, done) in group.drain(..).zip(done) {
                let (settled, effects, exports) = settled(job.what, done);
                let (woken, carrying) = carry::carry_out(state, effects, exports);
                keys.extend(woken);
                if carrying.is_done() {
                    let _caller_gone = job.settled.send(settled);
                } else {
                    drop(spawn_local(async move {
                        carrying.done().await;
                        let _caller_gone = job.settled.send(settled);
                    }));
                }
            }
            for one in woken {
                keys.extend(waiting::tell(state, one));
            }
            waiting::wake(state, keys);
        }
        Err(error) => {
            count(&state.counts.failures);
            tracing::error!(%error, n = group.len(), "commit failed");
            place::leave_trace(
                state.home.root(),
                &format!("{} commit of {} requests failed: {error}\n", clock::now().0, group.len()),
            );
            for one in woken {
                waiting::put_back(state, one);
            }
            let app: AppError = error.into();
            for job in group.drain(..) {
                // A hook gets no answer: it hands over and does what it can. What was kept stays in the spool.
                if let What::Verb { .. } = job.what {
                    let _caller_gone = job.settled.send(Settled::Verb(Err(app.clone())));
                }
            }
        }
    }
}

/// What the caller gets, and what must happen before: effects, and what the client reads with the answer.
fn settled(what: What, done: Done) -> (Settled, Vec<Effect>, Option<Exports>) {
    match (what, done) {
        (what, Done::Look(needs)) => (Settled::Look { what, needs }, Vec::new(), None),
        (What::Hook(prepared) | What::Kept(prepared), Done::Hook(mut applied)) => {
            let effects = std::mem::take(&mut applied.effects);
            let exports = applied.answer.exports.take();
            (Settled::Hook { prepared, applied }, effects, exports)
        }
        (_, Done::Verb(result, effects)) => (Settled::Verb(result), effects, None),
        (_, Done::Printed(effects)) => (Settled::Printed, effects, None),
        (_, Done::Hook(_)) => (Settled::Printed, Vec::new(), None),
    }
}

fn try_commit(
    state: &State,
    group: &[Job],
    durability: Durability,
    done: &mut Vec<Done>,
    woken: &mut Vec<Woken>,
) -> Result<(), DbError> {
    let mut writer = state.writer.borrow_mut();
    let mut tx = writer.begin(durability)?;
    for job in group {
        // Features are contained by themselves; this is for a bug in what is around them.
        let result = catch_unwind(AssertUnwindSafe(|| run(state, &mut tx, &job.what)));
        let result = result.unwrap_or_else(|_| match job.what {
            What::Hook(_) | What::Kept(_) => Ok(Done::Hook(Applied::default())),
            What::Printed { .. } => Ok(Done::Printed(Vec::new())),
            What::Verb { .. } => {
                let error = "the command panicked; the daemon's log says where";
                Ok(Done::Verb(Err(AppError::new(Kind::Internal, error)), Vec::new()))
            }
        })?;
        // Whom a command wakes is told by the same commit.
        if let Done::Verb(Ok(_), effects) = &result {
            for mut one in waiting::woken_by(state, effects) {
                if let Done::Hook(applied) = run(state, &mut tx, &one.what)? {
                    one.applied = applied;
                }
                woken.push(one);
            }
        }
        done.push(result);
    }
    tx.commit()
}

fn run(state: &State, tx: &mut Tx<'_>, what: &What) -> Result<Done, DbError> {
    match what {
        What::Hook(prepared) | What::Kept(prepared) => {
            let request = prepared.decoded.request();
            let done_already = match what {
                // The same request may still wait in our own socket: whoever comes first takes it over.
                What::Kept(_) => once::take_over(tx, request, prepared.decoded.event.at)?.is_some(),
                _ => once::was_taken_over(tx, request)?,
            };
            if prepared.decoded.is_repeated()
                && let Some(given) = once::answer_to(tx, request)?
            {
                return Ok(Done::Hook(Applied::again(given)));
            }
            let Scope { digest, origin } = prepared.decoded.scope();
            let is_twin = prepared.gathered.is_first()
                && (state.twins.borrow_mut().is_twin(digest, origin, clock::micros())
                    || once::is_twin(tx, digest, origin, prepared.decoded.event.at)?);
            if done_already || is_twin {
                return Ok(Done::Hook(Applied::default()));
            }
            let when = if matches!(what, What::Kept(_)) { When::TooLate } else { When::Now };
            let applied = host::apply(tx, prepared, &state.machine, HostKind::Daemon, when);
            if !applied.look.is_empty() {
                return Ok(Done::Look(applied.look));
            }
            if applied.wait.is_none() {
                let slot = state.slot.get();
                state.slot.set(slot + 1);
                let given = host::given(&applied.answer);
                once::keep(tx, slot, request, prepared.decoded.event.at, &given)?;
            }
            Ok(Done::Hook(applied))
        }
        What::Verb { verb, caller, body, settings, gathered } => {
            let body = body.clone();
            let ran = host::run_verb(tx, &state.machine, settings, gathered, verb, caller, body);
            Ok(match ran {
                Ok(Ran::Done(output, effects)) => Done::Verb(Ok(*output), effects),
                Ok(Ran::Look(needs)) => Done::Look(needs),
                Err(error) => Done::Verb(Err(error), Vec::new()),
            })
        }
        What::Printed { request, reached } => {
            let known = state.settings.borrow().latest(Path::new("/"));
            let (settings, _) = known.unwrap_or_else(|| state.defaults());
            match host::printed(tx, &state.machine, &settings, *request, *reached) {
                Ok(effects) => Ok(Done::Printed(effects)),
                Err(FeatureError::Db(error)) => Err(error),
                Err(error) => {
                    tracing::error!(%error, "a feature was not told what was printed");
                    Ok(Done::Printed(Vec::new()))
                }
            }
        }
    }
}
