//! When a supervised client is replaced by a fresh one, and how the fresh one learns what to continue.
//!
//! A wrapper may stand between supervisor and client, and its arguments are its own. So a fresh client is told by its
//! hooks, never by its command line: at its start, or at its first prompt. Where no prompt starts a turn, the waiter beside
//! the client does.

use substrate_core::wish::{Block, Cause, Insists, Receipt, is_claimed};
use substrate_core::{
    Actor, Cx, DbError, Detail, Effect, Event, EventKind, FeatureError, Outcome, Part, StartSource,
    Timestamp, Wish,
};

use super::ops::{self, Briefing, Claimed, Process, RestartRequest, Supervisor};
use crate::efforts;

/// After this long, a supervisor that did not react is not listening, and the client may compact.
pub(super) const PATIENCE_MS: i64 = 20_000;

/// How long a client's own prompt may take to start a turn. Then the waiter starts one.
pub(super) const SETTLE_MS: i64 = 1_000;

/// How often the waiter checks whether the answer at the start was printed.
const STEP_MS: i64 = 200;

pub(super) const WHY: &str = "the context was full";

const NAME: &str = "supervise";

/// The parts of an answer: what a fresh client is told,
const BRIEF: &str = "brief";
/// and what starts its first turn.
const WAKE: &str = "wake";

/// How many supervisors are looked at.
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

/// Notes which client and session are supervised, and tells a fresh one what to continue.
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
    // A wrapper with `--continue` brings the full conversation back. It knows everything, and must be compacted.
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

/// Starts the first turn of a fresh client that got no prompt.
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
        Some(_) => (begin(brief.effort), false),
        None if is_claimed(brief.claimed, cx.now) => return wait(cx.now.plus_ms(STEP_MS)),
        // It did not fit at the start, or that answer was lost.
        None => (go_on(brief.effort), true),
    };
    let part = |what: &'static str| Part { what: what.into(), id: brief.effort, end: reason.len() };
    let mut parts = vec![part(WAKE)];
    parts.extend(is_brief.then(|| part(BRIEF)));
    let block = Block { cause: Cause::Rule, reason, insists: Insists::Always, parts };
    Ok(vec![Wish::Block(block), Wish::Receipt])
}

/// The context is full. If the settings say so, a supervised client with an effort is replaced by a fresh one instead of
/// being compacted. Without an effort a fresh client would know less than a summary tells.
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
        Some(RestartRequest { since, .. }) if cx.now.since(*since) > PATIENCE_MS => {
            return Ok(Vec::new());
        }
        Some(_) => {}
        None => {
            let agent = cx.who.as_ref().map(|who| who.name.as_str());
            ops::heard_of(cx.db, &found.token, Process::now(cx.world, pid), session, agent)?;
            ops::want(cx.db, &found.token, WHY, effort.id, cx.now)?;
        }
    }
    cx.effects.push(Effect::Wake { key: found.wake_key() });
    let reason = REASON.to_owned();
    Ok(vec![Wish::block(Cause::Rule, reason, Insists::Always)])
}

/// The nearest supervisor above a client. A client inside a supervised client has none, because ending it would end the
/// outer one.
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
        // Where the system does not tell which processes are above, the client must be the started child itself.
        let is_child = one.child == Process::now(cx.world, pid) && one.child.is_there(cx.world);
        above.iter().position(is_own).or_else(|| is_child.then_some(usize::MAX))
    };
    let nearest = all.into_iter().filter_map(|one| Some((distance(&one)?, one)));
    let found = nearest.min_by_key(|(distance, _)| *distance).map(|(_, one)| one);
    Ok(found.filter(|one| {
        one.client.is_none_or(|client| client.pid == pid || !client.is_there(cx.world))
    }))
}

/// What a fresh client has yet to be told, unless an answer carries it now.
fn untold(found: &Supervisor, now: Timestamp) -> Option<Briefing> {
    found.brief.filter(|brief| brief.told.is_none() && !is_claimed(brief.claimed, now))
}

fn tell(cx: &Cx<'_>, brief: Briefing) -> Vec<Wish> {
    if !cx.settings.on("efforts.on") {
        return Vec::new();
    }
    let text = go_on(brief.effort);
    let parts = vec![Part { what: BRIEF.into(), id: brief.effort, end: text.len() }];
    vec![
        Wish::Context { text, more: Some("substrate effort show".to_owned()), parts },
        Wish::Receipt,
    ]
}

/// Claims the parts that are in the answer.
pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    outcome: &Outcome,
) -> Result<(), FeatureError> {
    let told: Vec<&Part> = outcome.told(NAME).collect();
    let (false, Some(pid)) = (told.is_empty(), event.client_pid) else { return Ok(()) };
    let Some(found) = ops::of_client(cx.db, cx.world, pid)? else { return Ok(()) };
    for part in told {
        let claimed = if part.what == BRIEF { Claimed::Briefing } else { Claimed::FirstTurn };
        ops::claim(cx.db, &found.token, claimed, outcome.request, cx.now)?;
    }
    Ok(())
}

/// Settles the claims of an answer.
pub(super) fn printed(cx: &mut Cx<'_>, receipt: Receipt) -> Result<(), FeatureError> {
    Ok(ops::printed(cx.db, receipt, cx.now)?)
}

/// Forgets supervisors that ended without saying so.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    for one in ops::all(cx.db, STEP)? {
        if !one.own.is_there(cx.world) {
            ops::forget(cx.db, &one.token)?;
        }
    }
    Ok(false)
}

/// Said instead of a compaction. People see it too.
pub(super) const REASON: &str = "Not compacted: this session ends now and continues in a fresh one (context.on_auto_compact = \"restart\").";

/// Told at the start of the fresh session. Its command line may contain the first prompt again, because that can't be taken
/// out of a wrapper's arguments, and print mode needs one.
pub(super) fn go_on(effort: i64) -> String {
    format!(
        "Your previous context window was full, so this session was started in its place. Continue effort {effort} where the last session left it: `substrate effort show {effort}` shows where that is. If this session started with a prompt, it is the one the first session was given."
    )
}

/// Starts the first turn of a session that was told `go_on`.
pub(super) fn begin(effort: i64) -> String {
    format!("Continue with effort {effort} now, as this session was told at its start.")
}
