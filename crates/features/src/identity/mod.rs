//! Agents with durable names: who a session is, who is there, and how they are found.

mod actors;
pub(crate) mod book;
mod caller;
mod choose;
mod clients;
mod files;
mod identify;
mod names;
mod near;
mod ops;
mod policy;
mod presence;
pub(crate) mod reach;
mod record;
mod render;
pub(crate) mod roster;
mod schema;
mod shells;
mod tick;
mod verbs_agent;
mod verbs_identity;
mod words;

#[cfg(test)]
mod tests;

use substrate_core::{Feature, Verb};

/// Whether an agent may be called so.
pub fn is_agent_name(name: &str) -> bool {
    names::is_valid(name)
}

pub(crate) const FEATURE: Feature = Feature {
    name: "identity",
    about: "Gives every session an agent with a durable name, and says who is there.",
    migrations: schema::MIGRATIONS,
    identify: Some(identify::identify),
    consider: Some(policy::consider),
    record: Some(record::record),
    is_news: Some(record::is_news),
    tick: Some(tick::tick),
    verbs: &[
        Verb::of::<verbs_identity::Current>(),
        Verb::of::<verbs_identity::Ensure>(),
        Verb::of::<verbs_identity::Save>(),
        Verb::of::<verbs_identity::Restore>(),
        Verb::of::<verbs_identity::List>(),
        Verb::of::<verbs_identity::Rename>(),
        Verb::of::<verbs_agent::List>(),
        Verb::of::<verbs_agent::Show>(),
        Verb::of::<verbs_agent::Whoami>(),
        Verb::of::<verbs_agent::Discover>(),
        Verb::of::<verbs_agent::Delete>(),
        Verb::of::<verbs_identity::Heartbeat>(),
    ],
    ..Feature::NOTHING
};
