//! A hook's request: stdin's bytes untouched, and what the daemon must know about the process that asks.

use crate::frame::{put, take, take_u32};

/// What a hook process was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookRequest<'a> {
    /// Made by the hook, so that a late answer and a hand-over are processed once.
    pub id: [u8; 16],
    /// How long the hook waits in all, in milliseconds.
    pub deadline_ms: u32,
    /// The input was longer than a hook passes on.
    pub truncated: bool,
    /// Everything after the program's name: client, event, flags.
    pub args: Vec<&'a [u8]>,
    pub cwd: &'a [u8],
    pub env: Vec<(&'a [u8], &'a [u8])>,
    pub stdin: &'a [u8],
}

impl<'a> HookRequest<'a> {
    /// Everything but stdin, which comes last and is not copied.
    pub fn head(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(3072);
        out.extend_from_slice(&self.id);
        out.extend_from_slice(&self.deadline_ms.to_le_bytes());
        out.push(u8::from(self.truncated));
        put_count(&mut out, self.args.len());
        for arg in &self.args {
            put(&mut out, arg);
        }
        put(&mut out, self.cwd);
        put_count(&mut out, self.env.len());
        for (name, value) in &self.env {
            put(&mut out, name);
            put(&mut out, value);
        }
        out
    }

    /// `None`: the body is not a hook's request.
    pub fn read(body: &'a [u8]) -> Option<Self> {
        let mut rest = body;
        let (id, after) = rest.split_first_chunk::<16>()?;
        rest = after;
        let deadline_ms = take_u32(&mut rest)?;
        let (truncated, after) = rest.split_first()?;
        rest = after;
        let n_args = take_u32(&mut rest)? as usize;
        let mut args = Vec::new();
        for _ in 0..n_args {
            args.push(take(&mut rest)?);
        }
        let cwd = take(&mut rest)?;
        let n_env = take_u32(&mut rest)? as usize;
        let mut env = Vec::new();
        for _ in 0..n_env {
            env.push((take(&mut rest)?, take(&mut rest)?));
        }
        Some(Self { id: *id, deadline_ms, truncated: *truncated != 0, args, cwd, env, stdin: rest })
    }
}

fn put_count(out: &mut Vec<u8>, n: usize) {
    out.extend_from_slice(&u32::try_from(n).unwrap_or(0).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_reads_what_it_wrote() {
        let request = HookRequest {
            id: [7; 16],
            deadline_ms: 2_000,
            truncated: true,
            args: vec![b"claude-code", b"Stop"],
            cwd: b"/home/dev",
            env: vec![(b"AGENT_ID", b"NobleLion"), (b"TMUX", b"")],
            stdin: b"{\"session_id\":\"a\"}\n",
        };
        let mut body = request.head();
        body.extend_from_slice(request.stdin);
        assert_eq!(HookRequest::read(&body), Some(request));
    }

    #[test]
    fn any_beginning_of_a_request_is_read_without_harm() {
        let request =
            HookRequest { args: vec![b"a"], env: vec![(b"b", b"c")], ..HookRequest::default() };
        let head = request.head();
        for len in 0..head.len() {
            assert_eq!(HookRequest::read(&head[..len]), None, "{len} bytes");
        }
        let mut forged = head;
        forged[21] = 255; // says that there are 255 arguments
        assert_eq!(HookRequest::read(&forged), None);
    }
}
