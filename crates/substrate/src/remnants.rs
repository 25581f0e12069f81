//! What an installation can leave outside of the state home: hooks in tmux servers, the commit hook in repositories,
//! status lines, scripts and skills. The doctor reports it, and `substrate uninstall` removes it.

use std::path::{Path, PathBuf};

use substrate_clients::Client;
use substrate_core::{Db, DbError};
use substrate_store::Database;

use crate::cli::commit_hook;
use crate::config::{Env, Home};
use crate::error::{AppError, Kind, Result};
use crate::fsx;
use crate::hooks::{self, Manifest, Scope, refused};
use crate::tmux::{self, Server};

/// How many projects are checked, the latest first.
const MAX_PROJECTS: i64 = 200;

/// What was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remnants {
    /// The sockets of tmux servers that call us.
    pub(crate) tmux: Vec<String>,
    /// Folders of git hooks with our commit hook.
    pub(crate) commit_hooks: Vec<PathBuf>,
    /// The client's settings files with our status line.
    pub(crate) status_lines: Vec<(&'static Client, PathBuf)>,
    /// Scripts and skills of ours in the client's folder.
    pub(crate) files: Vec<PathBuf>,
}

/// Looks, and changes nothing. Unreadable files count as absent.
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
        commit_hooks: commit_hook::installed(home, env, &projects),
        status_lines: settings_files(env, home, dir)
            .into_iter()
            .filter(|(client, file)| matches!(without_status_line(client, file), Ok(Some(_))))
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
    Database::at(&home.database()).read(|db| ask(db).map_err(AppError::from)).unwrap_or_default()
}

/// The settings files of the clients that apply here, and those that we installed into.
fn settings_files(env: &Env, home: &Home, dir: &Path) -> Vec<(&'static Client, PathBuf)> {
    let here = substrate_clients::ALL.iter().flat_map(|client| {
        Scope::of(client)
            .filter_map(|scope| Some((*client, scope.settings(client, env, dir).ok()?)))
    });
    let known = Manifest::all(home).unwrap_or_default();
    let known = known.into_iter().map(|one| (one.client(), one.settings));
    let mut out: Vec<(&Client, PathBuf)> = here.chain(known).collect();
    out.sort_by(|(_, one), (_, other)| one.cmp(other));
    out.dedup_by(|(_, one), (_, other)| one == other);
    out
}

/// A settings file as it is, and without our status line. `None`: it has none.
fn without_status_line(client: &Client, file: &Path) -> Result<Option<(String, String)>> {
    let Ok(text) = std::fs::read_to_string(file) else { return Ok(None) };
    let edited = (client.install.format.without_status_line)(&text)
        .map_err(|error| refused(file, &error))?;
    Ok(edited.map(|edited| (text, edited.text)))
}

/// Removes our status line from a settings file.
pub(crate) fn take_status_line(client: &Client, file: &Path) -> Result<()> {
    let Some((before, after)) = without_status_line(client, file)? else { return Ok(()) };
    let fail = || {
        AppError::new(Kind::User, format!("could not change `{}`", file.display()))
            .hint("remove `statusLine` from it, or it starts the daemon again")
    };
    if !fsx::may_replace(file) {
        return Err(fail());
    }
    match fsx::replace_if(file, Some(before.as_bytes()), after.as_bytes(), 0o600) {
        Ok(true) => Ok(()),
        Ok(false) | Err(_) => Err(fail()),
    }
}
