//! Where a client looks for its settings.

use std::path::{Path, PathBuf};

use substrate_clients::Client;

use crate::config::{Env, root_of};
use crate::error::{AppError, Kind, Result};
use crate::inside;

/// Whose settings they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The user's own, for every project.
    User,
    /// The project's, committed and shared.
    Project,
    /// The user's own for this project.
    Local,
}

impl Scope {
    /// The scopes that the client has.
    pub(crate) fn of(client: &Client) -> impl Iterator<Item = Self> {
        let has_local = client.install.places.local_settings.is_some();
        [Self::User, Self::Project, Self::Local]
            .into_iter()
            .filter(move |scope| has_local || *scope != Self::Local)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }

    /// The client's settings file.
    pub(crate) fn settings(self, client: &Client, env: &Env, dir: &Path) -> Result<PathBuf> {
        let places = &client.install.places;
        let in_project = |name: &str| root(dir).join(places.project).join(name);
        match self {
            Self::User => Ok(client_home(client, env)?.join(places.user_settings)),
            Self::Project => Ok(in_project(places.project_settings)),
            Self::Local => places.local_settings.map(in_project).ok_or_else(|| {
                let what = format!("{} has no settings of your own for a project", client.title);
                AppError::new(Kind::User, what).hint("use `--user` or `--project`")
            }),
        }
    }
}

/// Refuses to change a project's file through a link: a repository could make us edit one of the user's files that way.
pub(crate) fn refuse_link(root: &Path, file: &Path) -> Result<()> {
    inside::link(root, file).map_or(Ok(()), |link| {
        let what = format!("`{}` is a link, and a project's files are not edited through links", link.display());
        Err(AppError::new(Kind::User, what)
            .hint("nothing was changed; put a folder or file of the project's own in its place, or use `--user`"))
    })
}

/// The project's root, with links resolved.
pub(super) fn root(dir: &Path) -> PathBuf {
    let root = root_of(dir);
    root.canonicalize().unwrap_or(root)
}

/// The client's own folder in the user's home.
pub(crate) fn client_home(client: &Client, env: &Env) -> Result<PathBuf> {
    let variable = client.variables.config;
    let given = variable.and_then(|name| env.get(name)).map(PathBuf::from);
    let found = given
        .or_else(|| env.get("HOME").map(|home| Path::new(home).join(client.install.places.home)))
        .ok_or_else(|| {
            let what = match variable {
                Some(variable) => format!("neither {variable} nor HOME is set"),
                None => "HOME is not set".to_owned(),
            };
            AppError::new(Kind::State, what)
                .hint("set HOME, so that the client's settings can be found")
        })?;
    Ok(std::path::absolute(&found).unwrap_or(found))
}

/// Whether the client is on this machine: its program, or its folder.
pub(crate) fn is_client_here(client: &Client, env: &Env) -> bool {
    let folders = env.get("PATH").into_iter().flat_map(std::env::split_paths);
    let on_path = folders.into_iter().any(|folder| folder.join(client.program).is_file());
    on_path || client_home(client, env).is_ok_and(|home| home.is_dir())
}
