//! What is noted about leases: the history of each file, what views tell of it, and two mirror files for people and other tools.
//!
//! The mirrors are the list of leases, and a log of tool calls and decisions. They are written only with `locks.mirror`. A
//! person's own files are never edited to mark a lease.

use serde_json::{Map, Value, json};
use substrate_core::redact::{names_dotenv, redacted};
use substrate_core::text::one_line;
use substrate_core::view::{Moment, MomentKind, StoryOf};
use substrate_core::{
    Cx, Db, DbError, Detail, Effect, Event, EventKind, FeatureError, Outcome, Timestamp, Who, seed,
};

use super::leases::{self, Lease};
use super::{files, words};
use crate::identity::holder::Pulses;
use crate::page::in_query;
use crate::retention::Expiring;

/// What happened to a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeaseChange {
    Acquired,
    TakenOver,
    Released,
    Expired,
    Denied,
    Forced,
    Bypassed,
    Reserved,
}

impl LeaseChange {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Acquired => "acquired",
            Self::TakenOver => "taken over",
            Self::Released => "released",
            Self::Expired => "expired",
            Self::Denied => "denied",
            Self::Forced => "forced",
            Self::Bypassed => "bypassed",
            Self::Reserved => "reserved",
        }
    }
}

/// One entry of a file's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HistoryEntry {
    pub(super) at: Timestamp,
    pub(super) who: String,
    pub(super) what: String,
    pub(super) detail: String,
}

pub(super) fn add(
    db: &mut dyn Db,
    path: &str,
    who: &str,
    what: LeaseChange,
    detail: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into lease_history (path, who, what, detail, at_ms) values ($1, $2, $3, $4, $5)",
        &[path.into(), who.into(), what.name().into(), detail.into(), now.0.into()],
    )?;
    Ok(())
}

/// The newest entries of a file, newest first.
pub(super) fn of(db: &mut dyn Db, path: &str, limit: i64) -> Result<Vec<HistoryEntry>, DbError> {
    db.rows(
        "select at_ms, who, what, detail from lease_history where path = $1 order by id desc limit $2",
        &[path.into(), limit.into()],
        |row| {
            Ok(HistoryEntry {
                at: Timestamp(row.int(0)?),
                who: row.text(1)?,
                what: row.text(2)?,
                detail: row.text(3)?,
            })
        },
    )
}

/// How many entries are searched for a name.
const MAX_SEARCHED: i64 = 10_000;

/// Whether the newest entries name that agent or one of its subagents.
pub(super) fn has(db: &mut dyn Db, name: &str) -> Result<bool, DbError> {
    let below = format!("{name}/");
    let found = db.first(
        "select 1 from (select who, what from lease_history order by id desc limit $4)
         where (who = $1 or substr(who, 1, $3) = $2) and what <> 'denied' limit 1",
        &[
            name.into(),
            below.as_str().into(),
            i64::try_from(below.chars().count()).unwrap_or(0).into(),
            MAX_SEARCHED.into(),
        ],
        |row| row.int(0),
    )?;
    Ok(found.is_some())
}

/// Old entries.
pub(super) const OLD: Expiring = Expiring { table: "lease_history", key: "id", when: "at_ms < $1" };

/// Below `seed::COORDINATION`.
const LOCKS: &str = "file-locks.json";
const LOG: &str = "hook-debug.log";

/// Leases that the list shows.
const MAX_SHOWN: i64 = 1_000;

/// How much of a tool's input or result the log shows.
const MAX_TEXT: usize = 500;

/// Rewrites the list of a working tree.
pub(super) fn mirror_list(cx: &mut Cx<'_>, root: &str) -> Result<(), DbError> {
    if !cx.settings.on("locks.mirror") || root.is_empty() {
        return Ok(());
    }
    let mut all = Map::new();
    let mut pulses = Pulses::default();
    for lease in leases::in_root(cx.db, root, MAX_SHOWN)? {
        if lease.hold.until(cx, &mut pulses)?.is_none() {
            continue;
        }
        let entry = json!({
            "agentId": lease.hold.holder.address(cx)?,
            "acquiredAt": words::iso(lease.hold.acquired),
            "lastModified": words::iso(lease.modified),
        });
        all.insert(lease.relative, entry);
    }
    let is_older = |effect: &Effect| matches!(effect, Effect::Mirror { root: other, append: false, .. } if other == root);
    cx.effects.retain(|effect| !is_older(effect));
    cx.effects.push(Effect::Mirror {
        root: root.to_owned(),
        path: format!("{}/{LOCKS}", seed::COORDINATION),
        text: format!("{:#}\n", Value::Object(all)),
        append: false,
    });
    Ok(())
}

/// Logs released leases and rewrites the lists.
pub(super) fn mirror_released(
    cx: &mut Cx<'_>,
    leases: &[Lease],
    what: LeaseChange,
) -> Result<(), DbError> {
    if !cx.settings.on("locks.mirror") {
        return Ok(());
    }
    let mut roots: Vec<&str> = leases.iter().map(|lease| lease.root.as_str()).collect();
    roots.sort_unstable();
    roots.dedup();
    for root in roots {
        let of_root = || leases.iter().filter(|lease| lease.root == root);
        let n = of_root().count();
        if let Some(lease) = of_root().next() {
            let who = lease.hold.holder.address(cx)?;
            let plural = if n == 1 { "" } else { "s" };
            line(cx, root, &who, &format!("{} {n} lock{plural}", what.name()));
        }
        mirror_list(cx, root)?;
    }
    Ok(())
}

/// Logs a decision about a file.
pub(super) fn mirror_decision(
    cx: &mut Cx<'_>,
    root: &str,
    who: &str,
    what: LeaseChange,
    relative: &str,
) {
    if cx.settings.on("locks.mirror") {
        line(cx, root, who, &format!("{} {}", what.name(), words::path(relative)));
    }
}

/// Logs a tool call, before and after it ran.
pub(super) fn log_call(cx: &mut Cx<'_>, event: &Event, outcome: &Outcome) {
    let (true, Some(call)) = (cx.settings.on("locks.mirror"), event.tool()) else { return };
    let Some(root) = files::root_here(cx, event) else { return };
    let who = actor(cx);
    let is_dotenv = names_dotenv(&call.input);
    let kept = |text: &str| one_line(&redacted(text, MAX_TEXT, is_dotenv), MAX_TEXT);
    let after = match &event.detail {
        Detail::ToolAfter { response, .. } => {
            format!("\"tool_response\":{}", value(&kept(response)))
        }
        Detail::ToolFailed { error, .. } => format!("\"error\":{}", value(&kept(error))),
        _ if event.kind == EventKind::PreToolUse => {
            format!("\"verdict\":\"{}\"", outcome.verdict.word())
        }
        _ => return,
    };
    let (name, input) = (json!(call.name), value(&kept(&call.input)));
    let said = format!("{{\"tool_name\":{name},\"tool_input\":{input},{after}}}");
    line(cx, &root, &who, &format!("{} {said}", event.kind.name()));
}

/// Whether an event that is not a tool call is logged too.
pub(super) const fn is_logged(kind: EventKind) -> bool {
    use EventKind as K;
    matches!(
        kind,
        K::SessionStart
            | K::UserPromptSubmit
            | K::SubagentStart
            | K::SubagentStop
            | K::Stop
            | K::SessionEnd
    )
}

/// Logs an event of a session or a subagent, without what a person typed.
pub(super) fn log_event(cx: &mut Cx<'_>, event: &Event, outcome: &Outcome) {
    // An event that had to wait was logged when it arrived.
    let is_new = event.waiting_since.is_none() && !event.actor.is_compaction_fork();
    if !is_new || !is_logged(event.kind) || !cx.settings.on("locks.mirror") {
        return;
    }
    let Some(root) = files::root_here(cx, event) else { return };
    let mut said = Map::new();
    if let Some(kind) = event.actor.kind() {
        said.insert("agent_type".to_owned(), one_line(kind, 80).into());
    }
    match &event.detail {
        Detail::SessionStart { source, .. } => {
            said.insert("source".to_owned(), source.name().into());
        }
        Detail::Stop { again, .. } => {
            said.insert("stop_hook_active".to_owned(), (*again).into());
        }
        Detail::Because { word } => {
            said.insert("reason".to_owned(), one_line(word, 80).into());
        }
        _ => {}
    }
    said.insert("verdict".to_owned(), outcome.verdict.word().into());
    let who = actor(cx);
    line(cx, &root, &who, &format!("{} {}", event.kind.name(), Value::Object(said)));
}

/// Valid JSON unchanged; anything else, such as JSON that was cut, as a JSON string.
fn value(text: &str) -> String {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => text.to_owned(),
        Err(_) => json!(text).to_string(),
    }
}

fn line(cx: &mut Cx<'_>, root: &str, who: &str, text: &str) {
    let text = format!("{} [{}] {text}\n", words::iso(cx.now), one_line(who, 80));
    cx.effects.push(Effect::Mirror {
        root: root.to_owned(),
        path: format!("{}/{LOG}", seed::COORDINATION),
        text,
        append: true,
    });
}

fn actor(cx: &Cx<'_>) -> String {
    cx.who.as_ref().map_or_else(|| "unknown".to_owned(), Who::address)
}

/// Entries of the history that are read for a story. They are those of all agents.
const MAX_READ: i64 = 4_000;

/// A lease that was taken longer ago than this is not found again.
const HELD_MS: i64 = 12 * 3_600_000;

const BETWEEN: &str = "select at_ms, who, what, path, detail from lease_history
     where at_ms >= $1 and at_ms <= $2 order by at_ms desc limit $3";

/// An entry of any file.
struct PastEntry {
    at_ms: i64,
    who: String,
    what: String,
    path: String,
    detail: String,
}

/// Newest first.
fn between(db: &mut dyn Db, from: i64, until: i64) -> Result<Vec<PastEntry>, DbError> {
    db.rows(BETWEEN, &[from.into(), until.into(), MAX_READ.into()], |row| {
        Ok(PastEntry {
            at_ms: row.int(0)?,
            who: row.text(1)?,
            what: row.text(2)?,
            path: row.text(3)?,
            detail: row.text(4)?,
        })
    })
}

/// The files that an agent or its subagents were refused, until they got them.
pub(super) fn story(cx: &mut Cx<'_>, of: &StoryOf) -> Result<Vec<Moment>, FeatureError> {
    let below = format!("{}/", of.name);
    let is_its = |who: &str| who == of.name || who.starts_with(&below);
    let (mut out, mut got): (Vec<Moment>, Vec<(String, String, i64)>) = (Vec::new(), Vec::new());
    for entry in between(cx.db, of.from.0, of.until.0)? {
        if !is_its(&entry.who) {
            continue;
        }
        if entry.what != "denied" {
            got.push((entry.who, entry.path, entry.at_ms));
            continue;
        }
        let gets = got.iter().rfind(|(who, path, _)| *who == entry.who && *path == entry.path);
        out.push(Moment {
            at_ms: entry.at_ms,
            until_ms: gets.map(|(.., at_ms)| *at_ms),
            kind: MomentKind::Wait,
            actor: entry.who.strip_prefix(&below).unwrap_or_default().to_owned(),
            title: "Was refused a file".to_owned(),
            text: format!("{}, {}", entry.path, entry.detail),
            link: Some(format!("/locks?file={}", in_query(&entry.path))),
            ..Moment::default()
        });
        if i64::try_from(out.len()).unwrap_or(i64::MAX) >= of.limit {
            break;
        }
    }
    Ok(out)
}

/// Who held which files at a moment, as the history tells it.
pub(crate) fn held_at(db: &mut dyn Db, at: Timestamp) -> Result<Vec<(String, String)>, DbError> {
    let mut held: Vec<(String, String)> = Vec::new();
    for entry in between(db, at.0 - HELD_MS, at.0)?.into_iter().rev() {
        match entry.what.as_str() {
            "acquired" | "taken over" => {
                held.retain(|(_, path)| *path != entry.path);
                held.push((entry.who, entry.path));
            }
            "released" | "expired" | "forced" => held.retain(|(_, path)| *path != entry.path),
            _ => {}
        }
    }
    Ok(held)
}
