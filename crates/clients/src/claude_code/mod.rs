//! Claude Code, as measured with version 2.1.325.
//!
//! `samples/` holds one captured payload per event and variant; what is claimed here about the client rests on them
//! and on runs of the real client. Invariant: nothing is ever said on a channel that the client does not honour at
//! that event.

mod deliver;
mod encode;

use substrate_core::{Event, EventKind};

use crate::{Client, Input};

pub const CLIENT: Client = Client {
    name: "claude-code",
    decode: |input: &Input<'_>| {
        Ok(Event::bare("claude-code", EventKind::named(input.event), input.at))
    },
    encode: encode::encode,
    delivers: deliver::delivers,
};

#[cfg(test)]
mod tests;
