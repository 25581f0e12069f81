//! What our plugin wrote, as a canonical event.

use substrate_core::{Event, EventKind};

use super::{DIALECT, VARIABLES, tools};
use crate::decode::{Speaker, by_actor, common, detail, named, payload};
use crate::{DecodeError, Input, encode};

/// It keeps its transcripts in a database.
const SPEAKER: Speaker = Speaker { dialect: &DIALECT, variables: &VARIABLES, below: "/sessions/" };

pub(super) fn decode(input: &Input<'_>) -> Result<Event, DecodeError> {
    let payload = payload(input.stdin, &[])?;
    let (mut kind, name) = named(&payload, input.event, EventKind::named);
    let is_ours = || payload.prompt.text().is_some_and(|prompt| encode::is_ours(&prompt));
    // A prompt of ours makes a turn go on. It begins no other.
    if kind == EventKind::UserPromptSubmit && is_ours() {
        kind = EventKind::Unknown;
    }
    let event = common(&SPEAKER, kind, &payload, input);
    let detail = by_actor(&event.actor, detail(kind, &payload, tools::call));
    Ok(Event { name, detail, ..event })
}
