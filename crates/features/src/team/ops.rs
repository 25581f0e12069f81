//! The SQL of the team: the link, the machines, and the agents on them.

use substrate_core::{Db, DbError, Migration, Row, Timestamp};

use super::face::{FarAgent, Link, TeamMachine};

pub(super) const TABLES: Migration = Migration {
    about: "the link to the hub, the machines of the team and their agents",
    sql: "create table team_link (
            one bigint primary key,
            machine text not null,
            name text not null,
            team text not null,
            hub text not null,
            is_up bigint not null,
            since_ms bigint not null,
            why text not null
          );
          create table team_machines (
            machine text primary key,
            name text not null,
            person text not null,
            seal text not null,
            silent_ms bigint not null,
            seen_ms bigint not null
          );
          create index team_machines_name on team_machines (name);
          create table team_agents (
            machine text not null,
            agent text not null,
            name text not null,
            name_key text not null,
            project text not null,
            status text not null,
            since_ms bigint not null,
            primary key (machine, agent)
          );
          create index team_agents_name on team_agents (name_key)",
};

/// The link of this machine. `None`: it is in no team.
pub fn link(db: &mut dyn Db) -> Result<Option<Link>, DbError> {
    db.first(
        "select machine, name, hub, is_up, since_ms, why from team_link where one = 1",
        &[],
        |row| {
            Ok(Link {
                machine: row.text(0)?,
                name: row.text(1)?,
                hub: row.text(2)?,
                is_up: row.int(3)? != 0,
                since: Timestamp(row.int(4)?),
                why: row.text(5)?,
            })
        },
    )
}

pub(super) fn set_link(db: &mut dyn Db, link: &Link, team: &str) -> Result<(), DbError> {
    db.execute(
        "insert into team_link (one, machine, name, team, hub, is_up, since_ms, why) values (1, $1, $2, $3, $4, $5, $6, $7)
         on conflict (one) do update set machine = excluded.machine, name = excluded.name, team = excluded.team,
           hub = excluded.hub, is_up = excluded.is_up, since_ms = excluded.since_ms, why = excluded.why",
        &[
            link.machine.as_str().into(),
            link.name.as_str().into(),
            team.into(),
            link.hub.as_str().into(),
            i64::from(link.is_up).into(),
            link.since.0.into(),
            link.why.as_str().into(),
        ],
    )?;
    Ok(())
}

/// Everything of the team.
pub(super) fn forget(db: &mut dyn Db) -> Result<(), DbError> {
    for table in ["team_link", "team_machines", "team_agents"] {
        db.execute(&format!("delete from {table}"), &[])?;
    }
    Ok(())
}

const MACHINE: &str = "select machine, name, person, seal, silent_ms, seen_ms from team_machines";

fn machine(row: &dyn Row) -> Result<TeamMachine, DbError> {
    Ok(TeamMachine {
        machine: row.text(0)?,
        name: row.text(1)?,
        person: row.text(2)?,
        seal: row.text(3)?,
        silent_ms: row.int(4)?,
        seen: Timestamp(row.int(5)?),
    })
}

/// The machines of the team, by name.
pub(super) fn machines(db: &mut dyn Db) -> Result<Vec<TeamMachine>, DbError> {
    db.rows(&format!("{MACHINE} order by name, machine limit 10000"), &[], machine)
}

pub(super) fn machine_of(db: &mut dyn Db, id: &str) -> Result<Option<TeamMachine>, DbError> {
    db.first(&format!("{MACHINE} where machine = $1"), &[id.into()], machine)
}

pub(super) fn machine_named(db: &mut dyn Db, name: &str) -> Result<Option<TeamMachine>, DbError> {
    let sql = format!("{MACHINE} where lower(name) = $1 order by silent_ms limit 1");
    db.first(&sql, &[name.to_lowercase().as_str().into()], machine)
}

pub(super) fn set_machine(db: &mut dyn Db, one: &TeamMachine) -> Result<(), DbError> {
    db.execute(
        "insert into team_machines (machine, name, person, seal, silent_ms, seen_ms) values ($1, $2, $3, $4, $5, $6)
         on conflict (machine) do update set name = excluded.name, person = excluded.person, seal = excluded.seal,
           silent_ms = excluded.silent_ms, seen_ms = excluded.seen_ms",
        &[
            one.machine.as_str().into(),
            one.name.as_str().into(),
            one.person.as_str().into(),
            one.seal.as_str().into(),
            one.silent_ms.into(),
            one.seen.0.into(),
        ],
    )?;
    Ok(())
}

pub(super) fn forget_machine(db: &mut dyn Db, id: &str) -> Result<(), DbError> {
    db.execute("delete from team_machines where machine = $1", &[id.into()])?;
    forget_agents(db, id)
}

pub(super) fn forget_agents(db: &mut dyn Db, machine: &str) -> Result<(), DbError> {
    db.execute("delete from team_agents where machine = $1", &[machine.into()])?;
    Ok(())
}

pub(super) fn forget_agent(db: &mut dyn Db, machine: &str, agent: &str) -> Result<(), DbError> {
    db.execute(
        "delete from team_agents where machine = $1 and agent = $2",
        &[machine.into(), agent.into()],
    )?;
    Ok(())
}

pub(super) fn set_agent(
    db: &mut dyn Db,
    machine: &str,
    agent: &str,
    one: &FarAgent,
) -> Result<(), DbError> {
    db.execute(
        "insert into team_agents (machine, agent, name, name_key, project, status, since_ms)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (machine, agent) do update set name = excluded.name, name_key = excluded.name_key,
           project = excluded.project, status = excluded.status, since_ms = excluded.since_ms",
        &[
            machine.into(),
            agent.into(),
            one.name.as_str().into(),
            one.name.to_lowercase().as_str().into(),
            one.project.as_str().into(),
            one.status.as_str().into(),
            one.since.0.into(),
        ],
    )?;
    Ok(())
}

const AGENT: &str = "select a.machine, m.name, a.name, a.project, a.status, a.since_ms
     from team_agents a join team_machines m on m.machine = a.machine";

fn agent(row: &dyn Row) -> Result<FarAgent, DbError> {
    Ok(FarAgent {
        machine: row.text(0)?,
        machine_name: row.text(1)?,
        name: row.text(2)?,
        project: row.text(3)?,
        status: row.text(4)?,
        since: Timestamp(row.int(5)?),
    })
}

/// The agents of the other machines, by machine and name.
pub(super) fn agents(db: &mut dyn Db, limit: i64) -> Result<Vec<FarAgent>, DbError> {
    db.rows(&format!("{AGENT} order by m.name, a.name limit $1"), &[limit.into()], agent)
}

/// The agents of that name.
pub(super) fn agents_named(db: &mut dyn Db, name: &str) -> Result<Vec<FarAgent>, DbError> {
    let sql = format!("{AGENT} where a.name_key = $1 order by m.name limit 5");
    db.rows(&sql, &[name.to_lowercase().as_str().into()], agent)
}
