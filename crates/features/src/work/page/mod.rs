//! The queue as a board. It shows what `substrate work board --all` returns.

use askama::Template;
use serde_json::Value;
use substrate_core::verb::VerbArgs as _;
use substrate_core::{Cx, Page, PageBody, PageRequest, Timestamp, VerbError, html};

use super::verbs::board::Board;
use crate::page::{Since, body, folder, in_query, status};

/// Projects that work can be given to.
const MAX_PLACES: i64 = 50;

/// Items per column.
const ON_PAGE: i64 = 100;

pub(super) const PAGES: &[Page] =
    &[Page { path: "/work", title: "Work", nav: Some(35), badge: None, render }];

#[derive(Template)]
#[template(path = "work/page/work.html")]
struct WorkPage {
    columns: Vec<Column>,
    projects: Vec<(String, String, bool)>,
    shows_all: bool,
    is_empty: bool,
    /// The form that adds an item: what runs it once, and the projects it may be for. Empty: this browser only looks.
    add: String,
    places: Vec<(String, String, bool)>,
}

struct Column {
    id: &'static str,
    title: &'static str,
    empty: &'static str,
    n: i64,
    n_more: i64,
    items: Vec<Card>,
}

struct Card {
    id: i64,
    title: String,
    body: String,
    result: String,
    note: String,
    project: String,
    /// Who has it or did it, and a link to them.
    who: String,
    link: String,
    status: String,
    since: String,
}

fn render(cx: &mut Cx<'_>, request: &PageRequest) -> Result<PageBody, VerbError> {
    let found = Board { all: true, limit: ON_PAGE }.run(cx, &request.caller)?.json;
    let wanted = request.field("project");
    let mut projects: Vec<String> = Vec::new();
    let mut columns = Vec::new();
    for (id, title, empty) in [
        ("queued", "Waits", "Nothing waits."),
        ("claimed", "At work", "No agent works on an item."),
        ("done", "Done", "Nothing is done yet."),
    ] {
        let mut items = Vec::new();
        let all = found[id].as_array().map(Vec::as_slice).unwrap_or_default();
        for item in all {
            let project = item["project"].as_str().unwrap_or_default();
            if !projects.iter().any(|known| known == project) {
                projects.push(project.to_owned());
            }
            if wanted.is_none_or(|wanted| wanted == project) {
                items.push(card(cx, request, item));
            }
        }
        let n = found["counts"][id].as_i64().unwrap_or(0);
        let n_more = n - i64::try_from(all.len()).unwrap_or(0);
        let n_shown = i64::try_from(items.len()).unwrap_or(0);
        let n = if wanted.is_some() { n_shown } else { n };
        columns.push(Column { id, title, empty, n, n_more: n_more.max(0), items });
    }
    projects.sort();
    let known = crate::identity::projects(cx.db, MAX_PLACES)?;
    let mut places: Vec<String> = projects.iter().chain(&known).map(|path| root(path)).collect();
    places.sort();
    places.dedup();
    let can_add = request.may_act && !places.is_empty();
    let page = WorkPage {
        add: match can_add {
            true => request.hidden("work add", &format!("add {}", request.caller.request)),
            false => String::new(),
        },
        places: places
            .into_iter()
            .map(|path| {
                let is_here = wanted.is_some_and(|wanted| root(wanted) == path);
                (name(&path), path, is_here)
            })
            .collect(),
        is_empty: projects.is_empty(),
        projects: projects
            .iter()
            .map(|path| {
                let link = format!("/work?project={}", in_query(path));
                (link, name(path), Some(path.as_str()) == wanted)
            })
            .collect(),
        shows_all: wanted.is_none(),
        columns,
    };
    body("Work", &page)
}

/// The folder of a project.
fn root(project: &str) -> String {
    project.trim_end_matches("/.git").to_owned()
}

fn name(project: &str) -> String {
    folder(&root(project)).to_owned()
}

fn card(cx: &Cx<'_>, request: &PageRequest, item: &Value) -> Card {
    let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let at = |name: &str| item[name].as_i64();
    let is_claimed = item["state"] == "claimed";
    let who = [text("claimant"), text("done_by")].into_iter().find(|who| !who.is_empty());
    // A claim whose agent is silent or gone ends with the next look at it.
    let is_lost = is_claimed && at("until_ms").is_none();
    let status = match item["state"].as_str() {
        Some("done") => status("done", "done"),
        _ if is_lost => status("gone", "its agent is gone or silent"),
        Some("claimed") => status("working", "at work"),
        _ if !text("note").is_empty() => status("attention", "came back"),
        _ => String::new(),
    };
    let since = at("done_ms").or(at("claimed_ms")).or(at("added_ms")).unwrap_or(0);
    let tz_offset_s = request.caller.tz_offset_s;
    let who = who.unwrap_or_default();
    let is_agent = !who.is_empty() && who != "User";
    Card {
        id: at("id").unwrap_or(0),
        title: text("title"),
        body: html::shown(&text("body")),
        result: html::shown(&text("result")),
        note: if item["state"] == "queued" { text("note") } else { String::new() },
        project: name(&text("project")),
        link: if is_agent { format!("/agent?who={}", in_query(&who)) } else { String::new() },
        who,
        status,
        since: Since { at: Timestamp(since), now: cx.now, tz_offset_s }.html(),
    }
}
