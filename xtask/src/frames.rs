//! Hook events over the socket, without a process for each.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ipc::{Conn, ConnError, HookRequest, Kind, Reply};

/// How long an answer may take: a little longer than a hook waits for a starved daemon.
const PATIENCE: Duration = Duration::from_secs(12);

/// Everything in a request except its id and its payload.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// `NAME=value`, each ended by a zero byte.
    env: Vec<u8>,
}

static NEXT: AtomicU64 = AtomicU64::new(1);

impl Caller {
    /// A caller with that environment. Only the variables that a hook passes on are sent.
    pub(crate) fn new(env: &[(String, String)]) -> Self {
        let entries = env.iter().map(|(name, value)| format!("{name}={value}\0").into_bytes());
        Self {
            env: entries
                .filter(|entry| ipc::passed::passes(&entry[..entry.len() - 1]))
                .flatten()
                .collect(),
        }
    }

    /// A new request's head, of a hook that was started with those arguments, each ended by a zero byte.
    pub(crate) fn head_of(&self, args: &[u8]) -> Vec<u8> {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        id[8..12].copy_from_slice(&std::process::id().to_le_bytes());
        HookRequest {
            id,
            deadline_ms: 10_000,
            args,
            cwd: b"/home/dev/app",
            env: &self.env,
            ..HookRequest::default()
        }
        .bytes()
    }

    /// One event, one connection, one answer: its exit code and stdout.
    pub(crate) fn ask(&self, state: &Path, payload: &[u8]) -> Result<(u8, Vec<u8>), ConnError> {
        self.ask_as(state, b"claude-code\0PreToolUse\0", payload)
    }

    /// The same, for a hook with those arguments.
    pub(crate) fn ask_as(
        &self,
        state: &Path,
        args: &[u8],
        payload: &[u8],
    ) -> Result<(u8, Vec<u8>), ConnError> {
        let head = self.head_of(args);
        let mut conn = Conn::open(state, PATIENCE)?;
        conn.send(Kind::Hook, [&head, payload], PATIENCE)?;
        loop {
            match conn.receive(PATIENCE)? {
                (Kind::Reply, body) => {
                    let reply = Reply::read(&body).ok_or(ConnError::Foreign)?;
                    return Ok((reply.exit, reply.stdout.to_vec()));
                }
                (Kind::Wait, _) => {}
                _ => return Err(ConnError::Foreign),
            }
        }
    }
}
