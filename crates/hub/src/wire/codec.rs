//! Frames on a stream of bytes: four bytes of length, then JSON.

use serde::Serialize;
use thiserror::Error;

/// The longest frame that is read. A message has at most 1 MiB, which base64 makes a third longer.
pub const MAX_FRAME: usize = 4 << 20;

/// Why a stream can't be read on.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FrameError {
    #[error("a frame of {0} bytes is too long")]
    TooLong(usize),
    #[error("a frame can't be read: {0}")]
    Malformed(String),
}

/// A frame as bytes.
pub fn encode(frame: &impl Serialize) -> Vec<u8> {
    let mut out = vec![0; 4];
    serde_json::to_writer(&mut out, frame).expect("frames have string keys and finite numbers");
    let length = u32::try_from(out.len() - 4).expect("senders keep frames below MAX_FRAME");
    out[..4].copy_from_slice(&length.to_be_bytes());
    out
}

/// Cuts a stream of bytes into frames.
#[derive(Debug)]
pub struct FrameReader {
    buffer: Vec<u8>,
    max: usize,
}

impl Default for FrameReader {
    fn default() -> Self {
        Self::with_max(MAX_FRAME)
    }
}

impl FrameReader {
    /// A reader that refuses longer frames. The hub allows a stranger only a small one.
    pub const fn with_max(max: usize) -> Self {
        Self { buffer: Vec::new(), max }
    }

    pub const fn set_max(&mut self, max: usize) {
        self.max = max;
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame.
    pub fn next_frame<T: serde::de::DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let Some(head) = self.buffer.first_chunk::<4>() else { return Ok(None) };
        let length = usize::try_from(u32::from_be_bytes(*head)).unwrap_or(usize::MAX);
        if length > self.max {
            return Err(FrameError::TooLong(length));
        }
        let Some(body) = self.buffer.get(4..4 + length) else { return Ok(None) };
        let frame =
            serde_json::from_slice(body).map_err(|error| FrameError::Malformed(error.to_string()));
        self.buffer.drain(..4 + length);
        frame.map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_any_cut() {
        let frames = ["a".to_owned(), "b".repeat(300), String::new()];
        let stream: Vec<u8> = frames.iter().flat_map(encode).collect();
        for step in [1, 2, 3, 7, 64, 1000] {
            let mut reader = FrameReader::default();
            let mut got: Vec<String> = Vec::new();
            for part in stream.chunks(step) {
                reader.push(part);
                while let Some(frame) = reader.next_frame().unwrap() {
                    got.push(frame);
                }
            }
            assert_eq!(got, frames);
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_before_it_arrives() {
        let mut reader = FrameReader::with_max(100);
        reader.push(&101_u32.to_be_bytes());
        assert_eq!(reader.next_frame::<String>(), Err(FrameError::TooLong(101)));
    }
}
