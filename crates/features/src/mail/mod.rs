//! Mail between agents and people: sent once, told at the right moment, known to have arrived.
//!
//! A delivery goes from queued over injected (in an answer that was printed) to seen (the model was asked since), read
//! and acked. Whatever gets lost on the way is told again. A message whose whole body was seen is read; one that was only
//! announced is not.

pub(crate) mod face;
mod introduce;
mod message;
mod ops;
mod ops_box;
mod ops_ledger;
mod ops_topics;
mod policy;
mod post;
mod render;
mod schema;
mod search;
mod settle;
mod tick;
mod verbs_box;
mod verbs_look;
mod verbs_poll;
mod verbs_send;
mod verbs_topics;
mod words;

#[cfg(test)]
mod tests;

use substrate_core::{Feature, Verb};

const NAME: &str = "mail";

pub(crate) const FEATURE: Feature = Feature {
    name: NAME,
    about: "Carries messages between agents and people, and knows which of them arrived.",
    migrations: &[schema::TABLES, search::TABLE, schema::WHOLE],
    consider: Some(policy::consider),
    record: Some(policy::record),
    printed: Some(policy::printed),
    tick: Some(tick::tick),
    verbs: &[
        Verb::of::<verbs_send::Send>(),
        Verb::of::<verbs_send::Reply>(),
        Verb::of::<verbs_box::Inbox>(),
        Verb::of::<verbs_box::Read>(),
        Verb::of::<verbs_look::Thread>(),
        Verb::of::<verbs_box::Ack>(),
        Verb::of::<verbs_box::Star>(),
        Verb::of::<verbs_box::Snooze>(),
        Verb::of::<verbs_box::Archive>(),
        Verb::of::<verbs_box::Trash>(),
        Verb::of::<verbs_look::Search>(),
        Verb::of::<verbs_look::Status>(),
        Verb::of::<verbs_topics::TopicCreate>(),
        Verb::of::<verbs_topics::TopicList>(),
        Verb::of::<verbs_topics::Subscribe>(),
        Verb::of::<verbs_topics::Unsubscribe>(),
        Verb::of::<verbs_topics::Publish>(),
        Verb::of::<verbs_topics::Broadcast>(),
        Verb::of::<verbs_poll::Poll>(),
        Verb::of::<verbs_poll::Watch>(),
    ],
    ..Feature::NOTHING
};
