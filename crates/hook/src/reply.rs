//! The answer: an exit code, and what to print.

use crate::frame::{put, take};

/// What the asking process prints, and how it ends.
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

    /// `None`: the body is no reply.
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

    #[test]
    fn a_reply_reads_what_it_wrote() {
        let reply = Reply { exit: 2, stdout: b"out", stderr: b"err" };
        assert_eq!(Reply::read(&reply.bytes()), Some(reply));
        assert_eq!(Reply::read(b""), None);
        assert_eq!(Reply::read(&reply.bytes()[..9]), None);
    }
}
