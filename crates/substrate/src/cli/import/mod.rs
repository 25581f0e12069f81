//! `substrate import`: work and mail of other tools, from their documented files.
//!
//! Nothing is imported before a person has seen what would be. A thing has the same key each time, and queue and mail keep the
//! keys for good, so a second import adds nothing. What can't be carried over is listed with the reason.

mod agent_mail;
mod beads;
mod vibe_kanban;

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Value, json};
use substrate_core::size::Bytes;
use substrate_core::text::one_line;
use substrate_core::{Audience, RequestId, Verb};

use super::call::Line;
use super::dispatch::request;
use super::table::{self, Definition};
use super::{Context, print};
use crate::error::{AppError, Kind, Result};
use crate::{gather, ui};

pub(super) const COMMANDS: &[Definition] = &[Definition::new(
    &["import"],
    Audience::User,
    "Import work or mail from another tool; shows what it would do first",
    run,
)
.taking(flags)];

/// What reads a tool's files.
type Reader = fn(&Path) -> std::result::Result<Found, String>;

const SOURCES: &[(&str, Reader)] =
    &[("agent-mail", agent_mail::read), ("beads", beads::read), ("vibe-kanban", vibe_kanban::read)];

/// The longest title of a work item, and the longest list that is shown.
const MAX_TITLE: usize = 200;
const MAX_SHOWN: usize = 20;

/// The longest line of it.
const MAX_LINE: usize = 160;

/// What a tool's files hold.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    things: Vec<Thing>,
    left_out: Vec<LeftOut>,
}

/// Something to import.
#[derive(Debug, PartialEq, Eq)]
struct Thing {
    /// The tool's own id of it.
    key: String,
    what: What,
}

#[derive(Debug, PartialEq, Eq)]
enum What {
    Work { title: String, body: String },
    Mail { to: Vec<String>, subject: String, body: String, is_urgent: bool },
}

/// Something that can't be carried over.
#[derive(Debug, PartialEq, Eq)]
struct LeftOut {
    key: String,
    why: String,
}

impl Found {
    fn leave_out(&mut self, key: impl Into<String>, why: impl Into<String>) {
        self.left_out.push(LeftOut { key: key.into(), why: why.into() });
    }

    fn work(&mut self, key: &str, title: &str, body: String) {
        let what = What::Work { title: one_line(title, MAX_TITLE), body };
        self.things.push(Thing { key: key.to_owned(), what });
    }
}

impl Thing {
    fn words(&self) -> String {
        match &self.what {
            What::Work { title, .. } => one_line(&format!("work {}: {title}", self.key), MAX_LINE),
            What::Mail { to, subject, .. } => {
                one_line(&format!("mail {} to {}: {subject}", self.key, to.join(", ")), MAX_LINE)
            }
        }
    }
}

fn flags(command: Command) -> Command {
    let names = PossibleValuesParser::new(SOURCES.iter().map(|(name, _)| *name));
    command
        .arg(
            Arg::new("source")
                .value_name("TOOL")
                .required(true)
                .value_parser(names)
                .help("Which tool's files these are"),
        )
        .arg(Arg::new("path").value_name("PATH").required(true).help("Its file or folder"))
        .arg(
            Arg::new("apply")
                .long("apply")
                .action(ArgAction::SetTrue)
                .help("Import it; without this, only show it, and ask in a terminal"),
        )
}

fn run(context: &Context, flags: &ArgMatches) -> Result<()> {
    let given = |name: &str| flags.get_one::<String>(name).map_or("", String::as_str);
    let (source, path) = (given("source"), given("path"));
    let Some((_, read)) = SOURCES.iter().find(|(name, _)| *name == source) else { return Ok(()) };
    let mut found = read(Path::new(path))
        .map_err(|why| AppError::new(Kind::User, format!("`{path}` can't be imported: {why}")))?;
    let is_meant = flags.get_flag("apply");
    if !is_meant {
        ui::talk(&shown(&found));
        let n = found.things.len();
        if n == 0 || !ui::can_ask() || !ui::confirm(&format!("Import {n}?")) {
            let json = summary(source, 0, &found);
            print::result(context, &json, || {
                "Nothing was imported; `--apply` does it.\n".to_owned()
            });
            return Ok(());
        }
    }
    let Counts { n_new, n_known } = apply(context, source, &mut found)?;
    let mut json = summary(source, n_new, &found);
    json["n_known"] = n_known.into();
    print::result(context, &json, || {
        format!("{n_new} imported, {n_known} imported before.\n{}", left_out(&found))
    });
    Ok(())
}

/// How many things were added, and how many an earlier import had added.
#[derive(Default)]
struct Counts {
    n_new: usize,
    n_known: usize,
}

/// Imports everything, and lists what the daemon refuses.
fn apply(context: &Context, source: &str, found: &mut Found) -> Result<Counts> {
    let (add, send) = (verb(&["work", "add"])?, verb(&["send"])?);
    let mut line = Line::silent(context, add);
    let mut counts = Counts::default();
    for Thing { key, what } in std::mem::take(&mut found.things) {
        // A digest, because the key of another tool may be of any length.
        let id = format!("import {source} {}", RequestId::of(&key));
        let (verb, body) = match what {
            What::Work { title, body } => {
                (add, json!({"title": title, "body": body, "idempotency_key": id}))
            }
            What::Mail { to, subject, body, is_urgent } => {
                let priority = if is_urgent { "urgent" } else { "normal" };
                let body = json!({
                    "to": to, "subject": subject, "body": body, "priority": priority, "idempotency_key": id,
                });
                (send, body)
            }
        };
        line.turn_to(verb);
        match line.call(body, &request()) {
            Ok(output) if output.json["repeated"] == true => counts.n_known += 1,
            Ok(_) => counts.n_new += 1,
            Err(error) if error.kind == Kind::User => found.leave_out(key, error.in_one_line()),
            Err(error) => return Err(error),
        }
    }
    Ok(counts)
}

/// Reads a regular file that is not too long.
fn text(path: &Path, max: u64) -> std::io::Result<String> {
    let (file, n_bytes) = gather::open(path)?;
    if n_bytes > max {
        return Err(std::io::Error::other(format!("it is longer than {}", Bytes(max))));
    }
    let mut text = String::new();
    file.take(max).read_to_string(&mut text)?;
    Ok(text)
}

fn verb(path: &[&str]) -> Result<&'static Verb> {
    let found = table::verbs().find(|verb| verb.path == path);
    found.ok_or_else(|| AppError::new(Kind::Internal, format!("no verb `{}`", path.join(" "))))
}

fn shown(found: &Found) -> String {
    let mut out = String::new();
    for thing in found.things.iter().take(MAX_SHOWN) {
        let _infallible = writeln!(out, "  {}", thing.words());
    }
    if found.things.len() > MAX_SHOWN {
        let _infallible = writeln!(out, "  and {} more", found.things.len() - MAX_SHOWN);
    }
    out + &left_out(found)
}

fn left_out(found: &Found) -> String {
    let mut out = String::new();
    for LeftOut { key, why } in &found.left_out {
        let line = one_line(&format!("not carried over: {key}: {why}"), MAX_LINE);
        let _infallible = writeln!(out, "  {line}");
    }
    out
}

fn summary(source: &str, n_imported: usize, found: &Found) -> Value {
    let left: Vec<Value> =
        found.left_out.iter().map(|one| json!({"id": one.key, "why": one.why})).collect();
    json!({"source": source, "n_imported": n_imported, "n_found": found.things.len(), "left_out": left})
}
