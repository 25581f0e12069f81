//! What an installer must know of a client, as pure functions over the text of a settings file. Reading, writing,
//! locking and backups are the shell's business.

use thiserror::Error;

/// How our hooks get into a client's settings.
#[derive(Debug)]
pub struct Installer {
    pub places: Places,
    pub format: SettingsFormat,
    /// The hooks of our program: every event that we want to hear of, and some once more as a waiter.
    pub entries: fn(Form<'_>) -> Vec<Entry>,
    /// Hooks that ask the model, which work for colleagues who have nothing installed.
    pub prompts: fn() -> Vec<Entry>,
    /// Every script that there can be, given our program: file names and texts.
    pub scripts: fn(&str) -> Vec<(String, String)>,
    /// The rule that lets agents run a command without a dialog: that very line, or all that begins with it. `None`: the
    /// client keeps no such rules in its settings.
    pub rule: Option<fn(&str, bool) -> String>,
    /// The rule of earlier versions, which lets agents run every command of ours.
    pub broad_rule: &'static str,
    /// The command with which the client itself says what is wrong with its settings.
    pub own_check: Option<&'static str>,
    /// What becomes of a tool call whose hook is not there.
    pub if_missing: IfMissing,
    /// How the user's trust in our hooks is kept, if the client runs only hooks that the user trusts.
    pub trust: Option<Trust>,
}

/// How a client keeps which hooks its user trusts.
#[derive(Clone, Copy, Debug)]
pub struct Trust {
    /// The file, below the client's own folder.
    pub file: &'static str,
    /// What the user does to trust hooks in the client itself.
    pub how: &'static str,
    /// The events whose hooks of ours are not trusted by that text of the file.
    pub untrusted: fn(&TrustedIn<'_>, &str) -> Vec<String>,
    /// Trusts our hooks, and touches nothing else. Only with the user's consent: the client asks for a reason.
    pub add: fn(&TrustedIn<'_>, &str) -> Result<Edited, SettingsError>,
    /// Takes out what `add` wrote, and touches nothing else.
    pub remove: fn(&str) -> Result<Edited, SettingsError>,
}

/// The hooks that trust is about.
#[derive(Clone, Copy, Debug)]
pub struct TrustedIn<'a> {
    /// The settings file.
    pub path: &'a str,
    /// Its text.
    pub settings: &'a str,
    /// The commands in it that are ours.
    pub commands: &'a [&'a str],
}

/// Where a client keeps its settings.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// The client's own folder below the user's home, unless a variable names another (`Variables::config`).
    pub home: &'static str,
    /// Its folder below a project's root.
    pub project: &'static str,
    /// The user's settings, below the client's own folder.
    pub user_settings: &'static str,
    /// A project's settings, committed and shared, below the client's folder there.
    pub project_settings: &'static str,
    /// The user's own settings for one project, in the same folder, if there are such.
    pub local_settings: Option<&'static str>,
}

/// What a client does with a tool call when a hook of its settings is not there any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfMissing {
    /// The call goes on.
    Allows,
    /// The call is refused: the hook must be registered so that it can be missing.
    Refuses,
}

/// How the hooks reach our program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form<'a> {
    /// Spawned directly, by an absolute path: for one person's own settings.
    User { program: &'a str },
    /// Found on the PATH, and nothing at all where it is not installed: for a file that is committed and shared.
    Project,
    /// Through scripts that a user may edit; the folder is `hooks/substrate` in the client's own.
    Scripts { folder: &'a str },
    /// As `User`, but the events of a persistent agent as `Scripts`.
    Persistent { program: &'a str, folder: &'a str },
}

/// How a script of that folder is called.
pub fn script_command(folder: &str, name: &str) -> String {
    quoted(&format!("{}/{name}", folder.trim_end_matches('/')))
}

/// One word for sh, whatever is in it.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

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
    /// Rules that let agents run commands without a dialog.
    pub allow: Vec<String>,
    /// Rules that an earlier installation added, and that are not wanted any more.
    pub retired: Vec<String>,
}

/// A settings file after an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    pub text: String,
    /// Nothing is left in the file, ours or other: an empty object, or nothing at all.
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
    /// The rules that let agents run commands without a dialog, ours and others.
    pub rules: fn(&str) -> Vec<String>,
    /// The setting that switches every hook off, where the file has it.
    pub hooks_off: fn(&str) -> Option<&'static str>,
}
