//! What a client shows beside its events: the turn that a person interrupted, and the dialog that was closed or opened
//! without an event.

use substrate_core::{Activity, Cx, DbError, Dialog, Event, FeatureError};

use super::ops::{self, StatusRow};
use super::paint;
use super::status::{INTERRUPTED, Status, StatusBefore, StatusChange, TURN_FAILED, be, working};
use crate::identity::book::MAIN;

/// A client that goes on shows it within this time.
const MOMENT_MS: i64 = 5_000;

/// Whether it changes any status.
pub(super) fn is_news(cx: &mut Cx<'_>, event: &Event) -> Result<bool, FeatureError> {
    Ok(cx.settings.on("fleet.on") && !changes(cx, event)?.is_empty())
}

/// Writes what it changes.
pub(super) fn record(cx: &mut Cx<'_>, event: &Event) -> Result<(), DbError> {
    let Some(session) = &event.session else { return Ok(()) };
    for (actor, next, kept) in changes(cx, event)? {
        ops::put(cx.db, (session.as_str(), &actor), &next, None, cx.now)?;
        if let Some(pane) = kept.and_then(|kept| kept.pane) {
            paint::pane(cx, &pane)?;
        }
    }
    Ok(())
}

/// An actor, what it becomes, and its row.
type Change = (String, StatusChange, Option<StatusRow>);

fn changes(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Change>, DbError> {
    let (Some(session), Some(now), Some(who)) = (&event.session, event.activity(), &cx.who) else {
        return Ok(Vec::new());
    };
    let has_stopped = who.has_stopped;
    let main = ops::one(cx.db, session.as_str(), MAIN)?;
    let asking = ops::in_attention(cx.db, session.as_str())?;
    let before = main.as_ref().map(|kept| kept.before(cx.now));
    let mut out = Vec::new();
    if let Some(next) = of_main(before.as_ref(), has_stopped, !asking.is_empty(), now) {
        out.push((MAIN.to_owned(), next, main));
    }
    // A subagent goes on when its dialog is closed.
    if !matches!(now, Activity::Asking(_)) {
        let subs = asking.into_iter().filter(|kept| kept.actor != MAIN);
        out.extend(subs.map(|kept| (kept.actor.clone(), working(), Some(kept))));
    }
    Ok(out)
}

/// What the main thread becomes. `None` if its events say it. `is_asked`: a person is asked for something already.
pub(super) fn of_main(
    before: Option<&StatusBefore>,
    has_stopped: bool,
    is_asked: bool,
    now: Activity,
) -> Option<StatusChange> {
    let status = before.map_or(Status::Working, |before| before.status);
    let why = before.map_or("", |before| before.why.as_str());
    match now {
        // An event has said that the turn is over.
        Activity::Idle { .. } if has_stopped => None,
        Activity::Idle { .. } if status == Status::Done || why.starts_with(TURN_FAILED) => None,
        Activity::Idle { in_background: false } => Some(be(Status::Done, INTERRUPTED)),
        Activity::Idle { in_background: true } => {
            Some(be(Status::Done, &format!("{INTERRUPTED}, a background command goes on")))
        }
        // A turn that has ended may wait for its next prompt. That is not a dialog.
        Activity::Working if status == Status::Attention => {
            let is_dialog = !has_stopped || before.is_some_and(|before| !before.asks.is_empty());
            is_dialog.then(working)
        }
        // What looked like an interruption a moment ago was not one.
        Activity::Working
            if why.starts_with(INTERRUPTED)
                && before.is_some_and(|before| before.for_ms < MOMENT_MS) =>
        {
            Some(working())
        }
        Activity::Working => None,
        // The person opened it, or the client will say so.
        Activity::Asking(Dialog::Menu) => None,
        Activity::Asking(_) if is_asked => None,
        Activity::Asking(Dialog::Permission) => {
            Some(be(Status::Attention, "asks for permission in its terminal"))
        }
        Activity::Asking(_) => Some(be(Status::Attention, "asks you something in its terminal")),
    }
}
