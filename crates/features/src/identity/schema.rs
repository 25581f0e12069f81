//! The tables of agents, their sessions and their subagents.

use substrate_core::Migration;

pub(super) const MIGRATIONS: &[Migration] = &[SESSIONS, PROCESSES, MARKS, TURNS];

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
