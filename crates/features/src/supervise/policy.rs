//! When a supervised client is exchanged for a fresh one, and how that one learns what to go on with.
//!
//! A client is supervised when its supervisor is among the processes above it: there may be a wrapper between the two, whose
//! arguments are nobody's but its own. So a fresh client is told by its own hooks, never by its command line: at its start, or
//! at its first prompt; and the waiter beside it starts a turn where no prompt does.

use substrate_core::wish::{Block, Cause, Insists};
use substrate_core::{
    Actor, Cx, DbError, Detail, Effect, Event, EventKind, FeatureError, Outcome, Part, RequestId,
    StartSource, Timestamp, Wish,
};

use super::ops::{self, Brief, Process, Supervisor, Wanted};
use super::words;
use crate::efforts;

/// A supervisor that has not done what it was asked for so long does not listen: the client may compact.
pub(super) const PATIENCE_MS: i64 = 20_000;

/// How long a client's own prompt may take to begin a turn after the start; then the waiter begins one.
pub(super) const SETTLE_MS: i64 = 1_000;

/// How often the waiter looks whether the start's answer was printed.
const STEP_MS: i64 = 200;

/// How long an answer that is on its way keeps others from saying the same.
pub(super) const CLAIM_MS: i64 = 10_000;

pub(super) const WHY: &str = "the context was full";

const NAME: &str = "supervise";

/// The parts that an account is kept of: what a fresh client is told,
const BRIEF: &str = "brief";
/// and what starts its first turn.
const WAKE: &str = "wake";

/// Supervisors that are looked at in one go.
const STEP: i64 = 1_000;

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    let (Actor::Main { .. }, Some(pid)) = (&event.actor, event.client_pid) else {
        return Ok(Vec::new());
    };
    match (event.kind, &event.detail) {
        (EventKind::SessionStart, Detail::SessionStart { source, .. }) => {
            began(cx, event, pid, *source)
        }
        (EventKind::UserPromptSubmit, _) => prompted(cx, pid),
        (EventKind::Waiter, _) if event.attended == Some(true) => waits(cx, event, pid),
        (EventKind::PreCompact, Detail::Because { word }) if word == "auto" => {
            overflow(cx, event, pid)
        }
        _ => Ok(Vec::new()),
    }
}

/// Remembers which client and session are supervised, and tells a fresh one what to go on with.
fn began(
    cx: &mut Cx<'_>,
    event: &Event,
    pid: u32,
    source: StartSource,
) -> Result<Vec<Wish>, FeatureError> {
    let Some(session) = &event.session else { return Ok(Vec::new()) };
    let Some(found) = supervisor(cx, pid)? else { return Ok(Vec::new()) };
    let agent = cx.who.as_ref().map(|who| who.name.as_str());
    ops::heard_of(cx.db, &found.token, Process::now(cx.world, pid), session, agent)?;
    let Some(brief) = untold(&found, cx.now) else { return Ok(Vec::new()) };
    // A wrapper that says `--continue` brings the full conversation back. It knows everything, and has to be compacted.
    if source == StartSource::Resume {
        ops::was_futile(cx.db, &found.token)?;
        return Ok(Vec::new());
    }
    Ok(tell(cx, brief))
}

/// A turn has begun. What could not be told at the start is told with its prompt.
fn prompted(cx: &mut Cx<'_>, pid: u32) -> Result<Vec<Wish>, FeatureError> {
    let Some(found) = ops::of_client(cx.db, cx.world, pid)? else { return Ok(Vec::new()) };
    if found.brief.is_some_and(|brief| !brief.has_begun) {
        ops::has_begun(cx.db, &found.token, cx.now)?;
    }
    Ok(untold(&found, cx.now).map_or_else(Vec::new, |brief| tell(cx, brief)))
}

/// Starts the first turn of a fresh client that nobody has given a prompt.
fn waits(cx: &mut Cx<'_>, event: &Event, pid: u32) -> Result<Vec<Wish>, FeatureError> {
    let Some(who) = cx.who.clone().filter(|who| who.has_stopped) else { return Ok(Vec::new()) };
    let Some(found) = ops::of_client(cx.db, cx.world, pid)? else { return Ok(Vec::new()) };
    let is_same = found.session.as_deref() == event.session.as_ref().map(|id| id.as_str());
    let Some(brief) = found.brief.filter(|brief| is_same && !brief.has_begun) else {
        return Ok(Vec::new());
    };
    if is_claimed(brief.wake_claimed, cx.now) || !cx.settings.on("efforts.on") {
        return Ok(Vec::new());
    }
    let wait = |until| Ok(vec![Wish::Wait { key: who.wake_key(), until }]);
    let (reason, is_brief) = match brief.told {
        Some(told) if cx.now.since(told) < SETTLE_MS => return wait(told.plus_ms(SETTLE_MS)),
        Some(_) => (words::begin(brief.effort), false),
        None if is_claimed(brief.claimed, cx.now) => return wait(cx.now.plus_ms(STEP_MS)),
        // There was no room for it at the start, or that answer was lost.
        None => (words::go_on(brief.effort), true),
    };
    let part = |what: &'static str| Part { what: what.into(), id: brief.effort, end: reason.len() };
    let mut parts = vec![part(WAKE)];
    parts.extend(is_brief.then(|| part(BRIEF)));
    let block = Block { cause: Cause::Rule, reason, insists: Insists::Always, parts };
    Ok(vec![Wish::Block(block), Wish::Receipt])
}

/// The context is full: a supervised client is not compacted but exchanged for a fresh one, where the settings say so and
/// there is an effort to go on with. Without one the fresh client would know less than a summary says.
fn overflow(cx: &mut Cx<'_>, event: &Event, pid: u32) -> Result<Vec<Wish>, FeatureError> {
    if cx.settings.word("context.on_auto_compact") != "restart" || !cx.settings.on("efforts.on") {
        return Ok(Vec::new());
    }
    let Some(session) = &event.session else { return Ok(Vec::new()) };
    let Some(found) = supervisor(cx, pid)?.filter(|found| !found.is_futile) else {
        return Ok(Vec::new());
    };
    let Some(effort) = efforts::face::of_session(cx.db, session.as_str())? else {
        return Ok(Vec::new());
    };
    match &found.wanted {
        Some(Wanted { since, .. }) if cx.now.since(*since) > PATIENCE_MS => return Ok(Vec::new()),
        Some(_) => {}
        None => {
            let agent = cx.who.as_ref().map(|who| who.name.as_str());
            ops::heard_of(cx.db, &found.token, Process::now(cx.world, pid), session, agent)?;
            ops::want(cx.db, &found.token, WHY, effort.id, cx.now)?;
        }
    }
    cx.effects.push(Effect::Wake { key: found.wake_key() });
    let reason = words::REASON.to_owned();
    Ok(vec![Wish::block(Cause::Rule, reason, Insists::Always)])
}

/// The supervisor above a client: the nearest one. A client below another client that is supervised is not its own: ending it
/// would end the other.
fn supervisor(cx: &mut Cx<'_>, pid: u32) -> Result<Option<Supervisor>, DbError> {
    let mut all = ops::all(cx.db, STEP)?;
    all.retain(|one| one.own.is_there(cx.world));
    if all.is_empty() {
        return Ok(None);
    }
    let above = cx.world.above(pid);
    let distance = |one: &Supervisor| {
        let is_own = |id: &substrate_core::ProcessId| {
            id.pid == one.own.pid && Some(id.began) == one.own.began
        };
        // Where the system does not say who is above, the client is what was started, or is not known.
        let is_child = one.child == Process::now(cx.world, pid) && one.child.is_there(cx.world);
        above.iter().position(is_own).or_else(|| is_child.then_some(usize::MAX))
    };
    let nearest = all.into_iter().filter_map(|one| Some((distance(&one)?, one)));
    let found = nearest.min_by_key(|(distance, _)| *distance).map(|(_, one)| one);
    Ok(found.filter(|one| {
        one.client.is_none_or(|client| client.pid == pid || !client.is_there(cx.world))
    }))
}

/// What a fresh client was not told yet, if no answer is on its way with it.
fn untold(found: &Supervisor, now: Timestamp) -> Option<Brief> {
    found.brief.filter(|brief| brief.told.is_none() && !is_claimed(brief.claimed, now))
}

fn is_claimed(at: Option<Timestamp>, now: Timestamp) -> bool {
    at.is_some_and(|at| now.since(at) < CLAIM_MS)
}

fn tell(cx: &Cx<'_>, brief: Brief) -> Vec<Wish> {
    if !cx.settings.on("efforts.on") {
        return Vec::new();
    }
    let text = words::go_on(brief.effort);
    let parts = vec![Part { what: BRIEF.into(), id: brief.effort, end: text.len() }];
    vec![
        Wish::Context { text, more: Some("substrate effort show".to_owned()), parts },
        Wish::Receipt,
    ]
}

/// What is in the answer is claimed for it.
pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    outcome: &Outcome,
) -> Result<(), FeatureError> {
    let told: Vec<&Part> = outcome.told(NAME).collect();
    let (false, Some(pid)) = (told.is_empty(), event.client_pid) else { return Ok(()) };
    let Some(found) = ops::of_client(cx.db, cx.world, pid)? else { return Ok(()) };
    for part in told {
        match &*part.what {
            BRIEF => ops::claim(cx.db, &found.token, outcome.request, cx.now)?,
            _ => ops::claim_wake(cx.db, &found.token, outcome.request, cx.now)?,
        }
    }
    Ok(())
}

/// Whether an answer reached the client's pipe.
pub(super) fn printed(
    cx: &mut Cx<'_>,
    request: RequestId,
    reached: bool,
) -> Result<(), FeatureError> {
    Ok(ops::printed(cx.db, request, reached, cx.now)?)
}

/// Supervisors that ended without a word are forgotten.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    for one in ops::all(cx.db, STEP)? {
        if !one.own.is_there(cx.world) {
            ops::forget(cx.db, &one.token)?;
        }
    }
    Ok(false)
}
