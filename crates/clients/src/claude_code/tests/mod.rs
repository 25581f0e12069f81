//! The client's contract as tables, and what no input may ever do.

mod decoding;
mod delivery;
mod encoding;
mod hostile;
mod samples;
mod sessions;

use std::path::Path;

use substrate_core::{Event, Timestamp};

use super::CLIENT;
use crate::{DecodeError, Input};

const AT: Timestamp = Timestamp(1_700_000_000_000);

/// A hook that was given these bytes and nothing else.
fn decode(stdin: &[u8]) -> Result<Event, DecodeError> {
    decode_with("", stdin, &[])
}

fn decode_with(event: &str, stdin: &[u8], env: &[(&str, &str)]) -> Result<Event, DecodeError> {
    (CLIENT.decode)(&Input { event, stdin, cwd: "/hook/cwd", env, at: AT, waits: false })
}

/// The captured payloads by file name, in order.
fn all_samples() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/claude_code/samples");
    let mut out: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        // `_…` are no hook payloads: the environment of hooks, the status line's input, session files, transcripts.
        .filter(|(name, _)| !name.starts_with('_'))
        .map(|(name, path)| (name, std::fs::read(path).unwrap()))
        .collect();
    out.sort();
    out
}

fn sample(name: &str) -> Vec<u8> {
    let file = format!("{name}.json");
    all_samples().into_iter().find(|(name, _)| *name == file).unwrap().1
}
