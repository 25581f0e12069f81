//! The process's own surroundings: what the request says about it, and where the daemon is.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use ipc::{passed, place};

use crate::draft::Draft;
use crate::given::Given;

/// Where the parts of a request are in its draft, and what the hook itself needs to know.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    substrate_home: &'static [u8],
    home: &'static [u8],
    /// A deadline from the environment, instead of the event's own.
    pub(crate) deadline_ms: Option<u32>,
}

impl Surroundings {
    /// Puts arguments, folder and variables into the draft.
    pub(crate) fn look(given: Given, draft: &mut Draft<'_>) -> Self {
        for arg in given.args() {
            draft.put(arg.bytes());
        }
        draft.end_of_args();
        draft.put_cwd();
        let mut out = Self::default();
        for var in given.vars() {
            // Only names that can matter are looked at: this runs at every tool call.
            if matches!(var.first(), b'A' | b'C' | b'H' | b'S' | b'T') {
                out.consider(var.bytes(), draft);
            }
        }
        draft.end_of_vars();
        out
    }

    fn consider(&mut self, var: &'static [u8], draft: &mut Draft<'_>) {
        if let Some(value) = var.strip_prefix(b"HOME=") {
            self.home = value;
        } else if passed::passes(var) {
            if let Some(value) = var.strip_prefix(b"SUBSTRATE_HOME=") {
                self.substrate_home = value;
            } else if let Some(value) = var.strip_prefix(b"SUBSTRATE_HOOK_DEADLINE_MS=") {
                self.deadline_ms = place::given_deadline_ms(value);
            }
            draft.put(var);
        }
    }

    /// The state home's path, if it is known and absolute.
    pub(crate) fn state_home(&self) -> Option<PathBuf> {
        place::state_home(
            Some(OsStr::from_bytes(self.substrate_home)),
            Some(OsStr::from_bytes(self.home)),
        )
        .filter(|home| home.is_absolute())
    }

    /// The socket's path, without an allocation. `None`: it is unknown or too long.
    pub(crate) fn socket<'b>(&self, space: &'b mut [u8; 108]) -> Option<&'b CStr> {
        let parts: [&[u8]; 3] = if self.substrate_home.is_empty() {
            [self.home, b"/.subtrate/", place::SOCKET.as_bytes()]
        } else {
            [self.substrate_home, b"/", place::SOCKET.as_bytes()]
        };
        // A relative home would be another one in every folder. `substrate` reports that.
        if parts[0].first() != Some(&b'/') {
            return None;
        }
        let mut n = 0;
        for part in parts {
            space.get_mut(n..n + part.len())?.copy_from_slice(part);
            n += part.len();
        }
        CStr::from_bytes_with_nul(space.get(..=n)?).ok()
    }
}
