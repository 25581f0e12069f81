//! The fleet for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};
use substrate_core::Timestamp;
use substrate_core::text::one_line;
use substrate_core::time::Ago;

use super::status::Status;
use super::view::{FleetRow, View};

/// The longest words of one line.
const MAX_WORDS: usize = 72;

pub(super) fn text(view: &View, now: Timestamp) -> String {
    let wide = view.lines.iter().map(|line| line.address().chars().count()).max().unwrap_or(0);
    let is_mixed = view.lines.windows(2).any(|pair| pair[0].seat.client != pair[1].seat.client);
    let part = |title: &str, wanted: &dyn Fn(&FleetRow) -> bool| {
        let lines: String = view
            .lines
            .iter()
            .filter(|line| wanted(line))
            .map(|line| one(line, wide, is_mixed, now))
            .collect();
        if lines.is_empty() { String::new() } else { format!("{title}\n{lines}") }
    };
    let mail = match view.n_unread {
        0 => String::new(),
        n => {
            let s = if n == 1 { "" } else { "s" };
            format!("  {:<9}  {n} unread message{s} for you: `substrate inbox`\n", "mail")
        }
    };
    let mut yours = part("Needs you", &FleetRow::needs_you);
    if yours.is_empty() && !mail.is_empty() {
        yours = "Needs you\n".to_owned();
    }
    let is = |statuses: &'static [Option<Status>]| {
        move |line: &FleetRow| statuses.contains(&line.status)
    };
    let parts = [
        format!("{yours}{mail}"),
        part("At work", &is(&[Some(Status::Working)])),
        part("Idle", &is(&[Some(Status::Done), Some(Status::Checked)])),
        part("Gone", &is(&[None])),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return "No agents yet. An agent appears here with its first event.\n".to_owned();
    }
    parts.join("\n")
}

/// As much as a terminal can show at once, from the top: what needs a person is there.
pub(super) fn fitted(text: &str, rows: usize, columns: usize) -> String {
    let n_lines = text.lines().count();
    // The cursor stands below the last line.
    let room = rows.saturating_sub(1).max(1);
    let n_shown = if n_lines <= room { n_lines } else { room.saturating_sub(1) };
    let mut out = String::new();
    for line in text.lines().take(n_shown) {
        let _infallible = writeln!(out, "{}", narrowed(line, columns));
    }
    if n_shown < n_lines {
        let rest = format!("… and {} more lines: `substrate fleet`", n_lines - n_shown);
        let _infallible = writeln!(out, "{}", narrowed(&rest, columns));
    }
    out
}

/// The longest prefix of a line that fits. East Asian letters and emoji take two columns.
fn narrowed(line: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in line.char_indices() {
        used += if c >= '\u{1100}' && !matches!(c, '\u{1e00}'..='\u{2e7f}') { 2 } else { 1 };
        if used > columns {
            return &line[..at];
        }
    }
    line
}

fn one(line: &FleetRow, wide: usize, is_mixed: bool, now: Timestamp) -> String {
    let project = line.seat.project.rsplit('/').next().unwrap_or_default();
    let since = Ago(now.since(line.since)).to_string();
    let mut out = format!(
        "  {:<9}  {:<wide$}  {since:>4}  {:<16}",
        line.shown(),
        line.address(),
        one_line(project, 16)
    );
    if is_mixed {
        let _infallible = write!(out, "  {:<11}", one_line(&line.seat.client, 11));
    }
    for words in words(line, now) {
        let _infallible = write!(out, "  {words}");
    }
    format!("{}\n", out.trim_end())
}

fn words(line: &FleetRow, now: Timestamp) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(limit) = line.limit {
        out.push(limit.words(now));
    }
    if let Some(effort) = &line.effort {
        out.push(one_line(&effort.label(), 48));
    }
    let what = match (&line.tool, line.status) {
        (Some(tool), _) => tool,
        (None, Some(Status::Working)) => &line.task,
        (None, _) => &line.why,
    };
    if !what.is_empty() {
        out.push(one_line(what, MAX_WORDS));
    }
    if let Some(silent) = line.silent_ms {
        out.push(format!("(silent {})", Ago(silent)));
    }
    if line.seat.is_waiting {
        // A held turn waits by itself. Otherwise a waiter beside the session starts the next turn.
        let words = if line.seat.has_stopped { "(mail wakes it)" } else { "(polling for mail)" };
        out.push(words.to_owned());
    }
    if let Some(resume) = &line.resume {
        out.push(format!("`{resume}`"));
    }
    let n_unread = (line.n_unread > 0).then(|| format!("{} unread", line.n_unread));
    let n_held = (line.n_held > 0).then(|| format!("{} held", line.n_held));
    let counted: Vec<String> = n_unread.into_iter().chain(n_held).collect();
    if !counted.is_empty() {
        out.push(format!("[{}]", counted.join(", ")));
    }
    out
}

pub(super) fn json(view: &View) -> Value {
    json!({
        "actors": view.lines.iter().map(one_json).collect::<Vec<_>>(),
        "unread_for_you": view.n_unread,
    })
}

pub(super) fn one_json(line: &FleetRow) -> Value {
    json!({
        "address": line.address(),
        "agent": line.seat.name,
        "subagent": (!line.seat.sub.is_empty()).then_some(&line.seat.sub),
        "session": line.seat.session,
        "actor": line.seat.actor,
        "project": line.seat.project,
        "client": line.seat.client,
        "status": line.word(),
        "idle": line.is_idle(),
        "needs_you": line.needs_you(),
        "why": line.why,
        "limit": line.limit.map(|hit| json!({"kind": hit.limit.name(), "until_ms": hit.until.map(|at| at.0)})),
        "tool": line.tool,
        "task": line.task,
        "since_ms": line.since.0,
        "last_ms": line.seat.last.0,
        "silent_ms": line.silent_ms,
        "waiting": line.seat.is_waiting,
        "unread": line.n_unread,
        "held_files": line.n_held,
        "effort": line.effort.as_ref().map(|effort| json!({"id": effort.id, "skill": effort.skill, "phase": effort.phase})),
        "resume": line.resume,
        "pane": line.pane.as_ref().map(|pane| &pane.id),
        "pane_socket": line.pane.as_ref().map(|pane| &pane.socket),
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::all("a\nb\n", 3, 80, "a\nb\n")]
    #[case::the_top("a\nb\nc\nd\n", 4, 80, "a\nb\n… and 2 more lines: `substrate fleet`\n")]
    #[case::narrow("abcdef\nb\n", 10, 4, "abcd\nb\n")]
    #[case::wide_letters("漢字漢字\n", 10, 5, "漢字\n")]
    #[case::accents("ünïcode\n", 10, 4, "ünïc\n")]
    #[case::tiny("a\nb\n", 1, 80, "… and 2 more lines: `substrate fleet`\n")]
    #[case::nothing("", 10, 10, "")]
    fn it_fits_the_terminal(
        #[case] text: &str,
        #[case] rows: usize,
        #[case] columns: usize,
        #[case] expected: &str,
    ) {
        assert_eq!(fitted(text, rows, columns), expected);
    }
}
