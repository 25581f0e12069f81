//! The latest sessions: whether their hooks are installed, were loaded, and fire.

use std::path::Path;

use substrate_core::Timestamp;
use substrate_core::time::Ago;
use substrate_features::journal::{Seen, SessionHealth};

use super::finding::{Area, Finding};
use super::hooks::Journal;
use super::settings;
use crate::config::Env;

/// The events of every session with some work in it, in their order.
const EXPECTED: &[&str] =
    &["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"];

/// A session that stays silent this long after its start may be inert.
const INERT_MS: i64 = 600_000;

/// How often one event may come without its counterpart. A few are normal: a person may interrupt or refuse a call.
const NO_ACCIDENT: usize = 5;

#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(super) seen: SessionHealth,
    /// Whether our hooks are registered there.
    pub(super) is_installed: bool,
}

pub(super) fn look(env: &Env, journal: &Journal, hook: &Path) -> Vec<Session> {
    let Journal::Read(health) = journal else { return Vec::new() };
    let sessions = health.sessions.iter().map(|seen| {
        let is_installed = substrate_clients::ALL
            .iter()
            .any(|client| settings::look(client, env, Path::new(&seen.cwd), hook).has_hooks());
        Session { seen: seen.clone(), is_installed }
    });
    sessions.collect()
}

pub(super) fn judge(sessions: &[Session], now: Timestamp, out: &mut Vec<Finding>) {
    for session in sessions {
        let seen = &session.seen;
        let told = told(session, now);
        let show = format!("`substrate journal list --session {}`", seen.session);
        let silent_ms = now.since(seen.last_at);
        out.push(if let Some(contradiction) = contradiction(seen) {
            let check = substrate_clients::DEFAULT.install.own_check.map_or_else(String::new, |check| {
                format!("; `{check}` says what the client dropped")
            });
            Area::Sessions
                .warning("session-partial", format!("{told}; {contradiction}"))
                .next(format!("{show} shows what came{check}"))
        } else if !session.is_installed {
            Area::Sessions
                .info("session-uninstalled", format!("{told}; its hooks are no longer registered"))
                .next("`substrate hooks install`")
        } else if seen.events.keys().all(|event| event == "SessionStart")
            && silent_ms > INERT_MS
        {
            Area::Sessions
                .info("session-inert", format!("{told}; nothing since: it waits for a prompt, or its other hooks were dropped"))
                .next(show)
        } else if seen.has_start == Some(false) {
            Area::Sessions
                .info("session-late", format!("{told}; its start was not seen: the hooks were installed later"))
                .next("nothing, if the hooks were installed while it ran")
        } else {
            Area::Sessions.ok("session-fine", told)
        });
    }
    if sessions.is_empty() {
        out.push(Area::Sessions.info("no-sessions", "no session was seen in the last 24 hours"));
    }
}

/// Events whose counterparts were never seen.
fn contradiction(seen: &SessionHealth) -> Option<String> {
    let of = |event: &str| seen.events.get(event).copied().unwrap_or_default();
    let Seen { n: calls, n_refused } = of("PreToolUse");
    let done = of("PostToolUse").n + of("PostToolUseFailure").n;
    let prompts = of("UserPromptSubmit").n;
    let stops = of("Stop").n;
    if stops >= NO_ACCIDENT && prompts == 0 {
        return Some(format!("{stops} Stop but no UserPromptSubmit: some hooks do not fire"));
    }
    if done >= NO_ACCIDENT && calls == 0 {
        return Some(format!("{done} PostToolUse but no PreToolUse: some hooks do not fire"));
    }
    if calls - n_refused >= NO_ACCIDENT && done == 0 {
        return Some(format!("{calls} PreToolUse but no PostToolUse: some hooks do not fire"));
    }
    (prompts >= NO_ACCIDENT && calls + stops == 0)
        .then(|| format!("{prompts} UserPromptSubmit but no Stop: some hooks do not fire"))
}

fn told(session: &Session, now: Timestamp) -> String {
    let seen = &session.seen;
    let id = seen.session.get(..8).unwrap_or(&seen.session);
    let name = seen.agent.clone().unwrap_or_else(|| format!("session {id}"));
    let installed = if session.is_installed { "installed, " } else { "not installed, " };
    let loaded = match seen.has_start {
        Some(true) => "loaded",
        Some(false) => "beginning not seen",
        None => "running for long",
    };
    let n: usize = seen.events.values().map(|seen| seen.n).sum();
    let fired = |event: &&&str| {
        seen.events.contains_key(**event)
            || (**event == "SessionStart" && seen.has_start == Some(true))
    };
    let not_yet: Vec<&str> = EXPECTED.iter().filter(|event| !fired(event)).copied().collect();
    let fired: Vec<&str> = EXPECTED.iter().filter(fired).copied().collect();
    let others = seen.events.keys().filter(|event| !EXPECTED.contains(&event.as_str())).count();
    let mut out = format!("{name} in `{}`: {installed}{loaded}; {n} events", seen.cwd);
    for (word, events) in [("fired", fired), ("not yet", not_yet)] {
        if !events.is_empty() {
            out = format!("{out}; {word}: {}", events.join(" "));
        }
    }
    if others > 0 {
        out = format!("{out}; {others} other kinds");
    }
    format!("{out}; last {} {} ago", seen.last_event, Ago(now.since(seen.last_at)))
}
