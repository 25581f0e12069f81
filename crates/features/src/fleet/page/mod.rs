//! The front page: who needs you, then the fleet. It shows what `substrate needs` and `substrate fleet` return.

mod agent;
mod lanes;
mod needs;

use std::collections::HashMap;
use std::rc::Rc;

use askama::Template;
use substrate_core::page::Badge;
use substrate_core::{Cx, DbError, Page, PageBody, PageRequest, VerbError};

use needs::NeedLine;

use super::status::Status;
use super::verbs;
use super::view::{self, FleetRow, View};
use crate::context;
use crate::identity::book;
use crate::journal;
use crate::page::{Since, body, element, folder, in_query, status};

/// From this many rows on, the fleet is folded by project.
const FOLD_FROM: usize = 51;

/// Rows of a list that are shown at once.
const ON_PAGE: usize = 100;

/// Things that wait, before the rest is asked for.
const MAX_NEEDS: usize = 20;

/// Marks in one line of a project's picture.
const PER_LINE: usize = 32;

pub(super) const PAGES: &[Page] = &[
    Page {
        path: "/",
        title: "Needs you",
        nav: Some(0),
        badge: Some(Badge { word: "waiting", count: n_waiting }),
        render,
    },
    Page { path: "/lanes", title: "Lanes", nav: Some(10), badge: None, render: lanes::render },
    Page { path: "/agent", title: "An agent", nav: None, badge: None, render: agent::render },
];

#[derive(Template)]
#[template(path = "fleet/page/front.html")]
struct Front {
    needs: Vec<NeedLine>,
    needs_meta: String,
    /// Things that wait and are not shown.
    n_hidden: usize,
    n_needs: usize,
    fleet_meta: String,
    tallies: Vec<(String, String, bool)>,
    filters: Filters,
    n_all: usize,
    projects: Vec<Project>,
    rows: Vec<FleetLine>,
    is_empty: bool,
    /// The next rows.
    next: Option<String>,
}

/// What is chosen, as links say it.
#[derive(Clone, Default)]
struct Filters {
    /// Those that have ended as well.
    all: bool,
    every: bool,
    status: Option<String>,
    project: Option<String>,
    from: usize,
    needs: bool,
    /// The fleet is large enough to be folded.
    is_large: bool,
}

impl Filters {
    fn of(request: &PageRequest) -> Self {
        Self {
            all: request.field("all").is_some(),
            every: request.field("every").is_some(),
            status: request.field("status").map(str::to_owned),
            project: request.field("project").map(str::to_owned),
            from: request.field("from").and_then(|from| from.parse().ok()).unwrap_or(0),
            needs: request.field("needs").is_some(),
            is_large: false,
        }
    }

    /// Nothing is chosen, so a large fleet is folded.
    fn is_folded(&self) -> bool {
        self.is_large && !self.every && self.status.is_none() && self.project.is_none()
    }

    /// The page with these words in its query.
    fn link(&self, words: &str) -> String {
        let all = if self.all { "all=1&" } else { "" };
        format!("/?{all}{words}#fleet")
    }
}

/// The agents of a project, one mark each.
struct Project {
    id: String,
    name: String,
    link: String,
    n: usize,
    oldest: String,
    tally: String,
    words: String,
    height: usize,
    marks: Vec<(&'static str, usize, usize)>,
}

/// One actor, ready to be shown.
struct FleetLine {
    id: String,
    name: String,
    /// The parent's name, for a subagent.
    parent: String,
    link: String,
    status: String,
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
        verbs::needs::all_once(cx).map_err(|error| DbError::Other { detail: error.to_string() })?;
    Ok(i64::try_from(all.rows.len()).unwrap_or(i64::MAX))
}

fn render(cx: &mut Cx<'_>, request: &PageRequest) -> Result<PageBody, VerbError> {
    let mut filters = Filters::of(request);
    let view = match filters.all {
        true => Rc::new(view::view(cx, true)?),
        false => view::view_once(cx)?,
    };
    let View { lines, .. } = &*view;
    filters.is_large = lines.len() >= FOLD_FROM;
    let is_wanted = |line: &&FleetRow| {
        filters.status.as_deref().is_none_or(|status| class(line) == status)
            && filters.project.as_deref().is_none_or(|project| project_of(line) == project)
    };
    let mut chosen = nested(lines);
    chosen.retain(is_wanted);
    let mut rows = Vec::new();
    if !filters.is_folded() {
        for line in chosen.iter().skip(filters.from).take(ON_PAGE) {
            rows.push(shown(cx, request, line)?);
        }
    }
    let until = filters.from + rows.len();
    let next = (!rows.is_empty() && until < chosen.len()).then(|| {
        let status = filters.status.as_ref().map(|status| format!("status={status}&"));
        let project =
            filters.project.as_ref().map(|project| format!("project={}&", in_query(project)));
        let (status, project) = (status.unwrap_or_default(), project.unwrap_or_default());
        filters.link(&format!("{status}{project}every=1&from={until}"))
    });
    let all_needs = verbs::needs::all_once(cx)?;
    let n_needs = all_needs.rows.len();
    let n_shown = if filters.needs { n_needs } else { n_needs.min(MAX_NEEDS) };
    let needs = all_needs.rows.iter().take(n_shown);
    let needs: Vec<NeedLine> = needs.map(|row| NeedLine::of(cx.now, request, row)).collect();
    let oldest = all_needs.rows.iter().map(|row| row.since_ms).min();
    let page = Front {
        needs_meta: needs_meta(cx, lines, n_needs, oldest),
        n_hidden: n_needs - n_shown,
        n_needs,
        fleet_meta: counted(lines, filters.is_folded()),
        tallies: tallies(lines, &filters),
        n_all: lines.len(),
        projects: if filters.is_folded() { projects(cx, lines) } else { Vec::new() },
        rows,
        is_empty: lines.is_empty() && needs.is_empty(),
        next,
        filters,
        needs,
    };
    let title = if n_needs > 0 { format!("({n_needs}) Needs you") } else { "Needs you".to_owned() };
    body(title, &page)
}

fn class(line: &FleetRow) -> &'static str {
    line.status.map_or("gone", Status::name)
}

fn project_of(line: &FleetRow) -> &str {
    folder(line.seat.project.trim_end_matches("/.git"))
}

const CLASSES: [&str; 6] = ["error", "attention", "working", "checked", "done", "gone"];

fn tallies(lines: &[FleetRow], filters: &Filters) -> Vec<(String, String, bool)> {
    let tally = |name: &&str| {
        let n = lines.iter().filter(|line| class(line) == *name).count();
        let is_here = filters.status.as_deref() == Some(name);
        let link = filters.link(&format!("status={name}"));
        (n > 0).then(|| (link, status(name, &format!("{n} {name}")), is_here))
    };
    CLASSES.iter().filter_map(tally).collect()
}

/// `7 things wait · the oldest for 52 min`, or what the fleet does while nothing waits.
fn needs_meta(cx: &Cx<'_>, lines: &[FleetRow], n: usize, oldest: Option<i64>) -> String {
    let n_working = lines.iter().filter(|line| line.status == Some(Status::Working)).count();
    let Some(oldest) = oldest else {
        let agents = if n_working == 1 { "agent works" } else { "agents work" };
        return format!("Nothing waits for you. {n_working} {agents}.");
    };
    let since = Since { at: substrate_core::Timestamp(oldest), now: cx.now, tz_offset_s: 0 };
    let things = if n == 1 { "1 thing waits".to_owned() } else { format!("{n} things wait") };
    format!(
        "{things} · the oldest for {} · rows go by themselves when their cause goes",
        since.age()
    )
}

fn counted(lines: &[FleetRow], is_folded: bool) -> String {
    let mut projects: Vec<&str> = lines.iter().map(|line| line.seat.project.as_str()).collect();
    projects.sort_unstable();
    projects.dedup();
    let s = |n: usize| if n == 1 { "" } else { "s" };
    let (agents, projects) = (lines.len(), projects.len());
    let why = if is_folded { " · folded by project, as there are more than 50" } else { "" };
    format!("{agents} agent{} in {projects} project{}{why}", s(agents), s(projects))
}

/// Subagents under their agent; the agents by the most important status of their own and their subagents.
fn nested(lines: &[FleetRow]) -> Vec<&FleetRow> {
    let mut sessions: HashMap<&str, usize> = HashMap::new();
    for line in lines {
        let next = sessions.len();
        sessions.entry(&line.seat.session).or_insert(next);
    }
    let mut out: Vec<&FleetRow> = lines.iter().collect();
    out.sort_by_key(|line| (sessions[line.seat.session.as_str()], !line.seat.sub.is_empty()));
    out
}

/// The projects of a large fleet, the one with the most important status first.
fn projects(cx: &Cx<'_>, lines: &[FleetRow]) -> Vec<Project> {
    let mut by_name: Vec<(&str, Vec<&FleetRow>)> = Vec::new();
    for line in lines {
        match by_name.iter_mut().find(|(name, _)| *name == project_of(line)) {
            Some((_, rows)) => rows.push(line),
            None => by_name.push((project_of(line), vec![line])),
        }
    }
    by_name.iter().map(|(name, rows)| project(cx, name, rows)).collect()
}

fn project(cx: &Cx<'_>, name: &str, rows: &[&FleetRow]) -> Project {
    let n_of = |class_name: &str| rows.iter().filter(|row| class(row) == class_name).count();
    let counts: Vec<(&str, usize)> = CLASSES.iter().map(|name| (*name, n_of(name))).collect();
    let there = || counts.iter().filter(|(_, n)| *n > 0);
    let waits = rows.iter().filter(|row| row.needs_you()).map(|row| row.since).min();
    let oldest = waits.map(|at| Since { at, now: cx.now, tz_offset_s: 0 }.age());
    let classes = there().flat_map(|(name, n)| std::iter::repeat_n(*name, *n));
    let words = there().map(|(name, n)| format!("{n} {name}")).collect::<Vec<_>>().join(", ");
    let marks = (0_usize..).zip(classes);
    let marks = marks.map(|(at, class)| (known(class), at % PER_LINE * 10, at / PER_LINE * 10));
    let tally = there().map(|(name, n)| status(name, &format!("{n} {name}")));
    Project {
        id: element("project", name),
        name: name.to_owned(),
        link: format!("/?project={}#fleet", in_query(name)),
        n: rows.len(),
        oldest: oldest.unwrap_or_else(|| "–".to_owned()),
        tally: tally.collect::<Vec<_>>().join(" "),
        words,
        height: rows.len().div_ceil(PER_LINE) * 10,
        marks: marks.collect(),
    }
}

fn known(class: &str) -> &'static str {
    CLASSES.iter().find(|known| **known == class).unwrap_or(&"gone")
}

fn shown(cx: &mut Cx<'_>, request: &PageRequest, line: &FleetRow) -> Result<FleetLine, DbError> {
    let class = class(line);
    let call = match line.entry {
        Some(entry) => journal::face::call_of(cx.db, cx.world.dialects(), entry)?,
        None => None,
    };
    let (now, is_call) = match (&line.tool, &line.effort) {
        (Some(tool), _) => (format!("{tool} {}", call.unwrap_or_default()), true),
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
        link: format!("/agent?who={}", in_query(&line.seat.name)),
        status: status(class, line.shown()),
        project: project_of(line).to_owned(),
        now,
        is_call,
        fill,
        n_held: line.n_held,
        n_unread: line.n_unread,
        since: since.html(),
        resume: line.resume.clone().unwrap_or_default(),
    })
}
