//! What happens outside the database after a commit: data, carried out by the host.

use crate::event::Pane;
use crate::time::Timestamp;

/// One effect. A feature that fails has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Wakes all who wait for this key.
    Wake { key: String },
    /// Runs this feature's housekeeping within a few seconds, not only once a minute.
    Soon { feature: &'static str },
    /// Writes a file of ours, for its owner only. The path is below the state home.
    Keep { path: String, text: String },
    /// Removes such a file.
    Forget { path: String },
    /// Writes a file for people and other tools into a project, only below `seed::COORDINATION` of the working tree
    /// `root`: all of it at once, or (`append`) at the end of a file that the host keeps short.
    Mirror { root: String, path: String, text: String, append: bool },
    /// Appends one line to a file of a project's session logs; `path` is below `logs/sessions/` of `root`.
    SessionLog { root: String, path: String, line: String },
    /// Makes the folders that a project keeps its session logs and memories in.
    ProjectFolders { root: String },
    /// Removes a project's session logs that have not grown since then.
    RotateLogs { root: String, before: Timestamp },
    /// Adds text to the end of an artifact: the file `name` (`….md`) in the folder `dir` below the working tree `root`. With
    /// `fresh` only where there is no such file yet. Nothing is written through a link.
    Artifact { root: String, dir: String, name: String, text: String, fresh: bool },
    /// Colours a pane of a terminal multiplexer by the status of its agent. Without a look it gets its own colours
    /// back.
    Paint { pane: Pane, look: Option<Look> },
    /// Brings a pane to the front, wherever its multiplexer is shown: the user wants to go there.
    Show { pane: Pane },
}

/// How a pane shows a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    pub status: String,
    /// The pane with the highest rank in a window colours its tab.
    pub rank: u8,
    /// The colour of the pane's background; empty: its own.
    pub pane: String,
    /// The colour of the window's tab; empty: its own.
    pub tab: String,
}
