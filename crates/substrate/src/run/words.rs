//! Messages to the person, one line each.

use std::time::Duration;

use super::policy::{End, GiveUp, MAX_FAILURES};
use crate::ui;

/// On stderr: stdout is the client's.
pub(super) fn say(line: &str) {
    ui::talk(&format!("substrate run: {line}\n"));
}

pub(super) fn fresh(why: &str, agent: Option<&str>) -> String {
    let who = agent.map_or_else(String::new, |agent| format!(" as {agent}"));
    format!("{why}; restarting the client{who} with a fresh context.")
}

/// The fresh client's hooks can't tell it what to continue with.
pub(super) const UNTOLD: &str = "could not tell the engine about the fresh client, so it does not know what to continue with. Run `substrate effort resume` in its session.";

pub(super) fn again(end: End, pause: Duration, n_failures: usize) -> String {
    format!(
        "the client {}; restarting it in {} s (failure {n_failures} of {MAX_FAILURES}, Ctrl+C ends this).",
        ended(end),
        pause.as_secs()
    )
}

pub(super) fn given_up(why: GiveUp, end: End) -> String {
    match why {
        GiveUp::TooManyRestarts => "the context kept filling up within 2 minutes, so the client is not restarted. Shrink what fills it from the start (files with directions, MCP servers, the dehydrated context), or set context.on_auto_compact = \"compact\".".to_owned(),
        GiveUp::TooManyFailures => format!(
            "the client {}, and failed {MAX_FAILURES} times within 10 minutes, so it is not restarted. Its own output above says why. Run it without `substrate run` to see more.",
            ended(end)
        ),
    }
}

pub(super) fn not_started(program: &str, error: &std::io::Error) -> String {
    format!("`{program}` could not be started: {error}")
}

fn ended(end: End) -> String {
    match end {
        End::Code(code) => format!("ended with code {code}"),
        End::Signal(signal) => format!("was killed by signal {signal}"),
    }
}
