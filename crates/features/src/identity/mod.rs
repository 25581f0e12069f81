//! Agents with durable names: who a session is, who is there, and how they are found.

mod actors;
pub(crate) mod book;
mod caller;
mod choose;
mod files;
mod identify;
mod names;
mod near;
mod ops;
mod policy;
mod presence;
mod processes;
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

use substrate_core::{Db, DbError, Feature, Lineage, Standing, Verb};

/// Whether an agent may be called so.
pub fn is_agent_name(name: &str) -> bool {
    names::is_valid(name)
}

/// Where a process stands that asks no daemon: below a client that is known, or not.
pub fn standing(db: &mut dyn Db, lineage: &Lineage) -> Result<Standing, DbError> {
    let above = processes::above(db, lineage)?;
    above.map_or(Ok(Standing::User), |above| {
        Ok(Standing::Below(caller::own(db, &above)?.map(|who| who.name)))
    })
}

/// The projects that sessions were in, the latest first.
pub fn projects(db: &mut dyn Db, max: i64) -> Result<Vec<String>, DbError> {
    ops::projects(db, max)
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
