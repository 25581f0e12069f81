//! What a hook process was given, as a canonical event.

use substrate_core::{Event, EventKind};

use super::{DIALECT, VARIABLES, tools};
use crate::decode::{Speaker, common, detail, named, payload};
use crate::{DecodeError, Input};

const SPEAKER: Speaker = Speaker { dialect: &DIALECT, variables: &VARIABLES, below: "/sessions/" };

pub(super) fn decode(input: &Input<'_>) -> Result<Event, DecodeError> {
    let payload = payload(input.stdin, &["custom_instructions"])?;
    let (kind, name) = named(&payload, input.event, EventKind::named);
    let event = common(&SPEAKER, kind, &payload, input);
    Ok(Event { name, detail: detail(kind, &payload, tools::call), ..event })
}
