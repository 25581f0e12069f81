//! What a hook process was given, as a canonical event.

use serde_json::Value;
use substrate_core::{Actor, Detail, Event, EventKind, SafeId};

use super::{DIALECT, NAME, VARIABLES, tools};
use crate::decode::{actor, detail, first, named, pane, payload, variable};
use crate::plan::CLIENT_PID;
use crate::wire::Payload;
use crate::{DecodeError, Input};

/// Fields that the client is known to send and that we don't need.
const UNREAD: &[&str] = &[
    "context_limit",
    "context_usage",
    "crons",
    "input_tokens",
    "is_interrupt",
    "timestamp",
    "tool_call_id",
];

pub(super) fn decode(input: &Input<'_>) -> Result<Event, DecodeError> {
    let payload = payload(input.stdin, UNREAD)?;
    let (kind, name) = named(&payload, input.event, EventKind::named);
    // It says so of every continuation of a turn. Only what a person has submitted begins one.
    let is_continued =
        kind == EventKind::UserPromptSubmit && payload.submitted_prompt.some_text().is_none();
    let kind = if is_continued { EventKind::Unknown } else { kind };
    let permission_mode = payload.permission_mode.some_text();
    Ok(Event {
        dialect: &DIALECT,
        name,
        session: session(&payload, input),
        actor: typed(actor(&payload)),
        cwd: payload.cwd.some_text().unwrap_or_else(|| input.cwd.to_owned()),
        project_dir: first(input, VARIABLES.project).map(str::to_owned),
        transcript: payload.transcript_path.some_text(),
        prompt_id: payload.prompt_id.some_text(),
        is_planning: permission_mode.as_deref() == Some("plan"),
        permission_mode,
        client_pid: variable(input, CLIENT_PID).and_then(|pid| pid.parse().ok()),
        // It does not say. Where a person may watch, nothing is delayed.
        attended: Some(true),
        wanted_agent: variable(input, "AGENT_ID").map(str::to_owned),
        wanted_persist: variable(input, "SUBSTRATE_PERSIST").map(str::to_owned),
        wanted_effort: variable(input, "SUBSTRATE_EFFORT").and_then(|id| id.parse().ok()),
        config_dir: config_dir(&payload, input),
        pane: pane(input),
        detail: running(&payload, detail(kind, &payload, tools::call)),
        n_bytes: input.stdin.len(),
        n_unknown_fields: payload.n_unknown,
        ..Event::bare(NAME, kind, input.at)
    })
}

/// A tool call of a subagent names only its id, which begins with its type.
fn typed(actor: Actor) -> Actor {
    match actor {
        Actor::Subagent { id, kind } if kind == "unknown" => {
            let kind = id.as_str().rsplit_once("-call_").map_or(kind, |(kind, _)| kind.to_owned());
            Actor::Subagent { id, kind }
        }
        other => other,
    }
}

/// Tasks that are over stay in the list.
fn running(payload: &Payload<'_>, detail: Detail) -> Detail {
    let Detail::Stop { again, last_message, transcript, .. } = detail else { return detail };
    let tasks: Vec<Value> = payload
        .background_tasks
        .json()
        .and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_default();
    let n_background_tasks = tasks.iter().filter(|task| task["status"] == "running").count();
    Detail::Stop { again, last_message, n_background_tasks, transcript }
}

fn session(payload: &Payload<'_>, input: &Input<'_>) -> Option<SafeId> {
    let said = payload.session_id.text().and_then(|id| SafeId::new(&id));
    said.or_else(|| VARIABLES.session.iter().find_map(|name| SafeId::new(variable(input, name)?)))
}

/// What the environment says, or else the folder that the transcript is in: `<config>/projects/…`.
fn config_dir(payload: &Payload<'_>, input: &Input<'_>) -> Option<String> {
    let transcript = payload.transcript_path.text();
    let config = variable(input, VARIABLES.config)
        .or_else(|| Some(transcript.as_deref()?.rsplit_once("/projects/")?.0))?;
    Some(config.trim_end_matches('/').to_owned())
}
