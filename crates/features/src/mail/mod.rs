//! Mail between agents and people: sent once, told at the right moment, known to have arrived.
//!
//! A delivery goes from queued over injected (in an answer that was printed) to seen (the model was asked since), read
//! and acked. Whatever gets lost on the way is told again. A message whose whole body was seen is read; one that was only
//! announced is not.

pub(crate) mod face;
mod introduce;
mod message;
mod ops;
mod policy;
mod post;
mod render;
mod schema;
mod search;
mod settle;
mod tick;
mod verbs;
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
        Verb::of::<verbs::send::Send>(),
        Verb::of::<verbs::send::Reply>(),
        Verb::of::<verbs::mailbox::Inbox>(),
        Verb::of::<verbs::mailbox::Read>(),
        Verb::of::<verbs::look::Thread>(),
        Verb::of::<verbs::mailbox::Ack>(),
        Verb::of::<verbs::mailbox::Star>(),
        Verb::of::<verbs::mailbox::Snooze>(),
        Verb::of::<verbs::mailbox::Archive>(),
        Verb::of::<verbs::mailbox::Trash>(),
        Verb::of::<verbs::look::Search>(),
        Verb::of::<verbs::look::Status>(),
        Verb::of::<verbs::topics::TopicCreate>(),
        Verb::of::<verbs::topics::TopicList>(),
        Verb::of::<verbs::topics::Subscribe>(),
        Verb::of::<verbs::topics::Unsubscribe>(),
        Verb::of::<verbs::topics::Publish>(),
        Verb::of::<verbs::topics::Broadcast>(),
        Verb::of::<verbs::poll::Poll>(),
        Verb::of::<verbs::poll::Watch>(),
    ],
    ..Feature::NOTHING
};
