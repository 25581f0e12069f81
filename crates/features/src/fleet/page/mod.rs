//! The front page: who needs you, then the fleet. It shows what `substrate needs` and `substrate fleet` return.

mod needs;

use askama::Template;
use substrate_core::page::Badge;
use substrate_core::{Cx, DbError, Page, PageBody, PageRequest, VerbError};

use needs::NeedLine;

use super::status::Status;
use super::verbs;
use super::view::{self, FleetRow, View};
use crate::context;
use crate::identity::book;
use crate::page::{Since, body, element, folder, in_query, status};

/// From this many rows on, the fleet is folded by project.
const FOLD_FROM: usize = 51;

pub(super) const PAGES: &[Page] = &[Page {
    path: "/",
    title: "Needs you",
    nav: Some(0),
    badge: Some(Badge { word: "waiting", count: n_waiting }),
    render,
}];

#[derive(Template)]
#[template(path = "fleet/page/front.html")]
struct Front {
    needs: Vec<NeedLine>,
    meta: String,
    tallies: Vec<(String, String, usize, bool)>,
    n_all: usize,
    shows_all: bool,
    groups: Vec<Group>,
    is_folded: bool,
    is_empty: bool,
    where_: String,
}

/// The agents of a project, or all of them.
struct Group {
    id: String,
    name: String,
    tally: String,
    is_open: bool,
    rows: Vec<FleetLine>,
}

/// One actor, ready to be shown.
struct FleetLine {
    id: String,
    name: String,
    /// The parent's name, for a subagent.
    parent: String,
    link: String,
    status: String,
    class: &'static str,
    project: String,
    now: String,
    is_call: bool,
    fill: Option<i64>,
    n_held: usize,
    n_unread: i64,
    since: String,
    resume: String,
}

impl FleetLine {
    fn fill_class(&self) -> &'static str {
        match self.fill {
            Some(90..) => " full",
            Some(75..) => " high",
            _ => "",
        }
    }
}

fn n_waiting(cx: &mut Cx<'_>) -> Result<i64, DbError> {
    let all =
        verbs::needs::all(cx).map_err(|error| DbError::Other { detail: error.to_string() })?;
    Ok(i64::try_from(all.rows.len()).unwrap_or(i64::MAX))
}

fn render(cx: &mut Cx<'_>, request: &PageRequest) -> Result<PageBody, VerbError> {
    let shows_ended = request.field("all").is_some();
    let View { lines, .. } = view::view(cx, shows_ended)?;
    let wanted = request.field("status").map(str::to_owned);
    let mut rows = Vec::new();
    for line in nested(&lines) {
        rows.push(shown(cx, request, line)?);
    }
    let class = |line: &FleetRow| line.status.map_or("gone", Status::name);
    let tallies =
        ["error", "attention", "working", "checked", "done", "gone"].iter().filter_map(|name| {
            let n = lines.iter().filter(|line| class(line) == *name).count();
            let is_here = wanted.as_deref() == Some(name);
            (n > 0).then(|| ((*name).to_owned(), status(name, &format!("{n} {name}")), n, is_here))
        });
    let tallies: Vec<_> = tallies.collect();
    let needs = verbs::needs::all(cx)?.rows;
    let needs: Vec<NeedLine> = needs.iter().map(|row| NeedLine::of(cx.now, request, row)).collect();
    let n_needs = needs.len();
    let projects = {
        let mut projects: Vec<&str> = lines.iter().map(|line| line.seat.project.as_str()).collect();
        projects.sort_unstable();
        projects.dedup();
        projects.len()
    };
    let n_all = rows.len();
    rows.retain(|row| wanted.as_deref().is_none_or(|wanted| row.class == wanted));
    let is_folded = rows.len() >= FOLD_FROM;
    let page = Front {
        meta: counted(n_all, projects),
        tallies,
        n_all,
        shows_all: wanted.is_none(),
        groups: groups(rows, is_folded),
        is_folded,
        is_empty: lines.is_empty(),
        where_: if shows_ended { "all=1&".to_owned() } else { String::new() },
        needs,
    };
    let title = if n_needs > 0 { format!("({n_needs}) Needs you") } else { "Needs you".to_owned() };
    body(title, &page)
}

fn counted(agents: usize, projects: usize) -> String {
    let s = |n: usize| if n == 1 { "" } else { "s" };
    format!("{agents} agent{} in {projects} project{}", s(agents), s(projects))
}

/// Subagents under their agent; the agents by the most important status of their own and their subagents.
fn nested(lines: &[FleetRow]) -> Vec<&FleetRow> {
    let mut seen: Vec<&str> = Vec::new();
    for line in lines {
        if !seen.contains(&line.seat.session.as_str()) {
            seen.push(&line.seat.session);
        }
    }
    let of = |session: &&str| {
        let mut rows: Vec<&FleetRow> =
            lines.iter().filter(|line| line.seat.session == **session).collect();
        rows.sort_by_key(|line| !line.seat.sub.is_empty());
        rows
    };
    seen.iter().flat_map(of).collect()
}

fn groups(rows: Vec<FleetLine>, is_folded: bool) -> Vec<Group> {
    if !is_folded {
        let (id, name) = ("fleet-all".to_owned(), String::new());
        return vec![Group { id, name, tally: String::new(), is_open: true, rows }];
    }
    let mut out: Vec<Group> = Vec::new();
    for row in rows {
        match out.iter_mut().find(|group| group.name == row.project) {
            Some(group) => group.rows.push(row),
            None => out.push(Group {
                id: element("project", &row.project),
                name: row.project.clone(),
                tally: String::new(),
                is_open: false,
                rows: vec![row],
            }),
        }
    }
    for group in &mut out {
        let tallies = ["error", "attention", "working", "checked", "done", "gone"]
            .iter()
            .filter_map(|name| {
                let n = group.rows.iter().filter(|row| row.class == *name).count();
                (n > 0).then(|| status(name, &format!("{n} {name}")))
            });
        group.tally = tallies.collect::<Vec<_>>().join(" ");
        group.is_open = group.rows.iter().any(|row| matches!(row.class, "error" | "attention"));
    }
    out
}

fn shown(cx: &mut Cx<'_>, request: &PageRequest, line: &FleetRow) -> Result<FleetLine, DbError> {
    let class = line.status.map_or("gone", Status::name);
    let (now, is_call) = match (&line.tool, &line.effort) {
        (Some(tool), _) => (tool.clone(), true),
        _ if !line.why.is_empty() => (line.why.clone(), false),
        (None, Some(effort)) => (format!("effort {}", effort.skill), false),
        (None, None) => (line.task.clone(), false),
    };
    let is_main = line.seat.actor == book::MAIN;
    let fill = match is_main {
        true => {
            context::face::reported(cx, &line.seat.session)?.map(|usage| usage.percent_of_window)
        }
        false => None,
    };
    let since = Since { at: line.since, now: cx.now, tz_offset_s: request.caller.tz_offset_s };
    let address = line.address();
    Ok(FleetLine {
        id: element("agent", &format!("{address}-{}", line.seat.session)),
        name: if is_main { line.seat.name.clone() } else { line.seat.sub.clone() },
        parent: if is_main { String::new() } else { line.seat.name.clone() },
        link: format!("/agent?who={}", in_query(&address)),
        status: status(class, line.shown()),
        class,
        project: folder(&line.seat.project).to_owned(),
        now,
        is_call,
        fill,
        n_held: line.n_held,
        n_unread: line.n_unread,
        since: since.html(),
        resume: line.resume.clone().unwrap_or_default(),
    })
}
