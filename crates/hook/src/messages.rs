//! A hook's request and its reply.
//!
//! The request has stdin's bytes untouched, and what the daemon must know about the asking process: a fixed part, then
//! the arguments, the folder, the environment and stdin. Arguments and variables each end in a zero byte, as the system
//! stores them, so the hook copies nothing.

use std::ffi::CStr;

use crate::frame::{put, take};

/// The bytes before the arguments: id, deadline, flags, three lengths, and the time already waited.
pub const FIXED_LEN: usize = 16 + 4 + 1 + 3 * 4 + 4;

/// What a hook process was given, unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HookRequest<'a> {
    /// Chosen by the hook. It stays the same when the request is sent again, so the request is processed once.
    pub id: [u8; 16],
    /// How long the hook waits in all, in milliseconds.
    pub deadline_ms: u32,
    /// How long an earlier daemon has kept the hook waiting already, in milliseconds.
    pub waited_ms: u32,
    /// The input was longer than a hook passes on.
    pub truncated: bool,
    /// It was sent before, and a daemon that has ended may have processed it.
    pub repeated: bool,
    /// Everything after the program's name (client, event, flags), each ended by a zero byte.
    pub args: &'a [u8],
    pub cwd: &'a [u8],
    /// `NAME=value`, each ended by a zero byte.
    pub env: &'a [u8],
    pub stdin: &'a [u8],
}

impl<'a> HookRequest<'a> {
    /// The fixed part of the body. The other parts follow unchanged.
    pub fn fixed(&self) -> [u8; FIXED_LEN] {
        let mut out = [0; FIXED_LEN];
        out[..16].copy_from_slice(&self.id);
        out[16..20].copy_from_slice(&self.deadline_ms.to_le_bytes());
        out[20] = u8::from(self.truncated) | u8::from(self.repeated) << 1;
        out[33..37].copy_from_slice(&self.waited_ms.to_le_bytes());
        for (at, part) in [(21, self.args), (25, self.cwd), (29, self.env)] {
            out[at..at + 4].copy_from_slice(&u32::try_from(part.len()).unwrap_or(0).to_le_bytes());
        }
        out
    }

    /// The request as one body.
    pub fn bytes(&self) -> Vec<u8> {
        [&self.fixed()[..], self.args, self.cwd, self.env, self.stdin].concat()
    }

    /// `None`: the body is not a hook's request.
    pub fn read(body: &'a [u8]) -> Option<Self> {
        let (fixed, mut rest) = body.split_first_chunk::<FIXED_LEN>()?;
        let number = |at: usize| {
            fixed[at..].first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes))
        };
        let mut part = |at: usize| {
            let (part, after) = rest.split_at_checked(number(at) as usize)?;
            rest = after;
            Some(part)
        };
        let (args, cwd, env) = (part(21)?, part(25)?, part(29)?);
        let id = *fixed.first_chunk::<16>()?;
        Some(Self {
            id,
            deadline_ms: number(16),
            waited_ms: number(33),
            truncated: fixed[20] & 1 != 0,
            repeated: fixed[20] & 2 != 0,
            args,
            cwd,
            env,
            stdin: rest,
        })
    }

    /// The arguments, one by one.
    pub fn each_arg(&self) -> impl Iterator<Item = &'a [u8]> {
        pieces(self.args)
    }
}

/// The variables of an environment that was read as text, name and value.
pub fn variables(mut env: &str) -> impl Iterator<Item = (&str, &str)> {
    let entries = std::iter::from_fn(move || {
        if env.is_empty() {
            return None;
        }
        let len = CStr::from_bytes_until_nul(env.as_bytes()).map_or(env.len(), CStr::count_bytes);
        let (entry, rest) = env.split_at_checked(len)?;
        env = rest.get(1..).unwrap_or_default();
        Some(entry)
    });
    entries.filter_map(|entry| entry.split_once('='))
}

/// The pieces before each zero byte, and what is after the last one.
fn pieces(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        // The search of the standard library, which looks at many bytes at once.
        let piece = CStr::from_bytes_until_nul(bytes).map_or(bytes, CStr::to_bytes);
        bytes = bytes.get(piece.len() + 1..).unwrap_or_default();
        Some(piece)
    })
}

/// What the asking process prints, and its exit code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply<'a> {
    pub exit: u8,
    pub stdout: &'a [u8],
    pub stderr: &'a [u8],
}

impl<'a> Reply<'a> {
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(9 + self.stdout.len() + self.stderr.len());
        out.push(self.exit);
        put(&mut out, self.stdout);
        put(&mut out, self.stderr);
        out
    }

    /// `None`: the body is not a reply.
    pub fn read(body: &'a [u8]) -> Option<Self> {
        let (exit, mut rest) = body.split_first()?;
        let stdout = take(&mut rest)?;
        let stderr = take(&mut rest)?;
        Some(Self { exit: *exit, stdout, stderr })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: HookRequest<'_> = HookRequest {
        id: [7; 16],
        deadline_ms: 2_000,
        waited_ms: 70_000,
        truncated: true,
        repeated: true,
        args: b"claude-code\0Stop\0\0",
        cwd: b"/home/dev",
        env: b"AGENT_ID=NobleLion\0TMUX=\0odd\0A=b=c\0",
        stdin: b"{\"session_id\":\"a\"}\n",
    };

    #[test]
    fn a_request_reads_what_it_wrote() {
        let bytes = REQUEST.bytes();
        let read = HookRequest::read(&bytes).unwrap();
        assert_eq!(read, REQUEST);
        assert_eq!(read.each_arg().collect::<Vec<_>>(), [&b"claude-code"[..], b"Stop", b""]);
        let vars = [("AGENT_ID", "NobleLion"), ("TMUX", ""), ("A", "b=c")];
        let env = str::from_utf8(read.env).unwrap();
        assert_eq!(variables(env).collect::<Vec<_>>(), vars);
    }

    #[test]
    fn any_beginning_of_a_request_is_read_without_harm() {
        let bytes = REQUEST.bytes();
        let without_stdin = bytes.len() - REQUEST.stdin.len();
        for len in 0..without_stdin {
            assert_eq!(HookRequest::read(&bytes[..len]), None, "{len} bytes");
        }
        let mut forged = bytes;
        forged[32] = 255; // claims a very long environment
        assert_eq!(HookRequest::read(&forged), None);
    }

    #[test]
    fn a_reply_reads_what_it_wrote() {
        let reply = Reply { exit: 2, stdout: b"out", stderr: b"err" };
        assert_eq!(Reply::read(&reply.bytes()), Some(reply));
        assert_eq!(Reply::read(b""), None);
        assert_eq!(Reply::read(&reply.bytes()[..9]), None);
    }
}
