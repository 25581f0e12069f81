//! This machine in a team of machines: whether the hub can be reached, which machines there are, and what their agents do.
//!
//! The link runs in its own thread of the daemon and knows no table. What it brings and what it takes are hidden verbs here, so
//! that the one writer applies each of them in a transaction of its own, and no hook ever touches the network.
//!
//! ```text
//! $ substrate team status
//! machine   laptop
//! hub       connected to hub.example:4433 for 3m
//! ```
//!
//! # What must stay true
//!
//! * Without a team nothing here is asked and nothing is written.
//! * What is shown of other machines has an age, and says since when the hub has been away.
//! * Names and words of other machines are hostile until they are checked or cut to one plain line.

mod claims;
pub(crate) mod face;
mod link;
mod ops;
mod verbs;
mod words;

#[cfg(test)]
mod tests;

use substrate_core::view::{Check, CheckKind};
use substrate_core::{Cx, Feature, FeatureError, Verb};

pub use face::Link;
pub use ops::link;

pub(crate) const FEATURE: Feature = Feature {
    name: "team",
    about: "Connects this machine with the others of a team: their agents, and mail to them.",
    migrations: &[ops::TABLES, claims::TABLES],
    keys: claims::KEYS,
    checks: Some(checks),
    verbs: &[
        Verb::of::<verbs::Status>(),
        Verb::of::<verbs::Members>(),
        Verb::of::<link::Seen>(),
        Verb::of::<link::Due>(),
        Verb::of::<link::Receipts>(),
        Verb::of::<link::Arrived>(),
        Verb::of::<link::Fates>(),
        Verb::of::<link::Left>(),
        Verb::of::<claims::Claim>(),
        Verb::of::<claims::Renew>(),
        Verb::of::<claims::Release>(),
        Verb::of::<claims::Claims>(),
        Verb::of::<claims::Answered>(),
    ],
    ..Feature::NOTHING
};

fn checks(cx: &mut Cx<'_>) -> Result<Vec<Check>, FeatureError> {
    let Some(link) = link(cx.db)?.filter(|link| !link.is_up) else { return Ok(Vec::new()) };
    Ok(vec![Check {
        kind: CheckKind::Error,
        what: "the team's hub is away".to_owned(),
        detail: link.why,
        since_ms: Some(link.since.0),
        link: None,
    }])
}
