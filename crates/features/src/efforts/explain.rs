//! What is known of an effort at an event, for `hook --explain`: the fields that a program would want.

use serde_json::{Value, json};
use substrate_core::{Cx, DbError, Detail, Event, EventKind, FeatureError};

use super::ops::{self, Effort};
use super::ops_pending::{self, CLAIM_MS, Pending, What};
use super::ops_windows::{self, Window};
use super::{record, words};
use crate::directives;
use crate::identity::book::MAIN;

/// How many of what waits are named.
const MAX_NAMED: i64 = 50;

/// Every event has the first six; what comes after them depends on it. Where there is no effort they are null.
pub(super) fn explain(cx: &mut Cx<'_>, event: &Event) -> Result<Value, FeatureError> {
    let (window, effort) = found(cx, event)?;
    let of = |name: fn(&Effort) -> Value| effort.as_ref().map(name);
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
        // What is in this very answer counts too: it is never going to be sent.
        Some(effort) => ops_pending::open(cx.db, effort.id, cx.now.plus_ms(CLAIM_MS), MAX_NAMED)?,
        None => Vec::new(),
    };
    let paths = |what: &[Pending]| -> Vec<Value> {
        let files = what.iter().filter(|one| one.what == What::Preload);
        files.map(|one| json!(one.body)).collect()
    };
    let task = || of(|effort| json!(effort.task.dir));
    let config = || of(|effort| json!(effort.config));
    let more = match event.kind {
        EventKind::SessionStart => {
            let mut files = paths(&waiting);
            let always = effort.iter().flat_map(|effort| &effort.config.preload);
            files.extend(always.map(|path| json!(path)));
            let mut named = Vec::new();
            files.retain(|path| {
                !named.contains(path) && {
                    named.push(path.clone());
                    true
                }
            });
            let left = effort.as_ref().zip(window.as_ref()).and_then(|(effort, window)| {
                let is_due = effort.payload_told.is_none() && effort.payload_by != Some(window.id);
                effort.payload.clone().filter(|_| is_due)
            });
            json!({"filesToPreload": files, "dehydratedContext": left, "skillConfig": config()})
        }
        EventKind::PreToolUse => json!({"pendingPreloads": paths(&waiting)}),
        EventKind::PostToolUse => {
            let words = waiting.iter().filter(|one| one.what == What::Inject);
            let words: Vec<Value> =
                words.map(|one| json!({"id": one.id, "from": one.who, "text": one.body})).collect();
            let asked = match &event.detail {
                Detail::ToolAfter { call, .. } if effort.is_some() => record::dialogue(call),
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
            let entry = record::entry(&event.detail).filter(|_| effort.is_some());
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

/// The actor's window, which may have ended with this very event, and the effort of its session.
fn found(cx: &mut Cx<'_>, event: &Event) -> Result<(Option<Window>, Option<Effort>), DbError> {
    let Some(session) = event.session.as_ref().filter(|_| cx.settings.on("efforts.on")) else {
        return Ok((None, None));
    };
    let own = ops_windows::latest(cx.db, session.as_str(), event.actor.key())?;
    let Some(main) = ops_windows::latest(cx.db, session.as_str(), MAIN)? else {
        return Ok((own, None));
    };
    let effort = match main.effort {
        Some(id) => ops::one(cx.db, id)?,
        None => None,
    };
    let is_its = |effort: &Effort| effort.finished.is_none() && effort.agent == main.agent;
    Ok((own, effort.filter(is_its)))
}
