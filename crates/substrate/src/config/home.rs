//! The state home: one folder, for its owner only.

use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use ipc::place;

use crate::config::Env;
use crate::config::files::PLUGIN_OPTIONS;
use crate::error::{AppError, Kind, Result};

#[derive(Clone, Debug)]
pub(crate) struct Home {
    root: PathBuf,
}

impl Home {
    pub(crate) fn find(env: &Env) -> Result<Self> {
        let root =
            place::state_home(env.get("SUBSTRATE_HOME"), env.get("HOME")).ok_or_else(|| {
                AppError::new(Kind::State, "neither SUBSTRATE_HOME nor HOME is set")
                    .hint("set SUBSTRATE_HOME to a folder that you own")
            })?;
        let home = Self { root };
        home.check(rustix::process::geteuid().as_raw())?;
        Ok(home)
    }

    /// Refuses a home that is not clearly this user's. A relative path would mean another folder for each caller.
    /// Another user's home, even through a link or as root, would mix up agents and mail.
    fn check(&self, uid: u32) -> Result<()> {
        let root = self.root.display();
        if self.root.is_relative() {
            let error = format!("the state home must be an absolute path, but it is `{root}`");
            return Err(AppError::new(Kind::State, error)
                .hint("set SUBSTRATE_HOME to a path that begins with `/`, or leave it unset"));
        }
        let nearest =
            self.root.ancestors().find_map(|folder| Some((folder, folder.metadata().ok()?)));
        let Some((folder, found)) = nearest else { return Ok(()) };
        let owner = found.uid();
        // A folder that does not exist yet may be created inside a system folder.
        if owner == uid || (owner == 0 && folder != self.root) {
            return Ok(());
        }
        let error = format!(
            "the state home `{root}` belongs to another user (uid {owner}; you are uid {uid})"
        );
        Err(AppError::new(Kind::State, error)
            .hint("set SUBSTRATE_HOME to a folder that you own; with `sudo`, use `sudo -H`"))
    }

    /// Creates what is missing, and removes access for others.
    pub(crate) fn ensure(&self) -> Result<()> {
        let fail = |error: &std::io::Error| {
            let message = format!("can't use `{}` as the state home: {error}", self.root.display());
            AppError::new(Kind::State, message)
                .hint("make it a folder that you own and can write, or set SUBSTRATE_HOME to one")
        };
        let logs = self.logs();
        let is_private =
            self.root.metadata().is_ok_and(|found| found.permissions().mode() & 0o077 == 0);
        if is_private && logs.is_dir() {
            return Ok(());
        }
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&logs)
            .map_err(|error| fail(&error))?;
        std::fs::set_permissions(&self.root, Permissions::from_mode(0o700))
            .map_err(|error| fail(&error))
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.root.join("subtrate.db")
    }

    pub(crate) fn backups(&self) -> PathBuf {
        self.root.join("backups")
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// What the user chose for our plugin in the client's settings.
    pub(crate) fn plugin_options(&self) -> PathBuf {
        self.root.join(PLUGIN_OPTIONS)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.root.join(place::SOCKET)
    }

    /// Whether the dashboard is on, and on which port.
    pub(crate) fn dashboard(&self) -> PathBuf {
        self.root.join("ui.json")
    }

    /// The keys of browsers, as digests.
    pub(crate) fn dashboard_keys(&self) -> PathBuf {
        self.root.join("ui-keys.json")
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.root.join("daemon.lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(root: &Path, uid: u32) -> Option<AppError> {
        Home { root: root.to_owned() }.check(uid).err()
    }

    #[test]
    fn a_home_is_an_absolute_path_to_a_folder_of_ours() {
        let folder = tempfile::tempdir().unwrap();
        let (mine, link) = (folder.path().join("mine"), folder.path().join("link"));
        std::fs::create_dir(&mine).unwrap();
        std::os::unix::fs::symlink(&mine, &link).unwrap();
        let us = rustix::process::geteuid().as_raw();
        let other = us + 1;
        for (name, root, uid, is_fine) in [
            ("ours", mine.clone(), us, true),
            ("ours, through a link", link.clone(), us, true),
            ("not there yet, in a folder of ours", mine.join("new/home"), us, true),
            (
                "not there yet, in a folder of the system's",
                PathBuf::from("/no-such/home"),
                us,
                true,
            ),
            ("another user's", mine.clone(), other, false),
            ("another user's, through a link", link.clone(), other, false),
            ("not there yet, in another user's", link.join("new"), other, us == 0),
            ("relative", PathBuf::from("state"), us, false),
            ("relative, upwards", PathBuf::from("../state"), us, false),
        ] {
            let refused = refusal(&root, uid);
            assert_eq!(refused.is_none(), is_fine, "{name}: {refused:?}");
            assert!(refused.is_none_or(|error| !error.hints.is_empty()), "{name}");
        }
    }

    #[test]
    fn root_does_not_use_another_users_home_by_accident() {
        let folder = tempfile::tempdir().unwrap();
        if std::os::unix::fs::chown(folder.path(), Some(12_345), None).is_err() {
            return eprintln!("NOT RUN: only root can give a folder away");
        }
        let refused = refusal(folder.path(), 0).unwrap().render();
        assert!(
            refused.contains("belongs to another user (uid 12345; you are uid 0)"),
            "{refused}"
        );
        assert!(refusal(&folder.path().join("new"), 0).is_some());
    }
}
