//! `substrate journal …`

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::text::nearest;
use substrate_core::time::{Took, parse_span};
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, EventKind, Local, Output, VerbError, Verdict};

use super::ops::{self, Column, Filter, JournalRow, StatsRow};
use super::record::LATE;
use super::render::{self, Times};
use super::sessions;
use crate::identity::book::{self, Lookup};

/// At most this many of the newest rows go into the statistics.
const MAX_FIGURES: i64 = 200_000;

/// Words that only the journal knows are looked up in this many of the newest rows.
const MAX_SEEN: i64 = 20_000;

#[derive(Args, Serialize, Deserialize, Clone, Debug)]
pub(super) struct RowFilter {
    /// Only this session (the start of its id is enough)
    #[arg(long)]
    session: Option<String>,
    /// Only this actor: `main`, or a subagent's id
    #[arg(long)]
    actor: Option<String>,
    /// Only this kind of event, e.g. `PreToolUse`
    #[arg(long)]
    event: Option<String>,
    /// Only calls of this tool, e.g. `Bash`
    #[arg(long)]
    tool: Option<String>,
    /// Only this verdict: deny, ask, block, context, notice, export, wait, allow
    #[arg(long)]
    verdict: Option<String>,
    /// Only the last e.g. `15m`, `2h`, `7d`
    #[arg(long)]
    since: Option<String>,
}

impl RowFilter {
    fn filter(self, cx: &mut Cx<'_>, caller: &Caller, limit: i64) -> Result<Filter, VerbError> {
        let after = after(cx, self.since.as_deref())?;
        let kinds = EventKind::ALL.iter().map(|kind| kind.name());
        Ok(Filter {
            sessions: sessions(cx, caller, self.session.as_deref())?,
            actor: word(cx, Some(Column::Actor), &["main"], self.actor)?,
            event: word(cx, Some(Column::Event), &kinds.collect::<Vec<_>>(), self.event)?,
            tool: word(cx, Some(Column::Tool), &[], self.tool)?,
            verdict: word(cx, None, &Verdict::WORDS, self.verdict)?,
            after,
            limit,
        })
    }
}

/// The wanted sessions: one by the start of its id, or those of the agent that was typed.
fn sessions(
    cx: &mut Cx<'_>,
    caller: &Caller,
    prefix: Option<&str>,
) -> Result<Option<Vec<String>>, VerbError> {
    if let Some(prefix) = prefix {
        let found = sessions::starting(cx.db, prefix)?.ok_or_else(|| {
            VerbError::user(
                format!("the journal has no session whose id starts with `{prefix}`"),
                "`substrate journal list` shows the latest sessions",
            )
        })?;
        return Ok(Some(vec![found]));
    }
    let Some(name) = caller.agent.as_deref().filter(|_| caller.agent_typed) else {
        return Ok(None);
    };
    match book::find(cx.db, name)? {
        Lookup::Found(found) | Lookup::Ended(found) => {
            Ok(Some(book::sessions_of(cx.db, found.agent)?))
        }
        Lookup::Unknown { nearest } => Err(unknown("agent", name, &nearest)),
    }
}

/// Accepts a word from the list, or one that occurs in the column.
fn word(
    cx: &mut Cx<'_>,
    column: Option<Column>,
    words: &[&str],
    given: Option<String>,
) -> Result<Option<String>, VerbError> {
    let Some(given) = given else { return Ok(None) };
    if let Some(word) = words.iter().find(|word| word.eq_ignore_ascii_case(&given)) {
        return Ok(Some((*word).to_owned()));
    }
    let seen = match column {
        Some(column) => ops::words(cx.db, column, MAX_SEEN)?,
        None => Vec::new(),
    };
    if seen.contains(&given) {
        return Ok(Some(given));
    }
    let all: Vec<&str> = words.iter().copied().chain(seen.iter().map(String::as_str)).collect();
    let close = nearest(&given, all.iter().copied());
    let what = column.map_or("verdict", Column::name);
    Err(unknown(what, &given, if close.is_empty() { &all[..all.len().min(8)] } else { &close }))
}

fn unknown(what: &str, given: &str, nearest: &[impl AsRef<str>]) -> VerbError {
    let words: Vec<String> = nearest.iter().map(|word| format!("`{}`", word.as_ref())).collect();
    let hint = if words.is_empty() {
        "`substrate journal list` shows the newest entries".to_owned()
    } else {
        format!("try {}", words.join(" or "))
    };
    VerbError::user(format!("the journal has no {what} `{given}`"), hint)
}

/// The newest matching rows, with the names of their agents.
fn named(cx: &mut Cx<'_>, filter: &Filter) -> Result<Vec<JournalRow>, VerbError> {
    let mut rows = ops::list(cx.db, filter)?;
    let mut names: BTreeMap<String, Option<String>> = BTreeMap::new();
    for row in &mut rows {
        row.agent = match &row.session {
            Some(session) => name(cx, &mut names, session)?,
            None => None,
        };
    }
    Ok(rows)
}

fn name(
    cx: &mut Cx<'_>,
    names: &mut BTreeMap<String, Option<String>>,
    session: &str,
) -> Result<Option<String>, VerbError> {
    if let Some(known) = names.get(session) {
        return Ok(known.clone());
    }
    let found = book::of_session(cx.db, session)?.map(|(_, name)| name);
    names.insert(session.to_owned(), found.clone());
    Ok(found)
}

/// The id before the first row of the span.
fn after(cx: &mut Cx<'_>, since: Option<&str>) -> Result<i64, VerbError> {
    let Some(text) = since else { return Ok(0) };
    let span = parse_span(text).ok_or_else(|| {
        VerbError::user(format!("`{text}` is not a duration"), "write it like `15m`, `2h` or `7d`")
    })?;
    Ok(ops::id_before(cx.db, cx.now.plus_ms(-span))?)
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct List {
    #[command(flatten)]
    which: RowFilter,
    /// The most entries to list
    #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
    /// A person reads it in a terminal, where relative times say more
    #[arg(skip)]
    #[serde(default)]
    in_terminal: bool,
}

impl VerbArgs for List {
    const PATH: &'static [&'static str] = &["journal", "list"];
    const ABOUT: &'static str = "List the newest entries of the journal, oldest first";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.in_terminal = local.is_terminal();
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let filter = self.which.filter(cx, caller, self.limit)?;
        let rows = named(cx, &filter)?;
        let times = match self.in_terminal {
            true => Times::Ago(cx.now),
            false => Times::Clock(caller.tz_offset_s),
        };
        Ok(Output::new(render::lines(&rows, times), json!(rows)))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Tail {
    #[command(flatten)]
    which: RowFilter,
    /// How many earlier entries to start with
    #[arg(long, short = 'n', default_value_t = 10, value_parser = clap::value_parser!(i64).range(0..=1_000))]
    limit: i64,
    /// Where the last answer ended
    #[arg(long, hide = true)]
    after: Option<i64>,
}

impl VerbArgs for Tail {
    const PATH: &'static [&'static str] = &["journal", "tail"];
    const ABOUT: &'static str = "Follow the journal as it grows (Ctrl+C to stop)";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let limit = if self.after.is_some() { 1_000 } else { self.limit };
        let mut filter = self.which.clone().filter(cx, caller, limit)?;
        filter.after = self.after.unwrap_or(filter.after);
        let newest = sessions::newest_id(cx.db)?;
        let rows = named(cx, &filter)?;
        let mut out =
            Output::new(render::lines(&rows, Times::Clock(caller.tz_offset_s)), json!(rows));
        let next = Self { after: Some(newest), ..self };
        out.follow = serde_json::to_value(next).ok();
        Ok(out)
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Show {
    /// The entry's number, from `list`
    id: i64,
}

impl VerbArgs for Show {
    const PATH: &'static [&'static str] = &["journal", "show"];
    const ABOUT: &'static str = "Show everything about one entry";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let mut row = ops::show(cx.db, self.id)?.ok_or_else(|| {
            VerbError::user(
                format!("there is no entry {}", self.id),
                "`substrate journal list` shows the newest entries",
            )
        })?;
        if let Some(session) = &row.session {
            row.agent = book::of_session(cx.db, session)?.map(|(_, name)| name);
        }
        Ok(Output::new(render::whole(&row, caller.tz_offset_s), json!(row)))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Stats {
    /// The span to count, e.g. `24h`
    #[arg(long, default_value = "24h")]
    since: String,
}

impl VerbArgs for Stats {
    const PATH: &'static [&'static str] = &["journal", "stats"];
    const ABOUT: &'static str = "Count events by kind: how fast, how many refused, how many failed";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let after = after(cx, Some(&self.since))?;
        let rows = ops::figures(cx.db, after, MAX_FIGURES)?;
        let mut by_event: BTreeMap<&str, Vec<&StatsRow>> = BTreeMap::new();
        for row in &rows {
            by_event.entry(&row.event).or_default().push(row);
        }
        let mut text = format!(
            "{:<22} {:>8} {:>9} {:>9} {:>7} {:>7}\n",
            "event", "count", "p50", "p99", "refused", "failed"
        );
        let mut events = Vec::new();
        for (event, rows) in by_event {
            let mut spent: Vec<i64> = rows.iter().map(|row| row.spent_us).collect();
            spent.sort_unstable();
            let (p50, p99) = (percentile(&spent, 50), percentile(&spent, 99));
            let n_refused = rows.iter().filter(|row| row.is_refused()).count();
            let n_failed = rows.iter().filter(|row| row.failures.is_some()).count();
            let _infallible = writeln!(
                text,
                "{event:<22} {:>8} {:>9} {:>9} {n_refused:>7} {n_failed:>7}",
                rows.len(),
                Took(p50),
                Took(p99),
            );
            events.push(json!({"event": event, "n": rows.len(), "p50_us": p50, "p99_us": p99, "n_refused": n_refused, "n_failed": n_failed}));
        }
        let n_late = rows.iter().filter(|row| row.why.as_deref() == Some(LATE)).count();
        let n_new = rows.iter().filter(|row| row.n_unknown_fields > 0).count();
        let _infallible = writeln!(
            text,
            "\n{} events; {n_late} came too late for their callers; {n_new} had fields that Substrate does not know",
            rows.len()
        );
        let json = json!({"since": self.since, "n": rows.len(), "n_late": n_late, "n_with_unknown_fields": n_new, "events": events});
        Ok(Output::new(text, json))
    }
}

pub(super) fn percentile(sorted: &[i64], percent: usize) -> i64 {
    sorted
        .get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or(0)
}
