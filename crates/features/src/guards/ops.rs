//! The guards' tables, and the only code that touches them.

use substrate_core::{Cx, Db, DbError, FeatureError, Migration, Timestamp};

use super::face::RuleNote;
use crate::retention::Expiring;

pub(super) const MIGRATIONS: &[Migration] = &[CALLS, RULES];

/// A project or a skill may change its rules. What its page of refusals says about one is what it was when it spoke.
const RULES: Migration = Migration {
    about: "where rules of projects and skills stood when they spoke",
    sql: "create table guard_rules (
            name text not null,
            project text not null,
            origin text not null,
            action text not null,
            safer text not null,
            at_ms bigint not null,
            primary key (name, project)
          );
          create index guard_rules_at on guard_rules (at_ms);",
};

const CALLS: Migration = Migration {
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
};

/// How long a refusal is remembered. The same call within this time is a second attempt.
pub(super) const AGAIN_MS: i64 = 600_000;

/// After this long without an event, a session is forgotten.
const SAID_MS: i64 = 30 * 86_400_000;

/// Refusals and remarks that are forgotten.
const OLD_REFUSALS: Expiring =
    Expiring { table: "guard_refused", key: "session, actor, rule, digest", when: "at_ms < $1" };
const OLD_REMARKS: Expiring =
    Expiring { table: "guard_said", key: "session, rule", when: "at_ms < $1" };
const OLD_RULES: Expiring =
    Expiring { table: "guard_rules", key: "name, project", when: "at_ms < $1" };

/// A rule that has not spoken for so long is forgotten.
const RULES_MS: i64 = 90 * 86_400_000;

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

/// Keeps where a rule of a project or a skill stands.
pub(super) fn spoke(
    db: &mut dyn Db,
    rule: &RuleNote,
    project: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into guard_rules (name, project, origin, action, safer, at_ms) values ($1, $2, $3, $4, $5, $6)
         on conflict (name, project) do update
         set origin = excluded.origin, action = excluded.action, safer = excluded.safer, at_ms = excluded.at_ms",
        &[
            rule.name.as_str().into(),
            project.into(),
            rule.origin.as_str().into(),
            rule.action.as_str().into(),
            rule.safer.as_str().into(),
            now.0.into(),
        ],
    )?;
    Ok(())
}

pub(super) const STOOD: &str = "select project, origin, action, safer from guard_rules where name = $1 order by at_ms desc limit 50";

/// The rule of that name that spoke last in the project around a folder, or else anywhere.
pub(super) fn stood(db: &mut dyn Db, name: &str, cwd: &str) -> Result<Option<RuleNote>, DbError> {
    let mut found = db.rows(STOOD, &[name.into()], |row| {
        let (name, action) = (name.to_owned(), row.text(2)?);
        let (origin, safer) = (row.text(1)?, row.text(3)?);
        Ok((row.text(0)?, RuleNote { name, origin, action, safer }))
    })?;
    let is_around = |project: &str| {
        let root = project.trim_end_matches("/.git");
        cwd.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let at = found.iter().position(|(project, _)| is_around(project)).unwrap_or(0);
    Ok((at < found.len()).then(|| found.swap_remove(at).1))
}

/// Forgets what is old. `true`: there is more to do.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    let mut is_more = OLD_REFUSALS.tick(cx, AGAIN_MS)?;
    is_more |= OLD_REMARKS.tick(cx, SAID_MS)?;
    Ok(OLD_RULES.tick(cx, RULES_MS)? || is_more)
}
