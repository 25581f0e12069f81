//! Who is reminded of what, and when it counts as told.

use substrate_core::wish::{Block, Cause, Insists};
use substrate_core::{
    Actor, Cx, DbError, Detail, Event, EventKind, FeatureError, Need, Outcome, Part, RequestId,
    SafeId, Settings, Wish,
};

use super::source::{Audience, Reminder, is_exempt};
use super::{NAME, ops};
use crate::journal;

/// How long it is remembered who was told what.
const KEPT_MS: i64 = 30 * 86_400_000;

/// Rows removed in one go.
const STEP: i64 = 200;

/// Somebody who may be reminded now.
#[derive(Clone, Copy, Debug)]
struct Asked<'a> {
    /// The subagent's type; `None` is the main thread.
    kind: Option<&'a str>,
    /// It was held in this turn already.
    again: bool,
    /// Where it is remembered what was told. The main thread's turns need no memory: the client says which stop is the
    /// first.
    memory: Option<&'a SafeId>,
}

pub(super) fn gather(event: &Event, settings: &Settings) -> Vec<Need> {
    let Some(asked) = asked(event, settings) else { return Vec::new() };
    let dirs = dirs(event);
    let needs = |reminder: &Reminder| reminder.needs(&dirs, asked.kind);
    next(asked.kind.is_none(), asked.again, &[]).iter().flat_map(needs).collect()
}

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    let Some(asked) = asked(event, cx.settings) else { return Ok(Vec::new()) };
    // A turn without tools has left nothing to look back at: the answer to a question is not a piece of work.
    if !has_worked(cx, event)? {
        return Ok(Vec::new());
    }
    let Some(wish) = due(cx, event, asked)? else { return Ok(Vec::new()) };
    // What must be remembered is not told when it can't be written down: it would be told again and again.
    let receipt = asked.memory.map(|_| Wish::Receipt);
    Ok([Some(wish), receipt].into_iter().flatten().collect())
}

fn has_worked(cx: &mut Cx<'_>, event: &Event) -> Result<bool, DbError> {
    let Some(session) = &event.session else { return Ok(false) };
    journal::face::has_used_tools(cx.db, session.as_str(), event.actor.key())
}

/// What is in the answer counts as told.
pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    outcome: &Outcome,
) -> Result<(), FeatureError> {
    for part in outcome.told(NAME) {
        if let Some(reminder) = Reminder::named(&part.what)
            && let Some(session) = asked(event, cx.settings).and_then(|asked| asked.memory)
        {
            ops::tell(cx.db, session, event.actor.key(), reminder, outcome.request, cx.now)?;
        }
    }
    Ok(())
}

/// What never reached the client is told again.
pub(super) fn printed(
    cx: &mut Cx<'_>,
    request: RequestId,
    reached: bool,
) -> Result<(), FeatureError> {
    if !reached {
        ops::take_back(cx.db, request)?;
    }
    Ok(())
}

/// `true`: there is more to forget.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    let n = ops::forget_older(cx.db, cx.now.plus_ms(-KEPT_MS), STEP)?;
    Ok(usize::try_from(STEP).is_ok_and(|step| n == step))
}

/// The reminders that may come now; the first that has words does. A subagent that was told the second is done, and
/// one that is held for whatever reason is past the first.
pub(super) fn next(is_main: bool, again: bool, told: &[Reminder]) -> &'static [Reminder] {
    const BOTH: &[Reminder] = &[Reminder::Validate, Reminder::Reflexion];
    match (is_main, again) {
        (true, false) if !told.contains(&Reminder::Reflect) => &[Reminder::Reflect],
        (true, _) => &[],
        (false, _) if told.contains(&Reminder::Reflexion) => &[],
        (false, false) if !told.contains(&Reminder::Validate) => BOTH,
        (false, _) => &[Reminder::Reflexion],
    }
}

/// Who wants to stop, if it is somebody who is reminded.
fn asked<'a>(event: &'a Event, settings: &Settings) -> Option<Asked<'a>> {
    let Detail::Stop { again, n_background_tasks, .. } = event.detail else { return None };
    if !settings.on("reminders.on") {
        return None;
    }
    match (event.kind, &event.actor) {
        // A session with background tasks only waits for them; another Stop comes when they are done.
        (EventKind::Stop, Actor::Main { .. }) if !again && n_background_tasks == 0 => {
            let memory = match settings.word("reminders.stop") {
                "turn" => None,
                "session" => Some(event.session.as_ref()?),
                _ => return None,
            };
            Some(Asked { kind: None, again, memory })
        }
        (EventKind::SubagentStop, Actor::Subagent { kind, .. })
            if !event.actor.is_compaction_fork()
                && settings.on("reminders.subagents")
                && !is_exempt(kind, settings) =>
        {
            Some(Asked { kind: Some(kind), again, memory: Some(event.session.as_ref()?) })
        }
        _ => None,
    }
}

/// What it is told, if anything is left. Changes nothing.
fn due(cx: &mut Cx<'_>, event: &Event, asked: Asked<'_>) -> Result<Option<Wish>, DbError> {
    let told = match asked.memory {
        Some(session) => ops::told(cx.db, session, event.actor.key())?,
        None => Vec::new(),
    };
    let dirs = dirs(event);
    let to = Audience { kind: asked.kind, last_counts: event.attended == Some(false) };
    let words = |reminder: &Reminder| {
        let reason = reminder.find(&dirs, to, cx.facts, cx.settings).text?;
        // Our own memory, or the client's word that it is the first stop, decides; not which words they are.
        let insists = if asked.kind.is_none() { Insists::Once } else { Insists::WhenNew };
        let parts = vec![Part { what: reminder.name().into(), id: 0, end: reason.len() }];
        Some(Wish::Block(Block { cause: Cause::Reminders, reason, insists, parts }))
    };
    Ok(next(asked.kind.is_none(), asked.again, &told).iter().find_map(words))
}

/// Where a team's files may be, nearest first. Where the client does not name its project, the session is in it.
fn dirs(event: &Event) -> Vec<String> {
    let near = event.project_dir.as_deref().unwrap_or(&event.cwd);
    let mut out: Vec<String> = Vec::new();
    for dir in [near, &event.project] {
        if !dir.is_empty() && !out.iter().any(|known| known == dir) {
            out.push(dir.to_owned());
        }
    }
    out
}
