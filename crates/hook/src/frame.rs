//! The frame: a header of 8 bytes, then a body of the length in the header.
//!
//! `S` `b` version kind, then the body's length as a little-endian u32.

use std::time::Duration;

/// The version of the frames. A daemon answers an unknown version with `Kind::Refused`, and the hook hands over to its
/// own `substrate`.
pub const VERSION: u8 = 3;

/// The bytes of a header.
pub const HEADER_LEN: usize = 8;

/// The longest frame. A peer that announces more does not speak our protocol.
pub const MAX_BODY: usize = 48 << 20;

const MAGIC: [u8; 2] = *b"Sb";

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A hook's request.
    Hook,
    /// A command of a person or an agent.
    Command,
    /// `ping`, `stop`, `take-over`: about the daemon itself.
    Control,
    /// "I have printed it": the hook's answer to `Confirm`. The body is the request's id, since the daemon's successor
    /// may be the one that receives it.
    Printed,
    /// "I exit now, with what I printed." A hook that ends without this frame was killed, and its client ignores its
    /// output.
    Leaving,
    /// The answer, and the last frame of a conversation.
    Reply,
    /// "I am here, it will take up to this many milliseconds": four bytes, little-endian.
    Wait,
    /// This version or kind is not understood.
    Refused,
    /// An answer like `Reply` whose printing must be confirmed.
    Confirm,
}

impl Kind {
    const fn code(self) -> u8 {
        match self {
            Self::Hook => 1,
            Self::Command => 2,
            Self::Control => 3,
            Self::Printed => 4,
            Self::Leaving => 5,
            Self::Reply => 16,
            Self::Wait => 17,
            Self::Refused => 18,
            Self::Confirm => 19,
        }
    }

    const fn of(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::Hook,
            2 => Self::Command,
            3 => Self::Control,
            4 => Self::Printed,
            5 => Self::Leaving,
            16 => Self::Reply,
            17 => Self::Wait,
            18 => Self::Refused,
            19 => Self::Confirm,
            _ => return None,
        })
    }
}

/// The first eight bytes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub version: u8,
    pub kind: Kind,
    pub len: usize,
}

impl Header {
    /// The header of one of our frames. Bodies longer than `MAX_BODY` are refused before they get here.
    pub fn bytes(kind: Kind, len: usize) -> [u8; HEADER_LEN] {
        let len = u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes();
        [MAGIC[0], MAGIC[1], VERSION, kind.code(), len[0], len[1], len[2], len[3]]
    }

    /// `None`: not a frame, or one that is too long.
    pub fn read(bytes: &[u8; HEADER_LEN]) -> Option<Self> {
        let [m0, m1, version, kind, l0, l1, l2, l3] = *bytes;
        let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if [m0, m1] != MAGIC || len > MAX_BODY {
            return None;
        }
        Some(Self { version, kind: Kind::of(kind)?, len })
    }
}

/// How much longer a `Wait` frame asks for.
pub fn patience(body: &[u8]) -> Duration {
    let ms = body.first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    Duration::from_millis(u64::from(ms))
}

/// Appends a length and the bytes.
pub(crate) fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Reads what `put` wrote, and moves on.
pub(crate) fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = take_u32(rest)? as usize;
    let (bytes, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(bytes)
}

pub(crate) fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    let (bytes, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    Some(u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_what_it_wrote() {
        for kind in [
            Kind::Hook,
            Kind::Command,
            Kind::Control,
            Kind::Printed,
            Kind::Leaving,
            Kind::Reply,
            Kind::Wait,
            Kind::Refused,
            Kind::Confirm,
        ] {
            let header = Header::read(&Header::bytes(kind, 70_000)).unwrap();
            assert_eq!(header, Header { version: VERSION, kind, len: 70_000 });
        }
    }

    #[test]
    fn strangers_are_noticed() {
        assert_eq!(Header::read(b"GET / HT"), None);
        assert_eq!(Header::read(&[b'S', b'b', 1, 99, 0, 0, 0, 0]), None);
        assert_eq!(Header::read(&[b'S', b'b', 1, 1, 255, 255, 255, 255]), None);
    }
}
