//! What others may ask about efforts: other features, `substrate hook --explain`, and the views of all features (an agent's
//! story, and what needs the user).

use serde_json::{Value, json};
use substrate_core::need::UserNeed;
use substrate_core::text::one_line;
use substrate_core::view::{Moment, MomentKind, StoryOf};
use substrate_core::wish::CLAIM_MS;
use substrate_core::{Cx, Db, DbError, Detail, Event, EventKind, FeatureError, NeedKind, ToolCall};

use super::ops::messages::{self, Pending, PendingKind};
use super::ops::windows::{self, OpenWindow, Window};
use super::ops::{self};
use super::{heartbeat, policy, words};
use crate::charts::{grouped, short};
use crate::directives;
use crate::identity::book::{self, MAIN};
use crate::identity::presence::{self, Reach};

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

/// The sessions whose windows are told.
const MAX_SESSIONS: usize = 20;

/// Log entries are counted up to here.
const MAX_ENTRIES: i64 = 500;

pub(super) fn story(cx: &mut Cx<'_>, of: &StoryOf) -> Result<Vec<Moment>, FeatureError> {
    let mut all = Vec::new();
    for session in of.sessions.iter().take(MAX_SESSIONS) {
        all.extend(windows::of_session(cx.db, session)?);
    }
    all.retain(|window| window.actor == MAIN);
    all.sort_by_key(|window| window.id);
    let mut out = Vec::new();
    let mut efforts: Vec<ops::Effort> = Vec::new();
    for (n, window) in (1_usize..).zip(&all) {
        let until_ms = window.ended.map(|at| at.0);
        if !of.covers(window.started.0, until_ms.unwrap_or(i64::MAX)) {
            continue;
        }
        let is_known = |id: i64| efforts.iter().any(|effort| effort.id == id);
        if let Some(id) = window.effort.filter(|id| !is_known(*id)) {
            efforts.extend(ops::one(cx.db, id)?);
        }
        let files = windows::files_of_window(cx.db, window.id, 200)?.len();
        out.push(of_window(n, window, files));
    }
    for effort in &efforts {
        out.push(of_effort(cx, effort)?);
        let number = |id: i64| all.iter().position(|window| window.id == id).map(|at| at + 1);
        out.extend(handover(effort, effort.payload_by.and_then(number)));
    }
    out.sort_by_key(|moment| moment.at_ms);
    let n_over = out.len().saturating_sub(usize::try_from(of.limit).unwrap_or(usize::MAX));
    Ok(out.split_off(n_over))
}

fn of_window(n: usize, window: &Window, n_files: usize) -> Moment {
    let ended = match window.ended_why.as_deref() {
        Some(why) if !why.is_empty() => format!("It ended: {why}."),
        _ => String::new(),
    };
    let used = match window.context_used {
        Some(used) if used > 0 => format!("{} tokens at the end.", short(used)),
        _ => String::new(),
    };
    let files = match n_files {
        0 => String::new(),
        1 => "It read or changed 1 file.".to_owned(),
        n => format!("It read or changed {n} files."),
    };
    let parts = [ended, used, files];
    Moment {
        at_ms: window.started.0,
        until_ms: window.ended.map(|at| at.0),
        kind: MomentKind::Window,
        actor: MAIN.to_owned(),
        title: format!("Window {n}"),
        text: parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "),
        ..Moment::default()
    }
}

fn of_effort(cx: &mut Cx<'_>, effort: &ops::Effort) -> Result<Moment, FeatureError> {
    let said = messages::said(cx.db, effort.id, "log", MAX_ENTRIES)?;
    let log = format!("{}/{}", effort.task.relative, words::log_name(effort));
    let entries = match said.len() {
        1 => "1 entry".to_owned(),
        n => format!("{n} entries"),
    };
    let latest = match said.last() {
        Some(latest) => format!(" The latest: “{}”.", one_line(&latest.body, 300)),
        None => String::new(),
    };
    let phase = match effort.phase.as_str() {
        "" => String::new(),
        phase => format!(", phase {phase}"),
    };
    Ok(Moment {
        at_ms: effort.started.0,
        until_ms: effort.finished.map(|at| at.0),
        kind: MomentKind::Effort,
        actor: MAIN.to_owned(),
        title: format!("Effort {}{phase}", effort.skill),
        text: format!("{entries} in {log}.{latest}"),
        ..Moment::default()
    })
}

/// What a window left for the next one.
fn handover(effort: &ops::Effort, by: Option<usize>) -> Option<Moment> {
    let (payload, at) = (effort.payload.as_ref()?, effort.payload_at?);
    let from = by.map_or_else(String::new, |n| format!(", by window {n}"));
    let told = match effort.payload_told {
        Some(_) => "told to the next one",
        None => "not told yet",
    };
    let n_words = i64::try_from(payload.split_whitespace().count()).unwrap_or(0);
    Some(Moment {
        at_ms: at.0,
        until_ms: effort.payload_told.map(|at| at.0),
        kind: MomentKind::Handover,
        actor: MAIN.to_owned(),
        title: format!("Left for the next window{from}: {} words, {told}", grouped(n_words)),
        text: payload.clone(),
        ..Moment::default()
    })
}

/// Efforts that were used within this time are shown. Older ones are offered to new sessions all the same.
const SHOWN_MS: i64 = 24 * 3_600_000;

/// The most left-behind efforts that are looked at.
const MAX_LEFT: i64 = 50;

/// Efforts that were left behind: not finished, and their agent is not there.
pub(super) fn needs_you(cx: &mut Cx<'_>) -> Result<Vec<UserNeed>, FeatureError> {
    let mut out = Vec::new();
    for effort in ops::left_open(cx.db, cx.now.plus_ms(-SHOWN_MS), MAX_LEFT)? {
        if presence::reach(cx.db, cx.world, cx.now, effort.agent)? != Reach::Offline {
            continue;
        }
        let (id, agent) = (effort.id, book::name_of(cx.db, effort.agent)?);
        let phase = match effort.phase.as_str() {
            "" => String::new(),
            phase => format!(", in phase {phase}"),
        };
        let left = match effort.payload.is_some() && effort.payload_told.is_none() {
            true => " It left a note for the next session.",
            false => "",
        };
        out.push(UserNeed {
            reason: format!("is gone, and left its effort {} unfinished{phase}", effort.skill),
            text: format!(
                "The next session in this project is offered it.{left} `substrate effort show {id}` shows it, `substrate effort finish {id} --agent {agent}` ends it."
            ),
            since_ms: effort.used.0,
            project: effort.project,
            agent,
            ..UserNeed::new(need_id(id), NeedKind::Dead)
        });
    }
    Ok(out)
}
