//! `substrate scratchpad [show|check|init]`: scratchpads by hand. Where they are is what the feature says; what they must
//! contain is judged by its own functions, so that a person and a hook come to the same result.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write};
use std::path::Path;

use clap::{Arg, ArgMatches, Command};
use serde::Deserialize;
use serde_json::{Value, json};
use substrate_core::facts::{Daily, DayFile};
use substrate_core::text::{one_line, plain_line};
use substrate_core::{Format, Need, Timestamp, Verb};
use substrate_features::scratchpad::{
    self as pads, BASE, COORDINATOR, COORDINATOR_LINES, Days, EGO, EGO_LINES, MAX_BYTES,
    MAX_JUDGED, N_LATEST,
};

use super::call::Line;
use super::local::ThisProcess;
use super::{Context, say};
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

/// Adds our commands to the group that the feature's own began.
pub(super) fn commands(group: Command) -> Command {
    let agent = || {
        // Not `agent`: that is the flag that says as whom one acts.
        Arg::new("whose")
            .value_name("AGENT")
            .help("The type of agent (default: your own, or `coordinator`)")
    };
    let whose =
        agent().help("The type of agent (default: coordinator and ego, and who wrote today)");
    group
        .subcommand_required(false)
        .arg_required_else_help(false)
        .subcommand(
            Command::new("show")
                .about("The latest scratchpad of an agent, or how things stand")
                .arg(whose),
        )
        .subcommand(
            Command::new("check")
                .about("Whether an agent's scratchpad of today is complete; exits 1 if it is not")
                .arg(agent()),
        )
        .subcommand(
            Command::new("init")
                .about("Begin an agent's scratchpad of today; one that is there stays as it is")
                .arg(agent().required(true).help("The type of agent")),
        )
}

pub(super) fn run(context: &Context, matches: &ArgMatches) -> Result<()> {
    let (name, inner) = matches.subcommand().unwrap_or(("show", matches));
    let agent = inner.try_get_one::<String>("whose").ok().flatten().map(String::as_str);
    let place = Place::of(context, agent)?;
    match (name, agent) {
        ("check", _) => check(context, &place),
        ("init", _) => init(context, &place, agent.unwrap_or(&place.folder)),
        (_, Some(_)) => show(context, &place),
        (_, None) => overview(context, &place),
    }
}

/// Where an agent's scratchpads are, as the feature says.
#[derive(Deserialize)]
struct Place {
    path: String,
    root: String,
    /// The working tree around the caller: a subagent may have its own, and what it writes there counts too.
    tree: String,
    folder: String,
    day: String,
    /// The first day that counts.
    since: String,
    /// When the agent began, if anybody saw it.
    started_ms: Option<i64>,
}

impl Place {
    fn of(context: &Context, agent: Option<&str>) -> Result<Self> {
        let mut verbs = substrate_features::ALL.iter().flat_map(|feature| feature.verbs);
        let verb = verbs.find(|verb| verb.path == ["scratchpad", "path"]);
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

/// The latest file of an agent that can be read; where none can, the latest.
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
        AppError::new(Kind::State, format!("`{root}/{BASE}/{folder}` can't be looked into"))
            .hint("make it a folder that you may read; `--project-dir` names another project")
    })
}

/// As if it were typed.
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
            .hint(format!("`substrate scratchpad init {}` begins one", place.folder)));
    };
    let path = place.file(&place.root, &file.day);
    let text = file.text.ok_or_else(|| unreadable(&path))?;
    say::result(context, &json!({"path": path, "day": file.day, "text": text}), || {
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
        writeln!(text, "Nobody has written a scratchpad on {} in {}.", place.day, place.root)
    } else {
        writeln!(text, "Written on {}: {}", place.day, today.join(", "))
    };
    let json = json!({"day": place.day, "root": place.root, "latest": entries, "today": today});
    say::result(context, &json, || text);
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
        say::result(context, &json, || format!("complete: {path}\n"));
    }
    match (is_complete, context.format) {
        (true, _) => Ok(()),
        // Said already.
        (false, Format::Json) => Err(AppError::new(Kind::User, "")),
        (false, _) if !is_there => Err(AppError::new(Kind::User, format!("{path} is not there"))
            .hint(format!("`substrate scratchpad init {}` begins it", place.folder))),
        (false, _) => Err(AppError::new(Kind::User, format!("{path} lacks: {}", lacks.join(", ")))
            .hint("add what is missing, sections as headings such as `## What I did`")),
    }
}

/// Of the coordinator's only that it says something is asked.
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
            say::result(context, &json!({"path": place.path}), || {
                format!("written: {}\n", place.path)
            });
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(AppError::new(Kind::User, format!("{} is there already", place.path)).hint(
                format!(
                    "add to it; `substrate scratchpad check {}` says what it lacks",
                    place.folder
                ),
            ))
        }
        Err(error) => Err(refused(path, &error)),
    }
}

/// A new file below the root, and the folders that lead to it. Nothing is written through a link.
fn create(root: &Path, path: &Path, text: &[u8]) -> std::io::Result<()> {
    let relative = path.strip_prefix(root).map_err(|_| ErrorKind::InvalidInput)?;
    let name =
        relative.file_name().and_then(|name| name.to_str()).ok_or(ErrorKind::InvalidInput)?;
    let folder = Folder::root(root)?.made_at(relative.parent().unwrap_or(Path::new("")))?;
    folder.create(name, 0o666)?.write_all(text)
}

fn refused(path: &Path, error: &std::io::Error) -> AppError {
    AppError::new(Kind::State, format!("`{}` could not be written: {error}", path.display()))
        .hint("is the folder there, yours, and reached through no link? `--project-dir` names another project")
}

fn unreadable(path: &str) -> AppError {
    AppError::new(Kind::State, format!("`{path}` could not be read"))
        .hint("make it a plain file that you may read")
}

/// What others wrote, without what a terminal would obey or a model take for its client's.
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
