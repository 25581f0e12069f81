//! Agents that stay reachable: what happens when a turn ends and there is nothing to do.
//!
//! `poll` holds the turn until mail comes; `wake` lets it end, and the waiter beside the session starts a new one; `off`
//! lets it end.

mod policy;

#[cfg(test)]
mod tests;

use substrate_core::Feature;
use substrate_core::settings::{Key, Kind, ProjectMay};

pub(crate) const FEATURE: Feature = Feature {
    name: "persist",
    about: "Keeps an agent reachable after its turn has ended.",
    keys: &[
        Key {
            name: "persist.mode",
            kind: Kind::Word(&["auto", "poll", "wake", "off"]),
            default: "\"auto\"",
            about: "What an agent does when it has nothing to do: `poll` waits for mail inside its turn, `wake` lets the turn end and starts a new one when mail comes, `off` only ends. `auto` is $SUBSTRATE_PERSIST, else `wake` where a person watches, `off` where none does, `poll` where the client does not say.",
            project: ProjectMay::TurnOn,
            profiles: &[("persistent", "\"poll\"")],
        },
        Key {
            name: "persist.poll",
            kind: Kind::Span,
            default: "\"9m30s\"",
            about: "How long one wait of `poll` lasts; never longer than 9m30s, since the client ends a hook after ten minutes.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
    ],
    consider: Some(policy::consider),
    ..Feature::NOTHING
};
