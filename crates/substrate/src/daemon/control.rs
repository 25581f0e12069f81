//! Requests about the daemon itself.

use serde::{Deserialize, Serialize};

use super::dashboard::UiAsk;

/// A request of kind `Control`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub(crate) enum Ask {
    Ping,
    Stop,
    /// Answer once there were other commits than these, or after a while. Without a number: at once.
    Watch {
        n_commits: Option<u64>,
    },
    /// About the dashboard. Only for the user.
    Ui {
        ask: UiAsk,
    },
    /// Send a notification now. Only for the user.
    TestNotifications,
    /// Hand everything over to this program.
    TakeOver {
        program: String,
    },
}

/// What the daemon reports about itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Status {
    pub(crate) pid: u32,
    pub(crate) version: String,
    pub(crate) started_ms: i64,
    pub(crate) home: String,
    pub(crate) program: String,
    pub(crate) n_hooks: u64,
    pub(crate) n_commands: u64,
    pub(crate) n_commits: u64,
    pub(crate) n_failures: u64,
    #[serde(default)]
    pub(crate) n_waiting: usize,
    /// It ends when the requests at hand are answered.
    #[serde(default)]
    pub(crate) is_brief: bool,
    /// Why the database is not used and leases are kept in memory.
    #[serde(default)]
    pub(crate) trouble: Option<String>,
}
