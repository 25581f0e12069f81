//! Entries of the journal become lanes: a pure function.

use std::collections::HashMap;

use serde::Serialize;
use substrate_core::{Activity, Dialect, EventKind, ToolClass};

use crate::calls;
use crate::journal::face::Trace;

/// What one actor did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(in crate::fleet) struct Lane {
    /// The agent's name, and the actor's address. Filled in from the address book.
    pub(in crate::fleet) agent: String,
    pub(in crate::fleet) address: String,
    pub(in crate::fleet) session: String,
    pub(in crate::fleet) actor: String,
    /// Its first and its last entry of the span.
    pub(in crate::fleet) first_ms: i64,
    pub(in crate::fleet) last_ms: i64,
    pub(in crate::fleet) has_ended: bool,
    pub(in crate::fleet) n_calls: usize,
    pub(in crate::fleet) n_refused: usize,
    pub(in crate::fleet) bars: Vec<Bar>,
    pub(in crate::fleet) marks: Vec<Mark>,
}

/// A call, a dialog, a refusal or a wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(in crate::fleet) struct Bar {
    pub(in crate::fleet) kind: BarKind,
    pub(in crate::fleet) from_ms: i64,
    /// `None`: it goes on.
    pub(in crate::fleet) until_ms: Option<i64>,
    pub(in crate::fleet) tool: String,
    pub(in crate::fleet) text: String,
    pub(in crate::fleet) entry: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::fleet) enum BarKind {
    Read,
    Run,
    Edit,
    Dialog,
    Refused,
    /// It waits for a file.
    Wait,
}

/// A moment in a lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(in crate::fleet) struct Mark {
    pub(in crate::fleet) kind: MarkKind,
    pub(in crate::fleet) at_ms: i64,
    pub(in crate::fleet) text: String,
    pub(in crate::fleet) entry: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::fleet) enum MarkKind {
    Prompt,
    Compaction,
}

/// The command with which an agent waits for a file.
const WAITS: &str = "substrate locks wait";

/// The longest prompt in a picture, in characters.
const MAX_PROMPT: usize = 200;

/// The lanes of entries that come oldest first, each actor at its first entry.
pub(in crate::fleet) fn lanes(rows: &[Trace], dialects: &[&Dialect]) -> Vec<Lane> {
    let mut all = Building::default();
    for row in rows {
        all.add(row, dialects);
    }
    all.lanes
}

#[derive(Default)]
struct Building {
    lanes: Vec<Lane>,
    by_actor: HashMap<(String, String), usize>,
    /// Bars that are not closed: lane, call, bar.
    open: Vec<(usize, Option<String>, usize)>,
}

impl Building {
    fn add(&mut self, row: &Trace, dialects: &[&Dialect]) {
        let at = self.lane(row);
        self.lanes[at].last_ms = row.at_ms;
        let kind = EventKind::named(&row.event);
        match kind {
            EventKind::PreToolUse if !row.is_refused() => {
                let bar = call(row, dialects);
                self.lanes[at].n_calls += 1;
                self.begin(at, row.tool_use.clone(), bar);
            }
            EventKind::PermissionRequest | EventKind::Elicitation if !row.is_refused() => {
                let bar = Bar { kind: BarKind::Dialog, ..call(row, dialects) };
                self.begin(at, row.tool_use.clone(), bar);
            }
            EventKind::PostToolUse | EventKind::PostToolUseFailure => {
                self.end(at, row.at_ms, |id| id == row.tool_use.as_ref());
            }
            EventKind::PermissionDenied | EventKind::ElicitationResult => {
                self.end_dialogs(at, row.at_ms);
            }
            EventKind::Stop
            | EventKind::SubagentStop
            | EventKind::StopFailure
            | EventKind::SessionEnd
            | EventKind::SessionStart
            | EventKind::UserPromptSubmit => self.end(at, row.at_ms, |_| true),
            _ if row.event == Activity::IDLE => self.end(at, row.at_ms, |_| true),
            _ => {}
        }
        let lane = &mut self.lanes[at];
        if row.is_refused() {
            lane.n_refused += 1;
            let until_ms = Some(row.at_ms);
            lane.bars.push(Bar { kind: BarKind::Refused, until_ms, ..call(row, dialects) });
        }
        let mark = match kind {
            EventKind::UserPromptSubmit => MarkKind::Prompt,
            EventKind::PreCompact => MarkKind::Compaction,
            EventKind::SubagentStop | EventKind::SessionEnd => {
                lane.has_ended = !row.is_refused();
                return;
            }
            _ => return,
        };
        let text = substrate_core::text::one_line(&row.input, MAX_PROMPT);
        lane.marks.push(Mark { kind: mark, at_ms: row.at_ms, text, entry: row.id });
    }

    fn lane(&mut self, row: &Trace) -> usize {
        let key = (row.session.clone(), row.actor.clone());
        let next = self.lanes.len();
        let at = *self.by_actor.entry(key).or_insert(next);
        if at == next {
            self.lanes.push(Lane {
                session: row.session.clone(),
                actor: row.actor.clone(),
                first_ms: row.at_ms,
                ..Lane::default()
            });
        }
        at
    }

    fn begin(&mut self, lane: usize, id: Option<String>, bar: Bar) {
        self.open.push((lane, id, self.lanes[lane].bars.len()));
        self.lanes[lane].bars.push(bar);
    }

    /// Ends the bars of these calls, and the dialogs of the lane: one that goes on was answered.
    fn end(&mut self, lane: usize, at_ms: i64, is_it: impl Fn(Option<&String>) -> bool) {
        let bars = &mut self.lanes[lane].bars;
        self.open.retain(|(of, id, bar)| {
            let is_dialog = bars.get(*bar).is_some_and(|bar| bar.kind == BarKind::Dialog);
            let ends = *of == lane && (is_dialog || is_it(id.as_ref()));
            if let Some(bar) = bars.get_mut(*bar).filter(|_| ends) {
                bar.until_ms = Some(at_ms);
            }
            !ends
        });
    }

    fn end_dialogs(&mut self, lane: usize, at_ms: i64) {
        self.end(lane, at_ms, |_| false);
    }
}

/// The bar of a call that begins.
fn call(row: &Trace, dialects: &[&Dialect]) -> Bar {
    let tool = row.tool.as_deref().unwrap_or(&row.event);
    let dialect = dialects.iter().find(|dialect| dialect.client == row.client);
    let class = dialect.map_or(ToolClass::Other, |dialect| dialect.class_of(tool));
    let text = calls::short(dialects, &row.client, tool, &row.input);
    let kind = match class {
        ToolClass::Shell if text.contains(WAITS) => BarKind::Wait,
        ToolClass::Edit => BarKind::Edit,
        ToolClass::Shell | ToolClass::Agent | ToolClass::Skill => BarKind::Run,
        ToolClass::Read | ToolClass::Todo | ToolClass::Other => BarKind::Read,
    };
    Bar { kind, from_ms: row.at_ms, until_ms: None, tool: tool.to_owned(), text, entry: row.id }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use substrate_clients::DIALECTS;

    use super::*;

    /// `10 main Pre Bash a`: at 10 ms, an event of an actor, with a tool and the id of its call.
    fn trace(line: &str) -> Trace {
        let words: Vec<&str> = line.split(' ').collect();
        let (event, verdict) = match words[2] {
            "Pre" => ("PreToolUse", "none"),
            "Denied" => ("PreToolUse", "deny"),
            "Post" => ("PostToolUse", "none"),
            "Asks" => ("PermissionRequest", "none"),
            "Held" => ("Stop", "block"),
            other => (other, "none"),
        };
        let command = if words.get(3) == Some(&"Wait") { "substrate locks wait a" } else { "ls" };
        Trace {
            id: words[0].parse().unwrap(),
            at_ms: words[0].parse().unwrap(),
            client: "claude-code".to_owned(),
            session: "s".to_owned(),
            actor: words[1].to_owned(),
            event: event.to_owned(),
            tool: words.get(3).map(|tool| tool.replace("Wait", "Bash")),
            tool_use: words.get(4).map(|id| (*id).to_owned()),
            verdict: verdict.to_owned(),
            input: format!(r#"{{"command":"{command}"}}"#),
            ..Trace::default()
        }
    }

    #[rstest]
    #[case::whole(&["10 main Pre Bash a", "40 main Post Bash a"], "main Run 10-40")]
    #[case::goes_on(&["10 main Pre Bash a"], "main Run 10-")]
    #[case::side_by_side(
        &["10 main Pre Read a", "11 main Pre Edit b", "20 main Post Edit b", "30 main Post Read a"],
        "main Read 10-30, Edit 11-20"
    )]
    #[case::broken_off(&["10 main Pre Bash a", "30 main UserPromptSubmit"], "main Run 10-30")]
    #[case::refused(&["10 main Denied Bash a"], "main Refused 10-10")]
    #[case::held(&["10 main Held"], "main Refused 10-10")]
    #[case::asked(
        &["10 main Pre Bash a", "12 main Asks Bash a", "30 main Post Bash a"],
        "main Run 10-30, Dialog 12-30"
    )]
    #[case::waits(&["10 main Pre Wait a"], "main Wait 10-")]
    #[case::two_actors(
        &["10 main Pre Agent a", "12 sub SubagentStart", "14 sub Pre Bash b", "16 main Stop"],
        "main Run 10-16 | sub Run 14-"
    )]
    fn entries_become_bars(#[case] lines: &[&str], #[case] expected: &str) {
        let rows: Vec<Trace> = lines.iter().map(|line| trace(line)).collect();
        let bar = |bar: &Bar| {
            let until = bar.until_ms.map(|at| at.to_string()).unwrap_or_default();
            format!("{:?} {}-{until}", bar.kind, bar.from_ms)
        };
        let shown = lanes(&rows, &DIALECTS)
            .iter()
            .map(|lane| {
                let bars: Vec<String> = lane.bars.iter().map(bar).collect();
                format!("{} {}", lane.actor, bars.join(", "))
            })
            .collect::<Vec<_>>();
        assert_eq!(shown.join(" | "), expected);
    }

    #[test]
    fn prompts_and_compactions_are_marks() {
        let rows = ["10 main UserPromptSubmit", "20 main PreCompact", "30 main SessionEnd"];
        let rows: Vec<Trace> = rows.iter().map(|line| trace(line)).collect();
        let [lane] = &lanes(&rows, &DIALECTS)[..] else { panic!("one lane") };
        let marks: Vec<_> = lane.marks.iter().map(|mark| (mark.kind, mark.at_ms)).collect();
        assert_eq!(marks, [(MarkKind::Prompt, 10), (MarkKind::Compaction, 20)]);
        assert!(lane.has_ended);
        assert_eq!((lane.first_ms, lane.last_ms), (10, 30));
    }
}
