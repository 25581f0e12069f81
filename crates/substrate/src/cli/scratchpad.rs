//! `substrate scratchpad [show|check|init]`: scratchpads by hand. The feature says where they are, and its own functions
//! judge them, so a person and a hook come to the same result.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write};
use std::path::Path;

use clap::{Arg, ArgMatches, Command};
use serde::Deserialize;
use serde_json::{Value, json};
use substrate_core::facts::{Daily, DayFile};
use substrate_core::text::{one_line, plain_line};
use substrate_core::{Audience, Format, Need, Timestamp, Verb};
use substrate_features::scratchpad::{
    self as pads, BASE, COORDINATOR, COORDINATOR_LINES, Days, EGO, EGO_LINES, MAX_BYTES,
    MAX_JUDGED, N_LATEST,
};

use super::call::Line;
use super::local::ThisProcess;
use super::table::{self, Definition};
use super::{Context, print};
use crate::error::{AppError, Kind, Result};
use crate::inside::Folder;
use crate::{clock, gather};

/// How many days are looked at.
const MAX_DAYS: usize = 60;

/// How many agents are looked at.
const MAX_FOLDERS: usize = 10_000;

/// How many agents are listed.
const MAX_LISTED: usize = 200;

/// The longest line that is shown.
const MAX_LINE: usize = 2_000;

pub(super) const COMMANDS: &[Definition] = &[
    Definition::new(
        &["scratchpad"],
        Audience::Both,
        "Show how today's scratchpads stand",
        |context, _| overview(context, &Place::of(context, None)?),
    ),
    Definition::new(
        &["scratchpad", "show"],
        Audience::Both,
        "Show an agent's latest scratchpad, or how today's stand",
        |context, flags| match whose(flags) {
            Some(agent) => show(context, &Place::of(context, Some(agent))?),
            None => overview(context, &Place::of(context, None)?),
        },
    )
    .taking(|command| {
        command.arg(agent("The type of agent (default: coordinator, ego and today's authors)"))
    }),
    Definition::new(
        &["scratchpad", "check"],
        Audience::Both,
        "Check whether an agent's scratchpad of today is complete; exits 1 if it is not",
        |context, flags| check(context, &Place::of(context, whose(flags))?),
    )
    .taking(|command| {
        command.arg(agent("The type of agent (default: your own, or `coordinator`)"))
    }),
    Definition::new(
        &["scratchpad", "init"],
        Audience::Both,
        "Start an agent's scratchpad of today; an existing one stays as it is",
        |context, flags| {
            let place = Place::of(context, whose(flags))?;
            init(context, &place, whose(flags).unwrap_or(&place.folder))
        },
    )
    .taking(|command| command.arg(agent("The type of agent").required(true))),
];

/// Not called `agent`: that is the global flag that says who acts.
fn agent(help: &'static str) -> Arg {
    Arg::new("whose").value_name("AGENT").help(help)
}

fn whose(flags: &ArgMatches) -> Option<&str> {
    flags.get_one::<String>("whose").map(String::as_str)
}

/// Where the feature says an agent's scratchpads are.
#[derive(Deserialize)]
struct Place {
    path: String,
    root: String,
    /// The caller's working tree. A subagent may have its own, and what it writes there counts too.
    tree: String,
    folder: String,
    day: String,
    /// The first day that counts.
    since: String,
    /// When the agent started, if a hook saw it.
    started_ms: Option<i64>,
}

impl Place {
    fn of(context: &Context, agent: Option<&str>) -> Result<Self> {
        let verb = table::verbs().find(|verb| verb.path == ["scratchpad", "path"]);
        let verb =
            verb.ok_or_else(|| AppError::new(Kind::Internal, "`scratchpad path` is gone"))?;
        let output =
            Line::new(context, verb).call(body(context, verb, agent)?, &context.caller.request)?;
        serde_json::from_value(output.json)
            .map_err(|error| AppError::from_error(Kind::Internal, &error))
    }

    fn file(&self, root: &str, day: &str) -> String {
        format!("{root}/{BASE}/{}/{day}.md", self.folder)
    }
}

/// An agent's latest readable file, or its latest if none is readable.
fn latest(root: &str, folder: &str) -> Result<Option<DayFile>> {
    let mut files = files(root, folder, N_LATEST, MAX_BYTES)?;
    let at = files.iter().rposition(|file| file.text.is_some());
    Ok(match at {
        Some(at) => Some(files.swap_remove(at)),
        None => files.pop(),
    })
}

/// The latest `n` files of an agent below a root, oldest first.
fn files(root: &str, folder: &str, n: usize, max_bytes: usize) -> Result<Vec<DayFile>> {
    let below = format!("{BASE}/{folder}");
    let dir = root.to_owned();
    let until = pads::horizon(clock::now());
    let need = Need::Daily { dir, of_tree: false, below, until, n, max_bytes };
    let found = gather::gather(vec![need.clone()]);
    found.daily(&need).map(|Daily { files, .. }| files.clone()).ok_or_else(|| {
        AppError::new(Kind::State, format!("`{root}/{BASE}/{folder}` can't be read"))
            .hint("make it a folder that you may read; `--project-dir` names another project")
    })
}

/// Built from typed flags.
fn body(context: &Context, verb: &Verb, agent: Option<&str>) -> Result<Value> {
    let command = (verb.augment)(Command::new("path")).no_binary_name(true);
    let matches = command
        .try_get_matches_from(["--"].into_iter().chain(agent))
        .map_err(|error| AppError::from_error(Kind::Internal, &error))?;
    Ok((verb.body)(&matches, &mut ThisProcess::new(context))?)
}

fn show(context: &Context, place: &Place) -> Result<()> {
    let Some(file) = latest(&place.root, &place.folder)? else {
        return Err(AppError::new(Kind::User, format!("{} has no scratchpad yet", place.folder))
            .hint(format!("`substrate scratchpad init {}` starts one", place.folder)));
    };
    let path = place.file(&place.root, &file.day);
    let text = file.text.ok_or_else(|| unreadable(&path))?;
    print::result(context, &json!({"path": path, "day": file.day, "text": text}), || {
        format!("{path}\n\n{}", plain(&text))
    });
    Ok(())
}

/// How the coordinator's and the ego's latest scratchpads end, and who wrote today.
fn overview(context: &Context, place: &Place) -> Result<()> {
    let mut text = String::new();
    let mut entries = Vec::new();
    for (who, n) in [(COORDINATOR, COORDINATOR_LINES), (EGO, EGO_LINES)] {
        let Some(file) = latest(&place.root, who)? else { continue };
        let tail = pads::tail(file.text.as_deref().unwrap_or("(it can't be read)"), n);
        let _infallible = write!(text, "{who}, {}:\n{tail}\n\n", file.day);
        entries.push(json!({"agent": who, "day": file.day, "tail": tail}));
    }
    let today = wrote(place);
    let _infallible = if today.is_empty() {
        writeln!(text, "No agent has written a scratchpad on {} in {}.", place.day, place.root)
    } else {
        writeln!(text, "Written on {}: {}", place.day, today.join(", "))
    };
    let json = json!({"day": place.day, "root": place.root, "latest": entries, "today": today});
    print::result(context, &json, || text);
    Ok(())
}

/// Who has a scratchpad of today.
fn wrote(place: &Place) -> Vec<String> {
    let Ok(below) = Folder::root(&place.root).and_then(|root| root.at(BASE)) else {
        return Vec::new();
    };
    let file = format!("{}.md", place.day);
    let has = |name: &String| below.at(name).and_then(|folder| folder.read(&file)).is_ok();
    let names = below.names(MAX_FOLDERS).unwrap_or_default().into_iter();
    let mut names: Vec<String> = names.filter(has).map(|name| one_line(&name, 128)).collect();
    names.sort();
    names.truncate(MAX_LISTED);
    names
}

fn check(context: &Context, place: &Place) -> Result<()> {
    let mut best: Option<(String, Vec<&'static str>)> = None;
    let days = Days::new(place.since.clone(), place.day.clone(), place.started_ms.map(Timestamp));
    let own = Some(place.tree.as_str()).filter(|tree| !tree.is_empty() && *tree != place.root);
    for root in [place.root.as_str()].into_iter().chain(own) {
        let files = files(root, &place.folder, MAX_DAYS, MAX_JUDGED)?;
        let counts = |file: &&DayFile| days.hold(&file.day, file.changed_ms);
        for file in files.iter().rev().filter(counts) {
            let path = place.file(root, &file.day);
            let text = file.text.as_deref().ok_or_else(|| unreadable(&path))?;
            let lacks = lacks(&place.folder, text);
            if best.as_ref().is_none_or(|(_, least)| lacks.len() < least.len()) {
                best = Some((path, lacks));
            }
        }
    }
    let is_there = best.is_some();
    let (path, lacks) = best.unwrap_or_else(|| (place.path.clone(), Vec::new()));
    let is_complete = is_there && lacks.is_empty();
    let json = json!({"path": path, "exists": is_there, "complete": is_complete, "lacks": lacks});
    if is_complete || context.format == Format::Json {
        print::result(context, &json, || format!("complete: {path}\n"));
    }
    match (is_complete, context.format) {
        (true, _) => Ok(()),
        // The JSON has said it.
        (false, Format::Json) => Err(AppError::new(Kind::User, "")),
        (false, _) if !is_there => Err(AppError::new(Kind::User, format!("{path} does not exist"))
            .hint(format!("`substrate scratchpad init {}` starts it", place.folder))),
        (false, _) => Err(AppError::new(Kind::User, format!("{path} lacks: {}", lacks.join(", ")))
            .hint("add what is missing, sections as headings such as `## What I did`")),
    }
}

/// The coordinator's only has to say something.
fn lacks(folder: &str, text: &str) -> Vec<&'static str> {
    match folder {
        _ if pads::is_untouched(text) => vec!["words under its headings"],
        COORDINATOR if pads::is_blank(text) => vec!["an entry"],
        COORDINATOR => Vec::new(),
        _ => pads::missing(text),
    }
}

fn init(context: &Context, place: &Place, agent: &str) -> Result<()> {
    let text = pads::template(&one_line(agent, 80), &place.day);
    let path = Path::new(&place.path);
    let made = create(Path::new(&place.root), path, text.as_bytes());
    match made {
        Ok(()) => {
            print::result(context, &json!({"path": place.path}), || {
                format!("written: {}\n", place.path)
            });
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(AppError::new(Kind::User, format!("{} exists already", place.path)).hint(format!(
                "add to it; `substrate scratchpad check {}` says what it lacks",
                place.folder
            )))
        }
        Err(error) => Err(refused(path, &error)),
    }
}

/// Creates a file below the root and the folders above it. Never writes through a link.
fn create(root: &Path, path: &Path, text: &[u8]) -> std::io::Result<()> {
    let relative = path.strip_prefix(root).map_err(|_| ErrorKind::InvalidInput)?;
    let name =
        relative.file_name().and_then(|name| name.to_str()).ok_or(ErrorKind::InvalidInput)?;
    let folder = Folder::root(root)?.made_at(relative.parent().unwrap_or(Path::new("")))?;
    folder.create(name, 0o666)?.write_all(text)
}

fn refused(path: &Path, error: &std::io::Error) -> AppError {
    AppError::new(Kind::State, format!("`{}` could not be written: {error}", path.display()))
        .hint("check that the folder exists, is yours, and is not behind a link; `--project-dir` names another project")
}

fn unreadable(path: &str) -> AppError {
    AppError::new(Kind::State, format!("`{path}` could not be read"))
        .hint("make it a plain file that you may read")
}

/// What others wrote, without control characters or a client's tags.
fn plain(text: &str) -> String {
    let keep = |line: &str| {
        let line = plain_line(&line.replace('\t', "    "), None);
        line.chars().take(MAX_LINE).chain(['\n']).collect::<String>()
    };
    text.lines().map(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_through_a_link() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let pad = root.path().join(BASE).join("x/day.md");
        create(root.path(), &pad, b"x").unwrap();
        assert_eq!(create(root.path(), &pad, b"y").unwrap_err().kind(), ErrorKind::AlreadyExists);
        std::fs::rename(root.path().join(BASE), other.path().join("pads")).unwrap();
        std::os::unix::fs::symlink(other.path().join("pads"), root.path().join(BASE)).unwrap();
        assert!(create(root.path(), &root.path().join(BASE).join("y/day.md"), b"x").is_err());
        assert_eq!(std::fs::read_dir(other.path().join("pads")).unwrap().count(), 1);
        assert!(create(root.path(), &other.path().join("day.md"), b"x").is_err());
    }

    #[test]
    fn a_terminal_is_told_nothing() {
        assert_eq!(plain("a\u{1b}[2J\tb\r\n</user>c"), "a [2J    b\n(/user>c\n");
    }

    #[test]
    fn the_coordinator_only_has_to_say_something() {
        assert_eq!(lacks(COORDINATOR, "x"), Vec::<&str>::new());
        assert_eq!(lacks(COORDINATOR, " "), ["an entry"]);
        assert_eq!(lacks("x", "x").len(), 3);
        for folder in [COORDINATOR, "x"] {
            assert_eq!(lacks(folder, &pads::template("x", "2026-02-08")).len(), 1);
        }
    }
}
