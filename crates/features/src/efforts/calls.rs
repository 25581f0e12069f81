//! Before a tool call: the calls since the last log entry, and how full the context is.

use substrate_core::{Actor, Cx, DbError, Event, ToolCall, Wish};

use super::ops_windows::{self, Current, Standing};
use super::{pending, words};
use crate::context;
use crate::shell::{self, Simple};

/// How often in a row a call is refused. Whoever can't write a log entry (a subagent without a shell) is let go then.
pub(super) const MAX_DENIALS: i64 = 5;

/// The hooks of calls that run side by side come within so long of each other.
const SIDE_BY_SIDE_MS: i64 = 1_000;

/// From which percentage of the point where the client compacts which warning is due.
const LEVELS: [(i64, i64); 2] = [(90, 2), (80, 1)];

pub(super) fn before(
    cx: &mut Cx<'_>,
    event: &Event,
    call: &ToolCall,
    standing: &Standing,
    effort: &Current,
) -> Result<Vec<Wish>, DbError> {
    let is_ours = is_ours(call);
    let named = words::named(effort.id, &effort.skill);
    let n_calls = standing.n_calls.saturating_add(1);
    let is_late = effort.block_at > 0 && n_calls >= effort.block_at && !is_ours;
    if is_late && !standing.is_refused && insists(cx, standing)? {
        // A call that does not happen is not counted, and nothing else is said beside a refusal.
        return Ok(vec![words::refusal(n_calls, &named)]);
    }
    let mut wishes = Vec::new();
    if effort.has_news && matches!(event.actor, Actor::Main { .. }) {
        wishes.extend(pending::files(cx, effort.id)?);
    }
    if is_ours {
        return Ok(wishes);
    }
    let usage = context::face::usage(cx, event)?;
    let mut level = standing.level;
    // What a subagent must leave behind it says in its answer.
    if let (Actor::Main { .. }, Some(usage)) = (&event.actor, usage) {
        let reached = LEVELS.iter().find(|(from, _)| usage.percent_of_compaction >= *from);
        if let Some((_, reached)) = reached.filter(|(_, reached)| *reached > level) {
            level = *reached;
            wishes.push(words::overflow(level, usage, &named));
        }
    }
    let used = usage.map(|usage| usage.used);
    ops_windows::counted(cx.db, standing.window, (n_calls, standing.n_denied, level), used)?;
    if effort.warn_at > 0 && n_calls == effort.warn_at {
        wishes.push(words::warning(n_calls, effort.block_at, &named));
    }
    Ok(wishes)
}

/// Whether the call is refused. The calls of one message are refused together, which counts as once.
fn insists(cx: &mut Cx<'_>, standing: &Standing) -> Result<bool, DbError> {
    let before = ops_windows::denied(cx.db, standing.window)?;
    if before.is_some_and(|at| (0..SIDE_BY_SIDE_MS).contains(&cx.now.since(at))) {
        return Ok(true);
    }
    if standing.n_denied >= MAX_DENIALS {
        return Ok(false);
    }
    ops_windows::deny(cx.db, standing.window, cx.now)?;
    Ok(true)
}

/// Whether a call is the way out of a refusal.
pub(super) fn is_way_out(call: &ToolCall) -> bool {
    let logs = |simple: &Simple| {
        simple.words.windows(2).any(|pair| pair[0].text == "effort" && pair[1].text == "log")
    };
    is_ours(call)
        && call.command.as_deref().is_some_and(|line| shell::read(line).commands.iter().any(logs))
}

/// Commands that may stand beside one of ours in a line.
const HARMLESS: [&str; 6] = ["cd", "echo", "printf", "cat", "true", ":"];

/// Where output may go without a file being written.
const NOWHERE: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// Whether a call is a command of Substrate, and nothing else: the way out is always open.
pub(super) fn is_ours(call: &ToolCall) -> bool {
    let Some(line) = call.command.as_deref() else { return false };
    let read = shell::read(line);
    // What was not read may be anything, and a function any of the names below.
    if read.is_cut || !read.functions.is_empty() {
        return false;
    }
    let mut n_ours = 0;
    for simple in read.commands {
        if simple.writes.iter().any(|file| !NOWHERE.contains(&file.text.as_str())) {
            return false;
        }
        match simple.name() {
            "substrate" if runs_another(&simple) => return false,
            "substrate" => n_ours += 1,
            name if HARMLESS.contains(&name) => {}
            _ => return false,
        }
    }
    // Words that no shell could read are an agent's mistake, which the shell will tell; it may still be the way out.
    n_ours > 0 || line.trim_start().starts_with("substrate effort ")
}

/// `substrate run -- make`.
fn runs_another(simple: &Simple) -> bool {
    let mut words = simple.words.iter().map(|word| word.text.as_str());
    words.any(|word| word == "run") && words.any(|word| word == "--")
}
