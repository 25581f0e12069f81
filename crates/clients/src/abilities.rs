//! What works with which client, read off the delivery tables and descriptors themselves.

use substrate_core::{Delivery, EventKind, WishKind};

use crate::{Client, Evidence};

/// One line of the table: what people want, and how far a client lets us do it.
#[derive(Clone, Copy, Debug)]
pub struct Ability {
    pub name: &'static str,
    pub of: fn(&Client) -> &'static str,
}

/// Every line.
pub const ABILITIES: &[Ability] = &[
    Ability {
        name: "mail while it works",
        of: |client| yes(client.delivers(EventKind::PostToolUse, WishKind::Context)),
    },
    Ability {
        name: "mail at the end of a turn",
        of: |client| yes(client.delivers(EventKind::Stop, WishKind::Block)),
    },
    Ability {
        name: "mail wakes it when idle",
        of: |client| yes(client.delivers(EventKind::Waiter, WishKind::Block)),
    },
    Ability {
        name: "leases refuse edits",
        of: |client| yes(client.delivers(EventKind::PreToolUse, WishKind::Deny)),
    },
    Ability {
        name: "guards refuse calls",
        of: |client| yes(client.delivers(EventKind::PreToolUse, WishKind::Deny)),
    },
    Ability {
        name: "rules that ask",
        of: |client| {
            if client.delivers(EventKind::PreToolUse, WishKind::Ask) { "ask" } else { "refuse" }
        },
    },
    Ability {
        name: "answers outside the client",
        of: |client| yes(client.delivers(EventKind::PermissionRequest, WishKind::Answer)),
    },
    Ability { name: "subagents told apart", of: |client| yes(client.tells_subagents) },
    Ability {
        name: "briefed after a compaction",
        of: |client| yes(client.starts_after_compaction),
    },
    Ability {
        name: "tested with",
        of: |client| match client.evidence {
            Evidence::Run { version } => version,
            Evidence::Documents => "untried",
        },
    },
];

impl Client {
    fn delivers(&self, event: EventKind, wish: WishKind) -> bool {
        (self.delivers)(event, wish) == Delivery::Delivered
    }
}

const fn yes(works: bool) -> &'static str {
    if works { "yes" } else { "no" }
}
