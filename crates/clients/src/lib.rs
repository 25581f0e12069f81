//! The coding agents that Substrate understands. A client is one folder that exports one `const CLIENT` of plain data, and
//! one line in [`ALL`].
//!
//! Everything here is a pure function over bytes: no files, no processes, no features. The rest of the program names no
//! client (`cargo xtask tidy` checks that): it asks [`ALL`], or the client of the event at hand. What a client must keep
//! to is in the testkit (`testkit::contract`), which every client of [`ALL`] and a made-up one pass.

mod abilities;
mod channels;
mod claude_code;
mod codex;
mod copilot;
mod cursor;
mod decode;
mod droid;
mod encode;
mod gemini;
pub mod install;
mod json;
pub mod mcp;
mod opencode;
mod patch;
mod plan;
pub mod plugin;
mod qwen;
mod relaunch;
mod settings;
pub mod status_line;
#[cfg(test)]
mod testing;
mod wire;

use std::ffi::OsString;

use substrate_core::dialect::ClientStatus;
use substrate_core::verdict::DeliveryTable;
use substrate_core::{Activity, Dialect, Event, SafeId, Timestamp, Verdict};
use thiserror::Error;

pub use abilities::{ABILITIES, Ability};
use install::Installer;

/// Every client.
pub const ALL: &[&Client] = &[
    &claude_code::CLIENT,
    &codex::CLIENT,
    &copilot::CLIENT,
    &cursor::CLIENT,
    &droid::CLIENT,
    &gemini::CLIENT,
    &opencode::CLIENT,
    &qwen::CLIENT,
];

/// The client that is meant where a command names none.
pub const DEFAULT: &Client = &claude_code::CLIENT;

/// The dialect of each client.
pub static DIALECTS: [&Dialect; ALL.len()] = {
    let mut out = [&Dialect::UNKNOWN; ALL.len()];
    let mut at = 0;
    while at < ALL.len() {
        out[at] = ALL[at].dialect;
        at += 1;
    }
    out
};

/// One client.
#[derive(Debug)]
pub struct Client {
    /// As it is typed: `substrate-hook NAME Stop`.
    pub name: &'static str,
    /// As people write it.
    pub title: &'static str,
    /// The program that people start.
    pub program: &'static str,
    /// What our knowledge of it rests on.
    pub evidence: Evidence,
    /// The variables that it sets or reads.
    pub variables: Variables,
    /// What features may know about it.
    pub dialect: &'static Dialect,
    /// Whether it has run a hook that was registered with another client.
    pub runs_others: fn(&Input<'_>) -> bool,
    /// What a hook process was given, as an event.
    pub decode: fn(&Input<'_>) -> Result<Event, DecodeError>,
    /// The verdict in the client's own words.
    pub encode: fn(&Event, &Verdict) -> Answer,
    /// What the client honours, and where.
    pub delivers: DeliveryTable,
    /// Whether its events say which subagent they are of.
    pub tells_subagents: bool,
    /// Whether it reports the start of a session after a compaction, where an agent can be briefed.
    pub starts_after_compaction: bool,
    /// Where it shows what its sessions do, if it does.
    pub session_files: Option<SessionFiles>,
    /// Whether the end of a session's transcript says that a person interrupted the turn: for a client that shows its
    /// sessions nowhere else.
    pub was_interrupted: fn(&[u8]) -> bool,
    /// What it tells the command behind its status line. `None` if the text is nothing of the kind.
    pub status: fn(&str) -> Option<ClientStatus>,
    /// How its command line changes when it is started once more.
    pub relaunch: Relaunch,
    /// How our hooks get into its settings.
    pub install: Installer,
}

/// What our knowledge of a client rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Runs of that very version, which the tests repeat.
    Run { version: &'static str },
    /// Its documentation alone. Nothing was tried.
    Documents,
}

/// The environment variables of a client.
#[derive(Clone, Copy, Debug)]
pub struct Variables {
    /// Names the client's process to whatever it starts, if the client says so.
    pub process: Option<&'static str>,
    /// Whatever runs inside the client has one of these.
    pub inside: &'static [&'static str],
    /// The session's id. The client's own word comes before what we export: that may be inherited from another session.
    pub session: &'static [&'static str],
    /// The project that the client works in.
    pub project: &'static [&'static str],
    /// Names the client's own folder, in place of the usual one in the user's home, if there is such a variable.
    pub config: Option<&'static str>,
    /// How many blocked Stops in a row the client honours, if it has a cap.
    pub block_cap: Option<BlockCap>,
}

/// A cap on blocked Stops.
#[derive(Clone, Copy, Debug)]
pub struct BlockCap {
    /// The variable that changes it.
    pub variable: &'static str,
    /// What it is otherwise.
    pub default: u32,
}

impl Variables {
    /// All of them, for a hook that passes them on.
    pub fn all(&self) -> impl Iterator<Item = &'static str> {
        let cap = self.block_cap.map(|cap| cap.variable);
        let lists = [self.inside, self.session, self.project];
        let single = [self.process, self.config, cap];
        single.into_iter().flatten().chain(lists.into_iter().flatten().copied())
    }
}

/// A command line, changed.
pub type EditLine = fn(&[OsString]) -> Vec<OsString>;

/// The command line of a client that is started once more. What is no line of this client comes back as it is.
#[derive(Clone, Copy, Debug)]
pub struct Relaunch {
    /// For a fresh conversation.
    pub fresh: EditLine,
    /// For one more try of the same.
    pub again: EditLine,
}

impl Relaunch {
    /// The line for a fresh conversation, whichever client it starts.
    pub fn fresh(line: &[OsString]) -> Vec<OsString> {
        Self::by(line, |relaunch| relaunch.fresh)
    }

    /// The line for one more try of the same, whichever client it starts.
    pub fn again(line: &[OsString]) -> Vec<OsString> {
        Self::by(line, |relaunch| relaunch.again)
    }

    fn by(line: &[OsString], which: fn(&Self) -> EditLine) -> Vec<OsString> {
        let mut changed = ALL.iter().map(|client| which(&client.relaunch)(line));
        changed.find(|new| new != line).unwrap_or_else(|| line.to_vec())
    }
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

/// The client that has run a hook: some also run those that were registered with another.
pub fn running(registered: &'static Client, input: &Input<'_>) -> &'static Client {
    let runs = |client: &&&Client| (client.runs_others)(input);
    ALL.iter().find(runs).copied().unwrap_or(registered)
}

/// What a hook process was given.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The event's name as the hook's argument says it.
    pub event: &'a str,
    pub stdin: &'a [u8],
    pub cwd: &'a str,
    /// The environment variables that the hook passed on.
    pub env: &'a [(&'a str, &'a str)],
    pub at: Timestamp,
    /// The hook is the waiter beside a session, and not the event itself.
    pub waits: bool,
}

impl Input<'_> {
    pub fn env(&self, name: &str) -> Option<&str> {
        self.env.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
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
