//! The lines of the logs, each of which stands alone (one JSON object, or one line of the timeline), and what agents are
//! told about them.

use std::fmt::Write as _;

use serde::Serialize;
use substrate_core::ids::checksum;
use substrate_core::text::{cut, one_line};
use substrate_core::time::written_span;
use substrate_core::{Actor, Detail, Event, EventKind, SafeId, Timestamp};

/// The files of a session.
pub const SESSION_FILES: [&str; 3] = [SESSION_START, SESSION_END, EVENTS];
/// The files of a subagent, in its own folder.
pub const AGENT_FILES: [&str; 2] = [AGENT_START, AGENT_STOP];

const SESSION_START: &str = "session-start.jsonl";
const SESSION_END: &str = "session-end.jsonl";
const EVENTS: &str = "events.log";
const AGENT_START: &str = "agent-start.jsonl";
const AGENT_STOP: &str = "agent-stop.jsonl";

/// The longest path that is written, in bytes.
const MAX_PATH: usize = 4_096;

/// How much a script may add to a line of the timeline, in characters.
const MAX_MORE: usize = 2_000;

/// A line and its file below `logs/sessions/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub path: String,
    /// Including its newline.
    pub line: String,
}

/// What an event does not tell.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The folder that contains the logs.
    pub root: &'a str,
    /// How many subagents the session had. Used at its end.
    pub n_agents: i64,
    /// The step of a subagent's stop. `None` if only the client's flag is known.
    pub step: Option<Step>,
}

/// What becomes of a subagent that wants to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is asked to check its work.
    Validation,
    /// It is asked what went wrong.
    Reflexion,
    /// It is held for another reason.
    Held,
    End,
}

impl Step {
    /// A subagent validates its work when it first wants to stop, and reflects the next time. A script knows no more than
    /// that.
    const fn of_flag(again: bool) -> Self {
        if again { Self::Reflexion } else { Self::Validation }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Validation => "validation",
            Self::Reflexion => "reflexion",
            Self::Held => "held",
            Self::End => "end",
        }
    }
}

/// The JSON line about an event, as one of that kind. `None` if no file covers it.
pub fn record(event: &Event, kind: EventKind, scene: &Scene<'_>) -> Option<Entry> {
    let folder = folder(event, kind)?;
    let file = match kind {
        EventKind::SessionStart => SESSION_START,
        EventKind::SessionEnd => SESSION_END,
        EventKind::SubagentStart => AGENT_START,
        // One line per phase and one for the end. The timeline has the rest.
        EventKind::SubagentStop if scene.step != Some(Step::Held) => AGENT_STOP,
        _ => return None,
    };
    let mut line = serde_json::to_string(&line(event, kind, scene)).ok()?;
    line.push('\n');
    Some(Entry { path: format!("{folder}/{file}"), line })
}

/// The line of the timeline, followed by more words.
pub fn timeline(event: &Event, scene: &Scene<'_>, more: &str) -> Option<Entry> {
    let session = event.session.as_ref()?;
    let mut text = format!("[{}] [{}] session={session}", iso(event.at), plain(&event.name));
    if let Actor::Subagent { id, .. } = &event.actor {
        let _infallible = write!(text, " agent={id}");
    }
    if let Some(kind) = event.actor.kind() {
        let _infallible = write!(text, " type={}", plain(kind));
    }
    let said = match &event.detail {
        Detail::SessionStart { source, .. } => format!(" source={}", source.name()),
        Detail::Stop { again, .. } if event.kind == EventKind::SubagentStop => {
            format!(" phase={}", scene.step.unwrap_or(Step::of_flag(*again)).name())
        }
        Detail::Stop { again, .. } => format!(" stop_hook_active={again}"),
        Detail::Because { word } if event.kind == EventKind::SessionEnd => {
            format!(" reason={} agents={}", plain(word), scene.n_agents)
        }
        Detail::Because { word } => format!(" trigger={}", plain(word)),
        _ => String::new(),
    };
    text.push_str(&said);
    let more = one_line(more, MAX_MORE);
    if !more.is_empty() {
        let _infallible = write!(text, " {more}");
    }
    text.push('\n');
    Some(Entry { path: format!("{session}/{EVENTS}"), line: text })
}

/// The folder of the session or its subagent. `None` if neither is named.
pub fn folder(event: &Event, kind: EventKind) -> Option<String> {
    let session = event.session.as_ref()?;
    match (kind, &event.actor) {
        (EventKind::SubagentStart | EventKind::SubagentStop, Actor::Subagent { id, .. }) => {
            Some(format!("{session}/{}", agent_folder(id)))
        }
        (EventKind::SubagentStart | EventKind::SubagentStop, Actor::Main { .. }) => None,
        _ => Some(session.to_string()),
    }
}

/// A subagent's folder. A subagent named like one of the session's files must not take its place.
pub fn agent_folder(id: &SafeId) -> String {
    let is_taken = SESSION_FILES.iter().any(|file| file.eq_ignore_ascii_case(id.as_str()));
    if is_taken {
        return format!("x-{}", &checksum(id.as_str())[..32]);
    }
    id.to_string()
}

/// The file that records a subagent's starts.
pub fn agent_start(event: &Event) -> Option<String> {
    folder(event, EventKind::SubagentStart).map(|folder| format!("{folder}/{AGENT_START}"))
}

/// A JSON line. Fields of other events are left out.
#[derive(Serialize)]
struct LogRecord<'a> {
    event: &'a str,
    timestamp: String,
    session_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_hook_active: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_transcript_path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_count: Option<i64>,
    project: String,
    cwd: &'a str,
    transcript_path: &'a str,
    permission_mode: String,
}

fn line<'a>(event: &'a Event, kind: EventKind, scene: &Scene<'_>) -> LogRecord<'a> {
    let path = |path: &'a Option<String>| cut(path.as_deref().unwrap_or_default(), MAX_PATH);
    let mut out = LogRecord {
        event: kind.name(),
        timestamp: iso(event.at),
        session_id: event.session.as_ref().map_or("", SafeId::as_str),
        agent_id: None,
        agent_type: event.actor.kind().map(plain),
        source: None,
        model: None,
        stop_hook_active: None,
        phase: None,
        agent_transcript_path: None,
        reason: None,
        agent_count: None,
        project: project(scene.root),
        cwd: cut(&event.cwd, MAX_PATH),
        transcript_path: path(&event.transcript),
        permission_mode: plain(event.permission_mode.as_deref().unwrap_or_default()),
    };
    if let Actor::Subagent { id, .. } = &event.actor {
        out.agent_id = Some(id.as_str());
    }
    match kind {
        EventKind::SessionStart => {
            let (source, model) = match &event.detail {
                Detail::SessionStart { source, model } => (source.name(), model.as_deref()),
                _ => ("", None),
            };
            out.source = Some(source);
            out.model = Some(plain(model.unwrap_or_default()));
        }
        EventKind::SubagentStop => {
            let (again, transcript) = match &event.detail {
                Detail::Stop { again, transcript, .. } => (*again, path(transcript)),
                _ => (false, ""),
            };
            out.stop_hook_active = Some(again);
            out.phase = Some(scene.step.unwrap_or(Step::of_flag(again)).name());
            out.agent_transcript_path = Some(transcript);
        }
        EventKind::SessionEnd => {
            let reason = match &event.detail {
                Detail::Because { word } => word,
                _ => "",
            };
            out.reason = Some(plain(reason));
            out.agent_count = Some(scene.n_agents);
        }
        _ => {}
    }
    out
}

/// In UTC, to the second.
fn iso(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(
        |_| at.0.to_string(),
        |time| time.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string(),
    )
}

/// The longest name, type or word that is told or written.
pub const MAX_WORD: usize = 200;

// What agents are told about the logs. Nothing from outside can add a line or a tag. Our own words contain no tags, because
// the client would escape them.

/// Where the logs of a new session or subagent are. `None` without a session.
pub fn whereabouts(event: &Event) -> Option<String> {
    let session = event.session.as_ref()?;
    let name = event.kind.name();
    let (said, folder) = match (&event.actor, event.kind) {
        (Actor::Subagent { id, kind }, EventKind::SubagentStart) => {
            let said = format!("[{name}] session={session} agent={id} type={}", plain(kind));
            (said, format!("{session}/{}", agent_folder(id)))
        }
        (actor, EventKind::SessionStart) => {
            let kind = actor.kind().map(|kind| format!(" type={}", plain(kind)));
            let said = format!("[{name}] session={session}{}", kind.unwrap_or_default());
            (said, session.to_string())
        }
        _ => return None,
    };
    Some(format!("{said}\nLog: logs/sessions/{folder}/"))
}

/// What a Setup did. `None` if it does nothing for that trigger.
pub fn set_up(trigger: &str, root: &str, max_age_ms: i64) -> Option<String> {
    let project = project(root);
    Some(match trigger {
        "init" => format!(
            "[Setup:init] Project {project} initialized\n- Log directory: logs/sessions/\n- Memory directory: .serena/memories/"
        ),
        "maintenance" => format!(
            "[Setup:maintenance] Project {project} maintained\n- Log directory: logs/sessions/ (logs older than {} are removed)",
            written_span(max_age_ms)
        ),
        _ => return None,
    })
}

/// The project's name: the name of its folder.
pub fn project(root: &str) -> String {
    let name = root.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    plain(if name.is_empty() { "/" } else { name })
}

/// Words from outside, as one line without tags.
pub fn plain(text: &str) -> String {
    one_line(text, MAX_WORD).replace(['<', '>'], "_")
}
