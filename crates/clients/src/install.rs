//! What an installer must know of a client, as pure functions over the text of a settings file. Reading, writing,
//! locking and backups are the shell's business.

use thiserror::Error;

/// One hook that we want in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub event: &'static str,
    pub what: What,
    pub timeout_s: u32,
}

/// What the client shall do at the event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Spawn the program directly (exec form).
    Exec { program: String, args: Vec<String>, wakes: bool },
    /// Through the shell.
    Shell { command: String, wakes: bool },
    /// Ask the model.
    Prompt { prompt: &'static str },
}

/// Everything that one installation wants in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub entries: Vec<Entry>,
    /// Rules for `permissions.allow`.
    pub allow: Vec<String>,
    /// Rules that an earlier installation added, and that are not wanted any more.
    pub retired: Vec<String>,
}

/// A settings file after an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    pub text: String,
    /// Nothing of ours and nobody else's is left: an empty object, or nothing at all.
    pub is_empty: bool,
}

/// A hook of ours that was found in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    pub event: String,
    /// The program or command line as it stands there; a prompt's beginning.
    pub command: String,
}

/// Something in a settings file that the client would not use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub line: usize,
    pub message: String,
    pub drops: Drops,
}

/// How much the client drops because of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Drops {
    /// The entry alone.
    Entry,
    /// The whole file: hooks, permissions, everything.
    File,
}

/// Why a settings file is left alone.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}: {message}")]
pub struct SettingsError {
    pub line: usize,
    pub message: String,
    /// What to do about it.
    pub advice: String,
}

/// A client's settings file.
#[derive(Debug)]
pub struct SettingsFormat {
    /// Adds what is wanted, replaces our own old entries, and touches nothing else. An empty text is a new file.
    /// What is wanted already leaves the text as it is, byte for byte.
    pub add: fn(&str, &Wanted) -> Result<Edited, SettingsError>,
    /// Takes out our own entries (and these rules), and touches nothing else.
    pub remove: fn(&str, &[String]) -> Result<Edited, SettingsError>,
    /// Takes out a status line that is ours, which a user put there by hand, and touches nothing else. `None`: there is none.
    pub without_status_line: fn(&str) -> Result<Option<Edited>, SettingsError>,
    /// Our own entries.
    pub registered: fn(&str) -> Result<Vec<Registered>, SettingsError>,
    /// What this client would drop of the file.
    pub findings: fn(&str) -> Vec<Finding>,
}
