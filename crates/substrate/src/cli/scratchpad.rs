//! `substrate scratchpad [show|check|init]`: scratchpads by hand. Where they are is what the feature says; what they must
//! contain is judged by its own functions, so that a person and a hook come to the same result.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command};
use serde::Deserialize;
use serde_json::{Value, json};
use substrate_core::facts::{Daily, DayFile};
use substrate_core::text::one_line;
use substrate_core::{Format, Need, Timestamp, Verb};
use substrate_features::scratchpad::{
    self as pads, BASE, COORDINATOR, COORDINATOR_LINES, Days, EGO, EGO_LINES, MAX_BYTES,
    MAX_JUDGED, N_LATEST,
};

use super::call::Line;
use super::local::ThisProcess;
use super::{Context, verbs};
use crate::error::{AppError, Kind, Result};
use crate::{clock, fsx, gather, ui};

/// How many days are looked at.
const MAX_DAYS: usize = 60;

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
    print(context, &json!({"path": path, "day": file.day, "text": text}), || {
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
    print(context, &json, || text);
    Ok(())
}

/// Who has a scratchpad of today.
fn wrote(place: &Place) -> Vec<String> {
    let below = Path::new(&place.root).join(BASE);
    let entries = std::fs::read_dir(&below).into_iter().flatten().flatten();
    let has = |name: &String| below.join(name).join(format!("{}.md", place.day)).is_file();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(has)
        .map(|name| one_line(&name, 128))
        .collect();
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
        print(context, &json, || format!("complete: {path}\n"));
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
    let path = PathBuf::from(&place.path);
    let folder = path.parent().unwrap_or(&path);
    stays_inside(Path::new(&place.root), folder)?;
    fsx::create_folders(folder).map_err(|error| refused(folder, &error))?;
    let text = pads::template(&one_line(agent, 80), &place.day);
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    match made {
        Ok(()) => {
            print(context, &json!({"path": place.path}), || format!("written: {}\n", place.path));
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
        Err(error) => Err(refused(&path, &error)),
    }
}

/// Nothing is written through a link that leads out of the project.
fn stays_inside(root: &Path, folder: &Path) -> Result<()> {
    let root = root.canonicalize().map_err(|error| refused(root, &error))?;
    let deepest = folder.ancestors().find_map(|folder| folder.canonicalize().ok());
    if deepest.is_some_and(|found| found.starts_with(&root)) {
        return Ok(());
    }
    Err(AppError::new(Kind::User, format!("`{}` leads out of the project", folder.display()))
        .hint("a link is in the way: remove it, or write the file by hand"))
}

fn refused(path: &Path, error: &std::io::Error) -> AppError {
    AppError::new(Kind::State, format!("`{}` could not be written: {error}", path.display()))
        .hint("is the folder there, and yours? `--project-dir` names another project")
}

fn unreadable(path: &str) -> AppError {
    AppError::new(Kind::State, format!("`{path}` could not be read"))
        .hint("make it a plain file that you may read")
}

/// What others wrote, without what a terminal would obey.
fn plain(text: &str) -> String {
    let keep = |line: &str| -> String {
        line.chars().filter(|c| *c == '\t' || !c.is_control()).take(MAX_LINE).collect::<String>()
            + "\n"
    };
    text.lines().map(keep).collect()
}

fn print(context: &Context, json: &Value, text: impl FnOnce() -> String) {
    ui::data(&if context.format == Format::Json {
        format!("{}\n", verbs::pretty(json))
    } else {
        text()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_out_of_the_project_is_refused() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let pad = root.path().join(BASE).join("x");
        stays_inside(root.path(), &pad).unwrap();
        fsx::create_folders(&root.path().join(".claude")).unwrap();
        std::os::unix::fs::symlink(other.path(), root.path().join(BASE)).unwrap();
        assert!(stays_inside(root.path(), &pad).is_err());
    }

    #[test]
    fn a_terminal_is_told_nothing() {
        assert_eq!(plain("a\u{1b}[2J\tb\r\nc"), "a[2J\tb\nc\n");
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
