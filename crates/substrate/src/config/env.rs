//! The environment, read once.

use std::ffi::{OsStr, OsString};

/// The variables that this process was started with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Env {
    vars: Vec<(OsString, OsString)>,
}

impl Env {
    pub(crate) fn of_this_process() -> Self {
        Self { vars: std::env::vars_os().collect() }
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
}
