//! What a hook process was given, as a canonical event.

use substrate_core::{Activity, Actor, Detail, Event, EventKind, SafeId};

use super::{DIALECT, NAME, VARIABLES, tools};
use crate::decode::{actor, detail, named, pane, payload, variable};
use crate::plan::CLIENT_PID;
use crate::wire::Payload;
use crate::{DecodeError, Input};

/// The event of a person who interrupts a turn. No Stop follows, and no end of the call that ran.
pub(super) const INTERRUPT: &str = "Interrupt";

pub(super) fn decode(input: &Input<'_>) -> Result<Event, DecodeError> {
    let payload = payload(input.stdin, &[])?;
    let (kind, name) = named(&payload, input.event, kind_of);
    let actor = actor(&payload);
    let (name, detail) = if kind == EventKind::Activity {
        let now = Activity::Idle { in_background: false };
        (now.event_name().to_owned(), Detail::Activity { now, since: input.at })
    } else {
        (name, by_whom(&actor, detail(kind, &payload, tools::call)))
    };
    let permission_mode = payload.permission_mode.some_text();
    Ok(Event {
        dialect: &DIALECT,
        name,
        session: session(&payload, input),
        actor,
        cwd: payload.cwd.some_text().unwrap_or_else(|| input.cwd.to_owned()),
        transcript: payload.transcript_path.some_text(),
        prompt_id: payload.turn_id.some_text(),
        is_planning: permission_mode.as_deref() == Some("plan"),
        permission_mode,
        client_pid: variable(input, CLIENT_PID).and_then(|pid| pid.parse().ok()),
        // It does not say. Where a person may watch, nothing is delayed. But its dialogs open only once our hook has ended,
        // so nothing may wait for an answer beside one.
        attended: (kind != EventKind::PermissionRequest).then_some(true),
        wanted_agent: variable(input, "AGENT_ID").map(str::to_owned),
        wanted_persist: variable(input, "SUBSTRATE_PERSIST").map(str::to_owned),
        wanted_effort: variable(input, "SUBSTRATE_EFFORT").and_then(|id| id.parse().ok()),
        config_dir: config_dir(&payload, input),
        pane: pane(input),
        detail,
        n_bytes: input.stdin.len(),
        n_unknown_fields: payload.n_unknown,
        ..Event::bare(NAME, kind, input.at)
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

/// A subagent's prompt is what its parent delegates to it.
fn by_whom(actor: &Actor, detail: Detail) -> Detail {
    match detail {
        Detail::Prompt { text, .. } => {
            Detail::Prompt { text, from_person: matches!(actor, Actor::Main { .. }) }
        }
        other => other,
    }
}

/// In subagents too, this is the session of the main thread.
fn session(payload: &Payload<'_>, input: &Input<'_>) -> Option<SafeId> {
    let said = payload.session_id.text().and_then(|id| SafeId::new(&id));
    said.or_else(|| VARIABLES.session.iter().find_map(|name| SafeId::new(variable(input, name)?)))
}

/// What the environment says, or else the folder that the transcript is in: `<config>/sessions/…`.
fn config_dir(payload: &Payload<'_>, input: &Input<'_>) -> Option<String> {
    let transcript = payload.transcript_path.text();
    let config = variable(input, VARIABLES.config)
        .or_else(|| Some(transcript.as_deref()?.rsplit_once("/sessions/")?.0))?;
    Some(config.trim_end_matches('/').to_owned())
}
