//! Before a tool call: the calls since the last log entry, and how full the context is.

use substrate_core::{Actor, Cx, DbError, Event, ToolCall, Wish};

use super::ops_windows::{self, Current, Standing};
use super::{pending, words};
use crate::context;
use crate::shell::{self, Simple};

/// How often in a row a call is refused. Whoever can't write a log entry (a subagent without a shell) is let go then.
pub(super) const MAX_DENIALS: i64 = 5;

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
    let may_insist = !standing.is_refused && standing.n_denied < MAX_DENIALS;
    if is_late && may_insist {
        // A call that does not happen is not counted, and nothing else is said beside a refusal.
        let counts = (standing.n_calls, standing.n_denied + 1, standing.level);
        ops_windows::counted(cx.db, standing.window, counts, None)?;
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

/// Whether a call is a command of Substrate, and nothing else: the way out is always open.
pub(super) fn is_ours(call: &ToolCall) -> bool {
    let Some(line) = call.command.as_deref() else { return false };
    let mut n_ours = 0;
    for simple in shell::read(line).commands {
        match simple.name() {
            "substrate" => n_ours += 1,
            name if HARMLESS.contains(&name) => {}
            _ => return false,
        }
    }
    // Words that no shell could read are an agent's mistake, which the shell will tell; it may still be the way out.
    n_ours > 0 || line.trim_start().starts_with("substrate effort ")
}
