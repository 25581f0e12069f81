//! The roster: what each agent of the team does now. Each machine counts its own changes, so that no row is shared.

use std::collections::BTreeMap;

use substrate_core::{Db, DbError, Param};

use super::{label, places, uid};
use crate::wire::{AgentStatus, RosterPart, Uid};

/// How many rows one statement writes.
const ROWS: usize = 100;

/// Takes what changed at a machine.
pub fn note(
    db: &mut dyn Db,
    machine: &Uid,
    whole: bool,
    agents: &[AgentStatus],
    gone: &[Uid],
) -> Result<(), DbError> {
    let version = db.first(
        "update machines set roster = roster + 1, heard_ms = now_ms() where id = $1 returning roster",
        &[machine.as_str().into()],
        |row| row.int(0),
    )?;
    let Some(version) = version else { return Ok(()) };
    if whole {
        db.execute(
            "update agents set gone = 1, version = $2 where machine = $1 and gone = 0",
            &[machine.as_str().into(), version.into()],
        )?;
    }
    for agent in gone {
        db.execute(
            "update agents set gone = 1, version = $3 where machine = $1 and agent = $2",
            &[machine.as_str().into(), agent.as_str().into(), version.into()],
        )?;
    }
    for few in agents.chunks(ROWS) {
        let rows = places(few.len(), 7).replace("), (", ", 0), (");
        let sql = format!(
            "insert into agents (machine, agent, version, name, project, status, since_ms, gone)
             values {}, 0)
             on conflict (machine, agent) do update set version = excluded.version, name = excluded.name,
               project = excluded.project, status = excluded.status, since_ms = excluded.since_ms, gone = 0",
            &rows[..rows.len() - 1]
        );
        let now = now(db)?;
        let mut params: Vec<Param<'_>> = Vec::with_capacity(few.len() * 7);
        for AgentStatus { agent, name, project, status, for_ms } in few {
            params.extend::<[Param<'_>; 7]>([
                machine.as_str().into(),
                agent.as_str().into(),
                version.into(),
                name.as_str().into(),
                project.as_str().into(),
                status.as_str().into(),
                now.saturating_sub(*for_ms).into(),
            ]);
        }
        db.execute(&sql, &params)?;
    }
    Ok(())
}

/// The count of each machine's changes.
pub fn versions(db: &mut dyn Db) -> Result<BTreeMap<Uid, i64>, DbError> {
    let rows = db.rows("select id, roster from machines where revoked_ms is null", &[], |row| {
        Ok((uid(row, 0)?, row.int(1)?))
    })?;
    Ok(rows.into_iter().collect())
}

/// What changed at a machine since a version, and the version it has now. 0 means all of it.
pub fn since(db: &mut dyn Db, machine: &Uid, version: i64) -> Result<(RosterPart, i64), DbError> {
    let now = now(db)?;
    let mut newest = version;
    let mut part =
        RosterPart { machine: machine.clone(), whole: version == 0, agents: vec![], gone: vec![] };
    db.query(
        "select agent, name, project, status, since_ms, gone, version from agents
         where machine = $1 and version > $2 order by version, agent limit 5000",
        &[machine.as_str().into(), version.into()],
        &mut |row| {
            newest = newest.max(row.int(6)?);
            if row.int(5)? != 0 {
                part.gone.push(uid(row, 0)?);
                return Ok(());
            }
            part.agents.push(AgentStatus {
                agent: uid(row, 0)?,
                name: label(row, 1)?,
                project: label(row, 2)?,
                status: label(row, 3)?,
                for_ms: (now - row.int(4)?).max(0),
            });
            Ok(())
        },
    )?;
    Ok((part, newest))
}

/// The database's clock.
pub fn now(db: &mut dyn Db) -> Result<i64, DbError> {
    Ok(db.first("select now_ms()", &[], |row| row.int(0))?.unwrap_or(0))
}
