//! Claude Code, as measured with version 2.1.325.
//!
//! `samples/` holds one captured payload per event and variant; what is claimed here about the client rests on them
//! and on runs of the real client. Invariant: a payload that is a JSON object is always an event, and nothing is ever
//! said on a channel that the client does not honour at that event.

mod decode;
mod deliver;
mod encode;
pub mod install;
pub mod relaunch;
mod sessions;
mod tools;
mod wire;

use crate::Client;

pub const CLIENT: Client = Client {
    name: "claude-code",
    process_variable: decode::PROCESS,
    inside_variable: "CLAUDECODE",
    decode: decode::decode,
    encode: encode::encode,
    delivers: deliver::delivers,
    session_files: Some(sessions::FILES),
    was_interrupted: sessions::was_interrupted,
    resume: |session| format!("claude --resume {session}"),
};

#[cfg(test)]
mod tests;
