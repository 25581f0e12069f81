//! Input from outside: the environment, the state home, the settings files.

mod files;
mod home;
mod local;
mod project;

pub(crate) use files::{Around, SettingsFiles, settings_at};
pub(crate) use home::Home;
pub(crate) use project::{common_dir, is_worked_in, marks, project_of, root_of};

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

/// The variables that this process was started with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Env {
    vars: Vec<(OsString, OsString)>,
}

impl Env {
    pub(crate) fn of_this_process() -> Self {
        Self { vars: std::env::vars_os().collect() }
    }

    /// From another process: `NAME=value`, each ended by a zero byte.
    pub(crate) fn of_block(block: &[u8]) -> Self {
        let split = |variable: &[u8]| {
            let at = variable.iter().position(|byte| *byte == b'=')?;
            let text = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
            Some((text(&variable[..at]), text(&variable[at + 1..])))
        };
        Self { vars: block.split(|byte| *byte == 0).filter_map(split).collect() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.vars
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_os_str())
            .filter(|value| !value.is_empty())
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.to_str()
    }

    /// All variables as a hook sends them: `NAME=value`, each ended by a zero byte.
    pub(crate) fn block(&self) -> Vec<u8> {
        let each = self
            .vars
            .iter()
            .flat_map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
        each.collect()
    }
}
