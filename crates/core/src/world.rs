//! What can be asked about the machine while a transaction is open: only what is answered without waiting.

use crate::time::Timestamp;

/// The machine, as a feature may see it.
pub trait World {
    /// When that process began, in the system's own unit; `None` when there is no such process. A process id is used
    /// again, the pair is not.
    fn process_began(&self, pid: u32) -> Option<i64>;

    /// When that file or folder was last changed, in milliseconds since 1970: its content, or that it came to its place, and
    /// not what somebody says about it (`touch -d`). `None` when it is not there. For a few files at most.
    fn changed_ms(&self, path: &str) -> Option<i64>;

    /// How far the local clock was ahead of UTC then, in seconds: a day is what people here call so.
    fn offset_s(&self, at: Timestamp) -> i32;

    /// The working tree that a folder is in.
    fn tree_of(&self, folder: &str) -> Option<WorkingTree>;
    /// The first `max` bytes of a file, as text; `None` when it is no plain file, or any step of its path is a link: what a
    /// link leads to was resolved when the path was noted, and may be anything by now. For a few small files, and seldom: what
    /// is asked for at every event belongs into a `Need`.
    fn beginning(&self, path: &str, max: usize) -> Option<String>;

    /// Whether that artifact of a task could be added to (`Effect::Artifact`), as far as one can see. Only commands ask.
    fn takes_artifact(&self, _root: &str, _dir: &str, _name: &str) -> bool {
        true
    }

    /// Whether the session is waiting for mail right now, so that it can be reached at once: its turn is held for it, or
    /// it `has_stopped` and a waiter stands beside it. The waiter of a session that works wakes nobody.
    fn is_waiting(&self, session: &str, has_stopped: bool) -> bool;
}

/// A working tree, and which project it is a tree of, as `Event::project`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkingTree {
    pub root: String,
    pub project: String,
}

/// A machine on which nothing runs.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

impl World for Nowhere {
    fn process_began(&self, _pid: u32) -> Option<i64> {
        None
    }

    fn changed_ms(&self, _path: &str) -> Option<i64> {
        None
    }

    fn offset_s(&self, _at: Timestamp) -> i32 {
        0
    }

    fn tree_of(&self, _folder: &str) -> Option<WorkingTree> {
        None
    }

    fn beginning(&self, _path: &str, _max: usize) -> Option<String> {
        None
    }

    fn is_waiting(&self, _session: &str, _has_stopped: bool) -> bool {
        false
    }
}
