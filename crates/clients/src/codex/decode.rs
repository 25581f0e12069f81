//! What a hook process was given, as a canonical event.

use substrate_core::{Activity, Detail, Event, EventKind};

use super::{DIALECT, VARIABLES, tools};
use crate::decode::{Speaker, by_actor, common, detail, named, payload};
use crate::{DecodeError, Input};

/// In subagents too, the session is that of the main thread.
const SPEAKER: Speaker = Speaker { dialect: &DIALECT, variables: &VARIABLES, below: "/sessions/" };

/// The event of a person who interrupts a turn. No Stop follows, and no end of the call that ran.
pub(super) const INTERRUPT: &str = "Interrupt";

pub(super) fn decode(input: &Input<'_>) -> Result<Event, DecodeError> {
    let payload = payload(input.stdin, &[])?;
    let (kind, name) = named(&payload, input.event, kind_of);
    let event = common(&SPEAKER, kind, &payload, input);
    let (name, detail) = if kind == EventKind::Activity {
        let now = Activity::Idle { in_background: false };
        (now.event_name().to_owned(), Detail::Activity { now, since: input.at })
    } else {
        (name, by_actor(&event.actor, detail(kind, &payload, tools::call)))
    };
    Ok(Event {
        name,
        prompt_id: payload.turn_id.some_text(),
        // Its dialogs open only once our hook has ended, so nothing may wait for an answer beside one.
        attended: (kind != EventKind::PermissionRequest).then_some(true),
        detail,
        ..event
    })
}

fn kind_of(name: &str) -> EventKind {
    use EventKind as K;
    if name == INTERRUPT {
        return K::Activity;
    }
    match EventKind::named(name) {
        kind @ (K::SessionStart
        | K::SessionEnd
        | K::UserPromptSubmit
        | K::PreToolUse
        | K::PermissionRequest
        | K::PostToolUse
        | K::PreCompact
        | K::PostCompact
        | K::SubagentStart
        | K::SubagentStop
        | K::Stop) => kind,
        _ => K::Unknown,
    }
}
