//! What has already kept an actor from stopping in its current turn, so that no cause does so twice.

use crate::db::{Db, DbError};
use crate::event::{Detail, Event, EventKind};
use crate::feature::Migration;
use crate::memo::Memorable;
use crate::merge::{StopCycle, Told};
use crate::time::Timestamp;
use crate::wish::Cause;

pub(super) const MIGRATION: Migration = Migration {
    about: "what held an actor in its present turn",
    sql: "create table stop_cycle (
            session text not null,
            actor text not null,
            n_in_row bigint not null,
            told text not null,
            updated_ms bigint not null,
            primary key (session, actor)
          );",
};

pub(super) const HELD: Migration = Migration {
    about: "how often each cause held an actor in its present turn",
    sql: "alter table stop_cycle add column held text not null default '';",
};

/// The cycle that the event belongs to. Only stops have one.
pub(super) fn load(db: &mut dyn Db, event: &Event) -> Result<StopCycle, DbError> {
    let (Some(session), Detail::Stop { again, .. }) = (&event.session, &event.detail) else {
        return Ok(StopCycle::default());
    };
    if !again {
        return Ok(StopCycle::default());
    }
    let found = db.first(
        "select n_in_row, told, held from stop_cycle where session = $1 and actor = $2",
        &[session.as_str().into(), event.actor.key().into()],
        |row| Ok((row.int(0)?, row.text(1)?, row.text(2)?)),
    )?;
    let Some((n_in_row, told, held)) = found else { return Ok(StopCycle::default()) };
    Ok(StopCycle {
        n_in_row: u32::try_from(n_in_row).unwrap_or(u32::MAX),
        told: told.split_whitespace().map(|word| Told(word.to_owned())).collect(),
        held: held.split_whitespace().filter_map(counted).collect(),
        is_lost: false,
    })
}

/// `tasks=3`
fn counted(word: &str) -> Option<(String, u32)> {
    let (cause, n) = word.split_once('=')?;
    Some((cause.to_owned(), n.parse().ok()?))
}

/// Adds one for each cause that blocks the actor now. Mail is new work and resets the counts, because an agent that
/// waits for mail has one turn for days.
fn counts(before: &StopCycle, told: &[Told]) -> String {
    let cause = |Told(word): &Told| word.split(':').next().unwrap_or_default().to_owned();
    let is_new_work = told.iter().any(|told| cause(told) == Cause::Mail.name());
    let mut held = if is_new_work { Vec::new() } else { before.held.clone() };
    for cause in told.iter().map(cause) {
        match held.iter_mut().find(|(name, _)| *name == cause) {
            Some((_, n)) => *n = n.saturating_add(1),
            None => held.push((cause, 1)),
        }
    }
    held.iter().map(|(cause, n)| format!("{cause}={n}")).collect::<Vec<_>>().join(" ")
}

/// Remembers what blocked the actor. A tool call in between resets the client's count.
pub(super) fn save(
    db: &mut dyn Db,
    event: &Event,
    before: &StopCycle,
    told: &[Told],
) -> Result<(), DbError> {
    let Some(session) = &event.session else { return Ok(()) };
    let key = [session.as_str().into(), event.actor.key().into()];
    if event.kind == EventKind::PostToolUse && is_held(db, session.as_str(), event.actor.key())? {
        db.execute(
            "update stop_cycle set n_in_row = 0 where session = $1 and actor = $2 and n_in_row > 0",
            &key,
        )?;
    }
    if !event.is_stop() {
        return Ok(());
    }
    if told.is_empty() {
        db.execute("delete from stop_cycle where session = $1 and actor = $2", &key)?;
        return Ok(());
    }
    let mut words: Vec<&str> = before.told.iter().map(|told| told.0.as_str()).collect();
    words.extend(told.iter().map(|told| told.0.as_str()));
    words.sort_unstable();
    words.dedup();
    db.execute(
        "insert into stop_cycle (session, actor, n_in_row, told, updated_ms, held) values ($1, $2, $3, $4, $5, $6)
         on conflict (session, actor) do update
         set n_in_row = excluded.n_in_row, told = excluded.told, held = excluded.held, updated_ms = excluded.updated_ms",
        &[
            key[0],
            key[1],
            i64::from(before.n_in_row + 1).into(),
            words.join(" ").as_str().into(),
            event.at.0.into(),
            counts(before, told).as_str().into(),
        ],
    )?;
    Ok(())
}

/// Asked after every tool call, and nearly always answered with no.
const HELD_IN_ROW: Memorable = Memorable { name: "blocks in a row", tables: &["stop_cycle"] };

/// Whether the actor was kept from stopping since its last tool call.
fn is_held(db: &mut dyn Db, session: &str, actor: &str) -> Result<bool, DbError> {
    let held = db.remembered(HELD_IN_ROW, [session, actor], |db| {
        let sql = "select 1 from stop_cycle where session = $1 and actor = $2 and n_in_row > 0";
        Ok(db.first(sql, &[session.into(), actor.into()], |row| row.int(0))?.is_some())
    })?;
    Ok(*held)
}

/// A turn without any event for a day is over.
pub(super) fn forget(db: &mut dyn Db, now: Timestamp) -> Result<(), DbError> {
    db.execute(
        "delete from stop_cycle where updated_ms < $1",
        &[now.plus_ms(-86_400_000).0.into()],
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_is_counted_until_there_is_new_work() {
        let mut cycle = StopCycle::default();
        let mut hold = |words: &[&str]| {
            let told: Vec<Told> = words.iter().map(|word| Told((*word).to_owned())).collect();
            let text = counts(&cycle, &told);
            cycle.held = text.split_whitespace().filter_map(counted).collect();
            text
        };
        assert_eq!(hold(&["tasks:1"]), "tasks=1");
        assert_eq!(hold(&["tasks:2", "scratchpad:1"]), "tasks=2 scratchpad=1");
        assert_eq!(hold(&["heartbeat:1"]), "tasks=2 scratchpad=1 heartbeat=1");
        assert_eq!(hold(&["mail:1", "tasks:2"]), "mail=1 tasks=1");
    }
}
