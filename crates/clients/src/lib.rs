//! The coding agents that Substrate understands. A client is one folder that exports one `const CLIENT` of plain data.
//!
//! Everything here is a pure function over bytes: no files, no processes, no features.

pub mod claude_code;
pub mod install;

use substrate_core::verdict::DeliveryTable;
use substrate_core::{Activity, Event, SafeId, Timestamp, Verdict};
use thiserror::Error;

/// Every client, by name.
pub const ALL: &[&Client] = &[&claude_code::CLIENT];

/// One client.
#[derive(Debug)]
pub struct Client {
    /// As it is typed: `substrate-hook claude-code Stop`.
    pub name: &'static str,
    /// The variable that names the client's process in the environment of whatever it starts.
    pub process_variable: &'static str,
    /// The variable that whatever runs inside the client has.
    pub inside_variable: &'static str,
    /// What a hook process was given, as an event.
    pub decode: fn(&Input<'_>) -> Result<Event, DecodeError>,
    /// The verdict in the client's own words.
    pub encode: fn(&Event, &Verdict) -> Answer,
    /// What the client honours, and where.
    pub delivers: DeliveryTable,
    /// Where it shows what its sessions do, if it does.
    pub session_files: Option<SessionFiles>,
    /// Whether the end of a session's transcript says that a person interrupted the turn: for a client that shows its
    /// sessions nowhere else.
    pub was_interrupted: fn(&[u8]) -> bool,
    /// The command that opens a closed session again, in the folder where it ran.
    pub resume: fn(&str) -> String,
}

/// Files that a client keeps of its running sessions, one per process.
#[derive(Clone, Copy, Debug)]
pub struct SessionFiles {
    /// Their folder, below the client's own (`Event::config_dir`).
    pub folder: &'static str,
    /// The process whose file has that name. Other files there are none of our business.
    pub pid: fn(&str) -> Option<u32>,
    /// What a file says. `None`: it does not parse, as when it is read while it is written.
    pub read: fn(&[u8]) -> Option<SessionFile>,
}

/// What a client's file says about one of its processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFile {
    pub pid: u32,
    /// When the process began, in the system's own unit (`World::process_began`), if the client says so.
    pub began: Option<i64>,
    pub session: SafeId,
    pub cwd: String,
    /// What the session does; nothing before the client has begun, or where it says something new.
    pub activity: Option<Activity>,
    /// Since when, by the client's clock.
    pub since: Timestamp,
}

/// The client of that name.
pub fn named(name: &str) -> Option<&'static Client> {
    ALL.iter().copied().find(|client| client.name == name)
}

/// What a hook process was given.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The event's name as the hook's argument says it.
    pub event: &'a str,
    pub stdin: &'a [u8],
    pub cwd: &'a str,
    /// The environment variables that the hook passed on.
    pub env: &'a [(String, String)],
    pub at: Timestamp,
    /// The hook is the waiter beside a session, and not the event itself.
    pub waits: bool,
}

impl Input<'_> {
    pub fn env(&self, name: &str) -> Option<&str> {
        self.env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// What a hook process says to its client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub stdout: String,
    pub stderr: String,
    pub exit: u8,
    /// Lines to append to the session's environment file before the hook ends.
    pub exports: Option<Exports>,
}

/// Text for the end of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exports {
    pub file: String,
    pub text: String,
}

/// Bytes that are no event.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DecodeError {
    #[error("the input is not JSON: {0}")]
    NotJson(#[source] serde_json::Error),
    #[error("the input is not UTF-8")]
    NotText,
    #[error("the input is not an object of this client's form: {0}")]
    NotAnEvent(#[source] serde_json::Error),
}
