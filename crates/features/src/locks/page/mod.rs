//! The page of locks: which files are held, by whom, who waits, and the history of a file. It shows what
//! `substrate locks --all` and `locks history` return.

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
    meta: String,
    roots: Vec<(String, String, bool)>,
    shows_all: bool,
    trees: Vec<Tree>,
    globs: Vec<Glob>,
    file: Option<FileView>,
    may_act: bool,
    is_empty: bool,
}

/// The files of one working tree.
struct Tree {
    id: String,
    root: String,
    name: String,
    html: String,
}

#[derive(Template)]
#[template(path = "locks/page/file.html")]
struct HeldFile {
    id: String,
    name: String,
    link: String,
    holder: String,
    agent: String,
    is_editing: bool,
    reason: String,
    since: String,
    is_here: bool,
    waiters: Vec<(String, String)>,
}

struct Glob {
    id: String,
    glob: String,
    root: String,
    holder: String,
    agent: String,
    reason: String,
    ends: String,
    is_shared: bool,
}

/// One file that is looked at.
struct FileView {
    path: String,
    name: String,
    /// Who holds it now, if it is held.
    held: Option<HeldBy>,
    entries: Vec<(String, String, &'static str, &'static str, &'static str, String)>,
}

struct HeldBy {
    holder: String,
    agent: String,
    ask: String,
    since: String,
    ends: String,
    reason: String,
    waiters: Vec<(String, String, String)>,
    release: String,
}

fn render(cx: &mut Cx<'_>, request: &PageRequest) -> Result<PageBody, VerbError> {
    let wanted = request.field("file");
    let chosen = request.field("root");
    let found = List { all: true }.run(cx, &request.caller)?.json;
    let all = found["locks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut roots: Vec<&str> = all.iter().filter_map(|lock| lock["root"].as_str()).collect();
    roots.sort_unstable();
    roots.dedup();
    let is_chosen = |lock: &&Value| chosen.is_none_or(|root| lock["root"] == *root);
    let (mut trees, mut globs): (Vec<(String, Folder)>, Vec<Glob>) = (Vec::new(), Vec::new());
    let (mut n_held, mut n_waiting, mut holders) = (0, 0, Vec::new());
    for lock in all.iter().filter(is_chosen) {
        let Some(path) = lock["path"].as_str() else {
            globs.push(glob(cx, lock));
            continue;
        };
        let root = lock["root"].as_str().unwrap_or_default();
        let held = held(cx, request, lock, wanted == Some(path));
        n_held += 1;
        n_waiting += held.waiters.len();
        holders.push(held.holder.clone());
        let row = held.render().map_err(|error| unrendered(&error))?;
        let at = trees.iter().position(|(known, _)| known == root).unwrap_or_else(|| {
            trees.push((root.to_owned(), Folder::default()));
            trees.len() - 1
        });
        trees[at].1.add(lock["file"].as_str().unwrap_or(path), row);
    }
    holders.sort();
    holders.dedup();
    let file = match wanted {
        Some(path) => Some(file(cx, request, all, path)?),
        None => None,
    };
    let tree = |(root, mut files): (String, Folder)| {
        let html = files.html().map_err(|error| unrendered(&error))?;
        Ok(Tree { id: element("tree", &root), name: folder(&root).to_owned(), root, html })
    };
    let page = LocksPage {
        meta: meta(n_held, holders.len(), n_waiting),
        roots: roots
            .iter()
            .map(|root| {
                let link = format!("/locks?root={}", in_query(root));
                (link, folder(root).to_owned(), Some(*root) == chosen)
            })
            .collect(),
        shows_all: chosen.is_none(),
        is_empty: trees.is_empty() && globs.is_empty(),
        trees: trees.into_iter().map(tree).collect::<Result<_, VerbError>>()?,
        globs,
        file,
        may_act: request.may_act,
    };
    body("Locks", &page)
}

fn unrendered(error: &askama::Error) -> VerbError {
    VerbError::user(format!("the page can't be rendered: {error}"), "")
}

fn meta(n_held: usize, n_holders: usize, n_waiting: usize) -> String {
    let s = |n: usize| if n == 1 { "" } else { "s" };
    let waits = match n_waiting {
        0 => "none waits".to_owned(),
        1 => "1 waits".to_owned(),
        n => format!("{n} wait"),
    };
    match n_held {
        0 => "No files are held.".to_owned(),
        n => format!("{n} file{} held by {n_holders} actor{} · {waits}", s(n), s(n_holders)),
    }
}

fn text(lock: &Value, name: &str) -> String {
    lock[name].as_str().unwrap_or_default().to_owned()
}

fn at(lock: &Value, name: &str) -> Timestamp {
    Timestamp(lock[name].as_i64().unwrap_or(0))
}

fn agent_link(address: &str) -> String {
    format!("/agent?who={}", in_query(address.split('/').next().unwrap_or_default()))
}

/// The time that is left, as an age of now seen from then.
fn left(cx: &Cx<'_>, lock: &Value) -> String {
    Since { at: cx.now, now: at(lock, "until_ms"), tz_offset_s: 0 }.age()
}

fn waiters(cx: &Cx<'_>, lock: &Value) -> Vec<(String, String)> {
    let waiter = |one: &Value| {
        (text(one, "who"), Since { at: at(one, "since_ms"), now: cx.now, tz_offset_s: 0 }.age())
    };
    lock["waiters"].as_array().into_iter().flatten().map(waiter).collect()
}

fn held(cx: &Cx<'_>, request: &PageRequest, lock: &Value, is_here: bool) -> HeldFile {
    let tz_offset_s = request.caller.tz_offset_s;
    let (file, holder) = (text(lock, "file"), text(lock, "holder"));
    HeldFile {
        id: element("lock", &format!("{}/{file}", text(lock, "root"))),
        link: format!("/locks?file={}", in_query(&text(lock, "path"))),
        agent: agent_link(&holder),
        is_editing: lock["state"] == "editing",
        reason: text(lock, "reason"),
        since: Since { at: at(lock, "acquired_ms"), now: cx.now, tz_offset_s }.html(),
        waiters: waiters(cx, lock),
        name: folder(&file).to_owned(),
        holder,
        is_here,
    }
}

fn glob(cx: &Cx<'_>, lock: &Value) -> Glob {
    let (glob, holder) = (text(lock, "file"), text(lock, "holder"));
    Glob {
        id: element("glob", &format!("{}-{glob}-{holder}", text(lock, "root"))),
        root: folder(&text(lock, "root")).to_owned(),
        agent: agent_link(&holder),
        reason: text(lock, "reason"),
        ends: left(cx, lock),
        is_shared: lock["state"] == "shared",
        glob,
        holder,
    }
}

fn file(
    cx: &mut Cx<'_>,
    request: &PageRequest,
    all: &[Value],
    path: &str,
) -> Result<FileView, VerbError> {
    let tz_offset_s = request.caller.tz_offset_s;
    let lock = all.iter().find(|lock| lock["path"] == *path);
    let held = lock.map(|lock| {
        let (holder, acquired) = (text(lock, "holder"), at(lock, "acquired_ms"));
        let since = Since { at: acquired, now: cx.now, tz_offset_s };
        HeldBy {
            agent: agent_link(&holder),
            ask: format!("/mail?to={}#compose", in_query(&holder)),
            since: since.html(),
            ends: left(cx, lock),
            reason: text(lock, "reason"),
            waiters: waiters(cx, lock)
                .into_iter()
                .map(|(who, since)| (agent_link(&who), who, since))
                .collect(),
            release: request.hidden("locks release", &format!("{path} {}", acquired.0)),
            holder,
        }
    });
    let now = cx.now;
    let entries = history::of(cx.db, path, MAX_HISTORY)?.into_iter().map(|entry| {
        let since = Since { at: entry.at, now, tz_offset_s };
        let (title, class, icon) = match entry.what.as_str() {
            "acquired" => ("Taken", "mark", "lock"),
            "taken over" => ("Taken over", "mark", "lock"),
            "released" => ("Released", "gone", "todo"),
            "expired" => ("Ended in silence", "gone", "gone"),
            "denied" => ("Refused", "error", "error"),
            "forced" => ("Released by force", "attention", "attention"),
            "bypassed" => ("Written without a lease", "attention", "attention"),
            _ => ("Reserved", "mark", "lock"),
        };
        (since.html(), entry.who.clone(), title, class, icon, entry.detail)
    });
    Ok(FileView {
        entries: entries.collect(),
        name: lock.map_or_else(|| folder(path).to_owned(), |lock| text(lock, "file")),
        path: path.to_owned(),
        held,
    })
}

/// A folder of the tree of held files. Folders with one folder in them are shown as one, and each says how many files it has.
#[derive(Default)]
struct Folder {
    folders: Vec<(String, Self)>,
    /// Names, and the rendered rows of the files.
    files: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "locks/page/folder.html")]
struct FolderRow<'a> {
    name: &'a str,
    n: usize,
    inside: String,
}

impl Folder {
    /// Puts the row of a file where its path says.
    fn add(&mut self, path: &str, row: String) {
        match path.split_once('/') {
            None => self.files.push((path.to_owned(), row)),
            Some((name, rest)) => {
                let at = self.folders.iter().position(|(known, _)| known == name);
                let at = at.unwrap_or_else(|| {
                    self.folders.push((name.to_owned(), Self::default()));
                    self.folders.len() - 1
                });
                self.folders[at].1.add(rest, row);
            }
        }
    }

    fn n_files(&self) -> usize {
        self.files.len() + self.folders.iter().map(|(_, one)| one.n_files()).sum::<usize>()
    }

    /// The list of what is in it: folders first, each by name.
    fn html(&mut self) -> Result<String, askama::Error> {
        self.folders.sort_by(|a, b| a.0.cmp(&b.0));
        self.files.sort_by(|a, b| a.0.cmp(&b.0));
        let mut out = String::new();
        for (name, folder) in &mut self.folders {
            let (mut shown, mut inner) = (format!("{name}/"), folder);
            while inner.files.is_empty() && inner.folders.len() == 1 {
                let (name, only) = &mut inner.folders[0];
                shown.push_str(name);
                shown.push('/');
                inner = only;
            }
            let n = inner.n_files();
            out.push_str(&FolderRow { name: &shown, n, inside: inner.html()? }.render()?);
        }
        for (_, row) in &self.files {
            out.push_str(row);
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_nest_and_lonely_ones_are_joined() {
        let mut root = Folder::default();
        for path in ["src/a/b/one.rs", "src/a/b/two.rs", "README.md", "src/c/three.rs"] {
            root.add(path, format!("<li>{path}</li>"));
        }
        let html = root.html().unwrap();
        let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text}: {html}"));
        assert!(at("src/") < at("a/b/") && at("a/b/") < at("<li>src/a/b/one.rs"));
        assert!(
            at("<li>src/a/b/two.rs") < at(">c/<") && at("<li>src/c/three.rs") < at("<li>README.md")
        );
        assert!(html.contains("3 held") && html.contains("2 held") && html.contains("1 held"));
    }
}
