//! One connection: one request, one reply. A command's connection may carry more. A waiting connection holds no buffer.

use std::io::ErrorKind;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ipc::frame::{HEADER_LEN, VERSION};
use ipc::{Header, HookRequest, Kind, Reply};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use substrate_core::{
    Access, Caller, Lineage, Output, RequestId, Standing, Timestamp, Verb, WaitFor,
};
use tokio::sync::oneshot;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::control::Ask;
use super::dashboard;
use super::group::{Job, VerbCall};
use super::large::Turn;
use super::state::{Counted, EndReason, State, count, working};
use super::stream::Stream;
use super::surround::{self, surround};
use super::{notify, options, take_over, threads, waiting};
use crate::clock;
use crate::error::{AppError, Kind as ErrorKindOfOurs};
use crate::host::{self, Considered, Decoded, Gathered, Prepared, VerbRun};
use crate::processes;

/// A connection that stays silent this long is dropped.
const PATIENCE: Duration = Duration::from_secs(10);

/// Inputs longer than this are decoded on another thread.
const LONG: usize = 256 << 10;

/// How long a hook may take to print its answer and confirm that.
const PRINTED: Duration = Duration::from_secs(10);

/// How long a caller that watches for commits hears nothing.
pub(crate) const STILL_THERE: Duration = Duration::from_secs(15);

/// A request of kind `Command`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) path: Vec<String>,
    pub(crate) body: Value,
    pub(crate) caller: Caller,
    /// It was sent before, and a daemon that has ended may have processed it.
    #[serde(default)]
    pub(crate) repeated: bool,
}

impl Call {
    /// A digest of the request's id and everything it asks for, to recognise the same call when it is repeated.
    fn request(&self) -> RequestId {
        let Self { path, body, caller, .. } = self;
        RequestId::of(&format!("{}\n{}\n{body}", caller.request, path.join(" ")))
    }
}

/// Serves one connection to its end.
pub(super) async fn serve(state: Rc<State>, stream: Stream, _open: Counted) {
    let mut peer = match stream.peer() {
        Ok(peer) if peer.uid == state.uid => Peer::Process(peer.pid),
        Ok(peer) => return tracing::warn!(uid = peer.uid, "a stranger was turned away"),
        Err(error) => {
            return tracing::warn!(%error, "a connection without credentials was turned away");
        }
    };
    let mut stream = stream;
    while let Ok(Some((header, body, _turn))) =
        timeout(PATIENCE, read_frame(&state, &mut stream)).await
    {
        let in_flight = Counted::begin(&state, |counts| &counts.in_flight);
        // Boxed, so that an idle connection stays small.
        match Box::pin(answer(&state, stream, &mut peer, header, body)).await {
            // A caller that sends commands may send more.
            Some(same) => stream = same,
            None => return,
        }
        drop(in_flight);
    }
}

/// Answers one request. Returns the connection if another request may follow.
async fn answer(
    state: &Rc<State>,
    mut stream: Stream,
    peer: &mut Peer,
    header: Header,
    body: Body,
) -> Option<Stream> {
    let begun_us = clock::micros();
    let reply = match header.kind {
        _ if header.version != VERSION => None,
        Kind::Hook => {
            count(&state.counts.hooks);
            match prepare(state, body, begun_us, clock::now()).await {
                Some(prepared) => {
                    settle_hook(state, stream, prepared).await;
                    return None;
                }
                None => None,
            }
        }
        Kind::Command => {
            count(&state.counts.commands);
            match serde_json::from_slice(&body) {
                Ok(call) => return identified(state, stream, peer, call).await,
                Err(_) => None,
            }
        }
        Kind::Control => match serde_json::from_slice(&body) {
            Ok(ask) => Some(control(state, peer, ask).await),
            Err(_) => None,
        },
        // The daemon that sent this answer has ended meanwhile.
        Kind::Printed => match body.first_chunk::<16>() {
            Some(id) => {
                printed(state, RequestId(*id), true).await;
                Some(Reply::default().bytes())
            }
            None => None,
        },
        Kind::Leaving | Kind::Reply | Kind::Wait | Kind::Refused | Kind::Confirm => None,
    };
    match reply {
        Some(reply) => send(&mut stream, Kind::Reply, &reply).await,
        // Not a request that we understand.
        None => send(&mut stream, Kind::Refused, &[]).await,
    };
    None
}

/// Whether the caller was still there to read it.
async fn send(stream: &mut Stream, kind: Kind, body: &[u8]) -> bool {
    write_frame(stream, kind, body).await.is_ok()
}

/// Commits a hook's event, then answers or parks it. If nothing could be committed, the connection ends and the hook
/// asks again.
async fn settle_hook(state: &Rc<State>, stream: Stream, prepared: Prepared) {
    let request = prepared.decoded.request();
    let n_wakes = state.waiters.borrow().n_wakes();
    let caller = Rc::new(stream);
    let (reply, settled) = oneshot::channel();
    let job = Job::Hook { prepared: Box::new(prepared), caller: Rc::clone(&caller), reply };
    let Some((prepared, considered)) = committed(state, job, settled).await else { return };
    let Some(mut stream) = Rc::into_inner(caller) else { return };
    match considered.wait {
        Some(wait) => waiting::park_hook(state, stream, prepared.decoded, wait, n_wakes).await,
        None => answer_hook(state, &mut stream, request, considered).await,
    }
}

/// Sends a hook its answer. Where a feature wants to know, waits for the confirmation that it was printed.
pub(super) async fn answer_hook(
    state: &State,
    stream: &mut Stream,
    request: RequestId,
    considered: Considered,
) {
    let mut reply = considered.reply();
    if reply.is_empty() {
        reply = Reply::default().bytes();
    }
    if !considered.receipt {
        send(stream, Kind::Reply, &reply).await;
        return;
    }
    let reached = send(stream, Kind::Confirm, &reply).await
        && confirmation(state, stream).await == Ok(Some(Kind::Printed));
    if !printed(state, request, reached).await || !reached {
        return;
    }
    send(stream, Kind::Reply, &Reply::default().bytes()).await;
    // A hook that is killed after printing ends silently, and its client ignores what it printed.
    if confirmation(state, stream).await.is_ok_and(|kind| kind != Some(Kind::Leaving)) {
        printed(state, request, false).await;
    }
}

/// What a hook sends after its answer. `None`: it has gone.
async fn confirmation(state: &State, stream: &mut Stream) -> Result<Option<Kind>, Elapsed> {
    let frame = timeout(PRINTED, read_frame(state, stream)).await?;
    Ok(frame.map(|(header, ..)| header.kind))
}

/// Records whether an answer reached its client.
pub(super) async fn printed(state: &State, request: RequestId, reached: bool) -> bool {
    let (reply, settled) = oneshot::channel();
    committed(state, Job::Printed { request, reached, reply }, settled).await.is_some()
}

/// A parked hook is considered once more.
pub(super) async fn hook_again(state: &Rc<State>, stream: Stream, decoded: Decoded) {
    let _in_flight = Counted::begin(state, |counts| &counts.in_flight);
    let prepared = surround(state, decoded).await;
    settle_hook(state, stream, prepared).await;
}

async fn prepare(state: &Rc<State>, body: Body, begun_us: u64, at: Timestamp) -> Option<Prepared> {
    let decode = move |body: &[u8]| Some(host::decode(&HookRequest::read(body)?, at, begun_us));
    let decoded: Decoded = if body.len() > LONG {
        let _working = working(state);
        tokio::task::spawn_blocking(move || decode(&body)).await.ok()??
    } else {
        decode(&body)?
    };
    if !state.is_brief {
        state.activities.heard(&decoded);
    }
    options::follow(state, &decoded).await;
    Some(surround(state, decoded).await)
}

/// Hands a job to the next group, and waits for its commit.
async fn committed<T>(state: &State, job: Job, settled: oneshot::Receiver<T>) -> Option<T> {
    state.jobs.send(job).ok()?;
    settled.await.ok()
}

/// The process at the other end of a connection.
enum Peer {
    /// Its pid, from the socket's credentials.
    Process(Option<i32>),
    /// The processes above it. Looked up for its first command, and never for a hook.
    Known(Option<Arc<Lineage>>),
}

impl Peer {
    /// The processes above it. `None` if the system does not say.
    async fn lineage(&mut self, state: &Rc<State>) -> Result<Option<Arc<Lineage>>, AppError> {
        let pid = match self {
            Self::Known(lineage) => return Ok(lineage.clone()),
            Self::Process(pid) => *pid,
        };
        let _working = working(state);
        // Only this caller waits, so even a blocked lookup is waited for.
        let (task, _progress) = threads::spawn(move || processes::above(pid));
        let lineage = match timeout(PATIENCE, task).await {
            Ok(Ok(processes::Above::Found(lineage))) => Some(lineage),
            Ok(Ok(processes::Above::Unknown)) => None,
            Ok(Ok(processes::Above::Gone)) => return Err(unknown_caller("it has ended")),
            Ok(Err(_)) | Err(_) => return Err(unknown_caller("the system does not say in time")),
        };
        *self = Self::Known(lineage.clone());
        Ok(lineage)
    }
}

fn unknown_caller(why: &str) -> AppError {
    let message = format!("can't tell which process runs this command: {why}");
    AppError::new(ErrorKindOfOurs::User, message)
        .hint("run it again and keep the caller alive until it answers")
}

/// Finds out which processes a command comes from, and runs it.
async fn identified(
    state: &Rc<State>,
    mut stream: Stream,
    peer: &mut Peer,
    mut call: Call,
) -> Option<Stream> {
    match peer.lineage(state).await {
        Ok(lineage) => {
            call.caller.lineage = lineage;
            settle_call(state, stream, call).await
        }
        Err(error) => {
            send(&mut stream, Kind::Reply, &verb_reply(&Err(error))).await.then_some(stream)
        }
    }
}

/// Runs a command, then answers or parks it.
async fn settle_call(state: &Rc<State>, mut stream: Stream, call: Call) -> Option<Stream> {
    let n_wakes = state.waiters.borrow().n_wakes();
    let result = command(state, &call).await?;
    let Call { path, caller, .. } = call;
    if let Ok(Output { wait: Some(wait), .. }) = &result {
        let WaitFor { key, by, until_ms, body } = wait.clone();
        let again = Call { path, body, caller, repeated: false };
        let until = (key.as_str(), by.as_str(), Timestamp(until_ms));
        waiting::park_call(state, stream, again, until, n_wakes).await;
        return None;
    }
    send(&mut stream, Kind::Reply, &verb_reply(&result)).await.then_some(stream)
}

/// A verb's output, or its error, as JSON. The command renders it.
pub(super) fn verb_reply(result: &Result<Output, AppError>) -> Vec<u8> {
    let (exit, json) = match result {
        Ok(output) => (0, serde_json::to_vec(output)),
        Err(error) => (error.kind.exit_code(), serde_json::to_vec(error)),
    };
    Reply { exit, stdout: &json.unwrap_or_default(), stderr: b"" }.bytes()
}

/// A parked command is run once more.
pub(super) async fn call_again(state: &Rc<State>, stream: Stream, call: Call) {
    let _in_flight = Counted::begin(state, |counts| &counts.in_flight);
    let _one_is_enough = settle_call(state, stream, call).await;
}

/// `None`: nothing could be committed, and the caller asks again.
pub(super) async fn command(state: &Rc<State>, call: &Call) -> Option<Result<Output, AppError>> {
    let request = call.request();
    let Call { path, body, mut caller, repeated } = call.clone();
    let Some(verb) = find(&path) else {
        let error = format!("the daemon has no command `{}`", path.join(" "));
        return Some(Err(AppError::new(ErrorKindOfOurs::User, error)
            .hint("run `substrate daemon restart` to get the same version as this command")));
    };
    let who = caller.session.clone().unwrap_or_default();
    let ((settings, project), _) =
        surround::around(state, surround::caller_dir(&caller), &who).await;
    caller.project = project.as_ref().to_owned();
    if verb.access == Access::Write {
        let (reply, settled) = oneshot::channel();
        let gathered = Gathered::default();
        let is_repeated = repeated;
        let call = VerbCall { verb, caller, body, settings, gathered, request, is_repeated };
        return committed(state, Job::Verb { call: Box::new(call), reply }, settled).await;
    }
    let closed = Gathered::closed();
    let in_memory = state.storage.borrow_mut().read_in_memory(verb, |db| {
        let body = body.clone();
        looked(host::run_verb(db, &state.machine, &settings, &closed, verb, &caller, body))
    });
    if in_memory.is_some() {
        return in_memory;
    }
    let (readers, machine) = (Arc::clone(&state.readers), state.machine.clone());
    let _working = working(state);
    let read = tokio::task::spawn_blocking(move || {
        readers.read(|db| {
            looked(host::run_verb(db, &machine, &settings, &closed, verb, &caller, body))
        })
    });
    Some(read.await.unwrap_or_else(|_| Err(panicked())))
}

/// A command that only reads needs no facts.
fn looked(ran: Result<VerbRun, AppError>) -> Result<Output, AppError> {
    match ran? {
        VerbRun::Done(output, _) => Ok(*output),
        VerbRun::Look(_) => Err(panicked()),
    }
}

fn panicked() -> AppError {
    let error = "the command panicked; the daemon's log says where";
    AppError::new(ErrorKindOfOurs::Internal, error)
}

/// The verb of that path.
pub(crate) fn find(path: &[String]) -> Option<&'static Verb> {
    substrate_features::ALL.iter().flat_map(|feature| feature.verbs).find(|verb| verb.path == path)
}

/// Whether the caller runs inside a known client. If that can't be determined, it does not: the user must be able to
/// stop a daemon whose database is damaged.
async fn is_below_client(state: &Rc<State>, peer: &mut Peer) -> bool {
    let Ok(Some(lineage)) = peer.lineage(state).await else { return false };
    let readers = Arc::clone(&state.readers);
    let look = move || readers.read(|db| substrate_features::standing(db, &lineage));
    matches!(tokio::task::spawn_blocking(look).await, Ok(Ok(Standing::Below(_))))
}

async fn control(state: &Rc<State>, peer: &mut Peer, ask: Ask) -> Vec<u8> {
    if let Ask::Watch { n_commits } = ask {
        watched(state, n_commits).await;
    }
    let status = serde_json::to_vec(&state.status()).unwrap_or_default();
    let exit = match ask {
        Ask::Ui { ask } => {
            return answered(&match is_below_client(state, peer).await {
                true => Err(AppError::new(
                    ErrorKindOfOurs::User,
                    "only the user may turn the dashboard on or off, or make keys",
                )),
                false => dashboard::ask(state, ask),
            });
        }
        Ask::TestNotifications => {
            return answered(&match is_below_client(state, peer).await {
                true => Err(AppError::new(
                    ErrorKindOfOurs::User,
                    "only the user may send notifications by hand",
                )),
                false => Ok(serde_json::json!(notify::test(state).await)),
            });
        }
        Ask::Ping | Ask::Watch { .. } => 0,
        // The command line already refuses this. The check is for programs that talk to the socket directly.
        Ask::Stop if is_below_client(state, peer).await => ErrorKindOfOurs::User.exit_code(),
        Ask::Stop => {
            waiting::let_all_go(state).await;
            state.end(EndReason::Stop);
            0
        }
        Ask::TakeOver { program } => {
            u8::from(!take_over::hand_over(state, Path::new(&program)).await)
        }
    };
    Reply { exit, stdout: &status, stderr: b"" }.bytes()
}

/// A frame's body. Its header stands before it: moving a long body to the front would cost more than reading it.
struct Body(Vec<u8>);

impl std::ops::Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.get(HEADER_LEN..).unwrap_or_default()
    }
}

/// The answer to a question of the user, or the error, as JSON.
fn answered(answer: &Result<Value, AppError>) -> Vec<u8> {
    let (exit, json) = match answer {
        Ok(json) => (0, serde_json::to_vec(json)),
        Err(error) => (error.kind.exit_code(), serde_json::to_vec(error)),
    };
    Reply { exit, stdout: &json.unwrap_or_default(), stderr: b"" }.bytes()
}

/// Waits for a commit, but not for long: the caller learns that we are there. It never holds up our end.
async fn watched(state: &Rc<State>, n_commits: Option<u64>) {
    let _watching = Counted::begin(state, |counts| &counts.watching);
    let committed = state.committed.notified();
    let ends = state.ending.wanted.notified();
    let has_news = n_commits != Some(state.counts.commits.get());
    if has_news || state.ending.how.get() != EndReason::NotYet {
        return;
    }
    tokio::select! {
        () = committed => {}
        () = ends => {}
        () = tokio::time::sleep(STILL_THERE) => {}
    }
}

/// `None`: the peer went away, or does not speak our protocol.
async fn read_frame(state: &State, stream: &mut Stream) -> Option<(Header, Body, Turn)> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut begun = None;
    loop {
        if begun.is_none()
            && let Some(first) = bytes.first_chunk::<HEADER_LEN>()
        {
            let header = Header::read(first)?;
            begun = Some((header, state.large.turn(header.len).await));
            // Allocate everything at once: growing would need twice the memory on the way.
            bytes.reserve_exact((HEADER_LEN + header.len).saturating_sub(bytes.len()));
        }
        if begun.as_ref().is_some_and(|(header, _)| bytes.len() >= HEADER_LEN + header.len) {
            let (header, turn) = begun?;
            bytes.truncate(HEADER_LEN + header.len);
            return Some((header, Body(bytes), turn));
        }
        match read_more(state, stream, &mut bytes, begun.is_some()) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => stream.readable().await.ok()?,
            Err(_) => return None,
        }
    }
}

/// Reads what is there. An idle connection has no buffer, so the beginning of a frame comes through one that all share.
fn read_more(
    state: &State,
    stream: &Stream,
    bytes: &mut Vec<u8>,
    has_room: bool,
) -> std::io::Result<usize> {
    if has_room {
        return stream.try_read_into(bytes);
    }
    let mut scratch = state.scratch.borrow_mut();
    let n = stream.try_read(&mut scratch)?;
    bytes.extend_from_slice(&scratch[..n]);
    Ok(n)
}

/// Writes one frame. An error means that the reader is gone.
pub(super) async fn write_frame(
    stream: &mut Stream,
    kind: Kind,
    body: &[u8],
) -> std::io::Result<()> {
    let mut frame = Vec::with_capacity(HEADER_LEN + body.len());
    frame.extend_from_slice(&Header::bytes(kind, body.len()));
    frame.extend_from_slice(body);
    let mut rest = &frame[..];
    while !rest.is_empty() {
        match stream.try_write(rest) {
            Ok(n) => rest = &rest[n..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                timeout(PATIENCE, stream.writable()).await.map_err(|_| ErrorKind::TimedOut)??;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
