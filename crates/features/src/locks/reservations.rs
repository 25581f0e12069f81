//! Reserved globs: their SQL, and which of them overlap. There are few, so all of a working tree are read.

use std::rc::Rc;

use substrate_core::{Cx, Db, DbError, Memorable, Row};

use super::files::Target;
use super::leases::{self, Lease};
use super::status::{Blocker, Hold, any_of_others, of_others};

use crate::globs;
use crate::identity::holder::{Holder, Pulses};

/// How many a holder may have in a working tree.
pub(super) const MAX_OF_HOLDER: usize = 200;

/// A glob that an actor reserved ahead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reservation {
    pub(super) id: i64,
    pub(super) root: String,
    pub(super) glob: String,
    /// Others may share it. Only those who do may edit in it.
    pub(super) is_shared: bool,
    pub(super) project: String,
    pub(super) hold: Hold,
}

macro_rules! columns {
    () => {
        "id, root, glob, is_shared, project, session, actor, agent, sub, pid, began, reason, acquired_ms,
         expires_ms, ttl_ms"
    };
}

macro_rules! select {
    ($rest:literal) => {
        concat!("select ", columns!(), $rest)
    };
}

pub(super) const IN_ROOT: &str = select!(" from lease_globs where root = $1");

pub(super) const OTHERS_RESERVE: &str = of_others!("lease_globs");

/// Whether another actor has reserved any glob at all.
pub(super) fn others_reserve(db: &mut dyn Db, me: &Holder) -> Result<bool, DbError> {
    const OTHERS: Memorable = Memorable { name: "globs of others", tables: &["lease_globs"] };
    any_of_others(db, OTHERS, OTHERS_RESERVE, me)
}

pub(super) fn in_root(db: &mut dyn Db, root: &str) -> Result<Rc<Vec<Reservation>>, DbError> {
    const RESERVED: Memorable = Memorable { name: "globs of a tree", tables: &["lease_globs"] };
    let read = |db: &mut (dyn Db + '_)| db.rows(IN_ROOT, &[root.into()], reservation);
    db.remembered(RESERVED, [root, ""], read)
}

/// Whether that actor reserved it.
pub(super) fn is_of(db: &mut dyn Db, id: i64, session: &str, actor: &str) -> Result<bool, DbError> {
    let found = db.first(
        "select 1 from lease_globs where id = $1 and session = $2 and actor = $3",
        &[id.into(), session.into(), actor.into()],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

pub(super) fn all(db: &mut dyn Db, limit: i64) -> Result<Vec<Reservation>, DbError> {
    let sql = select!(" from lease_globs order by root, id limit $1");
    db.rows(sql, &[limit.into()], reservation)
}

/// Reserves a glob, or renews it if the holder already has it. The database assigns the `id`.
pub(super) fn add(db: &mut dyn Db, new: &Reservation) -> Result<(), DbError> {
    let [session, actor, agent, sub, pid, began, reason, acquired, expires, ttl] =
        new.hold.params();
    db.execute(
        "insert into lease_globs (root, glob, is_shared, project, session, actor, agent, sub, pid, began, reason,
           acquired_ms, expires_ms, ttl_ms)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
         on conflict (root, session, actor, glob) do update set is_shared = excluded.is_shared,
           pid = excluded.pid, began = excluded.began, reason = excluded.reason,
           acquired_ms = excluded.acquired_ms, expires_ms = excluded.expires_ms, ttl_ms = excluded.ttl_ms",
        &[
            new.root.as_str().into(),
            new.glob.as_str().into(),
            i64::from(new.is_shared).into(),
            new.project.as_str().into(),
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
        ],
    )?;
    Ok(())
}

pub(super) fn remove(db: &mut dyn Db, id: i64) -> Result<(), DbError> {
    db.execute("delete from lease_globs where id = $1", &[id.into()])?;
    Ok(())
}

pub(super) fn remove_of(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
) -> Result<Vec<Reservation>, DbError> {
    db.rows(
        concat!("delete from lease_globs where session = $1 and actor = $2 returning ", columns!()),
        &[session.into(), actor.into()],
        reservation,
    )
}

pub(super) fn remove_of_session(
    db: &mut dyn Db,
    session: &str,
) -> Result<Vec<Reservation>, DbError> {
    db.rows(
        concat!("delete from lease_globs where session = $1 returning ", columns!()),
        &[session.into()],
        reservation,
    )
}

fn reservation(row: &dyn Row) -> Result<Reservation, DbError> {
    Ok(Reservation {
        id: row.int(0)?,
        root: row.text(1)?,
        glob: row.text(2)?,
        is_shared: row.int(3)? != 0,
        project: row.text(4)?,
        hold: Hold::read(row, 5)?,
    })
}

/// Leases of a working tree that are looked at.
const MAX_LOOKED_AT: i64 = 10_000;

/// The leases inside a glob and the reserved globs that may overlap it, including those that have ended.
pub(super) fn overlapping(
    cx: &mut Cx<'_>,
    target: &Target,
) -> Result<(Vec<Lease>, Vec<Reservation>), DbError> {
    let mut leases = leases::in_root(cx.db, &target.root, MAX_LOOKED_AT)?;
    leases.retain(|lease| globs::matches(&target.relative, &lease.relative));
    let mut reserved = (*in_root(cx.db, &target.root)?).clone();
    reserved.retain(|one| globs::may_overlap(&one.glob, &target.relative));
    Ok((leases, reserved))
}

/// Another actor that holds something inside a glob, and the path it holds. Leases come before globs.
pub(super) fn blocker_within(
    cx: &mut Cx<'_>,
    me: &Holder,
    target: &Target,
) -> Result<Option<(Blocker, String, String)>, DbError> {
    let (leases, reserved) = overlapping(cx, target)?;
    let mut pulses = Pulses::default();
    for lease in leases.into_iter().filter(|lease| !lease.hold.holder.is_same(me)) {
        if let Some(until) = lease.hold.until(cx, &mut pulses)? {
            let blocker = Blocker { hold: lease.hold, glob: None, other_name: None, until };
            return Ok(Some((blocker, lease.path, lease.relative)));
        }
    }
    let shares = reserved.iter().any(|one| one.is_shared && one.hold.holder.is_same(me));
    for one in reserved {
        let is_mine = one.hold.holder.is_same(me) || (one.is_shared && shares);
        if !is_mine && let Some(until) = one.hold.until(cx, &mut pulses)? {
            let path = format!("{}/{}", one.root, one.glob);
            let glob = Some((one.id, one.glob.clone()));
            let blocker = Blocker { hold: one.hold, glob, other_name: None, until };
            return Ok(Some((blocker, path, one.glob)));
        }
    }
    Ok(None)
}
