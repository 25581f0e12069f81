//! The leases: their SQL, and what other features may ask about them.
//!
//! A lease is on a canonical path and on the file itself (`Place::file`: device, inode and birth time, since inodes are
//! reused). So a hard link, or the same file in a renamed folder, is refused to others too. The file is noted again
//! after each edit: a new file has no inode before it, and editors that replace a file create a new one.

use std::rc::Rc;

use substrate_core::facts::Place;
use substrate_core::{Cx, Db, DbError, Memorable, Row, Timestamp};

use super::status::{Hold, any_of_others, of_others};
use super::{history, words};
use crate::identity::holder::{Holder, Pulses};

/// A lease on one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lease {
    pub(super) path: String,
    pub(super) root: String,
    /// The path below `root`.
    pub(super) relative: String,
    pub(super) project: String,
    /// Identifies the file under any name (`Place::file`).
    pub(super) file: Option<String>,
    /// The holder's last edit that was seen.
    pub(super) modified: Timestamp,
    pub(super) hold: Hold,
}

macro_rules! columns {
    () => {
        "path, root, relative, project, file, modified_ms, confirmed_ms,
         session, actor, agent, sub, pid, began, reason, acquired_ms, expires_ms, ttl_ms"
    };
}

macro_rules! select {
    ($rest:literal) => {
        concat!("select ", columns!(), $rest)
    };
}

pub(super) const ONE: &str = select!(" from leases where path = $1");
/// By path, or as the same file under another name: two seeks.
pub(super) const SAME: &str = select!(" from leases where path = $1 or file = $2");
pub(super) const OTHERS_BELOW: &str = select!(
    " from leases where path >= $1 and path < $2 and not (session = $3 and actor = $4)
      order by path limit $5"
);
pub(super) const OTHERS_IN_ROOT: &str = select!(
    ", seen_ms from leases where root = $1 and not (session = $2 and actor = $3)
      order by acquired_ms desc limit $4"
);
pub(super) const OTHERS_HOLD: &str = of_others!("leases");
/// Whether an actor holds anything.
pub(super) const HOLDS: &str = "select 1 from leases where session = $1 and actor = $2
   union all select 1 from lease_globs where session = $1 and actor = $2 limit 1";
pub(super) const IN_ROOT: &str =
    select!(" from leases where root = $1 order by acquired_ms desc limit $2");
pub(super) const IN_PROJECT: &str =
    select!(" from leases where project = $1 order by acquired_ms desc limit $2");
pub(super) const OF_HOLDER: &str =
    select!(" from leases where session = $1 and actor = $2 order by acquired_ms desc limit $3");
pub(super) const EXPIRED: &str =
    select!(" from leases where expires_ms <= $1 order by expires_ms limit $2");

pub(super) fn one(db: &mut dyn Db, path: &str) -> Result<Option<Lease>, DbError> {
    db.first(ONE, &[path.into()], lease)
}

/// The leases on a file, under this name or another. An edit asks before it is answered and when it is recorded.
pub(super) fn same(
    db: &mut dyn Db,
    path: &str,
    file: Option<&str>,
) -> Result<Rc<Vec<Lease>>, DbError> {
    const ON_FILE: Memorable = Memorable { name: "leases on a file", tables: &["leases"] };
    let read = |db: &mut (dyn Db + '_)| match file {
        Some(file) => db.rows(SAME, &[path.into(), file.into()], lease),
        None => Ok(one(db, path)?.into_iter().collect()),
    };
    db.remembered(ON_FILE, [path, file.unwrap_or_default()], read)
}

/// Leases of others below a folder.
pub(super) fn others_below(
    db: &mut dyn Db,
    folder: &str,
    me: &Holder,
    limit: i64,
) -> Result<Vec<Lease>, DbError> {
    let folder = folder.trim_end_matches('/');
    // `0` is the character after `/`.
    let (from, to) = (format!("{folder}/"), format!("{folder}0"));
    let (session, actor) = (me.session.as_str(), me.actor.as_str());
    let params =
        [from.as_str().into(), to.as_str().into(), session.into(), actor.into(), limit.into()];
    db.rows(OTHERS_BELOW, &params, lease)
}

/// Whether an actor holds nothing, neither a file nor a glob. Most turns end so.
pub(super) fn holds_nothing(db: &mut dyn Db, session: &str, actor: &str) -> Result<bool, DbError> {
    const HOLDINGS: Memorable =
        Memorable { name: "holds anything", tables: &["leases", "lease_globs"] };
    let read = |db: &mut (dyn Db + '_)| {
        let found = db.first(HOLDS, &[session.into(), actor.into()], |row| row.int(0))?;
        Ok(found.is_none())
    };
    Ok(*db.remembered(HOLDINGS, [session, actor], read)?)
}

/// Whether another actor holds any file at all.
pub(super) fn others_hold(db: &mut dyn Db, me: &Holder) -> Result<bool, DbError> {
    const OTHERS: Memorable = Memorable { name: "leases of others", tables: &["leases"] };
    any_of_others(db, OTHERS, OTHERS_HOLD, me)
}

/// A lease, and the time stamp its file had when last looked at; `None` if the file was missing.
pub(super) type SeenLease = (Lease, Option<i64>);

/// The newest leases of others in a working tree.
pub(super) fn others_in_root(
    db: &mut dyn Db,
    root: &str,
    me: &Holder,
    limit: i64,
) -> Result<Vec<SeenLease>, DbError> {
    let (session, actor) = (me.session.as_str(), me.actor.as_str());
    let params = [root.into(), session.into(), actor.into(), limit.into()];
    db.rows(OTHERS_IN_ROOT, &params, |row| Ok((lease(row)?, row.opt_int(17)?)))
}

/// The newest leases in a working tree.
pub(super) fn in_root(db: &mut dyn Db, root: &str, limit: i64) -> Result<Vec<Lease>, DbError> {
    db.rows(IN_ROOT, &[root.into(), limit.into()], lease)
}

/// The newest leases of a project, over all its working trees.
pub(super) fn in_project(db: &mut dyn Db, name: &str, limit: i64) -> Result<Vec<Lease>, DbError> {
    db.rows(IN_PROJECT, &[name.into(), limit.into()], lease)
}

/// All leases, the newest first in each working tree.
pub(super) fn all(db: &mut dyn Db, limit: i64) -> Result<Vec<Lease>, DbError> {
    let sql = select!(" from leases order by root, acquired_ms desc limit $1");
    db.rows(sql, &[limit.into()], lease)
}

pub(super) fn of_holder(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
    limit: i64,
) -> Result<Vec<Lease>, DbError> {
    db.rows(OF_HOLDER, &[session.into(), actor.into(), limit.into()], lease)
}

/// The session and actor of every holder of a file or glob.
pub(super) fn holders(db: &mut dyn Db) -> Result<Vec<(String, String)>, DbError> {
    db.rows(
        "select session, actor from leases group by session, actor
         union select session, actor from lease_globs group by session, actor",
        &[],
        |row| Ok((row.text(0)?, row.text(1)?)),
    )
}

/// Leases whose stored time is over. Signs of life may have extended them since.
pub(super) fn expired(db: &mut dyn Db, now: Timestamp, n: i64) -> Result<Vec<Lease>, DbError> {
    db.rows(EXPIRED, &[now.0.into(), n.into()], lease)
}

/// Takes the file, replacing any lease on it. `seen` is the file's time stamp.
pub(super) fn take(db: &mut dyn Db, lease: &Lease, seen: Option<i64>) -> Result<(), DbError> {
    let Lease { path, root, relative, project, file, modified, hold } = lease;
    let [session, actor, agent, sub, pid, began, reason, acquired, expires, ttl] = hold.params();
    let confirmed = (!hold.is_provisional).then_some(modified.0);
    db.execute(
        concat!(
            "insert into leases (",
            columns!(),
            ", seen_ms) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
             on conflict (path) do update set root = excluded.root, relative = excluded.relative,
               project = excluded.project, session = excluded.session, actor = excluded.actor,
               agent = excluded.agent, sub = excluded.sub, pid = excluded.pid, began = excluded.began,
               reason = excluded.reason, acquired_ms = excluded.acquired_ms,
               confirmed_ms = excluded.confirmed_ms, modified_ms = excluded.modified_ms,
               expires_ms = excluded.expires_ms, ttl_ms = excluded.ttl_ms, file = excluded.file,
               seen_ms = excluded.seen_ms"
        ),
        &[
            path.as_str().into(),
            root.as_str().into(),
            relative.as_str().into(),
            project.as_str().into(),
            file.as_deref().into(),
            modified.0.into(),
            confirmed.into(),
            session,
            actor,
            agent,
            sub,
            pid,
            began,
            reason,
            acquired,
            expires,
            ttl,
            seen.into(),
        ],
    )?;
    Ok(())
}

/// Sets a later end.
pub(super) fn prolong(db: &mut dyn Db, path: &str, expires: Timestamp) -> Result<(), DbError> {
    let params = [path.into(), expires.0.into()];
    db.execute("update leases set expires_ms = $2 where path = $1", &params)?;
    Ok(())
}

/// The holder's edit has happened. `place` was looked up afterwards: replacing a file gives it a new identity.
pub(super) fn confirm(
    db: &mut dyn Db,
    path: &str,
    now: Timestamp,
    ttl_ms: i64,
    place: &Place,
) -> Result<(), DbError> {
    let (seen, file) = (place.changed_ms, place.file.as_deref());
    // An edit never shortens a time that was asked for.
    db.execute(
        "update leases set confirmed_ms = coalesce(confirmed_ms, $2), modified_ms = $2, seen_ms = $5, file = $6,
           expires_ms = case when expires_ms > $3 then expires_ms else $3 end,
           ttl_ms = case when confirmed_ms is null then $4 else ttl_ms end where path = $1",
        &[
            path.into(),
            now.0.into(),
            now.plus_ms(ttl_ms).0.into(),
            ttl_ms.into(),
            seen.into(),
            file.into(),
        ],
    )?;
    Ok(())
}

/// Notes the file's time stamp, so that the same change is reported once.
pub(super) fn saw(db: &mut dyn Db, path: &str, stamp: Option<i64>) -> Result<(), DbError> {
    db.execute("update leases set seen_ms = $2 where path = $1", &[path.into(), stamp.into()])?;
    Ok(())
}

pub(super) fn remove(db: &mut dyn Db, path: &str) -> Result<(), DbError> {
    db.execute("delete from leases where path = $1", &[path.into()])?;
    Ok(())
}

/// Removes and returns the leases of an actor that are no newer than `until`.
pub(super) fn remove_of(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
    until: Timestamp,
) -> Result<Vec<Lease>, DbError> {
    db.rows(
        concat!(
            "delete from leases where session = $1 and actor = $2 and acquired_ms <= $3
               and (modified_ms is null or modified_ms <= $3) returning ",
            columns!()
        ),
        &[session.into(), actor.into(), until.0.into()],
        lease,
    )
}

/// Removes and returns the leases of a whole session.
pub(super) fn remove_of_session(db: &mut dyn Db, session: &str) -> Result<Vec<Lease>, DbError> {
    db.rows(
        concat!("delete from leases where session = $1 returning ", columns!()),
        &[session.into()],
        lease,
    )
}

fn lease(row: &dyn Row) -> Result<Lease, DbError> {
    let is_provisional = row.opt_int(6)?.is_none();
    Ok(Lease {
        path: row.text(0)?,
        root: row.text(1)?,
        relative: row.text(2)?,
        project: row.text(3)?,
        file: row.opt_text(4)?,
        modified: Timestamp(row.int(5)?),
        hold: Hold { is_provisional, ..Hold::read(row, 7)? },
    })
}

/// Files that are named.
const MAX_NAMED: usize = 5;

/// Leases of an actor that are looked at.
const MAX_HELD: i64 = 100;

/// What an actor holds, in words, for a conversation that has forgotten it.
pub(crate) fn held(cx: &mut Cx<'_>, session: &str, actor: &str) -> Result<Option<String>, DbError> {
    let held = living(cx, session, actor)?.into_iter().map(|lease| lease.relative);
    let mut held: Vec<String> = held.collect();
    let n = held.len();
    held.truncate(MAX_NAMED);
    Ok((n > 0).then(|| words::you_hold(&held, n)))
}

/// How many files an actor holds.
pub(crate) fn n_held(cx: &mut Cx<'_>, session: &str, actor: &str) -> Result<usize, DbError> {
    let living = living(cx, session, actor)?;
    Ok(living.iter().filter(|lease| !lease.hold.is_provisional).count())
}

fn living(cx: &mut Cx<'_>, session: &str, actor: &str) -> Result<Vec<Lease>, DbError> {
    let (mut out, mut pulses) = (Vec::new(), Pulses::default());
    for lease in of_holder(cx.db, session, actor, MAX_HELD)? {
        if lease.hold.until(cx, &mut pulses)?.is_some() {
            out.push(lease);
        }
    }
    Ok(out)
}

/// Whether an agent or one of its subagents has held a file, as far as the history goes.
pub(crate) fn has_held(db: &mut dyn Db, name: &str) -> Result<bool, DbError> {
    history::has(db, name)
}
