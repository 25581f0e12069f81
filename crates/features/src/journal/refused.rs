//! `substrate journal refused`, and the page that shows it: every refusal and block, why, and what came of it.

use std::fmt::Write as _;

use askama::Template;
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::text::one_line;
use substrate_core::time::Ago;
use substrate_core::verb::VerbArgs;
use substrate_core::{
    Access, Audience, Caller, Cx, DbError, Output, Page, PageBody, PageRequest, Timestamp,
    VerbError, html,
};

use super::ops::{self, JournalRow};
use crate::identity::book;
use crate::page::{Since, body, folder, in_query};

/// How far the next event of an actor is looked for.
const NEXT_WITHIN: i64 = 500;

/// How many a page shows.
const ON_PAGE: i64 = 50;

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Refused {
    /// The most entries to list
    #[arg(long, short = 'n', default_value_t = 20, value_parser = clap::value_parser!(i64).range(1..=500))]
    limit: i64,
    /// Only entries before this one
    #[arg(long, value_name = "ID")]
    #[serde(default)]
    before: Option<i64>,
}

/// One refusal, hold or question.
#[derive(Clone, Debug, Serialize)]
struct Refusal {
    id: i64,
    at_ms: i64,
    agent: Option<String>,
    actor: String,
    project: String,
    event: String,
    tool: Option<String>,
    input: Option<String>,
    /// `deny`, `ask` or `block`.
    verdict: String,
    /// The features that wanted it.
    by: Vec<String>,
    /// What the model was told.
    told: String,
    /// What the actor did next.
    next: Option<Next>,
}

#[derive(Clone, Debug, Serialize)]
struct Next {
    id: i64,
    at_ms: i64,
    event: String,
    tool: Option<String>,
    input: Option<String>,
}

impl VerbArgs for Refused {
    const PATH: &'static [&'static str] = &["journal", "refused"];
    const ABOUT: &'static str =
        "List what was refused, held or asked about, why, and what the agent did next";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let found = refusals(cx, self.before.unwrap_or(i64::MAX), self.limit.clamp(1, 500))?;
        let mut text = String::new();
        for one in &found {
            let call = one.input.as_deref().map(|input| one_line(input, 60)).unwrap_or_default();
            let _infallible = writeln!(
                text,
                "{:>6}  {:>4} ago  {:<5}  {}  {} {call}\n        {}",
                one.id,
                Ago(cx.now.0 - one.at_ms).to_string(),
                one.verdict,
                one.agent.as_deref().unwrap_or("-"),
                one.tool.as_deref().unwrap_or(&one.event),
                one_line(&one.told, 120),
            );
        }
        if found.is_empty() {
            text = "Nothing was refused.\n".to_owned();
        }
        Ok(Output::new(text, json!({ "refused": found })))
    }
}

/// The newest refusals before an entry.
fn refusals(cx: &mut Cx<'_>, before: i64, limit: i64) -> Result<Vec<Refusal>, DbError> {
    let mut out = Vec::new();
    for row in ops::refused(cx.db, before, limit)? {
        let agent = match &row.session {
            Some(session) => book::of_session(cx.db, session)?.map(|(_, name)| name),
            None => None,
        };
        let next = match &row.session {
            Some(session) => {
                ops::next_of(cx.db, (session, &row.actor), row.id, row.id + NEXT_WITHIN)?
            }
            None => None,
        };
        let wishes = row.wishes.as_ref().and_then(Value::as_array);
        let mut by: Vec<String> = wishes
            .into_iter()
            .flatten()
            .filter(|wish| matches!(wish["wish"].as_str(), Some("deny" | "ask" | "block")))
            .filter_map(|wish| wish["feature"].as_str().map(str::to_owned))
            .collect();
        by.dedup();
        out.push(Refusal {
            id: row.id,
            at_ms: row.at_ms,
            agent,
            told: row.answer_words().unwrap_or_default(),
            project: folder(&row.cwd).to_owned(),
            actor: row.actor,
            event: row.event,
            tool: row.tool,
            input: row.input,
            verdict: row.verdict,
            by,
            next: next.map(Next::of),
        });
    }
    Ok(out)
}

impl Next {
    fn of(row: JournalRow) -> Self {
        let JournalRow { id, at_ms, event, tool, input, .. } = row;
        Self { id, at_ms, event, tool, input }
    }
}

pub(super) const PAGE: Page =
    Page { path: "/why", title: "Why", nav: Some(40), badge: None, render };

#[derive(Template)]
#[template(path = "journal/page/why.html")]
struct WhyPage {
    rows: Vec<WhyRow>,
    older: Option<i64>,
}

struct WhyRow {
    id: i64,
    who: String,
    link: String,
    project: String,
    what: &'static str,
    icon: &'static str,
    call: String,
    by: Vec<String>,
    told: String,
    next: Option<(i64, String)>,
    since: String,
    clock: String,
}

fn render(cx: &mut Cx<'_>, request: &PageRequest) -> Result<PageBody, VerbError> {
    let before = request.field("before").and_then(|id| id.parse().ok()).unwrap_or(i64::MAX);
    let found = refusals(cx, before, ON_PAGE)?;
    let is_full = i64::try_from(found.len()).unwrap_or(0) == ON_PAGE;
    let older = found.last().filter(|_| is_full).map(|last| last.id);
    let rows = found.into_iter().map(|one| why(one, cx.now, request.caller.tz_offset_s)).collect();
    body("Why", &WhyPage { rows, older })
}

fn why(one: Refusal, now: Timestamp, tz_offset_s: i32) -> WhyRow {
    let since = Since { at: Timestamp(one.at_ms), now, tz_offset_s };
    let (what, icon) = match one.verdict.as_str() {
        "deny" => ("was refused", "error"),
        "ask" => ("was put to you", "attention"),
        _ => ("was held", "attention"),
    };
    let agent = one.agent.unwrap_or_else(|| "an unknown agent".to_owned());
    let call = |tool: Option<&str>, event: &str, input: Option<&str>| {
        let name = tool.unwrap_or(event);
        format!("{}  {}", html::shown(name), html::shown(input.unwrap_or_default()))
    };
    WhyRow {
        id: one.id,
        link: format!("/agent?who={}", in_query(&agent)),
        who: if one.actor == book::MAIN { agent } else { format!("{agent} ({})", one.actor) },
        project: one.project,
        what,
        icon,
        call: call(one.tool.as_deref(), &one.event, one.input.as_deref()),
        by: one.by,
        told: html::shown(&one.told),
        next: one
            .next
            .map(|next| (next.id, call(next.tool.as_deref(), &next.event, next.input.as_deref()))),
        since: since.html(),
        clock: since.clock(),
    }
}
