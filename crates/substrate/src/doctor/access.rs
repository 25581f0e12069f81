//! The state home, the socket and the database must be private to their owner.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;

use super::finding::{Area, Finding};
use crate::config::Home;

/// The permissions of one of our files.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(super) what: StateFile,
    pub(super) path: PathBuf,
    pub(super) mode: u32,
    /// It belongs to the user who asks.
    pub(super) is_mine: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateFile {
    Home,
    Socket,
    Database,
}

impl StateFile {
    const fn wanted(self) -> u32 {
        match self {
            Self::Home => 0o700,
            Self::Socket | Self::Database => 0o600,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Home => "state home",
            Self::Socket => "socket",
            Self::Database => "database",
        }
    }

    const fn id(self) -> &'static str {
        match self {
            Self::Home => "home-permissions",
            Self::Socket => "socket-permissions",
            Self::Database => "database-permissions",
        }
    }
}

impl Access {
    /// The mode that it needs. `None`: it is fine, or not ours to change.
    pub(super) fn mended(&self) -> Option<u32> {
        let wanted = self.what.wanted();
        (self.is_mine && self.mode != wanted).then_some(wanted)
    }
}

pub(super) fn look(home: &Home) -> Vec<Access> {
    let me = rustix::process::geteuid().as_raw();
    let all = [
        (StateFile::Home, home.root().to_owned()),
        (StateFile::Socket, home.socket()),
        (StateFile::Database, home.database()),
    ];
    let seen = all.into_iter().filter_map(|(what, path)| {
        let found = path.metadata().ok()?;
        let mode = found.permissions().mode() & 0o777;
        Some(Access { what, path, mode, is_mine: found.uid() == me })
    });
    seen.collect()
}

pub(super) fn judge(all: &[Access], out: &mut Vec<Finding>) {
    for access in all {
        let (what, path, mode) = (access.what, access.path.display(), access.mode);
        if !access.is_mine {
            out.push(
                Area::Daemon
                    .error(
                        "owner",
                        format!("the {} belongs to another user: `{path}`", what.name()),
                    )
                    .next("run this as its owner, or set SUBSTRATE_HOME to a folder that you own"),
            );
        } else if access.mended().is_some() {
            let message =
                format!("the {} has mode {mode:o}, not {:o}: `{path}`", what.name(), what.wanted());
            // Others who can read are bad; others who can write, or an owner who can't, are worse.
            let is_worse = mode & 0o022 != 0 || mode & what.wanted() != what.wanted();
            let finding = if is_worse {
                Area::Daemon.error(what.id(), message)
            } else {
                Area::Daemon.warning(what.id(), message)
            };
            out.push(finding.next(format!("`chmod {:o} '{path}'`", what.wanted())).fixable());
        }
    }
    if !all.is_empty() && all.iter().all(|access| access.is_mine && access.mended().is_none()) {
        out.push(Area::Daemon.ok("permissions-fine", "the state home is for its owner only"));
    }
}
