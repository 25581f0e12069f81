//! When a request waits, what it is told, and which events show that its dialog is over.

use substrate_core::ids::checksum;
use substrate_core::redact::redacted;
use substrate_core::text::one_line;
use substrate_core::wish::{Answer, Receipt};
use substrate_core::{
    Activity, Actor, Cx, DbError, Detail, Effect, Event, EventKind, FeatureError, Outcome,
    Settings, ToolCall, Wish, WishKind,
};

use super::ops::{self, Asked, Asking, Decision, State};
use super::{CLOSED, FEATURE, KEPT_MS, ON};

/// Clients give the hook of a dialog a day. It leaves a little earlier by itself.
const LONGEST_MS: i64 = 86_100_000;

/// The longest command or input that is kept, in bytes.
pub(super) const MAX_WHAT: usize = 64 << 10;

/// Why a row is closed, in words for a late answer.
const ANSWERED_THERE: &str = "it was answered in the terminal";
const TURN_OVER: &str = "the turn is over";
const HOOK_ENDED: &str = "the dialog was closed in the terminal";
const SENT: &str = "it was answered";
const TOO_LONG: &str = "it waited too long; the dialog may still be open in the terminal";

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    let Some((session, call)) = waits(cx.settings, event) else { return Ok(Vec::new()) };
    let until = event.waiting_since.unwrap_or(event.at).plus_ms(LONGEST_MS);
    let key = call_key(call);
    let wait = || Wish::Wait { key: ops::key(session, &key), until };
    let Some(since) = event.waiting_since else { return Ok(vec![wait()]) };
    let Some(asked) = ops::of_call(cx.db, session, &key, since)? else { return Ok(Vec::new()) };
    Ok(match (asked.state, asked.decision) {
        (State::Open, _) if event.at < until => vec![wait()],
        (State::Answered, Some(decision)) => {
            vec![Wish::Answer { answer: answer(decision, call), by: asked.by }, Wish::Receipt]
        }
        (State::Open | State::Answered | State::Closed, _) => Vec::new(),
    })
}

/// The session and the call of a request whose dialog the client shows while its hook waits.
pub(super) fn waits<'a>(settings: &Settings, event: &'a Event) -> Option<(&'a str, &'a ToolCall)> {
    let is_shown = event.kind == EventKind::PermissionRequest
        && matches!(event.actor, Actor::Main { .. })
        && event.attended == Some(true)
        && settings.on(ON);
    Some((event.session.as_ref()?.as_str(), event.tool()?)).filter(|_| is_shown)
}

/// What the client is told. The questions are the event's own words, as the client must find them again.
fn answer(decision: Decision, call: &ToolCall) -> Answer {
    match decision {
        Decision::Allow => Answer::Allow,
        Decision::Deny { message } => Answer::Deny { message },
        Decision::Choose(chosen) => {
            let texts = call.questions.iter().map(|question| question.text.clone());
            Answer::Choose { choices: texts.zip(chosen).collect() }
        }
    }
}

/// The key of a call. A permission request has no id, and an answer completes its input.
fn call_key(call: &ToolCall) -> String {
    let questions = || call.questions.iter().map(|it| it.text.as_str()).collect::<Vec<_>>();
    let what = match (&call.command, call.files.is_empty(), call.questions.is_empty()) {
        (Some(command), ..) => command.clone(),
        (None, false, _) => call.files.join("\n"),
        (None, true, false) => questions().join("\n"),
        (None, true, true) => call.input.clone(),
    };
    format!("{} {}", one_line(&call.name, 60), &checksum(&what)[..16])
}

pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    outcome: &Outcome,
) -> Result<(), FeatureError> {
    if !cx.settings.on(ON) {
        return Ok(());
    }
    if event.kind == EventKind::PermissionRequest {
        return Ok(requested(cx, event, outcome)?);
    }
    let Some(session) = &event.session else { return Ok(()) };
    if !may_end(event) {
        return Ok(());
    }
    for (asked, why) in over(cx, session.as_str(), event)? {
        close(cx, &asked, why)?;
    }
    Ok(())
}

/// The rows of the session whose dialog is over, as the event shows, and why.
fn over(
    cx: &mut Cx<'_>,
    session: &str,
    event: &Event,
) -> Result<Vec<(Asked, &'static str)>, DbError> {
    let mut open = ops::of_session(cx.db, session)?;
    if let (Detail::Activity { since, .. }, false) = (&event.detail, open.is_empty()) {
        // Dialogs of parallel calls are shown one after the other. So what the client shows is about the oldest, and ends
        // one row only, however often it is seen.
        open.sort_by_key(|asked| asked.id);
        let is_used = ops::last_closed(cx.db, session)?.is_some_and(|closed| closed >= *since);
        open.truncate(usize::from(!is_used));
    }
    Ok(open.into_iter().filter_map(|asked| ended(event, asked)).collect())
}

fn ended(event: &Event, asked: Asked) -> Option<(Asked, &'static str)> {
    let why = ends(event, &asked)?;
    Some((asked, why))
}

/// A request that waits from now on. One that was refused at once has no row.
fn requested(cx: &mut Cx<'_>, event: &Event, outcome: &Outcome) -> Result<(), DbError> {
    let Some((session, call)) = waits(cx.settings, event) else { return Ok(()) };
    let is_parked = outcome
        .of(FEATURE.name)
        .any(|wished| wished.wish.kind() == WishKind::Wait && wished.fate.is_told());
    if !is_parked || event.waiting_since.is_some() {
        return Ok(());
    }
    let safe = |text: &str| redacted(text, MAX_WHAT, false).into_owned();
    let questions = call.questions.iter().map(|question| Asking {
        text: safe(&question.text),
        options: question.options.iter().map(|option| safe(option)).collect(),
        takes_several: question.takes_several,
    });
    let what = match (&call.command, call.files.is_empty()) {
        (Some(command), _) => command.clone(),
        (None, false) => call.files.join("\n"),
        (None, true) => call.input.clone(),
    };
    let new = Asked {
        id: 0,
        session: session.to_owned(),
        call: call_key(call),
        state: State::Open,
        agent: cx.who.as_ref().map(|who| who.address()).unwrap_or_default(),
        project: event.project.clone(),
        pane: event.pane.clone(),
        tool: one_line(&call.name, 60),
        asked: event.at,
        until: event.at.plus_ms(LONGEST_MS),
        decision: None,
        by: String::new(),
        why: String::new(),
        questions: questions.collect(),
        what: safe(&what),
    };
    ops::put(cx.db, &new, outcome.request)
}

/// Whether an event can be the sign that a dialog of the main thread is over. The beginning of another call is none: calls
/// of one message run side by side, and on a busy machine their hooks arrive seconds apart.
fn may_end(event: &Event) -> bool {
    use EventKind as K;
    match event.kind {
        K::Activity => !matches!(event.activity(), Some(Activity::Asking(_)) | None),
        K::PostToolUse
        | K::PostToolUseFailure
        | K::PermissionDenied
        | K::Stop
        | K::StopFailure
        | K::SessionEnd => matches!(event.actor, Actor::Main { .. }),
        _ => false,
    }
}

/// Why the dialog of that request is over, if the event shows it.
pub(super) fn ends(event: &Event, asked: &Asked) -> Option<&'static str> {
    use EventKind as K;
    let is_it = || event.tool().is_some_and(|call| call_key(call) == asked.call);
    match (event.kind, &event.detail) {
        // The client showed something else after it had asked.
        (K::Activity, Detail::Activity { now: shown, since }) => {
            let is_over = !matches!(shown, Activity::Asking(_)) && *since > asked.asked;
            is_over.then_some(ANSWERED_THERE)
        }
        (K::PostToolUse | K::PostToolUseFailure | K::PermissionDenied, _) => {
            is_it().then_some(ANSWERED_THERE)
        }
        (K::Stop | K::StopFailure | K::SessionEnd, _) => Some(TURN_OVER),
        _ => None,
    }
}

/// Closes a row, and releases the hook that waits for it.
fn close(cx: &mut Cx<'_>, asked: &Asked, why: &str) -> Result<(), DbError> {
    // An answer that is on its way explains what the client shows.
    let why = if asked.state == State::Answered { SENT } else { why };
    ops::close(cx.db, asked.id, why, cx.now)?;
    cx.effects.push(Effect::Wake { key: asked.key() });
    Ok(())
}

/// Whether what the client shows ends a dialog that is still open here.
pub(super) fn is_news(cx: &mut Cx<'_>, event: &Event) -> Result<bool, FeatureError> {
    match event.session.as_ref().filter(|_| cx.settings.on(ON) && may_end(event)) {
        Some(session) => Ok(!over(cx, session.as_str(), event)?.is_empty()),
        None => Ok(false),
    }
}

/// An answer was printed, or its hook ended before: the user declined in the terminal.
pub(super) fn printed(cx: &mut Cx<'_>, receipt: Receipt) -> Result<(), FeatureError> {
    if let Some(asked) = ops::of_request(cx.db, receipt.request)? {
        let why = if receipt.reached { SENT } else { HOOK_ENDED };
        ops::close(cx.db, asked.id, why, cx.now)?;
    }
    Ok(())
}

/// Closes rows whose hook has left by itself, and forgets old ones.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    for asked in ops::all(cx.db)? {
        if asked.until <= cx.now {
            close(cx, &asked, TOO_LONG)?;
        }
    }
    CLOSED.tick(cx, KEPT_MS)
}
