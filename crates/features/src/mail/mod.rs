//! Mail between agents and people: sent once, shown at the right moment, tracked until it arrives.
//!
//! A delivery is queued, then injected (in an answer that was printed), then seen (the model was asked since), read and
//! acked. `substrate status 42` shows it:
//!
//! ```text
//! $ substrate send --to CalmOtter --subject "API frozen" --body "Please don't touch src/api."
//! Sent #42 to CalmOtter (working: when its turn ends).
//! ```
//!
//! Invariants:
//!
//! * A message is on disk before `send` answers, and the same idempotency key never sends twice.
//! * What gets lost on the way is shown again; what was seen is never shown again (`tests/anyorder.rs`).
//! * A message in an open answer is claimed for ten seconds. No other answer shows it meanwhile.
//! * A message whose whole body was seen is read. One that was only announced is not.
//! * A sender's text can't leave its quotes, its line or its marks (`words`).
//! * A mailbox of 100,000 messages costs what one of 100 costs (`tests/plans.rs`).
//!
//! * Mail of other machines comes once and in order (`far`).
//!
//! Layout: `policy` decides what is shown when, `settle` is the pure table of what an event proves, `words` the texts
//! for models, `post` sends, `ops` the SQL, `verbs` the commands.

mod checks;
pub(crate) mod face;
pub(crate) mod far;
mod introduce;
mod message;
mod needs;
mod ops;
mod page;
mod policy;
mod post;
mod render;
mod schema;
mod search;
mod settle;
mod tick;
mod verbs;
mod views;
mod words;

#[cfg(test)]
mod tests;

use substrate_core::{Feature, Verb};

const NAME: &str = "mail";

pub(crate) const FEATURE: Feature = Feature {
    name: NAME,
    about: "Carries messages between agents and people, and tracks which of them arrived.",
    migrations: &[schema::TABLES, search::TABLE, schema::WHOLE, far::TABLES, schema::KEYS],
    consider: Some(policy::consider),
    record: Some(policy::record),
    printed: Some(policy::printed),
    tick: Some(tick::tick),
    needs_you: Some(needs::needs_you),
    checks: Some(checks::checks),
    story: Some(views::story),
    find: Some(views::find),
    verbs: &[
        Verb::of::<verbs::send::Send>(),
        Verb::of::<verbs::send::Reply>(),
        Verb::of::<verbs::mailbox::Inbox>(),
        Verb::of::<verbs::mailbox::Read>(),
        Verb::of::<verbs::look::Latest>(),
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
    pages: page::PAGES,
    ..Feature::NOTHING
};
