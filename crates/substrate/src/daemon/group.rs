//! Group commit: all requests that are ready go into one transaction, and are answered after it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::mpsc::SyncSender;

use ipc::{Reply, place};
use serde_json::Value;
use substrate_clients::Answer;
use substrate_core::engine::{HostKind, once};
use substrate_core::{Caller, Cx, Db, DbError, Facts, Output, Verb};
use substrate_store::{Durability, Tx};
use tokio::sync::{mpsc, oneshot};

use super::state::{State, count};
use crate::clock;
use crate::error::{AppError, Kind};
use crate::host::{self, Prepared, Scope};

/// Requests in one commit at the most, so that the first does not wait for the last of a flood.
const MAX_GROUP: usize = 128;

/// The log is copied into the database after about so many requests.
const CHECKPOINT_EVERY: usize = 2_000;

/// Something that writes, and whoever waits for it.
pub(super) struct Job {
    pub(super) what: What,
    /// The body of the reply.
    pub(super) answer: oneshot::Sender<Vec<u8>>,
}

pub(super) enum What {
    Hook(Box<Prepared>),
    /// A request of the spool: its verdict was given long ago.
    Kept(Box<Prepared>),
    Verb {
        verb: &'static Verb,
        caller: Box<Caller>,
        body: Value,
        settings: std::sync::Arc<substrate_core::Settings>,
    },
}

impl What {
    /// What is acknowledged must be on disk; what nobody was promised need not.
    const fn durability(&self) -> Durability {
        match self {
            Self::Hook(_) | Self::Kept(_) => Durability::Normal,
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
    Hook(Answer),
    Verb(Result<Output, AppError>),
}

fn commit(state: &State, group: &mut Vec<Job>) {
    let durability =
        group.iter().map(|job| job.what.durability()).max().unwrap_or(Durability::Normal);
    let mut done = Vec::with_capacity(group.len());
    let committed = try_commit(state, group, durability, &mut done);
    count(&state.counts.commits);
    match committed {
        Ok(()) => {
            for (job, done) in group.drain(..).zip(done) {
                let _caller_gone = job.answer.send(reply(done));
            }
        }
        Err(error) => {
            count(&state.counts.failures);
            tracing::error!(%error, n = group.len(), "commit failed");
            place::leave_trace(
                state.home.root(),
                &format!("{} commit of {} requests failed: {error}\n", clock::now().0, group.len()),
            );
            let app: AppError = error.into();
            for job in group.drain(..) {
                let body = match job.what {
                    // No answer: the hook hands over and does what it can, what was kept stays in the spool.
                    What::Hook(_) | What::Kept(_) => continue,
                    What::Verb { .. } => reply(Done::Verb(Err(app.clone()))),
                };
                let _caller_gone = job.answer.send(body);
            }
        }
    }
}

fn try_commit(
    state: &State,
    group: &[Job],
    durability: Durability,
    done: &mut Vec<Done>,
) -> Result<(), DbError> {
    let mut writer = state.writer.borrow_mut();
    let mut tx = writer.begin(durability)?;
    for job in group {
        // Features are contained by themselves; this is for a bug in what is around them.
        let result = catch_unwind(AssertUnwindSafe(|| run(state, &mut tx, &job.what)));
        done.push(result.unwrap_or_else(|_| match job.what {
            What::Hook(_) | What::Kept(_) => Ok(Done::Hook(Answer::default())),
            What::Verb { .. } => Ok(Done::Verb(Err(AppError::new(
                Kind::Internal,
                "the command panicked; the daemon's log says where",
            )))),
        })?);
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
                What::Hook(_) | What::Verb { .. } => once::was_taken_over(tx, request)?,
            };
            let Scope { digest, origin } = prepared.decoded.scope();
            let is_twin = state.twins.borrow_mut().is_twin(digest, origin, clock::micros())
                || once::is_twin(tx, digest, origin, prepared.decoded.event.at)?;
            if done_already || is_twin {
                return Ok(Done::Hook(Answer::default()));
            }
            let answer = host::apply(tx, prepared, HostKind::Daemon);
            let slot = state.slot.get();
            state.slot.set(slot + 1);
            once::keep(tx, slot, request, prepared.decoded.event.at, &host::given(&answer))?;
            Ok(Done::Hook(answer))
        }
        What::Verb { verb, caller, body, settings } => {
            let db: &mut dyn Db = tx;
            let result = db.savepoint(|db| {
                let mut cx = Cx { now: clock::now(), db, settings, facts: &Facts::default() };
                (verb.run)(&mut cx, caller, body.clone()).map_err(AppError::from)
            });
            Ok(Done::Verb(result))
        }
    }
}

/// The reply's body. A hook's effects that its client reads happen here: after the commit, before the answer.
fn reply(done: Done) -> Vec<u8> {
    match done {
        Done::Hook(answer) => {
            host::carry_out(&answer);
            Reply {
                exit: answer.exit,
                stdout: answer.stdout.as_bytes(),
                stderr: answer.stderr.as_bytes(),
            }
            .bytes()
        }
        Done::Verb(result) => verb_reply(&result),
    }
}

/// A verb's output, or its error, as JSON; the command renders it.
pub(super) fn verb_reply(result: &Result<Output, AppError>) -> Vec<u8> {
    let (exit, json) = match result {
        Ok(output) => (0, serde_json::to_vec(output)),
        Err(error) => (error.kind.exit_code(), serde_json::to_vec(error)),
    };
    Reply { exit, stdout: &json.unwrap_or_default(), stderr: b"" }.bytes()
}
