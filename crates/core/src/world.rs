//! What may be asked about the machine while a transaction is open. Memory or the process table must answer at once.
//! Files are never read here: a mount may hang.

use crate::dialect::Dialect;
use crate::lineage::ProcessId;
use crate::time::Timestamp;

/// The machine, as a feature may see it.
pub trait World {
    /// When a process started, in the system's own unit. `None` if it does not run. A pid is reused, but never with the
    /// same start time.
    fn process_began(&self, pid: u32) -> Option<i64>;

    /// The processes above that one, nearest first. Empty where the system does not say.
    fn above(&self, _pid: u32) -> Vec<ProcessId> {
        Vec::new()
    }

    /// How far the local clock was ahead of UTC at that moment, in seconds. Days follow local time.
    fn offset_s(&self, at: Timestamp) -> i32;

    /// Whether the session waits for mail right now and can be reached at once. Either its turn is held, or it
    /// `has_stopped` and a waiter runs beside it. A waiter beside a working session can't wake it.
    fn is_waiting(&self, session: &str, has_stopped: bool) -> bool;

    /// Whether a hook waits for this key right now, beside a dialog of its client.
    fn has_waiter(&self, _key: &str) -> bool {
        false
    }

    /// Whether what is written now is still there at the next event. Otherwise no text may promise what takes two.
    fn remembers(&self) -> bool {
        true
    }

    /// How each client that we know does things.
    fn dialects(&self) -> &'static [&'static Dialect] {
        &[]
    }

    /// The folder of our own state and settings. `None` if it is the default one.
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
