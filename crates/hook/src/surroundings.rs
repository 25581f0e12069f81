//! The process's own surroundings: arguments, folder, and the environment, read once.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use ipc::{passed, place};

pub(crate) struct Surroundings {
    pub(crate) args: Vec<Vec<u8>>,
    pub(crate) cwd: Vec<u8>,
    pub(crate) state_home: Option<PathBuf>,
    /// A deadline that the environment sets instead of the event's own.
    pub(crate) deadline_ms: Option<u32>,
    environment: Vec<u8>,
}

impl Surroundings {
    pub(crate) fn look() -> Self {
        let mut out = Self {
            args: std::env::args_os().map(std::ffi::OsString::into_vec).collect(),
            cwd: std::env::current_dir()
                .map(|path| path.into_os_string().into_vec())
                .unwrap_or_default(),
            state_home: None,
            deadline_ms: None,
            environment: environment(),
        };
        let (mut own, mut home, mut deadline) = (None, None, None);
        for (name, value) in pairs(&out.environment) {
            match name {
                b"SUBSTRATE_HOME" => own = Some(OsStr::from_bytes(value)),
                b"HOME" => home = Some(OsStr::from_bytes(value)),
                b"SUBSTRATE_HOOK_DEADLINE_MS" => {
                    deadline = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                }
                _ => {}
            }
        }
        let state_home = place::state_home(own, home);
        out.state_home = state_home;
        out.deadline_ms = deadline;
        out
    }

    /// The variables that go with the request.
    pub(crate) fn passed(&self) -> Vec<(&[u8], &[u8])> {
        let mut out = Vec::with_capacity(24);
        out.extend(pairs(&self.environment).filter(|(name, _)| passed::passes(name)));
        out
    }
}

/// `NAME=value` pairs that end in a zero byte each.
fn pairs(environment: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = environment;
    std::iter::from_fn(move || {
        loop {
            let entry = std::ffi::CStr::from_bytes_until_nul(rest).ok()?.to_bytes();
            rest = &rest[entry.len() + 1..];
            // Only names that can matter are looked at closely: this runs at every tool call.
            if !matches!(entry.first(), Some(b'A' | b'C' | b'H' | b'S' | b'T')) {
                continue;
            }
            if let Some(at) = entry.iter().position(|byte| *byte == b'=') {
                return Some((&entry[..at], &entry[at + 1..]));
            }
        }
    })
}

/// The environment in one piece. Asking std for it costs two allocations per variable, more than all the rest.
#[cfg(target_os = "linux")]
fn environment() -> Vec<u8> {
    use rustix::fs::{Mode, OFlags, open};
    let mut out = Vec::with_capacity(16 << 10);
    if let Ok(file) = open(c"/proc/self/environ", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
        while let Ok(1..) = rustix::io::read(&file, rustix::buffer::spare_capacity(&mut out)) {
            if out.capacity() - out.len() < 4096 {
                out.reserve(16 << 10);
            }
        }
        return out;
    }
    from_std()
}

#[cfg(not(target_os = "linux"))]
fn environment() -> Vec<u8> {
    from_std()
}

fn from_std() -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in std::env::vars_os() {
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        out.extend_from_slice(value.as_bytes());
        out.push(0);
    }
    out
}
