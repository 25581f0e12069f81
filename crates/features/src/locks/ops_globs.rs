//! The SQL of reserved globs. They are few, so a working tree's are simply all looked at.

use substrate_core::{Db, DbError, Row, Timestamp};

use super::life::Claim;
use super::owner::Owner;

/// How many an owner may have in a working tree.
pub(super) const MAX_OF_OWNER: usize = 200;

/// A glob that somebody reserved ahead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reserved {
    pub(super) id: i64,
    pub(super) root: String,
    pub(super) glob: String,
    /// Others may share it; nobody may edit who does not.
    pub(super) is_shared: bool,
    pub(super) project: String,
    pub(super) claim: Claim,
}

macro_rules! columns {
    () => {
        "id, root, glob, is_shared, project, session, actor, agent, sub, pid, began, reason, acquired_ms,
         expires_ms, ttl_ms"
    };
}

pub(super) const IN_ROOT: &str =
    concat!("select ", columns!(), " from lease_globs where root = $1");

/// Seeks in one index, however many there are.
pub(super) const OTHERS_RESERVE: &str = "select 1 from lease_globs where session < $1
   union all select 1 from lease_globs where session > $1
   union all select 1 from lease_globs where session = $1 and actor < $2
   union all select 1 from lease_globs where session = $1 and actor > $2 limit 1";

/// Whether another actor has reserved anything anywhere.
pub(super) fn others_reserve(db: &mut dyn Db, me: &Owner) -> Result<bool, DbError> {
    let params = [me.session.as_str().into(), me.actor.as_str().into()];
    Ok(db.first(OTHERS_RESERVE, &params, |row| row.int(0))?.is_some())
}

pub(super) fn in_root(db: &mut dyn Db, root: &str) -> Result<Vec<Reserved>, DbError> {
    db.rows(IN_ROOT, &[root.into()], reserved)
}

/// Whether that actor has it.
pub(super) fn is_of(db: &mut dyn Db, id: i64, session: &str, actor: &str) -> Result<bool, DbError> {
    let found = db.first(
        "select 1 from lease_globs where id = $1 and session = $2 and actor = $3",
        &[id.into(), session.into(), actor.into()],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

pub(super) fn all(db: &mut dyn Db, limit: i64) -> Result<Vec<Reserved>, DbError> {
    let sql = concat!("select ", columns!(), " from lease_globs order by root, id limit $1");
    db.rows(sql, &[limit.into()], reserved)
}

/// Reserves a glob; one that the owner has already is renewed. The `id` is given by the database.
pub(super) fn add(db: &mut dyn Db, new: &Reserved) -> Result<(), DbError> {
    let owner = &new.claim.owner;
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
            owner.session.as_str().into(),
            owner.actor.as_str().into(),
            owner.agent.into(),
            owner.sub.as_str().into(),
            owner.pid.into(),
            owner.began.into(),
            new.claim.reason.as_str().into(),
            new.claim.acquired.0.into(),
            new.claim.expires.0.into(),
            new.claim.ttl_ms.into(),
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
) -> Result<Vec<Reserved>, DbError> {
    db.rows(
        concat!("delete from lease_globs where session = $1 and actor = $2 returning ", columns!()),
        &[session.into(), actor.into()],
        reserved,
    )
}

pub(super) fn remove_of_session(db: &mut dyn Db, session: &str) -> Result<Vec<Reserved>, DbError> {
    db.rows(
        concat!("delete from lease_globs where session = $1 returning ", columns!()),
        &[session.into()],
        reserved,
    )
}

fn reserved(row: &dyn Row) -> Result<Reserved, DbError> {
    Ok(Reserved {
        id: row.int(0)?,
        root: row.text(1)?,
        glob: row.text(2)?,
        is_shared: row.int(3)? != 0,
        project: row.text(4)?,
        claim: Claim {
            owner: Owner {
                session: row.text(5)?,
                actor: row.text(6)?,
                agent: row.int(7)?,
                sub: row.text(8)?,
                pid: row.opt_int(9)?,
                began: row.opt_int(10)?,
            },
            reason: row.text(11)?,
            acquired: Timestamp(row.int(12)?),
            is_provisional: false,
            expires: Timestamp(row.int(13)?),
            ttl_ms: row.int(14)?,
        },
    })
}
