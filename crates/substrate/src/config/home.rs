//! The state home: one folder, for its owner only.

use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use ipc::place;

use crate::config::Env;
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
                    .hint("set SUBSTRATE_HOME to a folder of yours")
            })?;
        let root = std::path::absolute(&root).unwrap_or(root);
        Ok(Self { root })
    }

    /// Creates what is missing, and takes others' access away.
    pub(crate) fn ensure(&self) -> Result<()> {
        let fail = |error: &std::io::Error| {
            AppError::from_error(Kind::State, error).hint(format!(
                "`{}` must be a folder that only you can write; or set SUBSTRATE_HOME to one",
                self.root.display()
            ))
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

    pub(crate) fn socket(&self) -> PathBuf {
        self.root.join(place::SOCKET)
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.root.join("daemon.lock")
    }
}
