//! The machine as features may see it while a transaction is open.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use substrate_core::{Dialect, ProcessId, Timestamp, World};

use crate::{clock, processes};

/// Processes, and which sessions wait in this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    waiting: Arc<RwLock<HashMap<Box<str>, Waits>>>,
    /// The keys of hooks that wait beside a dialog.
    dialogs: Arc<RwLock<HashSet<Box<str>>>>,
    state_home: Option<Arc<str>>,
    /// What is written ends with this process.
    is_forgetful: bool,
}

/// How a session waits.
#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    /// Held turns.
    n_held: u16,
    /// Waiters beside it.
    n_beside: u16,
}

impl Waits {
    const fn of(&mut self, is_held: bool) -> &mut u16 {
        if is_held { &mut self.n_held } else { &mut self.n_beside }
    }
}

impl Machine {
    /// The machine with our state in that folder.
    pub(crate) fn with_state(home: &std::path::Path) -> Self {
        Self { state_home: home.to_str().map(Arc::from), ..Self::default() }
    }

    /// The same for a process that answers one event and keeps nothing.
    pub(crate) fn forgetful(self) -> Self {
        Self { is_forgetful: true, ..self }
    }

    /// A session waits (or one more of its hooks does): its turn is held, or it has a waiter beside it.
    pub(crate) fn waits(&self, session: &str, is_held: bool) {
        let mut waiting = self.waiting.write().unwrap_or_else(PoisonError::into_inner);
        *waiting.entry(session.into()).or_default().of(is_held) += 1;
    }

    /// A hook waits beside a dialog, or no longer does.
    pub(crate) fn dialog(&self, key: &str, is_open: bool) {
        let mut dialogs = self.dialogs.write().unwrap_or_else(PoisonError::into_inner);
        if is_open {
            dialogs.insert(key.into());
        } else {
            dialogs.remove(key);
        }
    }

    /// It stops waiting.
    pub(crate) fn left(&self, session: &str, is_held: bool) {
        let mut waiting = self.waiting.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(waits) = waiting.get_mut(session) {
            let n = waits.of(is_held);
            *n = n.saturating_sub(1);
            if waits.n_held == 0 && waits.n_beside == 0 {
                waiting.remove(session);
            }
        }
    }
}

impl World for Machine {
    fn process_began(&self, pid: u32) -> Option<i64> {
        began(pid)
    }

    fn above(&self, pid: u32) -> Vec<ProcessId> {
        processes::ids_above(pid)
    }

    fn offset_s(&self, at: Timestamp) -> i32 {
        clock::tz_offset_s(at)
    }

    fn is_waiting(&self, session: &str, has_stopped: bool) -> bool {
        let waiting = self.waiting.read().unwrap_or_else(PoisonError::into_inner);
        waiting
            .get(session)
            .is_some_and(|waits| waits.n_held > 0 || (has_stopped && waits.n_beside > 0))
    }

    fn remembers(&self) -> bool {
        !self.is_forgetful
    }

    fn has_waiter(&self, key: &str) -> bool {
        self.dialogs.read().unwrap_or_else(PoisonError::into_inner).contains(key)
    }

    fn dialects(&self) -> &'static [&'static Dialect] {
        &substrate_clients::DIALECTS
    }

    fn state_home(&self) -> Option<&str> {
        self.state_home.as_deref()
    }
}

/// A zombie counts as gone.
#[cfg(target_os = "linux")]
fn began(pid: u32) -> Option<i64> {
    processes::stat(pid).filter(|stat| stat.state != b'Z').map(|stat| stat.began)
}

/// Without `/proc`, only whether the process exists.
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
        machine.waits("s", true);
        machine.waits("s", true);
        machine.left("s", true);
        assert!(machine.is_waiting("s", false));
        machine.left("s", true);
        machine.left("s", true);
        assert!(!machine.is_waiting("s", true));
    }

    #[test]
    fn a_waiter_beside_a_working_session_does_not_make_it_reachable() {
        let machine = Machine::default();
        machine.waits("s", false);
        assert!(machine.is_waiting("s", true) && !machine.is_waiting("s", false));
    }
}
