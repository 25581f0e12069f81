//! The page of locks: which files are held, by whom, for how long. It shows what `substrate locks --all` and `locks history`
//! return.

use askama::Template;
use serde_json::Value;
use substrate_core::verb::VerbArgs as _;
use substrate_core::{Cx, Page, PageBody, PageRequest, Timestamp, VerbError};

use super::history;
use super::look::List;
use crate::page::{Since, body, element, folder, in_query};

/// How many entries of a file's history are shown.
const MAX_HISTORY: i64 = 30;

pub(super) const PAGES: &[Page] =
    &[Page { path: "/locks", title: "Locks", nav: Some(30), badge: None, render }];

#[derive(Template)]
#[template(path = "locks/page/locks.html")]
struct LocksPage {
    trees: Vec<Tree>,
    n_held: usize,
    history: Option<FileHistory>,
    may_act: bool,
}

/// The files of one working tree.
struct Tree {
    root: String,
    name: String,
    files: Vec<HeldFile>,
}

struct HeldFile {
    id: String,
    file: String,
    link: String,
    holder: String,
    agent: String,
    state: String,
    reason: String,
    since: String,
    ends: String,
    is_here: bool,
    path: String,
    release: String,
}

struct FileHistory {
    path: String,
    entries: Vec<(String, String, String, String)>,
}

fn render(cx: &mut Cx<'_>, request: &PageRequest) -> Result<PageBody, VerbError> {
    let wanted = request.field("file").map(str::to_owned);
    let found = List { all: true }.run(cx, &request.caller)?.json;
    let mut trees: Vec<Tree> = Vec::new();
    for lock in found["locks"].as_array().into_iter().flatten() {
        let held = held(cx, request, lock, wanted.as_deref());
        let root = lock["root"].as_str().unwrap_or_default();
        match trees.iter_mut().find(|tree| tree.root == root) {
            Some(tree) => tree.files.push(held),
            None => trees.push(Tree {
                root: root.to_owned(),
                name: folder(root).to_owned(),
                files: vec![held],
            }),
        }
    }
    for tree in &mut trees {
        tree.files.sort_by(|a, b| a.file.cmp(&b.file));
    }
    let n_held = trees.iter().map(|tree| tree.files.len()).sum();
    let history = match wanted {
        Some(path) => Some(past(cx, request, path)?),
        None => None,
    };
    body("Locks", &LocksPage { trees, n_held, history, may_act: request.may_act })
}

fn held(cx: &Cx<'_>, request: &PageRequest, lock: &Value, wanted: Option<&str>) -> HeldFile {
    let text = |name: &str| lock[name].as_str().unwrap_or_default().to_owned();
    let at = |name: &str| Timestamp(lock[name].as_i64().unwrap_or(0));
    let tz_offset_s = request.caller.tz_offset_s;
    let since = Since { at: at("acquired_ms"), now: cx.now, tz_offset_s };
    // The time that is left, as an age of now seen from then.
    let ends = Since { at: cx.now, now: at("until_ms"), tz_offset_s };
    let (path, holder) = (text("path"), text("holder"));
    HeldFile {
        id: element("lock", &format!("{}/{}", text("root"), text("file"))),
        link: format!("/locks?file={}", in_query(&path)),
        agent: format!("/agent?who={}", in_query(&holder)),
        release: request.hidden("locks release", &format!("{path} {}", at("acquired_ms").0)),
        is_here: wanted.is_some_and(|wanted| wanted == path),
        file: text("file"),
        state: text("state"),
        reason: text("reason"),
        since: since.html(),
        ends: ends.age(),
        holder,
        path,
    }
}

fn past(cx: &mut Cx<'_>, request: &PageRequest, path: String) -> Result<FileHistory, VerbError> {
    let tz_offset_s = request.caller.tz_offset_s;
    let now = cx.now;
    let entries = history::of(cx.db, &path, MAX_HISTORY)?.into_iter().map(|entry| {
        let since = Since { at: entry.at, now, tz_offset_s };
        (since.html(), entry.who.clone(), entry.what.to_string(), entry.detail)
    });
    Ok(FileHistory { entries: entries.collect(), path })
}
