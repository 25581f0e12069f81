//! The page of cost: money per day and project, then who used it. It shows what `substrate cost` returns.

mod chart;

use askama::Template;
use substrate_core::{Cx, Page, PageBody, PageRequest, Timestamp, VerbError};

use chart::MoneyChart;

use super::ops;
use super::prices::PriceList;
use super::record::{CONTEXT_MS, day};
use super::view::{By, Sum, by_day, dollars, sums};
use crate::charts::{self, short};
use crate::page::{body, element, folder, in_query};

pub(super) const PAGES: &[Page] =
    &[Page { path: "/cost", title: "Cost", nav: Some(60), badge: None, render }];

const DAY_MS: i64 = 86_400_000;

/// The days of the chart.
const DAYS: i64 = 14;

/// The spans that can be chosen, in days.
const SPANS: [(&str, &str, i64); 3] =
    [("day", "Day", 1), ("week", "Week", 7), ("month", "Month", 30)];

const GROUPS: [(By, &str); 3] =
    [(By::Agent, "By agent"), (By::Project, "By project"), (By::Model, "By model")];

/// Rows that are shown before the rest is asked for.
const ON_PAGE: usize = 50;

/// Points of a small drawing of a context.
const MAX_POINTS: i64 = 60;

#[derive(Template)]
#[template(path = "costs/page/cost.html")]
struct CostPage {
    is_empty: bool,
    spans: Vec<(&'static str, &'static str, bool)>,
    groups: Vec<(&'static str, &'static str, bool)>,
    span: &'static str,
    by: &'static str,
    facts: Vec<(String, String)>,
    unpriced: Vec<(String, String)>,
    as_of: &'static str,
    chart: MoneyChart,
    rows: Vec<CostRow>,
    n_more: usize,
}

struct CostRow {
    id: String,
    name: String,
    link: Option<String>,
    is_sub: bool,
    money: String,
    /// The models; of a model, the projects.
    what: String,
    input: String,
    cached: String,
    output: String,
    answers: String,
    spark: Option<Spark>,
    project: String,
}

/// How full a context was, as a line and as the area below it.
struct Spark {
    line: String,
    area: String,
    words: String,
}

fn render(cx: &mut Cx<'_>, request: &PageRequest) -> Result<PageBody, VerbError> {
    let pick = |name: &str, words: &[&str]| {
        let asked = request.field(name).unwrap_or_default();
        words.iter().position(|word| *word == asked).unwrap_or(0)
    };
    let (span, label, n_days) = SPANS[pick("span", &SPANS.map(|(word, ..)| word))];
    let by = GROUPS[pick("by", &GROUPS.map(|(by, _)| by.name()))].0;
    let tz = request.caller.tz_offset_s;
    let day_ago = |n: i64| day(cx.now.plus_ms(-n * DAY_MS), tz);
    let days: Vec<String> = (0..DAYS).rev().map(day_ago).collect();
    let (today, first) = (day_ago(0), day_ago(n_days - 1));
    let prices = PriceList(cx.world.dialects());
    let mut rows = ops::since(cx.db, first.as_str().min(days[0].as_str()))?;
    let by_days = by_day(&rows, &days, prices);
    let spent: i64 = by_days.iter().map(|one| one.nano_usd).sum();
    let is_part = by_days.iter().any(|one| one.unpriced_tokens > 0);
    let of_today: Vec<_> = rows.iter().filter(|row| row.day == today).cloned().collect();
    let today = sums(&of_today, by, prices).1;
    rows.retain(|row| row.day >= first);
    let (found, total) = sums(&rows, by, prices);
    let least = |is_part: bool| if is_part { ", at least" } else { "" };
    let facts = vec![
        (format!("Today{}", least(!today.without_price.is_empty())), dollars(today.nano_usd)),
        (format!("{DAYS} days{}", least(is_part)), dollars(spent)),
        ("Tokens today".to_owned(), short(today.tokens())),
        ("From cache, today".to_owned(), percent(today.cache_read_tokens, today.tokens())),
    ];
    let unpriced = total.without_price.iter().map(|model| {
        let of = rows.iter().filter(|row| row.model == *model);
        (model.clone(), short(of.map(|row| row.tokens.sum()).sum()))
    });
    let shows_all = request.field("all").is_some();
    let n_shown = if shows_all { found.len() } else { found.len().min(ON_PAGE) };
    let mut lines = Vec::new();
    for sum in &found[..n_shown] {
        lines.push(line(cx, by, sum, false)?);
        for sub in &sum.subagents {
            lines.push(line(cx, by, sub, true)?);
        }
    }
    let page = CostPage {
        is_empty: found.is_empty() && spent == 0 && !is_part,
        spans: SPANS.iter().map(|(word, label, _)| (*word, *label, *word == span)).collect(),
        groups: GROUPS.iter().map(|(one, label)| (one.name(), *label, *one == by)).collect(),
        span: label,
        by: by.name(),
        facts,
        unpriced: unpriced.collect(),
        as_of: prices.as_of(),
        chart: MoneyChart::of(&by_days),
        n_more: found.len() - n_shown,
        rows: lines,
    };
    body("Cost", &page)
}

fn percent(part: i64, of: i64) -> String {
    format!("{} %", part * 100 / of.max(1))
}

fn line(cx: &mut Cx<'_>, by: By, sum: &Sum, is_sub: bool) -> Result<CostRow, VerbError> {
    let name = if sum.name.is_empty() { "(none)" } else { &sum.name };
    let shown = match by {
        By::Project => folder(name.trim_end_matches("/.git")),
        _ if is_sub => name.split_once('/').map_or(name, |(_, sub)| sub),
        _ => name,
    };
    let projects: Vec<&str> =
        sum.projects.iter().map(|path| folder(path.trim_end_matches("/.git"))).collect();
    let models = match sum.subagents.len() {
        0 => sum.models.join(", "),
        1 => format!("{}, with 1 subagent", sum.models.join(", ")),
        n => format!("{}, with {n} subagents", sum.models.join(", ")),
    };
    let is_agent = by == By::Agent;
    Ok(CostRow {
        id: element("cost", &sum.name),
        name: shown.to_owned(),
        link: (is_agent && !is_sub).then(|| format!("/agent?who={}", in_query(name))),
        is_sub,
        money: sum.money(),
        what: if by == By::Model { projects.join(", ") } else { models },
        input: short(sum.input_tokens + sum.cache_write_tokens),
        cached: short(sum.cache_read_tokens),
        output: short(sum.output_tokens),
        answers: charts::grouped(sum.answers),
        spark: if is_agent && !is_sub { spark(cx, name)? } else { None },
        project: if is_agent && !is_sub { projects.join(", ") } else { String::new() },
    })
}

/// How full the context of an agent was at its latest answers.
fn spark(cx: &mut Cx<'_>, agent: &str) -> Result<Option<Spark>, VerbError> {
    let since = Timestamp(cx.now.0 - CONTEXT_MS);
    let points = ops::context(cx.db, agent, since, MAX_POINTS)?;
    let (Some(last), Some(max)) =
        (points.last().map(|point| point.1), points.iter().map(|point| point.1).max())
    else {
        return Ok(None);
    };
    let values: Vec<Option<i64>> = points.iter().map(|point| Some(point.1)).collect();
    let line = charts::line(&values, max, 30);
    Ok(Some(Spark {
        area: format!("0,32 {line} 100,32"),
        line,
        words: format!("{} tokens at its latest answer, at most {}", short(last), short(max)),
    }))
}
