//! What others may ask about efforts: other features, and `substrate hook --explain`.

use serde_json::{Value, json};
use substrate_core::wish::CLAIM_MS;
use substrate_core::{Cx, Db, DbError, Detail, Event, EventKind, FeatureError, ToolCall};

use super::ops::messages::{self, Pending, PendingKind};
use super::ops::windows::{self, OpenWindow, Window};
use super::{heartbeat, ops, policy, words};
use crate::directives;
use crate::identity::book::MAIN;

/// The effort that an actor works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Effort {
    pub(crate) id: i64,
    pub(crate) skill: String,
    /// Empty if the skill has no phases.
    pub(crate) phase: String,
    /// The actor's own tool calls since its last log entry.
    pub(crate) n_calls: i64,
    /// The skill's guard rules as a JSON list; empty if it has none.
    pub(crate) guards: String,
}

impl Effort {
    /// `brainstorm`, or `brainstorm/explore`.
    pub(crate) fn label(&self) -> String {
        let Self { skill, phase, .. } = self;
        if phase.is_empty() { skill.clone() } else { format!("{skill}/{phase}") }
    }
}

/// The effort of an actor, which is the one that its session works on. One point select.
pub(crate) fn current(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
) -> Result<Option<Effort>, DbError> {
    let window = windows::open(db, session, actor)?;
    Ok(window.and_then(|window| {
        let OpenWindow { n_calls, effort, .. } = window;
        effort.map(|effort| Effort {
            id: effort.id,
            skill: effort.skill,
            phase: effort.phase,
            n_calls,
            guards: effort.guards,
        })
    }))
}

/// The effort of a session's main thread.
pub(crate) fn of_session(db: &mut dyn Db, session: &str) -> Result<Option<Effort>, DbError> {
    current(db, session, MAIN)
}

/// The id of the row about an effort that was left behind. The fleet knows of the same one by its client.
pub(crate) fn need_id(effort: i64) -> String {
    format!("effort:{effort}")
}

/// Whether an agent has ever worked on an effort.
pub(crate) fn has_any(db: &mut dyn Db, agent: i64) -> Result<bool, DbError> {
    ops::has_any(db, agent)
}

/// Whether a call runs Substrate's commands and nothing else. Such a call is always let through.
pub(crate) fn is_ours(call: &ToolCall) -> bool {
    heartbeat::is_ours(call)
}

/// How many waiting messages `explain` names.
const MAX_NAMED: i64 = 50;

/// The fields of `hook --explain`. Every event has the first six, which are null without an effort. The rest depend on the
/// event.
pub(super) fn explain(cx: &mut Cx<'_>, event: &Event) -> Result<Value, FeatureError> {
    let (window, effort) = found(cx, event)?;
    let of = |name: fn(&ops::Effort) -> Value| effort.as_ref().map(name);
    let n_calls = window.as_ref().filter(|_| effort.is_some()).map(|window| window.n_calls);
    let mut out = json!({
        "found": effort.is_some(),
        "effortId": of(|effort| json!(effort.id)),
        "sessionId": window.as_ref().map(|window| window.id),
        "skill": of(|effort| json!(effort.skill)),
        "phase": of(|effort| json!(effort.phase)),
        "heartbeatCount": n_calls,
    });
    let waiting = match &effort {
        // Messages that this very answer claims count too, since the answer is never sent.
        Some(effort) => messages::open(cx.db, effort.id, cx.now.plus_ms(CLAIM_MS), MAX_NAMED)?,
        None => Vec::new(),
    };
    let task = || of(|effort| json!(effort.task.dir));
    let config = || of(|effort| json!(effort.config));
    let more = match event.kind {
        EventKind::SessionStart => {
            let left = effort.as_ref().zip(window.as_ref()).and_then(|(effort, window)| {
                let is_due = effort.payload_told.is_none() && effort.payload_by != Some(window.id);
                effort.payload.clone().filter(|_| is_due)
            });
            let files = preloads(&waiting, effort.as_ref());
            json!({"filesToPreload": files, "dehydratedContext": left, "skillConfig": config()})
        }
        EventKind::PreToolUse => json!({"pendingPreloads": preloads(&waiting, None)}),
        EventKind::PostToolUse => {
            let words = waiting.iter().filter(|one| one.kind == PendingKind::Inject);
            let words: Vec<Value> =
                words.map(|one| json!({"id": one.id, "from": one.who, "text": one.body})).collect();
            let asked = match &event.detail {
                Detail::ToolAfter { call, .. } if effort.is_some() => policy::dialogue(call),
                _ => None,
            };
            json!({"pendingInjections": words, "dialogueEntry": asked})
        }
        EventKind::UserPromptSubmit => {
            let now = cx.now;
            let line = effort
                .as_ref()
                .map(|effort| words::status(now, effort, n_calls.unwrap_or_default()));
            json!({"sessionContext": line, "taskDir": task(), "heartbeat": n_calls})
        }
        EventKind::SubagentStart => {
            let told = match &effort {
                Some(effort) => directives::face::told(cx.db, effort.id)?,
                None => Vec::new(),
            };
            let log = of(|effort| json!(words::log_name(effort)));
            json!({"taskDir": task(), "logFile": log, "directives": told, "skillConfig": config()})
        }
        EventKind::PostToolUseFailure | EventKind::TaskCompleted => {
            let entry = policy::entry(&event.detail).filter(|_| effort.is_some());
            json!({"messageEntry": entry.map(|(_, text)| text)})
        }
        EventKind::SubagentStop | EventKind::SessionEnd | EventKind::PreCompact => {
            json!({"sessionEnded": window.as_ref().map(|window| window.ended.is_some())})
        }
        _ => json!({}),
    };
    if let (Value::Object(out), Value::Object(more)) = (&mut out, more) {
        out.extend(more);
    }
    Ok(out)
}

/// The files that wait, and those that every window of the effort begins with, each once.
fn preloads<'a>(waiting: &'a [Pending], effort: Option<&'a ops::Effort>) -> Vec<&'a str> {
    let files = waiting.iter().filter(|one| one.kind == PendingKind::Preload);
    let always = effort.into_iter().flat_map(|effort| &effort.config.preload);
    let mut out: Vec<&str> = Vec::new();
    for path in files.map(|one| one.body.as_str()).chain(always.map(String::as_str)) {
        if !out.contains(&path) {
            out.push(path);
        }
    }
    out
}

/// The actor's window, which may have ended with this very event, and the effort of its session.
fn found(cx: &mut Cx<'_>, event: &Event) -> Result<(Option<Window>, Option<ops::Effort>), DbError> {
    let Some(session) = event.session.as_ref().filter(|_| cx.settings.on("efforts.on")) else {
        return Ok((None, None));
    };
    let own = windows::latest(cx.db, session.as_str(), event.actor.key())?;
    let Some(main) = windows::latest(cx.db, session.as_str(), MAIN)? else {
        return Ok((own, None));
    };
    let effort = match main.effort {
        Some(id) => ops::one(cx.db, id)?,
        None => None,
    };
    let is_its = |effort: &ops::Effort| effort.finished.is_none() && effort.agent == main.agent;
    Ok((own, effort.filter(is_its)))
}
