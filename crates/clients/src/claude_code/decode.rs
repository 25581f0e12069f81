//! What a hook process was given, as a canonical event.
//!
//! Invariant: a JSON object is always an event, and so is no input at all (a hook tried by hand). What the payload
//! does not say comes from the environment that the client gives its hooks, if it is there.

use substrate_core::{Detail, Event, EventKind, SafeId};

use super::{DIALECT, NAME, VARIABLES, tools};
use crate::decode::{actor, config_dir, detail, first, named, pane, payload, session, variable};
use crate::{DecodeError, Input};

/// How the client begins a prompt that it writes itself when a background task is done.
const TASK_NOTIFICATION: &str = "<task-notification>";

pub(super) fn decode(input: &Input<'_>) -> Result<Event, DecodeError> {
    let payload = payload(input.stdin, UNREAD)?;
    let (named, name) = named(&payload, input.event, EventKind::named);
    let is_waiter = input.waits && matches!(named, EventKind::Stop | EventKind::SessionStart);
    let (kind, name, detail) = if is_waiter {
        let kind = EventKind::Waiter;
        (kind, kind.name().to_owned(), Detail::Waiter { beside: named })
    } else {
        (named, name, by_whom(detail(named, &payload, tools::call)))
    };
    let session = session(&VARIABLES, &payload, input);
    let config_dir = config_dir(&VARIABLES, "/projects/", &payload, input);
    let permission_mode = payload.permission_mode.some_text();
    Ok(Event {
        client: NAME,
        dialect: &DIALECT,
        at: input.at,
        kind,
        name,
        tasks_dir: tasks_dir(session.as_ref(), config_dir.as_deref(), input),
        session,
        actor: actor(&payload),
        cwd: payload.cwd.some_text().unwrap_or_else(|| input.cwd.to_owned()),
        project_dir: first(input, VARIABLES.project).map(str::to_owned),
        transcript: payload.transcript_path.some_text(),
        prompt_id: payload.prompt_id.some_text(),
        is_planning: permission_mode.as_deref() == Some("plan"),
        permission_mode,
        client_pid: VARIABLES
            .process
            .and_then(|name| variable(input, name))
            .and_then(|pid| pid.parse().ok()),
        attended: match variable(input, "CLAUDE_CODE_SESSION_ATTENDED") {
            Some("1") => Some(true),
            Some("0") => Some(false),
            _ => None,
        },
        env_file: variable(input, "CLAUDE_ENV_FILE").map(str::to_owned),
        block_cap: VARIABLES.block_cap.map_or(0, |cap| {
            variable(input, cap.variable).and_then(|cap| cap.parse().ok()).unwrap_or(cap.default)
        }),
        wanted_agent: variable(input, "AGENT_ID").map(str::to_owned),
        wanted_persist: variable(input, "SUBSTRATE_PERSIST").map(str::to_owned),
        wanted_effort: variable(input, "SUBSTRATE_EFFORT").and_then(|id| id.parse().ok()),
        config_dir,
        pane: pane(input),
        project: String::new(),
        waiting_since: None,
        detail,
        n_bytes: input.stdin.len(),
        n_unknown_fields: payload.n_unknown,
    })
}

/// A prompt that the client wrote itself is not a person's.
fn by_whom(detail: Detail) -> Detail {
    match detail {
        Detail::Prompt { text, .. } => {
            Detail::Prompt { from_person: !text.starts_with(TASK_NOTIFICATION), text }
        }
        other => other,
    }
}

/// `<config>/tasks/<list>`: the list is the session's own unless the environment names another.
fn tasks_dir(
    session: Option<&SafeId>,
    config_dir: Option<&str>,
    input: &Input<'_>,
) -> Option<String> {
    let named = variable(input, "CLAUDE_CODE_TASK_LIST_ID").and_then(SafeId::new);
    let list = named.as_ref().or(session)?.as_str();
    Some([config_dir?, "/tasks/", list].concat())
}

/// Fields that the client is known to send and that we don't need. Any other field is new.
const UNREAD: &[&str] = &[
    "cache_ttl",
    "command_args",
    "command_source",
    "compact_summary",
    "content",
    "context_tokens",
    "custom_instructions",
    "delta",
    "effort",
    "estimated_cache_write_usd",
    "final",
    "index",
    "mcp_server",
    "memory_type",
    "message_id",
    "mode",
    "old_cwd",
    "permission_suggestions",
    "pricing",
    "prompt_cache_likely_expired",
    "prompt_cache_warm",
    "requested_model",
    "requested_schema",
    "seconds_since_last_response",
    "session_crons",
    "trigger_file_path",
];
