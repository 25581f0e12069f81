//! Before a tool call: the calls since the last log entry, and how full the context is.

use substrate_core::{Actor, Cx, DbError, Event, ToolCall, Wish};

use super::ops_windows::{self, Current, Standing};
use super::{ops_pending, pending, words};
use crate::context;
use crate::shell::{self, Simple};

/// How often in a row a call of an actor is refused that has never used a shell. It has none, then: it was told each time
/// which command frees it.
pub(super) const MAX_DENIALS: i64 = 5;

/// How often an actor tries to log in vain before that counts as refused: by a rule, or because the command can't run.
pub(super) const MAX_TRIES: i64 = 3;

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
    let is_late = effort.block_at > 0 && n_calls >= effort.block_at;
    let mut wishes = Vec::new();
    if is_late && is_ours && is_way_out(call) {
        ops_windows::tries(cx.db, standing.window)?;
    } else if is_late && !is_ours {
        match judge(&late(cx, standing)?) {
            Answer::Refused { is_counted } => {
                if is_counted {
                    ops_windows::deny(cx.db, standing.window, cx.now)?;
                }
                // A call that does not happen is not counted, and nothing else is said beside a refusal.
                return Ok(vec![words::refusal(n_calls, &named)]);
            }
            Answer::Goes(why) if !standing.is_let_go => {
                wishes.push(let_go(cx, standing, effort, why)?);
            }
            Answer::Goes(_) => {}
        }
    }
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

/// What is known of an actor that has to log before its next call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Late {
    pub(super) has_shell: bool,
    /// Its way out was put before a person, or refused by the client.
    pub(super) is_refused: bool,
    pub(super) n_tried: i64,
    pub(super) n_denied: i64,
    /// Another call of the same message was refused just now.
    pub(super) is_beside: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The calls of one message are refused together, which counts as once.
    Refused { is_counted: bool },
    /// It can't log, and why.
    Goes(Why),
}

/// Why an actor goes on without a log entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    NotPermitted,
    InVain,
    NoShell,
}

/// Whoever can log is refused until it does.
pub(super) const fn judge(late: &Late) -> Answer {
    if late.is_refused {
        return Answer::Goes(Why::NotPermitted);
    }
    if late.n_tried >= MAX_TRIES {
        return Answer::Goes(Why::InVain);
    }
    if late.is_beside {
        return Answer::Refused { is_counted: false };
    }
    if !late.has_shell && late.n_denied >= MAX_DENIALS {
        return Answer::Goes(Why::NoShell);
    }
    Answer::Refused { is_counted: true }
}

fn late(cx: &mut Cx<'_>, standing: &Standing) -> Result<Late, DbError> {
    let before = ops_windows::denied(cx.db, standing.window)?;
    Ok(Late {
        has_shell: standing.has_shell,
        is_refused: standing.is_refused,
        n_tried: standing.n_tried,
        n_denied: standing.n_denied,
        is_beside: before.is_some_and(|at| (0..SIDE_BY_SIDE_MS).contains(&cx.now.since(at))),
    })
}

/// Told to the person and noted with the effort, once until the next entry.
fn let_go(
    cx: &mut Cx<'_>,
    standing: &Standing,
    effort: &Current,
    why: Why,
) -> Result<Wish, DbError> {
    ops_windows::let_go(cx.db, standing.window)?;
    let who = cx.who.as_ref().map(substrate_core::Who::address).unwrap_or_default();
    let text = words::let_go(&who, &words::named(effort.id, &effort.skill), why);
    ops_pending::say(cx.db, effort.id, &who, "let go", &text, cx.now)?;
    Ok(Wish::Notice { text })
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
