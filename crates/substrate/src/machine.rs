//! The machine as features may see it while a transaction is open.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use substrate_core::World;

/// Processes, and who waits in this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    waiting: Arc<RwLock<HashMap<Box<str>, u32>>>,
}

impl Machine {
    /// A session waits (or one more of its hooks does).
    pub(crate) fn waits(&self, session: &str) {
        let mut waiting = self.waiting.write().unwrap_or_else(PoisonError::into_inner);
        *waiting.entry(session.into()).or_default() += 1;
    }

    /// It does not wait any more.
    pub(crate) fn left(&self, session: &str) {
        let mut waiting = self.waiting.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(n) = waiting.get_mut(session) {
            *n -= 1;
            if *n == 0 {
                waiting.remove(session);
            }
        }
    }
}

impl World for Machine {
    fn process_began(&self, pid: u32) -> Option<i64> {
        began(pid)
    }

    fn changed_ms(&self, path: &str) -> Option<i64> {
        let changed = std::fs::metadata(path).ok()?.modified().ok()?;
        let since = changed.duration_since(std::time::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok()
    }

    fn is_waiting(&self, session: &str) -> bool {
        self.waiting.read().unwrap_or_else(PoisonError::into_inner).contains_key(session)
    }
}

/// The 22nd field of `/proc/PID/stat`: ticks since the machine started. The second field is a name in brackets, which
/// may hold anything.
#[cfg(target_os = "linux")]
fn began(pid: u32) -> Option<i64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    // A process that has ended and was not waited for is gone.
    if state == "Z" { None } else { fields.nth(18)?.parse().ok() }
}

/// Elsewhere only whether there is such a process.
#[cfg(not(target_os = "linux"))]
fn began(pid: u32) -> Option<i64> {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)?;
    rustix::process::test_kill_process(pid).is_ok().then_some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_runs_began_and_one_that_does_not_did_not() {
        let began = began(std::process::id());
        assert!(began.is_some_and(|began| began >= 0));
        assert_eq!(began, super::began(std::process::id()));
        assert_eq!(super::began(u32::MAX), None);
    }

    #[test]
    fn a_session_waits_until_the_last_of_its_hooks_has_left() {
        let machine = Machine::default();
        machine.waits("s");
        machine.waits("s");
        machine.left("s");
        assert!(machine.is_waiting("s"));
        machine.left("s");
        machine.left("s");
        assert!(!machine.is_waiting("s"));
    }
}
