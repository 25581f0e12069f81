//! Keeps agents reachable: what happens when a turn ends and there is nothing to do.
//!
//! * `poll` holds the turn until mail comes.
//! * `wake` lets the turn end. A waiter beside the session starts a new one when mail comes.
//! * `off` lets the turn end.
//!
//! # Invariants
//!
//! * A wait ends well before the client would end the hook.
//! * Near the client's cap on blocks, the agent is asked for a sign of life, which resets the client's count.
//! * A turn with background tasks always ends, so that their results can come in.
//! * Subagents never wait.
//!
//! # Example
//!
//! ```text
//! $ substrate config set persist.mode poll
//! ```

mod policy;

#[cfg(test)]
mod tests;

use substrate_core::Feature;
use substrate_core::settings::{Key, Kind, ProjectMay};

pub(crate) const FEATURE: Feature = Feature {
    name: "persist",
    about: "Keeps an agent reachable after its turn ends",
    keys: &[
        Key {
            name: "persist.mode",
            kind: Kind::Word(&["auto", "poll", "wake", "off"]),
            default: "\"auto\"",
            about: "What an agent does when it has nothing to do: `poll` waits for mail inside its turn, `wake` ends the turn and starts a new one when mail comes, `off` only ends it. `auto` takes $SUBSTRATE_PERSIST, else `wake` if a person watches, `off` if none does, `poll` if the client does not say.",
            project: ProjectMay::TurnOn,
            profiles: &[("persistent", "\"poll\"")],
        },
        Key {
            name: "persist.poll",
            kind: Kind::Span,
            default: "\"9m30s\"",
            about: "How long one wait of `poll` lasts; at most 9m30s, because the client ends a hook after ten minutes.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
    ],
    consider: Some(policy::consider),
    ..Feature::NOTHING
};
