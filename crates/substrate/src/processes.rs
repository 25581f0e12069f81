//! The process table, from `/proc`. On other systems nothing is known, and environment variables have to do.

use std::io::Read as _;
use std::sync::Arc;

use substrate_core::Lineage;
use substrate_core::lineage::{self, ProcessId, Processes, walk};

/// The longest command line that is read.
const MAX_LINE: u64 = 16 << 10;

/// The longest environment that is read.
const MAX_ENVIRON: u64 = 1 << 20;

/// The processes above one.
pub(crate) enum Above {
    Found(Arc<Lineage>),
    /// The process has ended, so its parents are unknown.
    Gone,
    /// The system does not say.
    Unknown,
}

/// Looks up a process and those above it. Reading may block on a process that hangs, so never on the daemon's loop.
pub(crate) fn above(pid: Option<i32>) -> Above {
    // A caller in another pid namespace has no pid here.
    let Some(pid) = pid.and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0) else {
        return Above::Unknown;
    };
    match walk(&System, pid) {
        Some(lineage) => Above::Found(Arc::new(lineage)),
        None if stat(std::process::id()).is_some() => Above::Gone,
        None => Above::Unknown,
    }
}

/// The pids and start times of the processes above one, nearest first. Reads only what never blocks.
pub(crate) fn ids_above(pid: u32) -> Vec<ProcessId> {
    lineage::above(&System, pid)
}

/// A line of `/proc/PID/stat`.
pub(crate) struct Stat {
    pub(crate) state: u8,
    pub(crate) parent: u32,
    /// Ticks since boot.
    pub(crate) began: i64,
}

/// The second field is a name in brackets, which may contain anything: brackets, and bytes that are not UTF-8.
pub(crate) fn stat(pid: u32) -> Option<Stat> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let bytes = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let end = bytes.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(bytes.get(end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    Some(Stat { state, parent, began: fields.nth(17)?.parse().ok()? })
}

struct System;

impl Processes for System {
    fn stat(&self, pid: u32) -> Option<(u32, i64)> {
        // A process whose first thread has ended looks dead, but may still have children.
        stat(pid).map(|stat| (stat.parent, stat.began))
    }

    fn line(&self, pid: u32) -> String {
        let bytes = read(&format!("/proc/{pid}/cmdline"), MAX_LINE);
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    }

    fn named_client(&self, pid: u32) -> Option<u32> {
        let bytes = environ(pid);
        let names: Vec<&str> =
            substrate_clients::ALL.iter().filter_map(|client| client.variables.process).collect();
        bytes.split(|byte| *byte == 0).find_map(|variable| {
            let (name, value) = std::str::from_utf8(variable).ok()?.split_once('=')?;
            names.contains(&name).then(|| value.parse().ok())?
        })
    }
}

/// The environment that a process was started with.
pub(crate) fn environ(pid: u32) -> Vec<u8> {
    read(&format!("/proc/{pid}/environ"), MAX_ENVIRON)
}

/// The part that can be read.
fn read(path: &str, max: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok(file) = std::fs::File::open(path) {
        let _cut_short = file.take(max).read_to_end(&mut bytes);
    }
    bytes
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_with_its_parents_command_line() {
        let pid = std::process::id();
        let Above::Found(lineage) = above(i32::try_from(pid).ok()) else { panic!("not found") };
        assert_eq!(lineage.processes[0].id.pid, pid);
        assert!(
            lineage.processes.len() > 1 && !lineage.processes[1].line.is_empty(),
            "{lineage:?}"
        );
        assert!(lineage.processes.is_sorted_by(|a, b| a.id.began >= b.id.began));
    }

    #[test]
    fn a_process_that_is_not_there_is_gone_and_one_without_a_number_unknown() {
        assert!(matches!(above(Some(i32::MAX)), Above::Gone));
        assert!(matches!(above(Some(0)), Above::Unknown) && matches!(above(None), Above::Unknown));
    }
}
