//! The page of one agent: its lanes, drawn as SVG, and its story. It shows what `substrate journal list --agent NAME` returns.

use askama::Template;
use substrate_core::text::one_line;
use substrate_core::time::parse_span;
use substrate_core::{
    Cx, Dialect, EventKind, Page, PageBody, PageRequest, Timestamp, ToolClass, VerbError,
};

use super::ops::{self, Filter, JournalRow};
use crate::identity::book::{self, Lookup};
use crate::page::{body, clock, in_query};

/// The most entries that one picture is made of.
const MAX_ENTRIES: i64 = 600;

/// The most entries of the story.
const MAX_STORY: usize = 60;

/// The spans that can be chosen.
const SPANS: [(&str, &str); 4] = [("15m", "15 min"), ("1h", "1 h"), ("6h", "6 h"), ("24h", "Day")];

/// The height of a lane, as in the stylesheet.
const LANE: usize = 64;

pub(super) const PAGE: Page =
    Page { path: "/agent", title: "An agent", nav: None, badge: None, render };

#[derive(Template)]
#[template(path = "journal/page/agent.html")]
struct AgentPage {
    who: String,
    to: String,
    n_entries: usize,
    from: String,
    until: String,
    spans: Vec<(&'static str, &'static str, bool)>,
    lanes: Vec<Lane>,
    ticks: Vec<(String, String)>,
    height: usize,
    story: Vec<StoryEntry>,
}

struct Lane {
    actor: String,
    name: String,
    n: usize,
    y: usize,
    bars: Vec<Bar>,
}

struct Bar {
    class: &'static str,
    x: String,
    width: String,
    title: String,
}

struct StoryEntry {
    id: i64,
    title: String,
    text: String,
    at: String,
    actor: String,
    class: &'static str,
    icon: &'static str,
}

/// The span that a picture shows.
#[derive(Clone, Copy)]
struct Span {
    from: i64,
    until: i64,
    tz_offset_s: i32,
}

impl Span {
    /// A moment in per cent of the width, in tenths.
    fn at(self, at_ms: i64) -> i64 {
        ((at_ms - self.from) * 1_000 / (self.until - self.from).max(1)).clamp(0, 1_000)
    }

    fn clock(self, at_ms: i64) -> String {
        clock(Timestamp(at_ms), self.tz_offset_s)
    }
}

fn tenths(n: i64) -> String {
    format!("{}.{}", n / 10, n % 10)
}

fn render(cx: &mut Cx<'_>, request: &PageRequest) -> Result<PageBody, VerbError> {
    let given = request.field("who").unwrap_or_default();
    let name = given.split('/').next().unwrap_or_default();
    let agent = match book::find(cx.db, name)? {
        Lookup::Found(found) | Lookup::Ended(found) => found,
        Lookup::Unknown { .. } => {
            return Err(VerbError::user(
                format!("there is no agent `{}`", one_line(name, 60)),
                "`substrate agent list` shows them",
            ));
        }
    };
    let word = request.field("span").filter(|span| SPANS.iter().any(|(known, _)| known == span));
    let word = word.unwrap_or("1h");
    let ms = parse_span(word).unwrap_or(3_600_000);
    let span =
        Span { from: cx.now.0 - ms, until: cx.now.0, tz_offset_s: request.caller.tz_offset_s };
    let filter = Filter {
        sessions: Some(book::sessions_of(cx.db, agent.agent)?),
        after: ops::id_before(cx.db, Timestamp(span.from))?,
        limit: MAX_ENTRIES,
        ..Filter::default()
    };
    let rows = ops::list(cx.db, &filter)?;
    let dialects = cx.world.dialects();
    let lanes = lanes(&rows, span, dialects);
    let step = ms / 6;
    let page = AgentPage {
        who: agent.name.clone(),
        to: in_query(&agent.name),
        n_entries: rows.len(),
        from: span.clock(span.from),
        until: span.clock(span.until),
        spans: SPANS.iter().map(|(known, label)| (*known, *label, *known == word)).collect(),
        height: 24 + lanes.len() * LANE,
        lanes,
        ticks: (0..6)
            .map(|n| (tenths(span.at(span.from + n * step)), span.clock(span.from + n * step)))
            .collect(),
        story: rows.iter().rev().filter_map(|row| entry(row, span)).take(MAX_STORY).collect(),
    };
    body(agent.name, &page)
}

/// A lane per actor: the main thread first, then subagents as they came.
fn lanes(rows: &[JournalRow], span: Span, dialects: &[&Dialect]) -> Vec<Lane> {
    let mut out: Vec<Lane> = Vec::new();
    for (n, row) in rows.iter().enumerate() {
        let at = out.iter().position(|lane| lane.actor == row.actor).unwrap_or_else(|| {
            let name = row.actor_kind.clone().unwrap_or_else(|| row.actor.clone());
            let lane = Lane {
                actor: row.actor.clone(),
                name: one_line(&name, 24),
                n: 0,
                y: 0,
                bars: Vec::new(),
            };
            out.push(lane);
            out.len() - 1
        });
        if let Some(bar) = bar(&rows[n + 1..], row, span, dialects) {
            out[at].n += 1;
            out[at].bars.push(bar);
        }
    }
    out.sort_by_key(|lane| lane.actor != book::MAIN);
    for (n, lane) in out.iter_mut().enumerate() {
        lane.y = 24 + n * LANE;
    }
    out
}

/// A call from its beginning to its end, or a refusal.
fn bar(later: &[JournalRow], row: &JournalRow, span: Span, dialects: &[&Dialect]) -> Option<Bar> {
    let is_refused = matches!(row.verdict.as_str(), "deny" | "block");
    let is_call = row.event == EventKind::PreToolUse.name();
    if !is_call && !is_refused {
        return None;
    }
    let tool = row.tool.as_deref().unwrap_or(&row.event);
    let is_end = |other: &&JournalRow| {
        other.actor == row.actor
            && other.event != row.event
            && (other.tool_use == row.tool_use || row.tool_use.is_none())
    };
    let end = later.iter().find(is_end).map(|other| other.at_ms);
    let dialect = dialects.iter().find(|dialect| dialect.client == row.client);
    let class = match dialect.map_or(ToolClass::Other, |dialect| dialect.class_of(tool)) {
        _ if is_refused => "block",
        _ if row.verdict == "ask" => "dialog",
        ToolClass::Edit => "edit",
        ToolClass::Shell | ToolClass::Agent | ToolClass::Skill => "run",
        ToolClass::Read | ToolClass::Todo | ToolClass::Other => "read",
    };
    let from = span.at(row.at_ms);
    let until = if is_refused { from } else { span.at(end.unwrap_or(span.until)) };
    let input = one_line(row.input.as_deref().unwrap_or_default(), 120);
    Some(Bar {
        class,
        x: tenths(from),
        width: tenths((until - from).max(4)),
        title: format!("{} {tool} {input}", span.clock(row.at_ms)),
    })
}

/// What a person wants to read of an entry; most calls say nothing by themselves.
fn entry(row: &JournalRow, span: Span) -> Option<StoryEntry> {
    let input = || one_line(row.input.as_deref().unwrap_or_default(), 400);
    let output = || one_line(row.output.as_deref().unwrap_or_default(), 400);
    let is_refused = matches!(row.verdict.as_str(), "deny" | "ask" | "block");
    let (title, text, class, icon) = match row.event.as_str() {
        _ if is_refused => (
            format!("{}: {}", row.verdict, row.tool.as_deref().unwrap_or(&row.event)),
            row.answer_words().unwrap_or_default(),
            "error",
            "error",
        ),
        "SessionStart" => ("Began".to_owned(), output(), "gone", "window"),
        "SessionEnd" => ("Ended".to_owned(), input(), "gone", "gone"),
        "UserPromptSubmit" => ("You asked".to_owned(), input(), "mark", "ask"),
        "Stop" | "SubagentStop" => ("Finished its turn".to_owned(), output(), "done", "done"),
        "StopFailure" => ("Its turn failed".to_owned(), input(), "error", "error"),
        "PreCompact" | "PostCompact" => {
            ("Compaction".to_owned(), String::new(), "attention", "fold")
        }
        "SubagentStart" => ("A subagent began".to_owned(), input(), "working", "working"),
        "Notification" => ("Told you".to_owned(), output(), "attention", "attention"),
        _ => return None,
    };
    Some(StoryEntry {
        id: row.id,
        title,
        text,
        at: span.clock(row.at_ms),
        actor: row.actor_kind.clone().unwrap_or_else(|| row.actor.clone()),
        class,
        icon,
    })
}
