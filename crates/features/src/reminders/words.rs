//! Our own words, where a team has none. Short: each is paid for by every agent that stops.

/// For the main thread, when its turn ends.
pub(super) const REFLECT: &str =
    "Before you stop, a short look back (a reminder; you decide what applies):
- every task is done, or what is left is written down
- artifacts are where they belong
- no uncommitted changes, or you have said which and why
- next steps are written down
If this session taught something worth keeping, invoke `/reflect`. If nothing is open, finish.";

/// For a subagent that wants to end.
pub(super) const VALIDATE: &str =
    "Before you finish, check your own work (a reminder; you decide what applies):
- the acceptance criteria are met
- artifacts follow their schema
- no assumption is left unverified
- tests pass, where there are any
- the output is where it belongs
Mend what falls short, or say what you could not mend.";

/// For a subagent that wants to end after that.
pub(super) const REFLEXION: &str =
    "One more question (a reminder; you decide): did this task teach something that will matter again?
- an error that took debugging
- a wrong assumption that had to be corrected
- a missing dependency, or behaviour that nobody would expect
- a workaround for something undocumented
Invoke `/reflexion` only if it was significant; otherwise write nothing about it.";
