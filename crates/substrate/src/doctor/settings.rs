//! The client's settings files: which of our hooks are in them, and what the client would drop.

use std::path::{Path, PathBuf};

use substrate_clients::Client;
use substrate_clients::install::{Drops, Finding as Dropped, Form, SettingsError, SettingsFormat};

use super::whereabouts::{HOOK, Needed, is_executable, is_same, needed, on_path};
use crate::config::Env;
use crate::hooks;

/// The events that an installation registers, twice where it needs two hooks.
fn plan(client: &Client) -> Vec<&'static str> {
    (client.install.entries)(Form::Project).iter().map(|entry| entry.event).collect()
}

/// Every settings file that applies in a folder.
#[derive(Clone, Debug)]
pub(crate) struct Scopes {
    pub(super) client: &'static Client,
    pub(super) plan: Vec<&'static str>,
    pub(super) all: Vec<Scope>,
}

/// One settings file.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    /// Named like the installer's flag: `user`, `project`, `local`.
    pub(super) name: &'static str,
    pub(super) file: PathBuf,
    pub(super) content: Content,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    Absent,
    Unreadable(String),
    Read(Read),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Read {
    /// Entries that the client would ignore.
    pub(super) dropped: Vec<Dropped>,
    /// Our hooks.
    pub(super) hooks: Vec<Hook>,
    /// The setting with which the file turns every hook off.
    pub(super) hooks_off: Option<&'static str>,
}

/// One of our hooks.
#[derive(Clone, Debug)]
pub(super) struct Hook {
    pub(super) event: String,
    pub(super) program: Runs,
}

/// What happens when the client starts a hook's program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    Ours,
    /// It runs, but it is not the program of this installation.
    Other(PathBuf),
    Missing(PathBuf),
    NotExecutable(PathBuf),
    /// It should be on the PATH, but is not.
    NotOnPath,
    /// One of our scripts, a prompt, or a command that we can't read.
    Unknown,
}

impl Scope {
    /// Our hooks that the client uses.
    pub(super) fn hooks(&self) -> &[Hook] {
        match &self.content {
            Content::Read(read) if read.dropped.iter().any(|found| found.drops == Drops::File) => {
                &[]
            }
            Content::Read(read) => &read.hooks,
            Content::Absent | Content::Unreadable(_) => &[],
        }
    }
}

impl Scopes {
    /// Whether any of our hooks is registered.
    pub(super) fn has_hooks(&self) -> bool {
        self.all.iter().any(|scope| !scope.hooks().is_empty())
    }
}

/// The settings that apply to a session in `dir`. `hook` is the program of this installation.
pub(super) fn look(client: &'static Client, env: &Env, dir: &Path, hook: &Path) -> Scopes {
    let all = files(client, env, dir).into_iter().map(|(name, file)| {
        let content = content(client, &file, env, hook);
        Scope { name, file, content }
    });
    Scopes { client, plan: plan(client), all: all.collect() }
}

fn files(client: &Client, env: &Env, dir: &Path) -> Vec<(&'static str, PathBuf)> {
    let mut out: Vec<(&'static str, PathBuf)> = Vec::new();
    for scope in hooks::Scope::of(client) {
        let Ok(file) = scope.settings(client, env, dir) else { continue };
        // In the home folder itself, the user's and the project's settings are the same file.
        if out.iter().all(|(_, known)| *known != file) {
            out.push((scope.name(), file));
        }
    }
    out
}

fn content(client: &Client, file: &Path, env: &Env, hook: &Path) -> Content {
    // Reading a pipe would block forever.
    if file.metadata().is_ok_and(|found| !found.is_file()) {
        return Content::Unreadable("it is not a file".to_owned());
    }
    match std::fs::read_to_string(file) {
        Ok(text) => Content::Read(read(&text, &client.install.format, env, hook)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Content::Absent,
        Err(error) => Content::Unreadable(error.to_string()),
    }
}

/// Parses a file's text.
pub(super) fn read(text: &str, format: &SettingsFormat, env: &Env, hook: &Path) -> Read {
    let hooks_off = (format.hooks_off)(text);
    // The client treats an empty file as absent.
    let mut dropped = if text.trim().is_empty() { Vec::new() } else { (format.findings)(text) };
    let registered = (format.registered)(text).unwrap_or_else(|error| {
        if dropped.is_empty() {
            let SettingsError { line, message, .. } = error;
            dropped.push(Dropped { line, message, drops: Drops::File });
        }
        Vec::new()
    });
    let hooks = registered
        .into_iter()
        .map(|found| Hook { program: runs(&found.command, env, hook), event: found.event });
    Read { dropped, hooks: hooks.collect(), hooks_off }
}

fn runs(command: &str, env: &Env, hook: &Path) -> Runs {
    let path = match needed(command, env.get("HOME")) {
        Needed::Unknown => return Runs::Unknown,
        Needed::Named(name) => match on_path(env.get("PATH"), &name) {
            Some(path) => path,
            None => return Runs::NotOnPath,
        },
        Needed::File(path) => path,
    };
    if !path.exists() {
        Runs::Missing(path)
    } else if !is_executable(&path) {
        Runs::NotExecutable(path)
    } else if is_same(&path, hook) {
        Runs::Ours
    } else if path.file_name().is_some_and(|name| name == HOOK) {
        Runs::Other(path)
    } else {
        Runs::Unknown
    }
}
