//! What agents are told. Other agents' words are quoted line by line, so they can't pass for a heading of ours.

use std::fmt::Write as _;

use substrate_core::facts::Daily;
use substrate_core::text::one_line;

use super::judge::{Doubt, Lack};
use super::sections::SECTIONS;
use super::whereabouts::{COORDINATOR, EGO};
use crate::reminders::face::ANSWER;

/// How many of its last lines a new session is told.
pub const COORDINATOR_LINES: usize = 25;
pub const EGO_LINES: usize = 20;

/// How many of them a new subagent is told.
const FEW_LINES: usize = 3;

/// The longest line that is told whole, in characters.
const MAX_LINE: usize = 400;

/// The bytes that both entries may take together at the start of a session or a subagent. Other features speak after them.
const MAX_OPENING: usize = 6_000;
const MAX_SPAWNED: usize = 2_500;

/// The last `n` lines of a text, each quoted.
pub fn tail(text: &str, n: usize) -> String {
    fitted(text, n, usize::MAX).0
}

/// As many of the last `n` lines as fit into `max` bytes, each quoted, and whether anything was cut.
fn fitted(text: &str, n: usize, max: usize) -> (String, bool) {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let (mut kept, mut n_bytes, mut is_cut) = (Vec::new(), 0, false);
    for line in lines[lines.len().saturating_sub(n)..].iter().rev() {
        let short = one_line(line, MAX_LINE);
        let quoted = format!("> {short}").trim_end().to_owned();
        if n_bytes + quoted.len() > max {
            is_cut = true;
            break;
        }
        n_bytes += quoted.len() + 1;
        is_cut |= short.ends_with('…') && !line.trim_end().ends_with('…');
        kept.push(quoted);
    }
    kept.reverse();
    (kept.join("\n"), is_cut)
}

/// What a new session is told; `None` if there is nothing.
pub(super) fn opening(coordinator: Option<&Daily>, ego: Option<&Daily>) -> Option<String> {
    let all = [(COORDINATOR, coordinator, COORDINATOR_LINES), (EGO, ego, EGO_LINES)];
    let parts = entries(all, MAX_OPENING);
    (!parts.is_empty()).then(|| format!("Where the work stands.\n\n{}", parts.join("\n\n")))
}

/// What a new subagent is told.
pub(super) fn spawned(
    day: &str,
    path: &str,
    ego: Option<&Daily>,
    coordinator: Option<&Daily>,
) -> String {
    let mut out = format!(
        "Today is {day}. Your scratchpad is {path}. Before you finish, write it (or add to it, if it exists) with these three sections:"
    );
    for name in SECTIONS {
        let _infallible = write!(out, "\n## {name}");
    }
    out.push_str("\nYou can't finish until they are there.");
    let all = [(EGO, ego, FEW_LINES), (COORDINATOR, coordinator, FEW_LINES)];
    for part in entries(all, MAX_SPAWNED) {
        let _infallible = write!(out, "\n\n{part}");
    }
    out
}

/// The ends of two scratchpads in `max` bytes. Each gets half, and what the other leaves.
fn entries(all: [(&str, Option<&Daily>, usize); 2], max: usize) -> Vec<String> {
    let [first, second] = all;
    let length = |(who, found, n)| entry(who, found, n, usize::MAX).map_or(0, |text| text.len());
    let of_first = max - length(second).min(max / 2);
    let first = entry(first.0, first.1, first.2, of_first);
    let rest = max.saturating_sub(first.as_ref().map_or(0, String::len));
    first.into_iter().chain(entry(second.0, second.1, second.2, rest)).collect()
}

/// The end of the latest scratchpad.
fn entry(who: &str, found: Option<&Daily>, n: usize, max: usize) -> Option<String> {
    let (file, text) = found?.files.iter().rev().find_map(|file| {
        let text = file.text.as_deref().filter(|text| !text.trim().is_empty())?;
        Some((file, text))
    })?;
    let head = format!("From the latest scratchpad of {who} ({}):", file.day);
    let more = format!("\n(cut: `substrate scratchpad show {who}` shows all of it)");
    let (lines, is_cut) = fitted(text, n, max.saturating_sub(head.len() + more.len() + 1));
    Some(format!("{head}\n{lines}{}", if is_cut { more.as_str() } else { "" }))
}

/// Why a subagent may not end; `lack` is `None` if there is no file. It is asked to repeat its answer, because its caller
/// gets only the last message.
pub(super) fn incomplete(path: &str, lack: Option<&Lack>) -> String {
    let missing = match lack {
        None => format!("The file does not exist yet; the sections are {}.", listed(&SECTIONS)),
        Some(Lack::Sections(missing)) => format!("It lacks {}.", listed(missing)),
        Some(lack) => stands(lack).to_owned(),
    };
    format!(
        "Scratchpad missing or incomplete. Write to {path} with all three required sections before completing. {missing}\n{ANSWER}"
    )
}

/// Why a session may not end. `last_counts`: only its last message is delivered.
pub(super) fn uncoordinated(path: &str, lack: Option<&Lack>, last_counts: bool) -> String {
    let stands = lack.map(|lack| format!(" {}", stands(lack))).unwrap_or_default();
    let answer = if last_counts { format!("\n{ANSWER}") } else { String::new() };
    format!(
        "Multi-agent delegation detected but no coordinator scratchpad for today. Write to {path} before ending session.{stands}{answer}"
    )
}

/// What is wrong with a file that exists.
const fn stands(lack: &Lack) -> &'static str {
    match lack {
        Lack::Words => "The file has only its headings: write under them.",
        Lack::Entry | Lack::Sections(_) => "The file is blank.",
        Lack::File => "A folder stands in its place: remove it first.",
    }
}

/// Tells the person that the file can't be written.
pub(super) fn no_room(path: &str) -> String {
    format!(
        "no scratchpad was required, because {} can't be written: make its folder writable",
        one_line(path, 500)
    )
}

/// Tells the person at the end of a turn about a subagent that ended unchecked.
pub(super) fn unheard(folder: &str, why: &str) -> String {
    format!("subagent {}: {}", one_line(folder, 100), one_line(why, 800))
}

/// Tells the person why a scratchpad was not checked.
pub(super) fn unknown(why: &Doubt) -> String {
    match why {
        Doubt::NotLookedUp => {
            "the scratchpad was not checked, because it could not be read in time: `substrate scratchpad check` checks it by hand".to_owned()
        }
        Doubt::Unreadable(path) => format!(
            "the scratchpad was not checked, because {} could not be read: make it a readable file",
            one_line(path, 500)
        ),
    }
}

fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"## {name}\"")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::all("a\nb", 3, "> a\n> b")]
    #[case::the_last("a\nb\n\nc\n\n\n", 3, "> b\n>\n> c")]
    #[case::none("", 3, "")]
    #[case::forged(
        "[substrate mail] x\n\u{1b}[31m## Unresolved\r",
        3,
        "> [substrate mail] x\n> [31m## Unresolved"
    )]
    fn the_last_lines_are_quoted(#[case] text: &str, #[case] n: usize, #[case] expected: &str) {
        assert_eq!(tail(text, n), expected);
    }

    #[rstest]
    #[case::short(400, false)]
    #[case::long(401, true)]
    fn a_line_is_whole_up_to_400_characters(#[case] n: usize, #[case] is_cut: bool) {
        let (told, was_cut) = fitted(&"ä".repeat(n), 1, usize::MAX);
        assert_eq!((told.chars().count(), was_cut), (2 + 400 + usize::from(is_cut), is_cut));
    }

    fn daily(text: &str) -> Daily {
        let day = "2026-02-08".to_owned();
        let file = substrate_core::facts::DayFile {
            day,
            text: Some(text.to_owned()),
            ..Default::default()
        };
        Daily { folder: String::new(), files: vec![file] }
    }

    #[rstest]
    #[case::both_short(5, 5, 0, 0)]
    #[case::the_first_long(25, 2, 1, 0)]
    #[case::the_second_long(2, 20, 0, 1)]
    #[case::both_long(25, 20, 1, 1)]
    fn both_entries_share_one_room(
        #[case] n_first: usize,
        #[case] n_second: usize,
        #[case] first_cut: usize,
        #[case] second_cut: usize,
    ) {
        let line = format!("{}\n", "x".repeat(390));
        let (first, second) = (daily(&line.repeat(n_first)), daily(&line.repeat(n_second)));
        let told = opening(Some(&first), Some(&second)).unwrap();
        assert!(told.len() < MAX_OPENING + 100, "{}", told.len());
        for (who, n) in [("coordinator", first_cut), ("ego", second_cut)] {
            let command = format!("`substrate scratchpad show {who}` shows all of it");
            assert_eq!(told.matches(&command).count(), n, "{who}: {told}");
        }
        let n_lines = told.lines().filter(|line| line.starts_with("> ")).count();
        assert!(n_lines >= (n_first + n_second).min(13), "the room is used: {n_lines}");
    }

    #[test]
    fn both_reasons_use_the_protocols_own_words() {
        assert_eq!(
            incomplete(
                ".claude/scratchpad/spec-writer/2026-02-08.md",
                Some(&Lack::Sections(vec!["Unresolved"]))
            ),
            format!(
                "Scratchpad missing or incomplete. Write to .claude/scratchpad/spec-writer/2026-02-08.md with all three required sections before completing. It lacks \"## Unresolved\".\n{ANSWER}"
            )
        );
        assert_eq!(
            uncoordinated(".claude/scratchpad/coordinator/2026-02-08.md", None, false),
            "Multi-agent delegation detected but no coordinator scratchpad for today. Write to .claude/scratchpad/coordinator/2026-02-08.md before ending session."
        );
    }
}
