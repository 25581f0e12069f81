//! What judging one event may take: counted, since nothing stops the interpreter on its way.

use std::cell::Cell;

use crate::guards::cel::scene::Scene;
use crate::guards::sizes::Sizes;

/// What all rules of the user and the project may take together at one event: some hundredths of a second.
const MAX_STEPS: u64 = 200_000;

pub(in crate::guards) const TOO_LONG: &str = "it was not judged: with the rules before it, it would take too long at this event; loop over less, or have fewer rules";

thread_local! {
    /// What is left for the condition that is being judged.
    static LEFT: Cell<u64> = const { Cell::new(0) };
}

/// What is left.
#[derive(Clone, Copy, Debug)]
pub(in crate::guards) struct Budget {
    left: u64,
    sizes: Sizes,
}

impl Budget {
    pub(in crate::guards) fn of(scene: &Scene) -> Self {
        Self { left: MAX_STEPS, sizes: Sizes::of(scene) }
    }

    /// For the rules that come with us, which are known to end soon.
    pub(in crate::guards) fn endless(self) -> Self {
        Self { left: u64::MAX, ..self }
    }

    pub(in crate::guards) fn is_endless(&self) -> bool {
        self.left == u64::MAX
    }

    pub(in crate::guards) fn sizes(&self) -> Sizes {
        self.sizes
    }

    pub(in crate::guards) fn spend(&mut self, steps: u64) -> Result<(), String> {
        self.left = self.left.checked_sub(steps).ok_or_else(|| TOO_LONG.to_owned())?;
        Ok(())
    }

    /// Lets functions that a condition calls spend of it.
    pub(in crate::guards) fn lent<T>(&mut self, judge: impl FnOnce() -> T) -> T {
        LEFT.set(self.left);
        let found = judge();
        self.left = LEFT.get();
        found
    }
}

/// From inside of a function. `false`: there is not so much left.
pub(in crate::guards) fn spend(steps: u64) -> bool {
    let left = LEFT.get().checked_sub(steps);
    LEFT.set(left.unwrap_or(0));
    left.is_some()
}
