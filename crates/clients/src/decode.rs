//! What the hooks of clients of the common form were given, as parts of a canonical event. Each client puts them together.
//!
//! Invariant: a JSON object is always an event, and so is no input at all (a hook tried by hand).

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::{Error as _, IgnoredAny};
use substrate_core::ids::checksum;
use substrate_core::text::one_line;
use substrate_core::{
    Actor, Detail, Dialect, Event, EventKind, Pane, SafeId, StartSource, Timestamp, ToolCall,
};

use crate::plan::CLIENT_PID;
use crate::wire::{Payload, Raw};
use crate::{DecodeError, Input, Variables};

/// The longest name of an unknown event that is kept, in characters.
const MAX_NAME: usize = 64;

/// The payload; `unread` names the fields that the client is known to send and that we don't need.
pub(crate) fn payload<'a>(stdin: &'a [u8], unread: &[&str]) -> Result<Payload<'a>, DecodeError> {
    let text = std::str::from_utf8(stdin).map_err(|_| DecodeError::NotText)?;
    if text.trim().is_empty() { Ok(Payload::default()) } else { parse(text, unread) }
}

/// The first name that we know: the payload's own, or else the hook's argument. If we know none, the first that is
/// said at all, made harmless.
pub(crate) fn named(
    payload: &Payload<'_>,
    argument: &str,
    kind_of: fn(&str) -> EventKind,
) -> (EventKind, String) {
    let said = [
        payload.hook_event_name.text().unwrap_or_default(),
        payload.hook_type.text().unwrap_or_default(),
        Cow::Borrowed(argument),
    ];
    let mut kinds = said.iter().map(|name| kind_of(name));
    if let Some(kind) = kinds.find(|kind| *kind != EventKind::Unknown) {
        return (kind, kind.name().to_owned());
    }
    let mut names = said.iter().map(|name| one_line(name, MAX_NAME));
    let name = names.find(|name| !name.is_empty());
    (EventKind::Unknown, name.unwrap_or_else(|| EventKind::Unknown.name().to_owned()))
}

fn parse<'a>(text: &'a str, unread: &[&str]) -> Result<Payload<'a>, DecodeError> {
    Payload::read(text, unread).ok_or_else(|| {
        // Only an error needs its place and its cause.
        let error = serde_json::from_str::<BTreeMap<String, IgnoredAny>>(text).err();
        let error = error.unwrap_or_else(|| serde_json::Error::custom("it can't be read"));
        match error.classify() {
            serde_json::error::Category::Data => DecodeError::NotAnEvent(error),
            _ => DecodeError::NotJson(error),
        }
    })
}

/// Inside a subagent the client says `agent_id` and `agent_type`; of a session that was started as a certain agent
/// it says only the type.
pub(crate) fn actor(payload: &Payload<'_>) -> Actor {
    let kind = payload.agent_type.text();
    match payload.agent_id.text().and_then(|id| SafeId::new(&id)) {
        // Only a type that is there and empty is the compaction fork, which nothing may hold up; a subagent whose
        // type we can't read is held up like any other.
        Some(id) => {
            Actor::Subagent { id, kind: kind.unwrap_or(Cow::Borrowed("unknown")).into_owned() }
        }
        None => Actor::Main { kind: kind.filter(|kind| !kind.is_empty()).map(Cow::into_owned) },
    }
}

/// What [`common`] must know of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speaker {
    pub(crate) dialect: &'static Dialect,
    pub(crate) variables: &'static Variables,
    /// What stands in the path of a transcript right behind the client's own folder.
    pub(crate) below: &'static str,
}

/// What clients give in the same way whose hooks go through a shell ([`crate::plan`]).
pub(crate) fn common(
    speaker: &Speaker,
    kind: EventKind,
    payload: &Payload<'_>,
    input: &Input<'_>,
) -> Event {
    let permission_mode = payload.permission_mode.some_text();
    Event {
        dialect: speaker.dialect,
        name: kind.name().to_owned(),
        session: session(speaker.variables, payload, input),
        actor: actor(payload),
        cwd: payload.cwd.some_text().unwrap_or_else(|| input.cwd.to_owned()),
        project_dir: first(input, speaker.variables.project).map(str::to_owned),
        transcript: payload.transcript_path.some_text(),
        prompt_id: payload.prompt_id.some_text(),
        is_planning: permission_mode.as_deref() == Some("plan"),
        permission_mode,
        client_pid: variable(input, CLIENT_PID).and_then(|pid| pid.parse().ok()),
        // None of them says. Where a person may watch, nothing is delayed.
        attended: Some(true),
        wanted_agent: variable(input, "AGENT_ID").map(str::to_owned),
        wanted_persist: variable(input, "SUBSTRATE_PERSIST").map(str::to_owned),
        wanted_effort: variable(input, "SUBSTRATE_EFFORT").and_then(|id| id.parse().ok()),
        config_dir: config_dir(speaker.variables, speaker.below, payload, input),
        pane: pane(input),
        n_bytes: input.stdin.len(),
        n_unknown_fields: payload.n_unknown,
        ..Event::bare(speaker.dialect.client, kind, input.at)
    }
}

/// What the payload says, or else the environment.
pub(crate) fn session(
    variables: &Variables,
    payload: &Payload<'_>,
    input: &Input<'_>,
) -> Option<SafeId> {
    let said = payload.session_id.text().and_then(|id| SafeId::new(&id));
    said.or_else(|| variables.session.iter().find_map(|name| SafeId::new(variable(input, name)?)))
}

/// What the environment says, or else the folder that the transcript is in.
pub(crate) fn config_dir(
    variables: &Variables,
    below: &str,
    payload: &Payload<'_>,
    input: &Input<'_>,
) -> Option<String> {
    let transcript = payload.transcript_path.text();
    let named = variables.config.and_then(|name| variable(input, name));
    let config = named.or_else(|| Some(transcript.as_deref()?.rsplit_once(below)?.0))?;
    Some(config.trim_end_matches('/').to_owned())
}

/// A subagent's prompt is what its parent delegates to it.
pub(crate) fn by_actor(actor: &Actor, detail: Detail) -> Detail {
    match detail {
        Detail::Prompt { text, .. } => {
            Detail::Prompt { text, from_person: matches!(actor, Actor::Main { .. }) }
        }
        other => other,
    }
}

/// An id for the call of a client that gives it none: the same before the call and after it.
pub(crate) fn use_id(tool: &str, input: &str) -> String {
    format!("{tool}-{}", &checksum(input)[..16])
}

/// The first of these variables that is there.
pub(crate) fn first<'a>(input: &'a Input<'_>, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| variable(input, name))
}

/// A variable of the hook's environment, if it is there and not empty.
pub(crate) fn variable<'a>(input: &'a Input<'_>, name: &str) -> Option<&'a str> {
    input.env(name).filter(|value| !value.is_empty())
}

/// A call that the journal kept, by its tool and its input. `None`: the input was cut.
pub(crate) fn recorded(name: &str, input: &str, call: ReadCall) -> Option<ToolCall> {
    let name = serde_json::Value::from(name);
    let json = format!("{{\"tool_name\":{name},\"tool_input\":{input}}}");
    serde_json::from_str::<IgnoredAny>(&json).ok()?;
    call(&Payload::read(&json, &[])?)
}

/// A moment as transcripts write it.
pub(crate) fn timestamp(text: &str) -> Option<Timestamp> {
    text.parse::<jiff::Timestamp>().ok().map(|at| Timestamp(at.as_millisecond()))
}

/// The pane of a terminal multiplexer that the client runs in.
pub(crate) fn pane(input: &Input<'_>) -> Option<Pane> {
    let (server, id) = variable(input, "TMUX").zip(variable(input, "TMUX_PANE"))?;
    Pane::of(server, id)
}

/// How a client reads the tool call that a payload is about.
pub(crate) type ReadCall = fn(&Payload<'_>) -> Option<ToolCall>;

/// What is particular to the event; `Plain` where the payload lacks what the detail is about.
pub(crate) fn detail(kind: EventKind, payload: &Payload<'_>, call: ReadCall) -> Detail {
    use EventKind as K;
    let found = match kind {
        K::SessionStart => Some(Detail::SessionStart {
            source: start_source(payload.source),
            model: payload.model.some_text(),
        }),
        K::Stop | K::SubagentStop => Some(Detail::Stop {
            again: payload.stop_hook_active.is_true(),
            last_message: payload.last_assistant_message.some_text(),
            n_background_tasks: payload.background_tasks.n_items().unwrap_or(0),
            transcript: payload.agent_transcript_path.some_text(),
        }),
        K::StopFailure => Some(Detail::StopFailure {
            error: payload.error.some_text().unwrap_or_default(),
            last_message: payload.last_assistant_message.some_text(),
        }),
        K::UserPromptSubmit => prompt(payload),
        K::UserPromptExpansion => expansion(payload).or_else(|| prompt(payload)),
        K::PreToolUse | K::PermissionRequest => {
            call(payload).map(|call| Detail::ToolBefore { call })
        }
        K::PostToolUse => call(payload).map(|call| Detail::ToolAfter {
            call,
            response: payload.tool_response.json().unwrap_or_default().to_owned(),
            duration_ms: payload.duration_ms.whole(),
        }),
        K::PostToolUseFailure => failed(payload, payload.error, call),
        // A call that was refused is a call that came to nothing; the reason is its error.
        K::PermissionDenied => failed(payload, payload.reason, call),
        K::PostToolBatch => {
            Some(Detail::ToolBatch { n_calls: payload.tool_calls.n_items().unwrap_or(0) })
        }
        K::Notification => Some(Detail::Notification {
            kind: payload.notification_type.some_text().unwrap_or_default(),
            message: notice(payload),
        }),
        K::TaskCreated | K::TaskCompleted => task(payload),
        K::PreModelSwitch | K::PostModelSwitch => Some(Detail::ModelSwitch {
            from: payload.from_model.some_text(),
            to: payload.to_model.some_text(),
        }),
        K::SessionEnd => because(payload.reason),
        K::Setup | K::PreCompact | K::PostCompact => because(payload.trigger),
        K::ConfigChange => because(payload.source),
        K::Elicitation => because(payload.mcp_server_name),
        K::ElicitationResult => because(payload.action),
        K::CwdChanged => about(payload.new_cwd, Raw::default()),
        K::DirectoryAdded => about(payload.directory, payload.source),
        K::FileChanged => about(payload.file_path, payload.event),
        K::InstructionsLoaded => about(payload.file_path, payload.load_reason),
        // The client gives only the name. The hook that makes the tree decides where it goes.
        K::WorktreeCreate => about(payload.name, Raw::default()),
        K::WorktreeRemove => about(payload.worktree_path, Raw::default()),
        // The actor says it all.
        K::SubagentStart => None,
        K::TeammateIdle => payload
            .teammate_name
            .some_text()
            .map(|name| Detail::Teammate { name, team: payload.team_name.some_text() }),
        // No payload makes these.
        K::Waiter | K::Activity | K::ClientLeft => None,
        K::MessageDisplay | K::Unknown | K::Malformed => None,
    };
    found.unwrap_or(Detail::Plain)
}

fn start_source(source: Raw<'_>) -> StartSource {
    match source.text().as_deref() {
        Some("startup" | "new") => StartSource::Startup,
        Some("resume") => StartSource::Resume,
        Some("fork") => StartSource::Fork,
        Some("clear") => StartSource::Clear,
        Some("compact") => StartSource::Compact,
        _ => StartSource::Other,
    }
}

fn prompt(payload: &Payload<'_>) -> Option<Detail> {
    let text = payload.prompt.text()?.into_owned();
    Some(Detail::Prompt { text, from_person: true })
}

/// A command or skill of the person's or the project's. What a tool server offers as a prompt is neither.
fn expansion(payload: &Payload<'_>) -> Option<Detail> {
    if payload.expansion_type.text().is_some_and(|kind| kind != "slash_command") {
        return None;
    }
    let command = payload.command_name.some_text()?.trim_start_matches('/').to_owned();
    Some(Detail::Expansion { command, text: payload.prompt.some_text().unwrap_or_default() })
}

fn failed(payload: &Payload<'_>, error: Raw<'_>, call: ReadCall) -> Option<Detail> {
    call(payload).map(|call| Detail::ToolFailed {
        call,
        error: error.some_text().unwrap_or_default(),
        interrupted: payload.is_interrupt.is_true(),
        duration_ms: payload.duration_ms.whole(),
    })
}

/// Some notices have a title as well.
fn notice(payload: &Payload<'_>) -> String {
    let message = payload.message.some_text().unwrap_or_default();
    match payload.title.some_text() {
        Some(title) if message.is_empty() => title,
        Some(title) => format!("{title}: {message}"),
        None => message,
    }
}

fn task(payload: &Payload<'_>) -> Option<Detail> {
    Some(Detail::Task {
        id: payload.task_id.some_text()?,
        subject: payload.task_subject.some_text().unwrap_or_default(),
        description: payload.task_description.some_text(),
        teammate: payload.teammate_name.some_text(),
    })
}

fn because(word: Raw<'_>) -> Option<Detail> {
    word.some_text().map(|word| Detail::Because { word })
}

fn about(path: Raw<'_>, word: Raw<'_>) -> Option<Detail> {
    path.some_text().map(|path| Detail::Path { path, word: word.some_text() })
}
