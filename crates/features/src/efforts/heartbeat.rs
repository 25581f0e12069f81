//! Before a tool call: counts the calls since the last log entry, and checks how full the context is.

use substrate_core::{Actor, Cx, DbError, Event, ToolCall, Who, Wish};

use super::ops::messages;
use super::ops::windows::{self, ActiveEffort, OpenWindow};
use super::{pending, words};
use crate::context;
use crate::shell::{self, Simple};

/// After this many refusals in a row, an actor that has never used a shell is assumed to have none. Each refusal told it
/// which command to run.
pub(super) const MAX_DENIALS: i64 = 5;

/// After this many attempts to log that recorded nothing, a rule refuses the command or it can't run.
pub(super) const MAX_TRIES: i64 = 3;

/// The hooks of calls that run in parallel arrive within this time of each other.
const SIDE_BY_SIDE_MS: i64 = 1_000;

/// The warnings, by the percentage of the point where the client compacts.
const LEVELS: [(i64, i64); 2] = [(90, 2), (80, 1)];

pub(super) fn before(
    cx: &mut Cx<'_>,
    event: &Event,
    call: &ToolCall,
    window: &OpenWindow,
    effort: &ActiveEffort,
) -> Result<Vec<Wish>, DbError> {
    let is_ours = is_ours(call);
    let named = words::named(effort.id, &effort.skill);
    let n_calls = window.n_calls.saturating_add(1);
    let is_late = effort.block_at > 0 && n_calls >= effort.block_at;
    let mut wishes = Vec::new();
    if is_late && is_ours && is_way_out(call) {
        windows::tries(cx.db, window.id)?;
    } else if is_late && !is_ours {
        match judge(&late(cx, window)?) {
            LateAnswer::Refuse { is_counted } => {
                if is_counted {
                    windows::deny(cx.db, window.id, cx.now)?;
                }
                // A refused call is not counted, and a refusal carries nothing else.
                return Ok(vec![words::refusal(n_calls, &named)]);
            }
            LateAnswer::LetGo(why) if !window.is_let_go => {
                wishes.push(let_go(cx, window, effort, why)?);
            }
            LateAnswer::LetGo(_) => {}
        }
    }
    if effort.has_news && matches!(event.actor, Actor::Main { .. }) {
        wishes.extend(pending::files(cx, effort.id)?);
    }
    if is_ours {
        return Ok(wishes);
    }
    let usage = context::face::usage(cx, event)?;
    let mut level = window.level;
    // A subagent leaves what it knows in its answer.
    if let (Actor::Main { .. }, Some(usage)) = (&event.actor, usage) {
        let reached = LEVELS.iter().find(|(from, _)| usage.percent_of_compaction >= *from);
        if let Some((_, reached)) = reached.filter(|(_, reached)| *reached > level) {
            level = *reached;
            wishes.push(words::overflow(level, usage, &named));
        }
    }
    let used = usage.map(|usage| usage.used);
    windows::counted(cx.db, window.id, (n_calls, window.n_denied, level), used)?;
    if effort.warn_at > 0 && n_calls == effort.warn_at {
        wishes.push(words::warning(n_calls, effort.block_at, &named));
    }
    Ok(wishes)
}

/// An actor that has to log before its next call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LateActor {
    pub(super) has_shell: bool,
    /// Its log command was put before a person, or the client refused it.
    pub(super) is_refused: bool,
    pub(super) n_tried: i64,
    pub(super) n_denied: i64,
    /// Another call of the same message was refused a moment ago.
    pub(super) is_beside: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LateAnswer {
    /// Parallel calls of one message are refused together, and count once.
    Refuse { is_counted: bool },
    /// The actor can't log, so it may go on.
    LetGo(CantLog),
}

/// Why an actor goes on without a log entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CantLog {
    NotPermitted,
    InVain,
    NoShell,
}

/// An actor that can log is refused until it does.
pub(super) const fn judge(late: &LateActor) -> LateAnswer {
    if late.is_refused {
        return LateAnswer::LetGo(CantLog::NotPermitted);
    }
    if late.n_tried >= MAX_TRIES {
        return LateAnswer::LetGo(CantLog::InVain);
    }
    if late.is_beside {
        return LateAnswer::Refuse { is_counted: false };
    }
    if !late.has_shell && late.n_denied >= MAX_DENIALS {
        return LateAnswer::LetGo(CantLog::NoShell);
    }
    LateAnswer::Refuse { is_counted: true }
}

fn late(cx: &mut Cx<'_>, window: &OpenWindow) -> Result<LateActor, DbError> {
    let before = windows::denied(cx.db, window.id)?;
    Ok(LateActor {
        has_shell: window.has_shell,
        is_refused: window.is_refused,
        n_tried: window.n_tried,
        n_denied: window.n_denied,
        is_beside: before.is_some_and(|at| (0..SIDE_BY_SIDE_MS).contains(&cx.now.since(at))),
    })
}

/// Tells the person and notes it with the effort, once until the next entry.
fn let_go(
    cx: &mut Cx<'_>,
    window: &OpenWindow,
    effort: &ActiveEffort,
    why: CantLog,
) -> Result<Wish, DbError> {
    windows::let_go(cx.db, window.id)?;
    let who = cx.who.as_ref().map(Who::address).unwrap_or_default();
    let text = words::let_go(&who, &words::named(effort.id, &effort.skill), why);
    messages::say(cx.db, effort.id, &who, "let go", &text, cx.now)?;
    Ok(Wish::Notice { text })
}

/// Whether a call logs, which is the way out of a refusal.
pub(super) fn is_way_out(call: &ToolCall) -> bool {
    let logs = |simple: &Simple| {
        simple.words.windows(2).any(|pair| pair[0].text == "effort" && pair[1].text == "log")
    };
    is_ours(call)
        && call.command.as_deref().is_some_and(|line| shell::read(line).commands.iter().any(logs))
}

/// Commands that may stand in one line with ours.
const HARMLESS: [&str; 6] = ["cd", "echo", "printf", "cat", "true", ":"];

/// Where output may go without a file being written.
const NOWHERE: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// Whether a call runs Substrate's commands and nothing else. Such a call is always let through.
pub(super) fn is_ours(call: &ToolCall) -> bool {
    let Some(line) = call.command.as_deref() else { return false };
    let read = shell::read(line);
    // The part that was cut off may hold anything, and a function may shadow any of the names below.
    if read.is_cut || !read.functions.is_empty() {
        return false;
    }
    let mut n_ours = 0;
    for simple in &read.commands {
        if simple.writes.iter().any(|file| !NOWHERE.contains(&file.text.as_str())) {
            return false;
        }
        match simple.name() {
            "substrate" if runs_another(simple) => return false,
            "substrate" => n_ours += 1,
            name if HARMLESS.contains(&name) => {}
            _ => return false,
        }
    }
    // The shell will report a syntax error itself. The agent may still have meant to log.
    n_ours > 0 || line.trim_start().starts_with("substrate effort ")
}

/// `substrate run -- make`.
fn runs_another(simple: &Simple) -> bool {
    let mut words = simple.words.iter().map(|word| word.text.as_str());
    words.any(|word| word == "run") && words.any(|word| word == "--")
}
