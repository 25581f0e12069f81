//! What can be asked about the machine while a transaction is open: only what memory, or
//! the system's own table of processes, answers at once. No file is looked at: it may be on a mount that hangs.

use crate::dialect::Dialect;
use crate::lineage::ProcessId;
use crate::time::Timestamp;

/// The machine, as a feature may see it.
pub trait World {
    /// When that process began, in the system's own unit; `None` when there is no such process. A process id is used
    /// again, the pair is not.
    fn process_began(&self, pid: u32) -> Option<i64>;

    /// The processes above that one, nearest first. Empty where the system does not say.
    fn above(&self, _pid: u32) -> Vec<ProcessId> {
        Vec::new()
    }

    /// How far the local clock was ahead of UTC then, in seconds: a day is what people here call so.
    fn offset_s(&self, at: Timestamp) -> i32;

    /// Whether the session is waiting for mail right now, so that it can be reached at once: its turn is held for it, or
    /// it `has_stopped` and a waiter stands beside it. The waiter of a session that works wakes nobody.
    fn is_waiting(&self, session: &str, has_stopped: bool) -> bool;

    /// How each client that we know does things.
    fn dialects(&self) -> &'static [&'static Dialect] {
        &[]
    }

    /// The folder in which we keep our own state and settings; `None` where it is the usual one.
    fn state_home(&self) -> Option<&str> {
        None
    }
}

/// A machine on which nothing runs.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

impl World for Nowhere {
    fn process_began(&self, _pid: u32) -> Option<i64> {
        None
    }

    fn offset_s(&self, _at: Timestamp) -> i32 {
        0
    }

    fn is_waiting(&self, _session: &str, _has_stopped: bool) -> bool {
        false
    }
}
