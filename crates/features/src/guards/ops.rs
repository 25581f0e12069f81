//! The guards' tables, and the only code that touches them.

use substrate_core::{Cx, Db, DbError, FeatureError, Migration, Timestamp};

use crate::retention::Expiring;

pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    about: "calls that were refused lately, and rules that speak once in a session",
    sql: "create table guard_refused (
            session text not null,
            actor text not null,
            rule text not null,
            digest text not null,
            at_ms bigint not null,
            primary key (session, actor, rule, digest)
          );
          create index guard_refused_at on guard_refused (at_ms);
          create table guard_said (
            session text not null,
            rule text not null,
            at_ms bigint not null,
            primary key (session, rule)
          );
          create index guard_said_at on guard_said (at_ms);",
}];

/// How long a refusal is remembered. The same call within this time is a second attempt.
pub(super) const AGAIN_MS: i64 = 600_000;

/// After this long without an event, a session is forgotten.
const SAID_MS: i64 = 30 * 86_400_000;

/// Refusals and remarks that are forgotten.
const OLD_REFUSALS: Expiring =
    Expiring { table: "guard_refused", key: "session, actor, rule, digest", when: "at_ms < $1" };
const OLD_REMARKS: Expiring =
    Expiring { table: "guard_said", key: "session, rule", when: "at_ms < $1" };

/// One call of one actor, as a rule remembers its refusal.
#[derive(Clone, Copy, Debug)]
pub(super) struct RefusedCall<'a> {
    pub(super) session: &'a str,
    pub(super) actor: &'a str,
    pub(super) rule: &'a str,
    pub(super) digest: &'a str,
}

pub(super) const REFUSED: &str = "select at_ms from guard_refused where session = $1 and actor = $2 and rule = $3 and digest = $4";

/// When this very call was refused, if that was lately.
pub(super) fn refused_at(
    db: &mut dyn Db,
    call: RefusedCall<'_>,
    now: Timestamp,
) -> Result<Option<Timestamp>, DbError> {
    let key = [call.session.into(), call.actor.into(), call.rule.into(), call.digest.into()];
    let at = db.first(REFUSED, &key, |row| row.int(0).map(Timestamp))?;
    Ok(at.filter(|at| now.since(*at) < AGAIN_MS))
}

pub(super) fn refused(
    db: &mut dyn Db,
    call: RefusedCall<'_>,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into guard_refused (session, actor, rule, digest, at_ms) values ($1, $2, $3, $4, $5)
         on conflict (session, actor, rule, digest) do update set at_ms = excluded.at_ms",
        &[call.session.into(), call.actor.into(), call.rule.into(), call.digest.into(), now.0.into()],
    )?;
    Ok(())
}

pub(super) const SAID: &str = "select at_ms from guard_said where session = $1 and rule = $2";

/// When a rule has said in a session what it says once.
pub(super) fn said_at(
    db: &mut dyn Db,
    session: &str,
    rule: &str,
) -> Result<Option<Timestamp>, DbError> {
    db.first(SAID, &[session.into(), rule.into()], |row| row.int(0).map(Timestamp))
}

pub(super) fn said(
    db: &mut dyn Db,
    session: &str,
    rule: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into guard_said (session, rule, at_ms) values ($1, $2, $3) on conflict (session, rule) do nothing",
        &[session.into(), rule.into(), now.0.into()],
    )?;
    Ok(())
}

/// Forgets what is old. `true`: there is more to do.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    let is_more = OLD_REFUSALS.tick(cx, AGAIN_MS)?;
    Ok(OLD_REMARKS.tick(cx, SAID_MS)? || is_more)
}
