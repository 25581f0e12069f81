//! One connection: one request, one reply; commands may go on. While it waits it holds no buffer.

use std::io::ErrorKind;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use ipc::frame::{HEADER_LEN, VERSION};
use ipc::{Header, HookRequest, Kind, Reply};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use substrate_clients::Answer;
use substrate_core::{Access, Caller, Output, RequestId, Timestamp, Verb, WaitFor};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::control::Ask;
use super::group::{Job, Settled, What};
use super::state::{Counted, How, State, count};
use super::surround::{self, surround};
use super::{take_over, waiting};
use crate::error::{AppError, Kind as ErrorKindOfOurs};
use crate::host::{self, Applied, Decoded, Gathered, Prepared, Ran};
use crate::{clock, spool};

/// Whoever says nothing for so long is gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// Inputs longer than this are decoded on another thread.
const LONG: usize = 256 << 10;

/// How long a hook may take to print what it got and say so.
const PRINTED: Duration = Duration::from_secs(5);

/// A request of kind `Command`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) path: Vec<String>,
    pub(crate) body: Value,
    pub(crate) caller: Caller,
}

/// Serves one connection to its end.
pub(super) async fn serve(state: Rc<State>, stream: UnixStream, _open: Counted) {
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == state.uid => {}
        Ok(peer) => return tracing::warn!(uid = peer.uid(), "a stranger was turned away"),
        Err(error) => {
            return tracing::warn!(%error, "a connection without credentials was turned away");
        }
    }
    let mut stream = stream;
    while let Ok(Some((header, body))) = timeout(PATIENCE, read_frame(&state, &stream)).await {
        let in_flight = Counted::begin(&state, |counts| &counts.in_flight);
        // On the heap, so that a connection that only waits stays small.
        match Box::pin(answer(&state, stream, header, body)).await {
            // Whoever sends commands may send more.
            Some(same) => stream = same,
            None => return,
        }
        drop(in_flight);
    }
}

/// Answers one request. The connection comes back if another may follow.
async fn answer(
    state: &Rc<State>,
    stream: UnixStream,
    header: Header,
    body: Vec<u8>,
) -> Option<UnixStream> {
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
                Ok(call) => return settle_call(state, stream, call).await,
                Err(_) => None,
            }
        }
        Kind::Control => match serde_json::from_slice(&body) {
            Ok(ask) => Some(control(state, ask).await),
            Err(_) => None,
        },
        Kind::Printed | Kind::Reply | Kind::Wait | Kind::Refused | Kind::Confirm => None,
    };
    match reply {
        Some(reply) => send(state, &stream, Kind::Reply, &reply).await,
        // Not a request that we understand.
        None => send(state, &stream, Kind::Refused, &[]).await,
    };
    None
}

/// Whether somebody was there to read it.
async fn send(state: &State, stream: &UnixStream, kind: Kind, body: &[u8]) -> bool {
    let sent = write_frame(stream, kind, body).await.is_ok();
    if !sent {
        // The caller did not wait for us: it may have hidden our socket.
        state.look_for_socket.notify_one();
    }
    sent
}

/// Commits what a hook brought, and answers it, or parks it.
async fn settle_hook(state: &Rc<State>, stream: UnixStream, prepared: Prepared) {
    let request = prepared.decoded.request();
    let n_wakes = state.lot.borrow().n_wakes();
    let settled = committed(state, What::Hook(Box::new(prepared))).await;
    let Some(Settled::Hook { prepared, applied }) = settled else {
        send(state, &stream, Kind::Refused, &[]).await;
        return;
    };
    match applied.wait {
        Some(wait) => waiting::park_hook(state, stream, prepared.decoded, wait, n_wakes).await,
        None => answer_hook(state, &stream, request, applied).await,
    }
}

/// Gives a hook its answer, and hears whether it was printed where somebody wants to know.
pub(super) async fn answer_hook(
    state: &Rc<State>,
    stream: &UnixStream,
    request: RequestId,
    applied: Applied,
) {
    let Answer { exit, stdout, stderr, .. } = &applied.answer;
    let reply = Reply { exit: *exit, stdout: stdout.as_bytes(), stderr: stderr.as_bytes() }.bytes();
    if !applied.receipt {
        send(state, stream, Kind::Reply, &reply).await;
        return;
    }
    let reached = send(state, stream, Kind::Confirm, &reply).await
        && matches!(
            timeout(PRINTED, read_frame(state, stream)).await,
            Ok(Some((Header { kind: Kind::Printed, .. }, _)))
        );
    let told = committed(state, What::Printed { request, reached }).await;
    if reached && told.is_some() {
        send(state, stream, Kind::Reply, &Reply::default().bytes()).await;
    }
}

/// A hook that has waited is asked about once more.
pub(super) async fn hook_again(state: &Rc<State>, stream: UnixStream, decoded: Decoded) {
    let _in_flight = Counted::begin(state, |counts| &counts.in_flight);
    let prepared = surround(state, decoded).await;
    settle_hook(state, stream, prepared).await;
}

async fn prepare(
    state: &Rc<State>,
    body: Vec<u8>,
    begun_us: u64,
    at: Timestamp,
) -> Option<Prepared> {
    let decode = move |body: &[u8]| Some(host::decode(&HookRequest::read(body)?, at, begun_us));
    let decoded: Decoded = if body.len() > LONG {
        tokio::task::spawn_blocking(move || decode(&body)).await.ok()??
    } else {
        decode(&body)?
    };
    Some(surround(state, decoded).await)
}

/// Processes what hooks had to leave in the spool: one group, so that nobody comes between a turn's end and the next turn's
/// beginning.
pub(super) async fn process_kept(state: &Rc<State>) {
    let mut found = Vec::new();
    for kept in spool::kept(&state.home) {
        found.push((kept.file, prepare(state, kept.body, clock::micros(), kept.at).await));
    }
    let queued: Vec<_> = found
        .into_iter()
        .map(|(file, prepared)| {
            let what = prepared.map(|prepared| What::Kept(Box::new(prepared)));
            (file, what.map(|what| queue(state, what)))
        })
        .collect();
    for (file, waiting) in queued {
        let done = match waiting {
            Some(Some(waiting)) => waiting.await.is_ok(),
            Some(None) => false,
            None => true,
        };
        if done {
            let _maybe_gone = std::fs::remove_file(&file);
        }
    }
}

/// Hands a job to the next group; it is settled by its commit.
fn queue(state: &State, what: What) -> Option<oneshot::Receiver<Settled>> {
    let (settled, waiting) = oneshot::channel();
    state.jobs.send(Job { what, settled }).ok()?;
    Some(waiting)
}

/// Hands a job to the next group, and waits for its commit. Where it asks for facts, these are looked up, and it is handed to
/// another one.
async fn committed(state: &Rc<State>, mut what: What) -> Option<Settled> {
    loop {
        match queue(state, what)?.await.ok()? {
            Settled::Look { what: again, needs } => {
                what = again;
                surround::look_up(state, &mut what, needs).await;
            }
            settled => return Some(settled),
        }
    }
}

/// Runs a command, and answers it, or parks it.
async fn settle_call(state: &Rc<State>, stream: UnixStream, call: Call) -> Option<UnixStream> {
    let Call { path, body, caller } = call;
    let n_wakes = state.lot.borrow().n_wakes();
    let result = command(state, &path, body, caller.clone()).await;
    if let Ok(Output { wait: Some(wait), .. }) = &result {
        let WaitFor { key, by, until_ms, body } = wait.clone();
        let again = Call { path, body, caller };
        let until = (key.as_str(), by.as_str(), Timestamp(until_ms));
        waiting::park_call(state, stream, again, until, n_wakes).await;
        return None;
    }
    send(state, &stream, Kind::Reply, &verb_reply(&result)).await.then_some(stream)
}

/// A verb's output, or its error, as JSON; the command renders it.
pub(super) fn verb_reply(result: &Result<Output, AppError>) -> Vec<u8> {
    let (exit, json) = match result {
        Ok(output) => (0, serde_json::to_vec(output)),
        Err(error) => (error.kind.exit_code(), serde_json::to_vec(error)),
    };
    Reply { exit, stdout: &json.unwrap_or_default(), stderr: b"" }.bytes()
}

/// A command that has waited is run once more.
pub(super) async fn call_again(state: &Rc<State>, stream: UnixStream, call: Call) {
    let _in_flight = Counted::begin(state, |counts| &counts.in_flight);
    let _one_is_enough = settle_call(state, stream, call).await;
}

async fn command(
    state: &Rc<State>,
    path: &[String],
    body: Value,
    mut caller: Caller,
) -> Result<Output, AppError> {
    let Some(verb) = find(path) else {
        let error = format!("the daemon has no command `{}`", path.join(" "));
        return Err(AppError::new(ErrorKindOfOurs::User, error)
            .hint("`substrate daemon restart` makes it the same version as this command"));
    };
    let who = caller.session.clone().unwrap_or_default();
    let ((settings, project), _) =
        surround::around(state, surround::caller_dir(&caller), &who).await;
    caller.project = project.as_ref().to_owned();
    let panicked = || {
        let error = "the command panicked; the daemon's log says where";
        AppError::new(ErrorKindOfOurs::Internal, error)
    };
    if verb.access == Access::Write {
        let gathered = Gathered::default();
        let what = What::Verb { verb, caller: Box::new(caller), body, settings, gathered };
        return match committed(state, what).await {
            Some(Settled::Verb(result)) => result,
            _ => Err(panicked()),
        };
    }
    let (readers, machine) = (std::sync::Arc::clone(&state.readers), state.machine.clone());
    let read = tokio::task::spawn_blocking(move || {
        readers.read(|db| {
            let gathered = Gathered::closed();
            host::run_verb(db, &machine, &settings, &gathered, verb, &caller, body)
        })
    });
    match read.await.unwrap_or_else(|_| Err(panicked()))? {
        Ran::Done(output, _) => Ok(*output),
        Ran::Look(_) => Err(panicked()),
    }
}

/// The verb of that path.
pub(crate) fn find(path: &[String]) -> Option<&'static Verb> {
    substrate_features::ALL.iter().flat_map(|feature| feature.verbs).find(|verb| verb.path == path)
}

async fn control(state: &Rc<State>, ask: Ask) -> Vec<u8> {
    let status = serde_json::to_vec(&state.status()).unwrap_or_default();
    let exit = match ask {
        Ask::Ping => 0,
        Ask::Stop => {
            waiting::let_all_go(state).await;
            state.end(How::Stop);
            0
        }
        Ask::TakeOver { program } => {
            u8::from(!take_over::hand_over(state, Path::new(&program)).await)
        }
    };
    Reply { exit, stdout: &status, stderr: b"" }.bytes()
}

/// `None`: the other side went away, or does not speak our language.
async fn read_frame(state: &State, stream: &UnixStream) -> Option<(Header, Vec<u8>)> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut header = None;
    loop {
        if header.is_none() {
            header = match bytes.first_chunk::<HEADER_LEN>() {
                Some(first) => Some(Header::read(first)?),
                None => None,
            };
        }
        if let Some(header) = header
            && bytes.len() >= HEADER_LEN + header.len
        {
            bytes.truncate(HEADER_LEN + header.len);
            bytes.drain(..HEADER_LEN);
            return Some((header, bytes));
        }
        let read = {
            let mut scratch = state.scratch.borrow_mut();
            let read = stream.try_read(&mut scratch);
            if let Ok(n) = read {
                bytes.extend_from_slice(&scratch[..n]);
            }
            read
        };
        match read {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => stream.readable().await.ok()?,
            Err(_) => return None,
        }
    }
}

/// Writes one frame; an error means that nobody is there to read it.
pub(super) async fn write_frame(
    stream: &UnixStream,
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
