//! What happens when an agent has nothing to do: a table over mode, client and time.

use substrate_core::wish::{Cause, Insists};
use substrate_core::{Actor, Cx, Detail, Event, EventKind, FeatureError, Timestamp, Wish};

use crate::mail::face;

/// The client ends a hook after ten minutes, so a wait ends well before that.
const LONGEST_POLL_MS: i64 = 570_000;

/// The waiter beside a session is registered for a day. It leaves a little earlier, and the next Stop starts a new one.
const LONGEST_WAKE_MS: i64 = 86_100_000;

/// This many blocks before the client's cap, the agent is asked for a sign of life, which resets the client's count.
const BEFORE_CAP: u32 = 3;

/// How long a waiter may arrive before its session, and how often it looks again.
const TOO_EARLY_MS: i64 = 3_000;
const TOO_EARLY_STEP_MS: i64 = 200;

const HEARTBEAT: &str = "Agent staying alive (heartbeat). Use Ctrl+C to force exit.";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Poll,
    Wake,
    Off,
}

/// What to do about an agent that wants to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// Let it stop.
    Nothing,
    /// Wait for mail, at most until then.
    Wait(Timestamp),
    /// The wait is over: keep the agent alive for another round.
    Heartbeat,
}

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    if !matches!(event.kind, EventKind::Stop | EventKind::Waiter) {
        return Ok(Vec::new());
    }
    let Some(who) = cx.who.clone() else { return Ok(too_early(event)) };
    let mode = mode(cx.settings.word("persist.mode"), event);
    let has_client = event.client_pid.is_some_and(|pid| cx.world.process_began(pid).is_some());
    Ok(match plan(mode, cx.settings.int("persist.poll"), has_client, event) {
        Plan::Nothing => Vec::new(),
        Plan::Wait(until) => {
            // Mail that was hidden until later comes back in time.
            let due = face::next_due(cx.db, who.agent, cx.now)?;
            let until = due.map_or(until, |due| due.min(until));
            vec![Wish::Wait { key: who.wake_key(), until }]
        }
        Plan::Heartbeat => {
            let n_unread = face::n_unread(cx.db, (who.agent, ""), cx.now)?;
            let reason = heartbeat(n_unread, cx.n_held, event.block_cap);
            vec![Wish::block(Cause::Heartbeat, reason, Insists::WhileItLasts)]
        }
    })
}

/// A waiter starts together with the event that makes its session known. If it comes first, it looks again in a moment.
fn too_early(event: &Event) -> Vec<Wish> {
    let waited = event.waiting_since.map_or(0, |since| event.at.since(since));
    match &event.session {
        Some(session) if event.kind == EventKind::Waiter && waited < TOO_EARLY_MS => {
            let key = format!("session {session}");
            vec![Wish::Wait { key, until: event.at.plus_ms(TOO_EARLY_STEP_MS) }]
        }
        _ => Vec::new(),
    }
}

/// The mode in force: from the settings, or from the client's environment.
pub(super) fn mode(setting: &str, event: &Event) -> Mode {
    let wanted = match setting {
        "auto" => event.wanted_persist.as_deref().unwrap_or("auto"),
        setting => setting,
    };
    match (wanted, event.attended) {
        ("poll", _) => Mode::Poll,
        ("wake", _) => Mode::Wake,
        ("off", _) => Mode::Off,
        (_, Some(true)) => Mode::Wake,
        (_, Some(false)) => Mode::Off,
        (_, None) => Mode::Poll,
    }
}

/// What to do at this event.
pub(super) fn plan(mode: Mode, poll_ms: i64, has_client: bool, event: &Event) -> Plan {
    if !matches!(event.actor, Actor::Main { .. }) {
        return Plan::Nothing;
    }
    let since = event.waiting_since.unwrap_or(event.at);
    match (event.kind, mode) {
        // While something runs in the background the turn must end, so that its result can come in.
        (EventKind::Stop, Mode::Poll) if !has_all_ended(event) => Plan::Nothing,
        (EventKind::Stop, Mode::Poll) => {
            let until = since.plus_ms(poll_ms.clamp(0, LONGEST_POLL_MS));
            // Without a client, a person tries the hook by hand and should not have to wait.
            if event.at < until && has_client { Plan::Wait(until) } else { Plan::Heartbeat }
        }
        // The waiter delays nothing where a person watches. Elsewhere it would delay the whole run. In `poll` it stands in
        // for the wait that background tasks or the client's cap prevent.
        (EventKind::Waiter, Mode::Wake | Mode::Poll)
            if event.attended == Some(true) && has_client =>
        {
            let until = since.plus_ms(LONGEST_WAKE_MS);
            if event.at < until { Plan::Wait(until) } else { Plan::Nothing }
        }
        _ => Plan::Nothing,
    }
}

/// Whether nothing runs in the background.
fn has_all_ended(event: &Event) -> bool {
    matches!(event.detail, Detail::Stop { n_background_tasks: 0, .. })
}

/// The words that start the next round. Near the client's cap they ask for a sign of life, which resets its count.
pub(super) fn heartbeat(n_unread: i64, n_held: u32, cap: u32) -> String {
    let mail = match n_unread {
        0 => "No new messages.".to_owned(),
        n => format!("No new messages, {} (`substrate inbox`).", face::unread_words(n)),
    };
    if cap > 0 && n_held + BEFORE_CAP >= cap {
        return format!(
            "{mail} {HEARTBEAT} Now run `substrate heartbeat` once, or the client ends this session's wait."
        );
    }
    format!("{mail} {HEARTBEAT}")
}
