//! Claude Code's settings file: what we want in it, and how it is edited.
//!
//! Everything is a function from text to text. Invariants, each with a test over `corpus/`: an edit inserts or cuts
//! whole entries of our own and copies every other byte; `remove` undoes `add` byte for byte; what the client would
//! drop is not written into. What is said here about the client was measured with version 2.1.325 and its `doctor`.

mod add;
mod document;
mod edit;
mod findings;
mod layout;
mod ours;
pub mod plan;
mod remove;
mod render;
mod schema;

pub use ours::PROMPTS;

use crate::install::SettingsFormat;

pub const SETTINGS: SettingsFormat = SettingsFormat {
    add: add::add,
    remove: remove::remove,
    without_status_line: remove::without_status_line,
    registered: ours::registered,
    findings: findings::findings,
};

#[cfg(test)]
mod tests;
