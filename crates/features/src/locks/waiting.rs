//! Waiting for a file: `substrate locks wait`, and the note that the holder gets.
//!
//! The note rides on the holder's next tool result and is dropped with the lease. It never blocks the Stop that would
//! free the file.

use std::rc::Rc;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::verb::VerbArgs;
use substrate_core::view::{Check, CheckKind};
use substrate_core::{
    Access, Audience, Caller, Cx, Db, DbError, Event, EventKind, FeatureError, Local, Memorable,
    Outcome, Output, Part, Timestamp, VerbError, WaitFor, Wish,
};

use super::files::{Target, here, known};
use super::history::{self, LeaseChange};
use super::status::{self, Blocker, FileStatus};
use super::{leases, reservations, words};
use crate::identity::book;
use crate::identity::holder::Holder;
use crate::mail::face;
use crate::page::in_query;
use crate::retention::Expiring;
use crate::spellings::typed_ms;

/// Notes that are delivered at once.
const MAX_TOLD: i64 = 3;

pub(super) const OF: &str =
    "select path, glob, said from lease_notes where session = $1 and actor = $2 limit $3";

/// A note about a file, or about a file in a reserved glob.
#[derive(Debug, PartialEq, Eq)]
struct WaitNote {
    path: String,
    glob: Option<i64>,
    said: String,
}

/// Tells a holder, once, that `me` wants its file. `root` is given if `me` was refused.
pub(super) fn wanted(
    cx: &mut Cx<'_>,
    me: &Holder,
    blocker: &Blocker,
    (path, relative): (&str, &str),
    root: Option<&str>,
) -> Result<(), DbError> {
    // The holder knows the file by the name it holds it under.
    let other = blocker.other_name.as_ref().map(|(path, relative)| (&**path, &**relative));
    let (path, relative) = other.unwrap_or((path, relative));
    let who = me.address(cx)?;
    let is_new = note_waiter(cx.db, path, me, blocker.hold.acquired, cx.now)?;
    if let Some(root) = root {
        history::mirror_decision(cx, root, &who, LeaseChange::Denied, relative);
    }
    if !is_new {
        return Ok(());
    }
    let holder = &blocker.hold.holder;
    if root.is_some() {
        let detail = format!("held by {}", holder.address(cx)?);
        history::add(cx.db, path, &who, LeaseChange::Denied, &detail, cx.now)?;
    }
    let freed = match &blocker.glob {
        Some((_, glob)) => words::in_root(path, relative, glob),
        None => path.to_owned(),
    };
    if holder.is_person() {
        let (subject, body) = words::waits(&who, relative, &freed);
        // However many wait for one file, the person gets one message.
        let key = format!("waits {path}");
        return face::note(cx, (holder.agent, &holder.sub), &subject, body, Some(key));
    }
    let glob = blocker.glob.as_ref().map(|(id, _)| *id);
    let said = words::waits_for_you(&who, relative, &freed);
    leave(cx.db, holder, (path, glob), &said, cx.now)
}

/// Notes that an actor waits for a file that was taken at `since`. `true` if that is new.
fn note_waiter(
    db: &mut dyn Db,
    path: &str,
    waiter: &Holder,
    since: Timestamp,
    now: Timestamp,
) -> Result<bool, DbError> {
    let n = db.execute(
        "insert into lease_waiters (path, session, actor, since_ms, at_ms) values ($1, $2, $3, $4, $5)
         on conflict (path, session, actor) do update set since_ms = excluded.since_ms, at_ms = excluded.at_ms
         where lease_waiters.since_ms <> excluded.since_ms",
        &[
            path.into(),
            waiter.session.as_str().into(),
            waiter.actor.as_str().into(),
            since.0.into(),
            now.0.into(),
        ],
    )?;
    Ok(n > 0)
}

/// Those who were refused a file that is still held.
pub(super) const WAITING: &str =
    "select w.path, w.session, w.actor, w.at_ms, l.relative, l.session, l.actor
     from lease_waiters w join leases l on l.path = w.path and l.acquired_ms = w.since_ms
     where w.at_ms >= $1 order by w.at_ms limit $2";

/// The most waiters that are told of.
const MAX_WAITING: i64 = 50;

/// A refused edit is a wait for so long.
const WAITS_MS: i64 = 3_600_000;

/// An actor that was refused a file which is still held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) path: String,
    pub(super) relative: String,
    pub(super) who: String,
    pub(super) by: String,
    pub(super) at_ms: i64,
}

/// All of them, the longest wait first.
pub(super) fn all_waiting(cx: &mut Cx<'_>) -> Result<Vec<Waiting>, DbError> {
    let since = cx.now.0 - WAITS_MS;
    let found = cx.db.rows(WAITING, &[since.into(), MAX_WAITING.into()], |row| {
        let (path, relative) = (row.text(0)?, row.text(4)?);
        let (waiter, holder) = ((row.text(1)?, row.text(2)?), (row.text(5)?, row.text(6)?));
        Ok((path, waiter, row.int(3)?, relative, holder))
    })?;
    let mut out = Vec::new();
    for (path, waiter, at_ms, relative, holder) in found {
        let unknown = || "an unknown agent".to_owned();
        let who = book::address_in(cx.db, &waiter.0, &waiter.1)?.unwrap_or_else(unknown);
        let by = book::address_in(cx.db, &holder.0, &holder.1)?.unwrap_or_else(unknown);
        out.push(Waiting { path, relative, who, by, at_ms });
    }
    Ok(out)
}

pub(super) fn checks(cx: &mut Cx<'_>) -> Result<Vec<Check>, FeatureError> {
    let check = |one: Waiting| Check {
        kind: CheckKind::Waits,
        what: one.who,
        detail: format!("wants {}, which {} holds", one.relative, one.by),
        since_ms: Some(one.at_ms),
        link: Some(format!("/locks?file={}", in_query(&one.path))),
    };
    Ok(all_waiting(cx)?.into_iter().map(check).collect())
}

/// Leaves a note for the holder. Only the latest note about a file is kept, however many wait for it.
fn leave(
    db: &mut dyn Db,
    holder: &Holder,
    (path, glob): (&str, Option<i64>),
    said: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into lease_notes (session, actor, path, glob, said, at_ms) values ($1, $2, $3, $4, $5, $6)
         on conflict (session, actor, path) do update
         set glob = excluded.glob, said = excluded.said, at_ms = excluded.at_ms",
        &[
            holder.session.as_str().into(),
            holder.actor.as_str().into(),
            path.into(),
            glob.into(),
            said.into(),
            now.0.into(),
        ],
    )?;
    Ok(())
}

/// The notes that ride on this tool result.
pub(super) fn riding(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, DbError> {
    if !matches!(event.kind, EventKind::PostToolUse | EventKind::PostToolUseFailure) {
        return Ok(Vec::new());
    }
    let Some(me) = Holder::of_event(cx, event) else { return Ok(Vec::new()) };
    let mut out = Vec::new();
    for WaitNote { path, glob, said } in of(cx.db, &me)?.iter() {
        let is_held = match glob {
            Some(id) => reservations::is_of(cx.db, *id, &me.session, &me.actor)?,
            None => leases::one(cx.db, path)?.is_some_and(|lease| lease.hold.holder.is_same(&me)),
        };
        if is_held {
            let parts = vec![Part { what: path.clone().into(), id: 0, end: said.len() }];
            let (text, more) = (said.clone(), Some("substrate locks".to_owned()));
            out.push(Wish::Context { text, more, parts });
        }
    }
    Ok(out)
}

/// Drops the notes that the answer contained.
pub(super) fn record(cx: &mut Cx<'_>, event: &Event, outcome: &Outcome) -> Result<(), DbError> {
    for part in outcome.told(super::FEATURE.name) {
        if let Some(me) = Holder::of_event(cx, event) {
            forget(cx.db, &me, &part.what)?;
        }
    }
    Ok(())
}

fn of(db: &mut dyn Db, holder: &Holder) -> Result<Rc<Vec<WaitNote>>, DbError> {
    const NOTES: Memorable = Memorable { name: "notes to a holder", tables: &["lease_notes"] };
    let key = [holder.session.as_str(), holder.actor.as_str()];
    let read = |db: &mut (dyn Db + '_)| {
        db.rows(OF, &[key[0].into(), key[1].into(), MAX_TOLD.into()], |row| {
            Ok(WaitNote { path: row.text(0)?, glob: row.opt_int(1)?, said: row.text(2)? })
        })
    };
    db.remembered(NOTES, key, read)
}

/// Drops the note about a lease that is gone, or a note that was delivered.
pub(super) fn forget(db: &mut dyn Db, holder: &Holder, path: &str) -> Result<(), DbError> {
    db.execute(
        "delete from lease_notes where session = $1 and actor = $2 and path = $3",
        &[holder.session.as_str().into(), holder.actor.as_str().into(), path.into()],
    )?;
    Ok(())
}

/// Drops the notes about a reserved glob that is gone.
pub(super) fn forget_glob(db: &mut dyn Db, holder: &Holder, id: i64) -> Result<(), DbError> {
    db.execute(
        "delete from lease_notes where session = $1 and actor = $2 and glob = $3",
        &[holder.session.as_str().into(), holder.actor.as_str().into(), id.into()],
    )?;
    Ok(())
}

/// Notes that were never told, and waiters that went away.
pub(super) const NOTES: Expiring =
    Expiring { table: "lease_notes", key: "session, actor, path", when: "at_ms < $1" };
pub(super) const WAITERS: Expiring =
    Expiring { table: "lease_waiters", key: "path, session, actor", when: "at_ms < $1" };

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Wait {
    /// The file, folder or glob
    path: String,
    /// Give up after this long
    #[arg(long, default_value = "10m")]
    #[serde(default = "ten_minutes")]
    timeout: String,
    /// When to stop waiting
    #[arg(long, hide = true)]
    #[serde(default)]
    until_ms: Option<i64>,
    /// Who held it when the waiting began.
    #[arg(skip)]
    #[serde(default)]
    held_by: Option<String>,
    #[arg(skip)]
    #[serde(default)]
    found: Vec<Target>,
}

fn ten_minutes() -> String {
    "10m".to_owned()
}

impl VerbArgs for Wait {
    const PATH: &'static [&'static str] = &["locks", "wait"];
    const ABOUT: &'static str = "Wait until no one else holds a file";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.found = here(std::slice::from_ref(&self.path), local);
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let me = Holder::of_caller(cx, caller)?;
        let found = known(std::slice::from_ref(&self.path), &self.found, caller);
        let target = found.into_iter().next().unwrap_or_default();
        let file = words::path(&target.relative);
        let taken = if target.is_glob {
            reservations::blocker_within(cx, &me, &target)?
        } else {
            match status::of(cx, &me, &target.place())? {
                FileStatus::Taken(blocker) => {
                    Some((blocker, target.path.clone(), target.relative.clone()))
                }
                FileStatus::Own(_) => {
                    return Ok(free(&target, &format!("`{file}` is yours."), None));
                }
                FileStatus::Free { .. } => None,
            }
        };
        let Some((blocker, path, relative)) = taken else {
            let by = self.held_by.as_deref();
            let was = by.map_or_else(String::new, |by| format!(" {by} held it."));
            let next = match target.is_glob {
                true => "The first edit of a file takes it.",
                false => "Edit it now: the first edit takes it.",
            };
            return Ok(free(&target, &format!("`{file}` is free.{was} {next}"), by));
        };
        let until = match self.until_ms {
            Some(until) => until,
            None => cx.now.plus_ms(typed_ms(&self.timeout)?).0,
        };
        let by = blocker.hold.holder.address(cx)?;
        if until <= cx.now.0 {
            return Err(VerbError::user(
                format!("`{file}` is still held by {by}"),
                format!("write to them: {}", words::send(&by, &target.relative)),
            ));
        }
        wanted(cx, &me, &blocker, (&path, &relative), None)?;
        let key = blocker.wake_key(&path);
        // A holder that falls silent wakes no one, so look again when its lease would end.
        let look_again = until.min(blocker.until.0 + 1);
        let body = json!(Self {
            until_ms: Some(until),
            held_by: Some(by.clone()),
            found: vec![target],
            ..self
        });
        let mut out = Output::new(String::new(), json!({"free": false, "holder": by}));
        // An agent waits for a file once; a person may wait in several terminals.
        let by = match me.is_person() {
            true => caller.request.clone(),
            false => format!("{} {}", me.session, me.actor),
        };
        out.wait = Some(WaitFor { key, by, until_ms: look_again, body });
        Ok(out)
    }
}

fn free(target: &Target, text: &str, held_by: Option<&str>) -> Output {
    Output::new(format!("{text}\n"), json!({"free": true, "path": target.path, "held_by": held_by}))
}
