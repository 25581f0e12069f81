//! Group commit: all requests that are ready share one transaction, and are answered after it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;
use substrate_clients::Exports;
use substrate_core::engine::processed::{Group, Processed};
use substrate_core::redact::clean;
use substrate_core::{
    Caller, Db, DbError, Effect, FeatureError, Need, Output, RequestId, Settings, Verb,
};
use substrate_store::Durability;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_local;

use super::state::{EndReason, State, count};
use super::storage::{Place, Storage};
use super::stream::Stream;
use super::waiting::{self, Woken};
use super::{carry, surround, waiters};
use crate::clock;
use crate::error::{AppError, Kind};
use crate::host::{self, Considered, Gathered, Host, Prepared, VerbRun};

/// The most requests in one commit, so that the first does not wait for the last of a flood.
const MAX_GROUP: usize = 128;

/// A job that writes, and the caller that waits for it.
pub(super) enum Job {
    Hook {
        prepared: Box<Prepared>,
        /// To notice that the caller has gone.
        caller: Rc<Stream>,
        reply: oneshot::Sender<(Box<Prepared>, Considered)>,
    },
    /// A state that a client showed. No caller waits for an answer.
    Shown {
        prepared: Box<Prepared>,
    },
    Verb {
        call: Box<VerbCall>,
        reply: oneshot::Sender<Result<Output, AppError>>,
    },
    /// Whether the answer to that request reached its client.
    Printed {
        request: RequestId,
        reached: bool,
        reply: oneshot::Sender<()>,
    },
}

/// A command that writes.
pub(super) struct VerbCall {
    pub(super) verb: &'static Verb,
    pub(super) caller: Caller,
    pub(super) body: Value,
    pub(super) settings: Arc<Settings>,
    pub(super) gathered: Gathered,
    /// Stays the same when the caller repeats the request.
    pub(super) request: RequestId,
    pub(super) is_repeated: bool,
}

/// The result of one job, before its caller may see it.
enum JobResult {
    Hook(Considered),
    Verb(Result<Output, AppError>, Vec<Effect>),
    Printed(Vec<Effect>),
    /// Nothing yet: these facts have to be looked up first.
    Look(Vec<Need>),
}

impl Job {
    /// An acknowledged command must be on disk. A hook's event is promised to no caller, so it need not be.
    const fn durability(&self) -> Durability {
        match self {
            Self::Hook { .. } | Self::Shown { .. } | Self::Printed { .. } => Durability::Normal,
            Self::Verb { .. } => Durability::Full,
        }
    }
}

/// Runs until all senders of jobs are gone.
pub(super) async fn commit_groups(state: Rc<State>, mut jobs: mpsc::UnboundedReceiver<Job>) {
    let mut group = Vec::new();
    while jobs.recv_many(&mut group, MAX_GROUP).await > 0 {
        commit(&state, &mut group);
    }
}

/// The result of one attempt to commit a group.
#[derive(Default)]
struct Attempt {
    done: Vec<JobResult>,
    woken: Vec<Woken>,
    processed: Group,
}

fn commit(state: &Rc<State>, group: &mut Vec<Job>) {
    let durability = group.iter().map(Job::durability).max().unwrap_or(Durability::Normal);
    let has_caller = heard(group);
    let mut attempt = Attempt::default();
    let mut storage = state.storage.borrow_mut();
    storage.look_at_disk();
    let mut committed =
        try_commit(state, &mut storage, group, &has_caller, durability, &mut attempt);
    count(&state.counts.commits);
    if committed.is_ok() && is_displaced(state, &storage, durability) {
        // No caller is answered. Those that ask again reach the daemon of the home that is there now.
        attempt.woken.into_iter().for_each(|one| waiting::put_back(state, one));
        group.clear();
        return state.end(EndReason::Displaced);
    }
    if let (Err(error), false) = (&committed, storage.is_in_memory()) {
        count(&state.counts.failures);
        tracing::error!(%error, n = group.len(), "commit failed");
        std::mem::take(&mut attempt)
            .woken
            .into_iter()
            .for_each(|one| waiting::put_back(state, one));
        storage.go_on_in_memory(error);
        committed = try_commit(state, &mut storage, group, &has_caller, durability, &mut attempt);
    }
    drop(storage);
    if let Err(error) = committed {
        tracing::error!(%error, n = group.len(), "could not even write to memory");
        return group.clear();
    }
    let mut keys = Vec::new();
    for (job, mut done) in group.drain(..).zip(attempt.done) {
        if let JobResult::Look(needs) = done {
            drop(spawn_local(look_up(Rc::clone(state), job, needs)));
            continue;
        }
        let (effects, exports) = done.takes_effect();
        let (woken, carrying) = carry::carry_out(state, effects, exports);
        keys.extend(woken);
        if carrying.is_done() {
            answer(job, done);
        } else {
            // Files that the client reads with the answer are written before it.
            drop(spawn_local(async move {
                carrying.done().await;
                answer(job, done);
            }));
        }
    }
    for one in attempt.woken {
        keys.extend(waiting::tell(state, one));
    }
    waiting::wake(state, keys);
    if state.counts.watching.get() > 0 {
        state.committed.notify_waiters();
    }
}

/// Which callers still wait. An event whose caller has gone may be stale: it got another answer, and its actor has
/// moved on.
fn heard(group: &[Job]) -> Vec<bool> {
    let callers: Vec<_> = group
        .iter()
        .filter_map(|job| match job {
            Job::Hook { caller, .. } => caller.fd(),
            Job::Shown { .. } | Job::Verb { .. } | Job::Printed { .. } => None,
        })
        .collect();
    let mut gone = waiters::have_hung_up(&callers).into_iter();
    group
        .iter()
        .map(|job| match job {
            Job::Hook { caller, .. } => caller.fd().is_some() && !gone.next().unwrap_or(false),
            Job::Shown { .. } | Job::Verb { .. } | Job::Printed { .. } => true,
        })
        .collect()
}

/// Looks up what a job's transaction asked for, and queues the job again.
async fn look_up(state: Rc<State>, mut job: Job, needs: Vec<Need>) {
    surround::look_up(&state, &mut job, needs).await;
    let _we_end = state.jobs.send(job);
}

impl JobResult {
    /// What must happen before any caller is answered: effects, and files that the client reads with the answer.
    fn takes_effect(&mut self) -> (Vec<Effect>, Option<Exports>) {
        match self {
            Self::Hook(considered) => {
                (std::mem::take(&mut considered.effects), considered.answer.exports.take())
            }
            Self::Verb(_, effects) | Self::Printed(effects) => (std::mem::take(effects), None),
            Self::Look(_) => (Vec::new(), None),
        }
    }
}

/// Sends the result, if the caller is still there.
fn answer(job: Job, done: JobResult) {
    match (job, done) {
        (Job::Hook { prepared, caller, reply }, JobResult::Hook(considered)) => {
            // The task that waits for this takes the connection back.
            drop(caller);
            let _gone = reply.send((prepared, considered));
        }
        (Job::Verb { reply, .. }, JobResult::Verb(result, _)) => {
            let _gone = reply.send(result);
        }
        (Job::Printed { reply, .. }, JobResult::Printed(_)) => {
            let _gone = reply.send(());
        }
        _ => {}
    }
}

fn try_commit(
    state: &State,
    storage: &mut Storage,
    group: &[Job],
    has_caller: &[bool],
    durability: Durability,
    attempt: &mut Attempt,
) -> Result<(), DbError> {
    let place = storage.place();
    let Some((writer, processed)) = storage.writer() else { return Err(DbError::ReadOnly) };
    let mut tx = writer.begin(durability)?;
    let mut run = Run { state, place: &place, processed, group: &mut attempt.processed };
    for (job, is_heard) in group.iter().zip(has_caller) {
        // Features catch their own panics. This is for a bug around them.
        let ran = catch_unwind(AssertUnwindSafe(|| run.job(&mut tx, job, *is_heard)));
        let done = ran.unwrap_or_else(|_| Ok(panic_in(job)))?;
        // Waiters that a command wakes are answered by the same commit.
        if let JobResult::Verb(Ok(_), effects) = &done {
            for mut one in waiting::woken_by(state, effects) {
                if let JobResult::Hook(considered) = run.hook(&mut tx, &one.prepared, true)? {
                    one.considered = considered;
                }
                attempt.woken.push(one);
            }
        }
        attempt.done.push(done);
    }
    // A feature that failed to read or write is contained, but a failing disk must be noticed.
    if let Some(error) = tx.failure() {
        return Err(error.clone());
    }
    processed.note(&mut tx, &attempt.processed)?;
    tx.commit()?;
    processed.committed(&attempt.processed);
    Ok(())
}

fn panic_in(job: &Job) -> JobResult {
    match job {
        Job::Hook { .. } | Job::Shown { .. } => JobResult::Hook(Considered::default()),
        Job::Printed { .. } => JobResult::Printed(Vec::new()),
        Job::Verb { .. } => {
            let error = "the command panicked; the daemon's log says where";
            JobResult::Verb(Err(AppError::new(Kind::Internal, error)), Vec::new())
        }
    }
}

/// One transaction's work.
struct Run<'a> {
    state: &'a State,
    place: &'a Place,
    processed: &'a mut Processed,
    group: &'a mut Group,
}

impl Run<'_> {
    fn job(&mut self, tx: &mut dyn Db, job: &Job, is_heard: bool) -> Result<JobResult, DbError> {
        match job {
            Job::Hook { prepared, .. } => self.hook(tx, prepared, is_heard),
            Job::Shown { prepared } => Ok(self.shown(tx, prepared)),
            Job::Verb { call, .. } => self.verb(tx, call),
            Job::Printed { request, reached, .. } => self.printed(tx, *request, *reached),
        }
    }

    fn hook(
        &mut self,
        tx: &mut dyn Db,
        prepared: &Prepared,
        is_heard: bool,
    ) -> Result<JobResult, DbError> {
        let (state, decoded) = (self.state, &prepared.decoded);
        let scope = decoded.scope();
        if !is_heard {
            let was_brought = |scope| state.twins.borrow().was_brought(scope, clock::micros());
            if scope.is_some_and(was_brought) {
                return Ok(JobResult::Hook(Considered::default()));
            }
            // Not recorded as processed: if the caller is still there on another connection, it gets an answer.
            return Ok(JobResult::Hook(host::consider(tx, prepared, &state.machine, Host::LATE)));
        }
        if decoded.is_repeated()
            && let Some(reply) = self.answer_to(tx, decoded.request())?
        {
            return Ok(JobResult::Hook(Considered::again(&reply)));
        }
        let is_twin = |scope| state.twins.borrow_mut().is_twin(scope, clock::micros());
        if prepared.gathered.is_first() && scope.is_some_and(is_twin) {
            return Ok(JobResult::Hook(Considered::default()));
        }
        let mut wishes = self.place.wishes(decoded);
        wishes.extend(state.notices.borrow_mut().of(prepared));
        let considered = host::consider(tx, prepared, &state.machine, self.place.host(&wishes));
        if !considered.look.is_empty() {
            return Ok(JobResult::Look(considered.look));
        }
        let reply = considered.kept_reply();
        if considered.is_stood_for && reply.is_empty() {
            self.group.add_stood_for(decoded.request());
            return Ok(JobResult::Hook(considered));
        }
        if considered.wait.is_none() {
            self.group.add(decoded.request(), &reply);
        }
        if let Some(scope) = scope {
            self.group.add_scope(scope);
        }
        Ok(JobResult::Hook(considered))
    }

    /// The answer to a request that was processed before.
    fn answer_to(
        &mut self,
        tx: &mut dyn Db,
        request: RequestId,
    ) -> Result<Option<Vec<u8>>, DbError> {
        self.processed.answer_to(tx, substrate_features::ALL, request, self.group)
    }

    fn shown(&self, tx: &mut dyn Db, prepared: &Prepared) -> JobResult {
        let considered = host::consider(tx, prepared, &self.state.machine, self.place.host(&[]));
        if considered.look.is_empty() {
            JobResult::Hook(considered)
        } else {
            JobResult::Look(considered.look)
        }
    }

    fn verb(&mut self, tx: &mut dyn Db, call: &VerbCall) -> Result<JobResult, DbError> {
        if let Some(error) = self.place.refuses_writes() {
            return Ok(JobResult::Verb(Err(error), Vec::new()));
        }
        let VerbCall { verb, caller, body, settings, gathered, request, is_repeated } = call;
        if *is_repeated && let Some(kept) = self.answer_to(tx, *request)? {
            let result = serde_json::from_slice(&kept);
            return Ok(JobResult::Verb(
                result.map_err(|error| AppError::from_error(Kind::Internal, &error)),
                Vec::new(),
            ));
        }
        let machine = &self.state.machine;
        match host::run_verb(tx, machine, settings, gathered, verb, caller, body.clone()) {
            Ok(VerbRun::Look(needs)) => Ok(JobResult::Look(needs)),
            Ok(VerbRun::Done(output, effects)) => {
                if output.wait.is_none() {
                    // Stored for a caller that asks again, so without secrets. The caller itself gets the full answer.
                    let kept = serde_json::to_string(&output).unwrap_or_default();
                    self.group.add(*request, clean(&kept).as_bytes());
                }
                Ok(JobResult::Verb(Ok(*output), effects))
            }
            Err(error) => Ok(JobResult::Verb(Err(error), Vec::new())),
        }
    }

    fn printed(
        &self,
        tx: &mut dyn Db,
        request: RequestId,
        reached: bool,
    ) -> Result<JobResult, DbError> {
        let known = self.state.settings.borrow().latest(Path::new("/"));
        let (settings, _) = known.unwrap_or_else(|| self.state.defaults());
        match host::printed(tx, &self.state.machine, &settings, request, reached) {
            Ok(effects) => Ok(JobResult::Printed(effects)),
            Err(FeatureError::Db(error)) => Err(error),
            Err(error) => {
                tracing::error!(%error, "could not tell a feature what was printed");
                Ok(JobResult::Printed(Vec::new()))
            }
        }
    }
}

/// Whether the database we wrote is no longer the one that readers open. The lock is also checked before anything is
/// acknowledged, and now and then otherwise: it may guard another home by now.
fn is_displaced(state: &State, storage: &Storage, durability: Durability) -> bool {
    let is_due = durability == Durability::Full || state.looks_due();
    storage.is_displaced() || (is_due && state.is_displaced(storage))
}
