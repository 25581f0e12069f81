//! Agents with durable names: who a session is, who is there, and who runs a command.
//!
//! Each session of a client is given an agent, such as NobleLion, with its first event. The agent keeps its name and
//! mail across compaction, `/clear`, resume and restart. Subagents get names of their own, such as NobleLion/reviewer-1.
//!
//! # Invariants
//!
//! * Two live sessions never share an agent. One that asks for a name in use gets a new agent.
//! * Processes decide who runs a command. Below a known client it is that client's agent or subagent, and flags can't
//!   make it another. Outside of all clients it is the user's.
//! * A process is known by pid and start time, so a recycled pid is never mistaken for it.
//! * The text of a shell command is never stored, only a checksum that recognises it.
//! * [`holder`] alone decides who owns leases, work and efforts, and whether the owner is still there.
//! * An event costs one point select (two for a subagent) and writes at most every 15 seconds.
//!
//! # Example
//!
//! You start a client. Its first event makes it NobleLion. In its shell, `substrate agent whoami` prints `NobleLion`; in
//! the shell of its reviewer subagent, `NobleLion/reviewer-1`. You type `/clear`: the new session is NobleLion again.
//! You copy its `--session-id` into another agent's shell: the command is refused.

mod actors;
pub(crate) mod book;
mod caller;
pub(crate) mod holder;
mod identify;
mod ops;
pub(crate) mod presence;
mod processes;
mod record;
mod shells;
mod verbs;

#[cfg(test)]
mod tests;

use substrate_core::{Db, DbError, Feature, Lineage, Migration, Standing, Verb};

/// Whether this is a valid name for an agent.
pub fn is_agent_name(name: &str) -> bool {
    book::is_valid_name(name)
}

/// Whether a process runs below a known client, for processes that don't ask the daemon.
pub fn standing(db: &mut dyn Db, lineage: &Lineage) -> Result<Standing, DbError> {
    let above = processes::above(db, lineage)?;
    above.map_or(Ok(Standing::User), |above| {
        Ok(Standing::Below(caller::own(db, &above)?.map(|who| who.name)))
    })
}

/// The projects of all sessions, latest first.
pub fn projects(db: &mut dyn Db, max: i64) -> Result<Vec<String>, DbError> {
    ops::projects(db, max)
}

pub(crate) const FEATURE: Feature = Feature {
    name: "identity",
    about: "Gives every session an agent with a durable name, and shows who is there.",
    migrations: MIGRATIONS,
    identify: Some(identify::identify),
    consider: Some(record::consider),
    record: Some(record::record),
    is_news: Some(record::is_news),
    tick: Some(record::tick),
    verbs: &[
        Verb::of::<verbs::identity::Current>(),
        Verb::of::<verbs::identity::Ensure>(),
        Verb::of::<verbs::identity::Save>(),
        Verb::of::<verbs::identity::Restore>(),
        Verb::of::<verbs::identity::List>(),
        Verb::of::<verbs::identity::Rename>(),
        Verb::of::<verbs::agent::List>(),
        Verb::of::<verbs::agent::Show>(),
        Verb::of::<verbs::agent::Discover>(),
        Verb::of::<verbs::agent::Delete>(),
        Verb::of::<verbs::identity::Heartbeat>(),
    ],
    ..Feature::NOTHING
};

const MIGRATIONS: &[Migration] = &[SESSIONS, PROCESSES, MARKS, TURNS, MACHINES];

const MACHINES: Migration = Migration {
    about: "the machine of an agent that is not on this one",
    sql: "alter table agents add column machine text;
          create index agents_machine on agents (machine) where machine is not null;",
};

const TURNS: Migration = Migration {
    about: "when a turn began, and which client processes have left a session",
    sql: "alter table agent_sessions add column turn_ms bigint;
          alter table client_processes add column left_ms bigint;
          update client_processes set left_ms = seen_ms
            where session in (select session from agent_sessions where ended_ms is not null);
          create index client_processes_open on client_processes (session) where left_ms is null;",
};

/// A session may run in two processes at once, and a process may run several sessions one after another.
const PROCESSES: Migration = Migration {
    about: "the client processes that sessions run in",
    sql: "create table client_processes (
            pid bigint not null,
            began bigint not null,
            session text not null,
            seen_ms bigint not null,
            primary key (pid, began, session)
          );
          insert into client_processes (pid, began, session, seen_ms)
            select client_pid, client_began, session, last_ms from agent_sessions
            where client_pid is not null and client_began is not null;",
};

/// A shell command may contain a secret.
const MARKS: Migration = Migration {
    about: "commands of shells are kept as marks, not as texts",
    sql: "update shell_calls set command = '';",
};

const SESSIONS: Migration = Migration {
    about: "agents, their sessions, subagents and open shell calls",
    sql: "create table agents (
            id integer primary key,
            name text not null,
            name_key text not null unique,
            project text not null,
            made_ms bigint not null,
            deleted_ms bigint
          );
          insert into agents (id, name, name_key, project, made_ms) values
            (1, 'User', 'user', '', 0), (2, 'Substrate', 'substrate', '', 0);
          create table agent_sessions (
            session text primary key,
            agent bigint not null,
            client text not null,
            project text not null,
            cwd text not null,
            client_pid bigint,
            client_began bigint,
            attended bigint,
            started_ms bigint not null,
            last_ms bigint not null,
            stopped_ms bigint,
            ended_ms bigint,
            ended_why text
          );
          create index agent_sessions_agent on agent_sessions (agent, last_ms);
          create index agent_sessions_project on agent_sessions (project, last_ms);
          create index agent_sessions_pid on agent_sessions (client_pid) where client_pid is not null;
          create table agent_actors (
            session text not null,
            actor text not null,
            agent bigint not null,
            name text not null,
            kind text not null,
            ordinal bigint not null,
            started_ms bigint not null,
            last_ms bigint not null,
            ended_ms bigint,
            primary key (session, actor)
          );
          create unique index agent_actors_name on agent_actors (agent, name);
          create unique index agent_actors_kind on agent_actors (agent, kind, ordinal);
          create table shell_calls (
            session text not null,
            use_id text not null,
            actor text not null,
            command text not null,
            is_background bigint not null,
            began_ms bigint not null,
            ended_ms bigint,
            primary key (session, use_id)
          );",
};
