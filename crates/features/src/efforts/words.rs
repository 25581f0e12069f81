//! The words. What agents, people and files say is quoted line by line, so it can't pass for a heading of ours.

use std::fmt::Write as _;

use substrate_core::text::{self, cut, one_line, shell_word};
use substrate_core::time::Ago;
use substrate_core::{Settings, Timestamp, Wish};

use super::config::capitals;
use super::heartbeat::CantLog;
use super::ops::messages::{Message, Pending, PendingKind};
use super::ops::{Effort, Task};
use super::pending::Text;
use super::start::Beginning;
use crate::context::face::Usage;

/// The bytes that a payload and an injection may take. Together they leave room for other features.
const MAX_PAYLOAD: usize = 4_000;
const MAX_INJECTED: usize = 1_500;

/// A file that could be told in fewer bytes than this is only named.
const MIN_FILE: usize = 300;

/// How many log entries are told.
const MAX_ENTRIES: usize = 3;

pub(super) fn log_name(effort: &Effort) -> String {
    artifact_name(effort.ordinal, &effort.skill, "LOG")
}

/// `1_BRAINSTORM_LOG.md`.
pub(super) fn artifact_name(ordinal: i64, skill: &str, what: &str) -> String {
    format!("{ordinal}_{}_{what}.md", capitals(skill))
}

/// `effort 3 (brainstorm)`.
pub(super) fn named(id: i64, skill: &str) -> String {
    format!("effort {id} ({skill})")
}

/// `2026-11-16 03:20:05 UTC`
pub(super) fn moment(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| String::new(), |at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// `2026-11-16`
pub(super) fn day(at: Timestamp) -> String {
    moment(at).split(' ').next().unwrap_or_default().to_owned()
}

/// An entry in the log file.
pub(super) fn entry(at: Timestamp, who: &str, phase: &str, text: &str) -> String {
    let phase = if phase.is_empty() { String::new() } else { format!(" · {phase}") };
    format!("## {} · {who}{phase}\n\n{}\n\n", moment(at), text.trim_end())
}

/// As much of a text as fits, quoted, and whether it was cut.
fn quoted(text: &str, max: usize) -> (String, bool) {
    let kept = cut(text.trim(), max);
    (text::quoted(kept), kept.len() < text.trim().len())
}

/// What a window is told about the effort it goes on with.
pub(super) fn briefing(effort: &Effort, logged: &[Message], goes_on: bool) -> String {
    let Effort { id, skill, mode, phase, task, config, block_at, .. } = effort;
    let mode = if mode.is_empty() { String::new() } else { format!(", mode `{mode}`") };
    let mut out = format!("You are working on effort {id}: skill `{skill}`{mode}");
    if !phase.is_empty() {
        let _infallible = write!(out, ", phase `{phase}`");
        if config.phases.len() > 1 {
            let _infallible = write!(out, " ({})", config.phases.join(" → "));
        }
    }
    let _infallible = write!(out, ". Its task is `{}`.", one_line(&task.relative, 200));
    let files: Vec<String> = artifacts(effort).iter().map(|path| format!("`{path}`")).collect();
    if goes_on && !has_payload(effort) {
        let left = match &effort.payload {
            // It was told once, to another window.
            Some(_) => format!(
                "; what it left was told before (`substrate effort show {id} --dehydrated` shows it)"
            ),
            None => " and left no dehydrated context".to_owned(),
        };
        let _infallible = write!(
            out,
            "\nAn earlier session worked on it{left}. Read {} before you go on.",
            files.join(", ")
        );
    } else {
        let _infallible = write!(out, "\nArtifacts: {}.", files.join(", "));
    }
    for message in logged.iter().rev().take(MAX_ENTRIES).rev() {
        let _infallible =
            write!(out, "\n> {} {}", moment(message.at), one_line(&message.body, 300));
    }
    if *block_at > 0 {
        let _infallible = write!(
            out,
            "\nRun `substrate effort log \"…\"` at least every {} tool calls.",
            (block_at - 1).max(1)
        );
    }
    out
}

/// Tells the model that running the skill began an effort.
pub(super) fn begun(id: i64, new: &Beginning, block_at: i64, before: Option<&Effort>) -> String {
    let mut out = format!("Effort {id} has begun: skill `{}`", new.skill);
    if !new.phase().is_empty() {
        let _infallible = write!(out, ", phase `{}`", new.phase());
    }
    let _infallible = write!(
        out,
        ", task `{}`. Log what you do, find and decide with `substrate effort log \"…\"`{}. `substrate effort finish` ends it.",
        one_line(&new.task.relative, 200),
        every(block_at),
    );
    if let Some(before) = before {
        let _infallible = write!(out, " {} stays open.", capital(&named(before.id, &before.skill)));
    }
    out
}

/// The skill is run while one of its efforts is open.
pub(super) fn is_open(now: Timestamp, effort: &Effort) -> String {
    let Effort { id, skill, .. } = effort;
    format!(
        "Effort {id} of skill `{skill}`{} is open, last used {}. Ask the user whether to continue it (`substrate effort resume {id}`) or start a new one (`substrate effort start {skill}`), and run that command first.",
        whereabouts(effort),
        ago(now, effort.used),
    )
}

pub(super) fn cannot_begin(why: &str) -> String {
    format!(
        "No effort has begun, because {why}. Begin one by hand with `substrate effort start SKILL --task FOLDER`."
    )
}

/// Offers unfinished work to a session that has none.
pub(super) fn offer(now: Timestamp, effort: &Effort, owner: &str) -> String {
    let Effort { id, skill, .. } = effort;
    format!(
        "Unfinished here: effort {id} of skill `{skill}`{}, which {owner} left {}. If the user wants to continue it, `substrate effort resume {id}` takes it over and tells you what {owner} left.",
        whereabouts(effort),
        ago(now, effort.used),
    )
}

/// Subject and text for the agent whose effort another one has taken over.
pub(super) fn taken(effort: &Effort, by: &str) -> (String, String) {
    let Effort { id, skill, .. } = effort;
    (
        format!("Effort {id} is now {by}'s"),
        format!(
            "{by} took over effort {id} (skill {skill}, task {}) while you were gone. Don't work on it. `substrate effort list` shows what is open, and `substrate send --to {by}` reaches {by}.",
            one_line(&effort.task.relative, 200)
        ),
    )
}

/// Another agent is running and works on the effort.
pub(super) fn is_busy(owner: &str, effort: i64) -> String {
    format!("{owner} is running and works on effort {effort}")
}

/// ` (phase `mend`) in `tasks/door``
fn whereabouts(effort: &Effort) -> String {
    let phase = match effort.phase.as_str() {
        "" => String::new(),
        phase => format!(" (phase `{phase}`)"),
    };
    format!("{phase} in `{}`", one_line(&effort.task.relative, 200))
}

/// ` at least every 9 tool calls`
fn every(block_at: i64) -> String {
    match block_at {
        0 => String::new(),
        block_at => format!(" at least every {} tool calls", (block_at - 1).max(1)),
    }
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The session was started for an effort that it can't have.
pub(super) fn not_wanted(why: &str) -> String {
    format!(
        "This session was started for an effort ($SUBSTRATE_EFFORT), but {why}. `substrate effort list` shows the open ones."
    )
}

/// The hint of an empty list.
pub(super) fn how_to_begin(settings: &Settings) -> &'static str {
    match settings.on("efforts.on") {
        true => "`substrate effort start SKILL` begins an effort and its task.",
        false => "Efforts are switched off (`efforts.on`).",
    }
}

/// The paths of an effort's artifacts below the working tree.
pub(super) fn artifacts(effort: &Effort) -> Vec<String> {
    let names = std::iter::once(log_name(effort)).chain(effort.config.artifacts.iter().cloned());
    names.map(|name| one_line(&format!("{}/{name}", effort.task.relative), 240)).collect()
}

fn has_payload(effort: &Effort) -> bool {
    effort.payload.is_some() && effort.payload_told.is_none()
}

/// What an earlier window left.
pub(super) fn payload(effort: &Effort, text: &str) -> String {
    let (quote, is_cut) = quoted(text, MAX_PAYLOAD);
    let rest = match is_cut {
        true => {
            format!("\n(cut: `substrate effort show {} --dehydrated` shows all of it)", effort.id)
        }
        false => String::new(),
    };
    format!(
        "Dehydrated context of effort {}, which an earlier session left for you (told once):{quote}{rest}",
        effort.id
    )
}

/// Something that waits for an effort. Of a file, as much as fits.
pub(super) fn pending(effort: i64, pending: &Pending, file: Option<&Text>, room: usize) -> String {
    let Pending { id, kind, body, who } = pending;
    match kind {
        PendingKind::Inject => {
            let (quote, is_cut) = quoted(body, MAX_INJECTED);
            let rest = if is_cut {
                format!("\n(cut: `substrate effort show {effort} --messages` shows all of it)")
            } else {
                String::new()
            };
            let who = one_line(who, 80);
            format!("For effort {effort}, from {who} (no. {id}):{quote}{rest}")
        }
        PendingKind::Preload => {
            let head = format!("File `{}` for effort {effort} (no. {id}):", one_line(body, 240));
            let content = content(body, file, room.saturating_sub(head.len()));
            head + &content
        }
    }
}

/// A file that every window of the effort begins with, whole if it fits.
pub(super) fn preloaded(path: &str, file: Option<&Text>, room: usize) -> String {
    let head = format!("File `{}`:", one_line(path, 240));
    let content = content(path, file, room.saturating_sub(head.len()));
    head + &content
}

fn content(path: &str, file: Option<&Text>, room: usize) -> String {
    let Some(file) = file else {
        return " can't be shown: it is gone, not text, or a link by now.".to_owned();
    };
    let whole = text::quoted(file.shown.trim());
    if file.is_whole && whole.len() <= room {
        return whole;
    }
    let command = format!("`cat {}`", shell_word(&one_line(path, 240)));
    if room < MIN_FILE {
        return format!(" no room for it here; {command} shows it.");
    }
    let end = format!("\n(cut: {command} shows all of it)");
    let kept = cut(&whole, room.saturating_sub(end.len()));
    // Keep whole lines, if there is more than one.
    let kept = kept
        .rsplit_once('\n')
        .map_or(kept, |(lines, _)| if lines.is_empty() { kept } else { lines });
    format!("{kept}{end}")
}

/// The directions that an earlier window was told.
pub(super) fn directions(paths: &[String]) -> String {
    let names: Vec<String> =
        paths.iter().take(12).map(|path| format!("`{}`", one_line(path, 240))).collect();
    format!(
        "An earlier session was told these directions of the project: {}. Read them before you edit files beside them.",
        names.join(", ")
    )
}

/// What a subagent is told.
pub(super) fn for_subagent(effort: &Effort) -> String {
    let Effort { id, skill, phase, task, block_at, config, .. } = effort;
    let phase = if phase.is_empty() { String::new() } else { format!(", phase `{phase}`") };
    let mut out = format!(
        "You are helping with effort {id} (skill `{skill}`{phase}), task `{}`. Log what you do, find and decide with `substrate effort log \"…\"`{}; it goes into `{}`.",
        one_line(&task.relative, 200),
        every(*block_at),
        log_name(effort)
    );
    if !config.log.is_empty() {
        let _infallible =
            write!(out, "\nWrite log entries like this:{}", text::quoted(&config.log));
    }
    out
}

/// What a summary must not lose.
pub(super) fn for_the_summary(effort: &Effort) -> String {
    let phase =
        if effort.phase.is_empty() { String::new() } else { format!(", phase {}", effort.phase) };
    format!(
        "Keep in the summary: the agent is working on effort {} (skill {}{phase}), and its log is `{}/{}`.",
        effort.id,
        effort.skill,
        one_line(&effort.task.relative, 200),
        log_name(effort)
    )
}

/// The line that goes with a prompt.
pub(super) fn status(now: Timestamp, effort: &Effort, n_calls: i64) -> String {
    let phase =
        if effort.phase.is_empty() { String::new() } else { format!(", phase {}", effort.phase) };
    format!(
        "{} · effort {} ({}{phase}) in `{}` · {n_calls} tool calls since the last log entry.",
        moment(now),
        effort.id,
        effort.skill,
        one_line(&effort.task.relative, 200)
    )
}

/// Idle teammates.
pub(super) fn idle(names: &[&str]) -> String {
    let are = if names.len() == 1 { "is" } else { "are" };
    let names: Vec<String> = names.iter().map(|name| one_line(name, 120)).collect();
    format!(
        "{} {are} idle now. `substrate fleet` shows what each agent is doing.",
        names.join(", ")
    )
}

/// Warns before calls are refused.
pub(super) fn warning(n_calls: i64, block_at: i64, effort: &str) -> Wish {
    let then = match block_at {
        0 => String::new(),
        block_at => format!("; call {block_at} will be refused without one"),
    };
    let text = format!(
        "{n_calls} tool calls of {effort} without a log entry{then}. Run `substrate effort log \"what you found, what comes next\"`."
    );
    Wish::context(text, None)
}

pub(super) fn refusal(n_calls: i64, effort: &str) -> Wish {
    Wish::Deny {
        rule: "heartbeat".to_owned(),
        reason: format!("This would be tool call {n_calls} of {effort} without a log entry."),
        next: "First log what you found and what comes next with `substrate effort log \"…\"`, then repeat the call.".to_owned(),
    }
}

/// Tells the person that an actor goes on without a log entry.
pub(super) fn let_go(who: &str, effort: &str, why: CantLog) -> String {
    let why = match why {
        CantLog::NotPermitted => "its `substrate effort log` was not permitted",
        CantLog::InVain => "it tried `substrate effort log` several times, and nothing was logged",
        CantLog::NoShell => "it has used no shell",
    };
    format!("{who} goes on with {effort} without a log entry: {why}.")
}

/// The context fills up. Level 1: time to dehydrate. Level 2: the last moment.
pub(super) fn overflow(level: i64, usage: Usage, effort: &str) -> Wish {
    let Usage { percent_of_window, percent_of_compaction, .. } = usage;
    let how = "`substrate effort dehydrate --body-file - <<'END'` with the goal, decisions, state, open questions, next steps and files, then `END`";
    let text = match level {
        1 => format!(
            "Your context is at {percent_of_compaction} % of the point where the client compacts it ({percent_of_window} % of the window). Leave the next session of {effort} what it must know: {how}."
        ),
        _ => format!(
            "Overflow: your context is at {percent_of_compaction} % of the point where the client compacts it. Before anything else, dehydrate {effort}: {how}."
        ),
    };
    Wish::context(text, None)
}

/// How long ago, for lists.
pub(super) fn ago(now: Timestamp, then: Timestamp) -> String {
    format!("{} ago", Ago(now.since(then)))
}

/// A task's title, or else its folder.
pub(super) fn task_title(task: &Task) -> String {
    let title = if task.title.is_empty() { &task.relative } else { &task.title };
    one_line(title, 120)
}
