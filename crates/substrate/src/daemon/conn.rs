//! One connection: one request, one reply. While it waits it holds no buffer.

use std::io::ErrorKind;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use ipc::frame::{HEADER_LEN, VERSION};
use ipc::{Header, HookRequest, Kind, Reply};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use substrate_core::{Access, Caller, Cx, Facts, Timestamp, Verb, engine};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::control::Ask;
use super::group::{Job, What, verb_reply};
use super::state::{Counted, How, State, count};
use super::take_over;
use crate::error::{AppError, Kind as ErrorKindOfOurs};
use crate::host::{self, Decoded, Prepared};
use crate::{clock, gather, spool};

/// Whoever says nothing for so long is gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// Inputs longer than this are decoded on another thread.
const LONG: usize = 256 << 10;

/// Facts that are not there after so long are not waited for.
const GATHER: Duration = Duration::from_millis(300);

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
    let Ok(Some((header, body))) = timeout(PATIENCE, read_frame(&state, &stream)).await else {
        return;
    };
    let in_flight = Counted::begin(&state, |counts| &counts.in_flight);
    let begun_us = clock::micros();
    let reply = if header.version == VERSION {
        // On the heap, so that a connection that only waits stays small.
        Box::pin(answer(&state, header.kind, body, begun_us)).await
    } else {
        None
    };
    let sent = match reply {
        Some(reply) => write_frame(&stream, Kind::Reply, &reply).await,
        None => write_frame(&stream, Kind::Refused, &[]).await,
    };
    if sent.is_err() {
        // The caller did not wait for us: it may have hidden our socket.
        state.look_for_socket.notify_one();
    }
    drop(in_flight);
}

/// `None`: not a request that we understand.
async fn answer(state: &Rc<State>, kind: Kind, body: Vec<u8>, begun_us: u64) -> Option<Vec<u8>> {
    match kind {
        Kind::Hook => {
            count(&state.counts.hooks);
            if host::is_waiter(&HookRequest::read(&body)?) {
                return Some(Reply::default().bytes());
            }
            let prepared = prepare(state, body, begun_us, clock::now()).await?;
            committed(state, What::Hook(Box::new(prepared))).await
        }
        Kind::Command => {
            count(&state.counts.commands);
            let call: Call = serde_json::from_slice(&body).ok()?;
            Some(command(state, call).await)
        }
        Kind::Control => Some(control(state, serde_json::from_slice(&body).ok()?).await),
        Kind::Reply | Kind::Wait | Kind::Refused => None,
    }
}

async fn prepare(state: &State, body: Vec<u8>, begun_us: u64, at: Timestamp) -> Option<Prepared> {
    let decode = move |body: &[u8]| Some(host::decode(&HookRequest::read(body)?, at, begun_us));
    let decoded: Decoded = if body.len() > LONG {
        tokio::task::spawn_blocking(move || decode(&body)).await.ok()??
    } else {
        decode(&body)?
    };
    let settings = state.settings.borrow_mut().at(decoded.dir());
    let needs = engine::needs(substrate_features::ALL, &decoded.event, &settings);
    let facts = if needs.is_empty() {
        Facts::default()
    } else {
        let gathered =
            timeout(GATHER, tokio::task::spawn_blocking(move || gather::gather(needs))).await;
        gathered.ok().and_then(Result::ok).unwrap_or_default()
    };
    Some(Prepared { decoded, settings, facts })
}

/// Processes what hooks had to leave in the spool.
pub(super) async fn process_kept(state: &State) {
    for kept in spool::kept(&state.home) {
        let prepared = prepare(state, kept.body, clock::micros(), kept.at).await;
        let done = match prepared {
            Some(prepared) => committed(state, What::Kept(Box::new(prepared))).await.is_some(),
            None => true,
        };
        if done {
            let _maybe_gone = std::fs::remove_file(&kept.file);
        }
    }
}

/// Hands a job to the next group, and waits for its commit.
async fn committed(state: &State, what: What) -> Option<Vec<u8>> {
    let (answer, answered) = oneshot::channel();
    state.jobs.send(Job { what, answer }).ok()?;
    answered.await.ok()
}

async fn command(state: &Rc<State>, call: Call) -> Vec<u8> {
    let Call { path, body, caller } = call;
    let Some(verb) = find(&path) else {
        let error = AppError::new(
            ErrorKindOfOurs::User,
            format!("the daemon has no command `{}`", path.join(" ")),
        )
        .hint("`substrate daemon restart` makes it the same version as this command");
        return verb_reply(&Err(error));
    };
    let dir = caller.project_dir.clone().unwrap_or_else(|| caller.cwd.clone());
    let settings = state.settings.borrow_mut().at(Path::new(&dir));
    if verb.access == Access::Write {
        let what = What::Verb { verb, caller: Box::new(caller), body, settings };
        return committed(state, what).await.unwrap_or_default();
    }
    let readers = std::sync::Arc::clone(&state.readers);
    let read = tokio::task::spawn_blocking(move || {
        readers.read(|db| {
            let mut cx =
                Cx { now: clock::now(), db, settings: &settings, facts: &Facts::default() };
            (verb.run)(&mut cx, &caller, body).map_err(AppError::from)
        })
    });
    let result = read.await.unwrap_or_else(|_| {
        Err(AppError::new(
            ErrorKindOfOurs::Internal,
            "the command panicked; the daemon's log says where",
        ))
    });
    verb_reply(&result)
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
