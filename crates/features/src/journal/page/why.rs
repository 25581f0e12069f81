//! The page of refusals: what `substrate journal refused` returns.

use askama::Template;
use substrate_core::{Cx, Page, PageBody, PageRequest, Timestamp, VerbError, html};

use crate::journal::refused::{self, Next, Refusal};
use crate::page::{Since, body, clock, in_query};

pub(in crate::journal) const WHY: Page =
    Page { path: "/why", title: "Why", nav: Some(40), badge: None, render };

/// How many a page shows.
const ON_PAGE: i64 = 50;

/// Rules are counted for so long.
const DAY_MS: i64 = 86_400_000;

const SHOWN: [(&str, &str); 4] =
    [("", "All"), ("deny", "Refused"), ("block", "Held"), ("ask", "Put to you")];

#[derive(Template)]
#[template(path = "journal/page/why.html")]
struct WhyPage {
    meta: String,
    filters: Vec<(String, &'static str, bool)>,
    rows: Vec<WhyRow>,
    rules: Vec<(String, usize, String)>,
    older: Option<String>,
}

struct WhyRow {
    id: i64,
    who: String,
    project: String,
    what: &'static str,
    class: &'static str,
    icon: &'static str,
    chips: Vec<String>,
    call: String,
    then: String,
    rule: Option<(String, String, String, String)>,
    told: String,
    next: Vec<(String, &'static str, String)>,
    clock: String,
    since: String,
    lanes: String,
}

fn render(cx: &mut Cx<'_>, request: &PageRequest) -> Result<PageBody, VerbError> {
    let before = request.field("before").and_then(|id| id.parse().ok()).unwrap_or(i64::MAX);
    let verdict = request.field("show").unwrap_or_default();
    let verdict = SHOWN.iter().map(|(known, _)| *known).find(|it| *it == verdict).unwrap_or("");
    let found = refused::refusals(cx, before, ON_PAGE, verdict)?;
    let is_full = i64::try_from(found.len()).unwrap_or(0) == ON_PAGE;
    let older = found
        .last()
        .filter(|_| is_full)
        .map(|last| format!("/why?show={verdict}&before={}", last.id));
    let counted = refused::by_rule(cx, cx.now.plus_ms(-DAY_MS))?;
    let n_refused: usize = counted.iter().map(|(_, n, _)| n).sum();
    let n_asked: usize = counted.iter().map(|(.., n)| n).sum();
    let page = WhyPage {
        meta: format!("{n_refused} refused or held and {n_asked} put to you in the last day"),
        filters: SHOWN
            .iter()
            .map(|(known, label)| (format!("/why?show={known}"), *label, *known == verdict))
            .collect(),
        rows: found.into_iter().map(|one| why(one, cx.now, request.caller.tz_offset_s)).collect(),
        rules: counted
            .into_iter()
            .map(|(name, n, n_asked)| {
                let words = match (n, n_asked) {
                    (_, 0) => "refused or held".to_owned(),
                    (0, _) => "put to you".to_owned(),
                    (_, asked) => format!("{asked} of them put to you"),
                };
                (name, n + n_asked, words)
            })
            .collect(),
        older,
    };
    body("Why", &page)
}

fn why(one: Refusal, now: Timestamp, tz_offset_s: i32) -> WhyRow {
    let since = Since { at: Timestamp(one.at_ms), now, tz_offset_s };
    let (what, class, icon) = match one.verdict.as_str() {
        "deny" => ("was refused", "error", "error"),
        "ask" => ("asked, and was put to you", "attention", "attention"),
        _ => ("was held at the end of its turn", "attention", "clock"),
    };
    let agent = one.agent.unwrap_or_else(|| "an unknown agent".to_owned());
    let name = agent.split('/').next().unwrap_or_default();
    let named = |tool: Option<&str>, event: &str, call: &str| {
        let text = format!("{} {call}", tool.unwrap_or(event));
        html::shown(text.trim_end())
    };
    let next = |next: &Next| {
        let after = Since { at: Timestamp(one.at_ms), now: Timestamp(next.at_ms), tz_offset_s };
        let at = clock(Timestamp(next.at_ms), tz_offset_s);
        let call = named(next.tool.as_deref(), &next.event, &next.call);
        (format!("{at}, {} later", after.age()), next.what, call)
    };
    WhyRow {
        id: one.id,
        lanes: format!("/agent?who={}&at={}", in_query(name), one.at_ms),
        project: one.project,
        what,
        class,
        icon,
        chips: match &one.rule {
            Some(rule) => vec![rule.name.clone()],
            None => one.by.clone(),
        },
        call: named(one.tool.as_deref(), &one.event, &one.call),
        then: one
            .next
            .first()
            .map_or_else(|| "nothing yet".to_owned(), |next| next.what.to_owned()),
        rule: one.rule.map(|rule| (rule.name, rule.origin, rule.action, rule.safer)),
        told: html::shown(&one.told),
        next: one.next.iter().map(next).collect(),
        clock: since.clock(),
        since: since.html(),
        who: agent,
    }
}
