//! What an installation can leave behind outside of the state home, and that acts or is in the way: hooks in tmux servers, the
//! git guard in repositories, status lines, scripts and skills. The doctor names it, and `substrate uninstall` takes it out.

use std::path::{Path, PathBuf};

use substrate_clients::claude_code::install::SETTINGS;
use substrate_core::{Db, DbError};
use substrate_store::Readers;

use crate::cli::commit_hook;
use crate::config::{Env, Home};
use crate::error::{AppError, Kind, Result};
use crate::fsx;
use crate::hooks::{self, Manifest, Scope, refused};
use crate::tmux::{self, Server};

/// How many projects are looked at, the latest first.
const MAX_PROJECTS: i64 = 200;

/// What is there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remnants {
    /// The sockets of tmux servers that call us.
    pub(crate) tmux: Vec<String>,
    /// Folders of git hooks that have our guard.
    pub(crate) guards: Vec<PathBuf>,
    /// Settings files of the client whose status line is ours.
    pub(crate) status_lines: Vec<PathBuf>,
    /// Scripts and skills of ours in the client's folder.
    pub(crate) files: Vec<PathBuf>,
}

/// Looks, and changes nothing. What can't be read is not there.
pub(crate) fn look(env: &Env, home: &Home, dir: &Path) -> Remnants {
    let known = read(home, substrate_features::tmux_servers);
    let here = env.text("TMUX").and_then(|tmux| tmux.split(',').next()).map(str::to_owned);
    let mut sockets: Vec<String> = known.into_iter().chain(here).collect();
    sockets.sort();
    sockets.dedup();
    sockets.retain(|socket| {
        Path::new(socket).exists() && tmux::serves(&Server::new(socket, env), home.root())
    });
    let projects = read(home, |db| substrate_features::projects(db, MAX_PROJECTS));
    Remnants {
        tmux: sockets,
        guards: commit_hook::installed(home, env, &projects),
        status_lines: settings_files(env, home, dir)
            .into_iter()
            .filter(|file| matches!(without_status_line(file), Ok(Some(_))))
            .collect(),
        files: hooks::own_files_there(env),
    }
}

fn read(
    home: &Home,
    ask: impl FnOnce(&mut dyn Db) -> std::result::Result<Vec<String>, DbError>,
) -> Vec<String> {
    if !home.database().is_file() {
        return Vec::new();
    }
    Readers::new(&home.database()).read(|db| ask(db).map_err(AppError::from)).unwrap_or_default()
}

/// The settings files of the client that count here, and those that something was installed into.
fn settings_files(env: &Env, home: &Home, dir: &Path) -> Vec<PathBuf> {
    let here = Scope::ALL.iter().filter_map(|scope| scope.settings(env, dir).ok());
    let known = Manifest::all(home).unwrap_or_default().into_iter().map(|one| one.settings);
    let mut out: Vec<PathBuf> = here.chain(known).collect();
    out.sort();
    out.dedup();
    out
}

/// A settings file as it is, and without our status line. `None`: it has none.
fn without_status_line(file: &Path) -> Result<Option<(String, String)>> {
    let Ok(text) = std::fs::read_to_string(file) else { return Ok(None) };
    let edited = (SETTINGS.without_status_line)(&text).map_err(|error| refused(file, &error))?;
    Ok(edited.map(|edited| (text, edited.text)))
}

/// Takes a status line out of a settings file.
pub(crate) fn take_status_line(file: &Path) -> Result<()> {
    let Some((before, after)) = without_status_line(file)? else { return Ok(()) };
    let fail = || {
        AppError::new(Kind::User, format!("`{}` could not be changed", file.display()))
            .hint("take `statusLine` out of it, or it starts the daemon again")
    };
    if !fsx::may_replace(file) {
        return Err(fail());
    }
    match fsx::replace_if(file, Some(before.as_bytes()), after.as_bytes(), 0o600) {
        Ok(true) => Ok(()),
        Ok(false) | Err(_) => Err(fail()),
    }
}
