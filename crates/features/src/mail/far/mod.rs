//! Mail across machines: what waits for the link, what came over it, and the ledger of both.
//!
//! A recipient on another machine is an agent whose name has an `@`. Its delivery is a row like any other, and its ledger has
//! two more steps: at the hub, and at the machine. What happens there comes back as receipts.
//!
//! # What must stay true
//!
//! * A message is in the outbox, in the transaction of its `send`, until the far machine has it on disk (`out`).
//! * Each message that arrives is handed over once, in the order of its sender's machine (`arrive`).
//! * A message that can't be handed over fails, and its sender is told why.
//! * The text of another machine is hostile: names, subjects and bodies pass the checks of `send`.

mod arrive;
mod ops;
mod out;
mod receipts;

use serde::{Deserialize, Serialize};
use substrate_core::ids::checksum;
use substrate_core::{Migration, Timestamp};

use super::message::Priority;

pub(crate) use arrive::{Incoming, arrived, release_late};
pub(crate) use ops::n_open;
pub(crate) use out::{Fate, fate, give_up, outgoing};
pub(super) use out::{check_size, queue};
pub(super) use receipts::close_old;
pub(crate) use receipts::{are_due, queue_due};

pub(super) const TABLES: Migration = Migration {
    about: "mail of other machines: what waits for the link, what came over it, and their steps in the ledger",
    sql: "alter table deliveries add column at_hub_ms bigint;
          alter table deliveries add column at_machine_ms bigint;
          alter table deliveries add column failed_ms bigint;
          alter table deliveries add column failed_why text;
          create table far_mail (
            serial integer primary key,
            uid text not null,
            machine text not null,
            is_ours bigint not null,
            kind text not null,
            n bigint not null,
            message bigint,
            agent bigint,
            sub text not null,
            sender text not null,
            body text not null,
            queued_ms bigint not null,
            is_open bigint not null,
            is_held bigint not null,
            told text not null,
            rev bigint not null
          );
          create unique index far_mail_uid on far_mail (uid, is_ours, machine);
          create index far_mail_out on far_mail (serial) where is_ours = 1 and is_open = 1;
          create index far_mail_in on far_mail (serial) where is_ours = 0 and is_open = 1;
          create index far_mail_held on far_mail (machine, n) where is_held = 1;
          create index far_mail_message on far_mail (message) where message is not null;
          create table far_counts (machine text primary key, sent bigint not null, next bigint not null);",
};

/// A message as it travels, inside the sealed body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct FarLetter {
    to: String,
    to_sub: String,
    from_sub: String,
    subject: String,
    body: String,
    priority: Priority,
    /// Clocks differ, so it is a span.
    deadline_in_ms: Option<i64>,
    /// The id of the first message of its thread, and of the one that it answers, where the other side knows them.
    thread: Option<String>,
    reply_to: Option<String>,
    replace_key: Option<String>,
}

/// How far a message has come at its machine. The newest `rev` counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct FarReceipt {
    of: String,
    rev: i64,
    injected_ms: Option<i64>,
    seen_ms: Option<i64>,
    read_ms: Option<i64>,
    acked_ms: Option<i64>,
    failed: Option<String>,
}

/// An id for the wire, in the form of a UUIDv7. The seed is what no other message of this machine shares.
fn uid(now: Timestamp, seed: &str) -> String {
    let hash = checksum(seed);
    let time = format!("{:012x}", now.0.max(0) & 0xffff_ffff_ffff);
    format!("{}-{}-7{}-8{}-{}", &time[..8], &time[8..], &hash[..3], &hash[3..6], &hash[6..18])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_of_version_7_and_sorts_by_time() {
        let id = uid(Timestamp(1_700_000_000_000), "a");
        assert_eq!(&id[..15], "018bcfe5-6800-7");
        assert_eq!((id.len(), id.matches('-').count()), (36, 4));
        assert!(id < uid(Timestamp(1_700_000_000_001), "a"));
        assert_ne!(id, uid(Timestamp(1_700_000_000_000), "b"));
    }
}
