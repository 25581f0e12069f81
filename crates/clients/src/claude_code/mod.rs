//! Claude Code.

use crate::{Answer, Client, DecodeError, Input};
use substrate_core::{Delivery, Event, EventKind, Verdict};

pub const CLIENT: Client = Client {
    name: "claude-code",
    decode: |input: &Input<'_>| -> Result<Event, DecodeError> {
        Ok(Event::bare("claude-code", EventKind::named(input.event), input.at))
    },
    encode: |_: &Event, _: &Verdict| Answer::default(),
    delivers: |_, _| Delivery::NotDeliverable,
};
