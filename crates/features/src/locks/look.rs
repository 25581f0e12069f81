//! `substrate locks`, `locks show`, `locks history`, `locks check`

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::time::Ago;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, DbError, Local, Output, Timestamp, VerbError};

use super::files::{Target, here, known};
use super::history::{self, HistoryEntry};
use super::leases::{self, Lease};
use super::reservations::{self, Reservation};
use super::status::{self, FileStatus, Hold};
use super::{waiting, words};
use crate::globs;
use crate::identity::holder::{Holder, Pulses};
use crate::listing::aligned;

/// Rows that a list shows.
const MAX_LISTED: i64 = 500;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct List {
    /// Show every project
    #[arg(long)]
    pub(crate) all: bool,
}

impl VerbArgs for List {
    const PATH: &'static [&'static str] = &["locks", "list"];
    const ABOUT: &'static str = "List who holds which files";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let all = self.all || caller.project.is_empty();
        let leases = if all {
            leases::all(cx.db, MAX_LISTED)?
        } else {
            leases::in_project(cx.db, &caller.project, MAX_LISTED)?
        };
        let mut pulses = Pulses::default();
        let mut shown: Vec<LeaseRow> = Vec::new();
        let waiting = waiting::all_waiting(cx)?;
        for lease in &leases {
            let mut row = lease_row(cx, &mut pulses, lease)?;
            if let Some(row) = &mut row {
                let its = waiting.iter().filter(|one| one.path == lease.path);
                row.json["waiters"] =
                    its.map(|one| json!({"who": one.who, "since_ms": one.at_ms})).collect();
            }
            shown.extend(row);
        }
        for glob in reservations::all(cx.db, MAX_LISTED)? {
            if all || glob.project == caller.project {
                shown.extend(reservation_row(cx, &mut pulses, &glob)?);
            }
        }
        let (text, list) = joined(shown);
        let text = if text.is_empty() { "No files are held.\n".to_owned() } else { text };
        Ok(Output::new(text, json!({ "locks": list })))
    }
}

fn joined(shown: Vec<LeaseRow>) -> (String, Vec<Value>) {
    let text: String = shown.iter().map(|one| one.line.as_str()).collect();
    (aligned(&text), shown.into_iter().map(|one| one.json).collect())
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Show {
    /// The file, folder or glob
    path: String,
    #[arg(skip)]
    #[serde(default)]
    found: Vec<Target>,
}

impl VerbArgs for Show {
    const PATH: &'static [&'static str] = &["locks", "show"];
    const ABOUT: &'static str = "Show who holds a file, and its recent history";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.found = here(std::slice::from_ref(&self.path), local);
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let target = one_target(&self.path, &self.found, caller);
        let mut pulses = Pulses::default();
        let mut shown: Vec<LeaseRow> = Vec::new();
        let (leases, globs) = if target.is_glob {
            reservations::overlapping(cx, &target)?
        } else {
            let mut globs = (*reservations::in_root(cx.db, &target.root)?).clone();
            globs.retain(|glob| globs::matches(&glob.glob, &target.relative));
            let leases = leases::same(cx.db, &target.path, target.file.as_deref())?;
            ((*leases).clone(), globs)
        };
        for lease in &leases {
            shown.extend(lease_row(cx, &mut pulses, lease)?);
        }
        for glob in &globs {
            shown.extend(reservation_row(cx, &mut pulses, glob)?);
        }
        let entries = history::of(cx.db, &target.path, 5)?;
        let (history, entries) = history_text(&entries, cx.now);
        let (mut text, list) = joined(shown);
        if text.is_empty() {
            text = format!("`{}` is free.\n", words::path(&target.relative));
        }
        let json = json!({"path": target.path, "locks": list, "history": entries});
        Ok(Output::new(format!("{text}{history}"), json))
    }
}

fn one_target(path: &str, found: &[Target], caller: &Caller) -> Target {
    known(&[path.to_owned()], found, caller).into_iter().next().unwrap_or_default()
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct History {
    /// The file
    path: String,
    /// Show at most this many entries
    #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=1_000))]
    #[serde(default = "fifty")]
    limit: i64,
    #[arg(skip)]
    #[serde(default)]
    found: Vec<Target>,
}

fn fifty() -> i64 {
    50
}

impl VerbArgs for History {
    const PATH: &'static [&'static str] = &["locks", "history"];
    const ABOUT: &'static str = "Show who held a file and who was refused it, newest first";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.found = here(std::slice::from_ref(&self.path), local);
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let target = one_target(&self.path, &self.found, caller);
        let entries = history::of(cx.db, &target.path, self.limit.clamp(1, 1_000))?;
        let (text, list) = history_text(&entries, cx.now);
        Ok(Output::new(text, json!({"path": target.path, "history": list})))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Check {
    /// The files
    #[arg(required = true)]
    paths: Vec<String>,
    /// List the files that others hold instead of failing
    #[arg(long)]
    #[serde(default)]
    list: bool,
    #[arg(skip)]
    #[serde(default)]
    found: Vec<Target>,
}

impl VerbArgs for Check {
    const PATH: &'static [&'static str] = &["locks", "check"];
    const ABOUT: &'static str = "Fail if others hold any of these files; for git hooks";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.found = here(&self.paths, local);
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        // An unknown caller holds nothing, so every holder is someone else.
        let me = match Holder::of_caller(cx, caller) {
            Err(VerbError::User { .. }) => Holder::unknown(),
            known => known?,
        };
        let (mut text, mut list, mut named) = (String::new(), Vec::new(), Vec::new());
        for target in known(&self.paths, &self.found, caller) {
            let blocker = if target.is_glob {
                reservations::blocker_within(cx, &me, &target)?.map(|(blocker, ..)| blocker)
            } else {
                match status::of(cx, &me, &target.place())? {
                    FileStatus::Taken(blocker) => Some(blocker),
                    FileStatus::Own(_) | FileStatus::Free { .. } => None,
                }
            };
            if let Some(blocker) = blocker {
                let who = blocker.hold.holder.address(cx)?;
                text.push_str(&words::held(cx, &target.relative, &blocker)?);
                text.push('\n');
                named.push(format!("`{}` ({who})", words::path(&target.relative)));
                list.push(json!({"path": target.path, "file": target.relative, "holder": who}));
            }
        }
        if !named.is_empty() && !self.list {
            named.truncate(10);
            return Err(VerbError::user(
                format!("held by others: {}", named.join(", ")),
                "leave these files out, or wait for them: `substrate locks wait PATH`",
            ));
        }
        Ok(Output::new(text, json!({ "held": list })))
    }
}

/// One line of a list, and the same as JSON.
struct LeaseRow {
    line: String,
    json: Value,
}

/// The row of a lease. `None` if it has ended.
fn lease_row(
    cx: &mut Cx<'_>,
    pulses: &mut Pulses,
    lease: &Lease,
) -> Result<Option<LeaseRow>, DbError> {
    let state = if lease.hold.is_provisional { "editing" } else { "held" };
    let mut row = row(cx, pulses, &lease.hold, &lease.relative, &lease.root, state)?;
    if let Some(row) = &mut row {
        row.json["path"] = json!(lease.path);
        row.json["modified_ms"] = json!(lease.modified.0);
    }
    Ok(row)
}

/// The row of a reserved glob. `None` if it has ended.
fn reservation_row(
    cx: &mut Cx<'_>,
    pulses: &mut Pulses,
    one: &Reservation,
) -> Result<Option<LeaseRow>, DbError> {
    let state = if one.is_shared { "shared" } else { "reserved" };
    row(cx, pulses, &one.hold, &one.glob, &one.root, state)
}

fn row(
    cx: &mut Cx<'_>,
    pulses: &mut Pulses,
    hold: &Hold,
    relative: &str,
    root: &str,
    state: &str,
) -> Result<Option<LeaseRow>, DbError> {
    let Some(until) = hold.until(cx, pulses)? else { return Ok(None) };
    let who = hold.holder.address(cx)?;
    let (taken, left) = (Ago(cx.now.since(hold.acquired)), Ago(until.since(cx.now)));
    let reason = words::reason(&hold.reason);
    let tail = if reason.is_empty() { String::new() } else { format!("  {reason}") };
    Ok(Some(LeaseRow {
        line: format!(
            "{}\t{who}\t{state}, taken {taken} ago, ends in {left} if silent{tail}\n",
            words::path(relative)
        ),
        json: json!({
            "file": relative, "root": root, "holder": who, "state": state, "reason": hold.reason,
            "acquired_ms": hold.acquired.0, "until_ms": until.0,
        }),
    }))
}

/// The history of a file, newest first, as text and JSON.
fn history_text(entries: &[HistoryEntry], now: Timestamp) -> (String, Value) {
    let (mut text, mut list) = (String::new(), Vec::new());
    for entry in entries {
        let HistoryEntry { at, who, what, detail } = entry;
        let tail = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
        let _infallible =
            writeln!(text, "{:>5} ago\t{who}\t{what}{tail}", Ago(now.since(*at)).to_string());
        list.push(json!({"at_ms": at.0, "who": who, "what": what, "detail": detail}));
    }
    if entries.is_empty() {
        "No history in the last 30 days.\n".clone_into(&mut text);
    }
    (aligned(&text), Value::Array(list))
}
