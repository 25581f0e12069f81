//! The request as one frame, built in place. What the system and the client give is written where it is sent from, one part
//! after the other. So a usual hook touches two pages of memory, allocates nothing and sends with one call.

use std::os::unix::ffi::OsStringExt as _;

use ipc::frame::HEADER_LEN;
use ipc::messages::FIXED_LEN;
use ipc::{Header, HookRequest, Kind};

/// What comes before the arguments. It is written last, since it has the lengths of the parts.
const HEAD: usize = HEADER_LEN + FIXED_LEN;

/// Room that every read gets.
const ROOM: usize = 16 << 10;

/// The longest path of a folder that is asked for in place.
const MAX_CWD: usize = 4 << 10;

/// A request that is being written.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    space: &'a mut [u8],
    len: usize,
    args: usize,
    cwd: usize,
    vars: usize,
}

/// A request, and the frame that says it.
#[derive(Debug)]
pub(crate) struct Finished<'a> {
    pub(crate) request: HookRequest<'a>,
    pub(crate) frame: &'a [u8],
    /// Room behind the frame.
    pub(crate) rest: &'a mut [u8],
}

impl<'a> Draft<'a> {
    /// Without enough space, the draft finds more.
    pub(crate) fn new(space: &'a mut [u8]) -> Self {
        let mut out = Self { space, len: HEAD, args: HEAD, cwd: HEAD, vars: HEAD };
        out.reserve(0);
        out
    }

    /// Writes an argument or a variable.
    pub(crate) fn put(&mut self, text: &[u8]) {
        self.reserve(text.len() + 1);
        let end = self.len + text.len();
        self.space[self.len..end].copy_from_slice(text);
        self.space[end] = 0;
        self.len = end + 1;
    }

    /// The arguments are written.
    pub(crate) fn end_of_args(&mut self) {
        self.args = self.len;
    }

    /// The arguments.
    pub(crate) fn args(&self) -> &[u8] {
        &self.space[HEAD..self.args]
    }

    /// Writes the current folder.
    pub(crate) fn put_cwd(&mut self) {
        self.reserve(MAX_CWD);
        match cwd(&mut self.space[self.len..]) {
            Some(n) => self.len += n,
            None => {
                // It was removed, or is out of reach.
                let path =
                    std::fs::read_link("/proc/self/cwd").or_else(|_| std::env::current_dir());
                self.add(&path.unwrap_or_default().into_os_string().into_vec());
            }
        }
        self.cwd = self.len;
    }

    /// The variables are written. What follows is the payload.
    pub(crate) fn end_of_vars(&mut self) {
        self.vars = self.len;
    }

    /// The payload as far as it was read.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.space[self.vars..self.len]
    }

    /// Where the next part of the payload is read to. `read` says how long it was.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        self.reserve(ROOM);
        &mut self.space[self.len..]
    }

    pub(crate) fn read(&mut self, n: usize) {
        self.len += n;
    }

    /// Everything is written.
    pub(crate) fn finish(self, id: [u8; 16], deadline_ms: u32, truncated: bool) -> Finished<'a> {
        let Self { space, len, args, cwd, vars } = self;
        let (frame, rest) = space.split_at_mut(len);
        let fixed = HookRequest {
            id,
            deadline_ms,
            truncated,
            args: &frame[HEAD..args],
            cwd: &frame[args..cwd],
            env: &frame[cwd..vars],
            ..HookRequest::default()
        };
        let fixed = fixed.fixed();
        frame[..HEADER_LEN].copy_from_slice(&Header::bytes(Kind::Hook, len - HEADER_LEN));
        frame[HEADER_LEN..HEAD].copy_from_slice(&fixed);
        let frame: &'a [u8] = frame;
        // What was written can be read.
        let request = HookRequest::read(&frame[HEADER_LEN..]).unwrap_or_default();
        Finished { request, frame, rest }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        self.space[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn reserve(&mut self, n: usize) {
        if self.space.len().saturating_sub(self.len) < n.max(1) {
            self.grow(n);
        }
    }

    /// Moves to a larger space. The old one is not freed, since the process ends soon.
    #[cold]
    fn grow(&mut self, n: usize) {
        let larger = vec![0; (self.len + n.max(1)).next_power_of_two() * 2].leak();
        let used = self.len.min(self.space.len());
        larger[..used].copy_from_slice(&self.space[..used]);
        self.space = larger;
    }
}

#[cfg(all(target_os = "linux", not(test)))]
use crate::given::cwd;

/// Writes the current folder into the space.
#[cfg(not(all(target_os = "linux", not(test))))]
fn cwd(space: &mut [u8]) -> Option<usize> {
    let path = std::env::current_dir().ok()?.into_os_string().into_vec();
    space.get_mut(..path.len())?.copy_from_slice(&path);
    Some(path.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(space: &mut [u8], payload: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let mut draft = Draft::new(space);
        draft.put(b"claude-code");
        draft.put(b"Stop");
        draft.end_of_args();
        draft.put_cwd();
        draft.put(b"AGENT_ID=a");
        draft.end_of_vars();
        for part in payload.chunks(10_000) {
            draft.room()[..part.len()].copy_from_slice(part);
            draft.read(part.len());
        }
        assert_eq!(draft.payload(), payload);
        let Finished { request, frame, .. } = draft.finish([7; 16], 10_000, false);
        (request.bytes(), frame.to_vec())
    }

    #[test]
    fn a_frame_says_the_request_however_little_space_there_was() {
        let payload = vec![b'x'; 100_000];
        let frames: Vec<_> =
            [0, 50, 5_000, 1 << 20].iter().map(|n| written(&mut vec![0; *n], &payload)).collect();
        for (body, frame) in &frames {
            assert_eq!(&frame[HEADER_LEN..], body);
            let header = Header::read(frame.first_chunk().unwrap()).unwrap();
            assert_eq!((header.kind, header.len), (Kind::Hook, body.len()));
            let request = HookRequest::read(body).unwrap();
            assert_eq!(request.args, b"claude-code\0Stop\0");
            assert_eq!(request.env, b"AGENT_ID=a\0");
            assert_eq!(
                request.cwd,
                std::env::current_dir().unwrap().as_os_str().as_encoded_bytes()
            );
            assert_eq!(request.stdin, payload);
        }
        assert!(frames.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
