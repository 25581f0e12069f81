//! The tables of agents, their sessions and their subagents.

use substrate_core::Migration;

pub(super) const MIGRATIONS: &[Migration] = &[FIRST, CLIENTS];

const CLIENTS: Migration = Migration {
    about: "when a turn began, and every client process that has a session open",
    sql: "alter table agent_sessions add column turn_ms bigint;
          create table agent_clients (
            session text not null,
            pid bigint not null,
            began bigint,
            primary key (session, pid)
          );
          create index agent_clients_pid on agent_clients (pid);
          insert into agent_clients (session, pid, began)
            select session, client_pid, client_began from agent_sessions
            where client_pid is not null and ended_ms is null;",
};

const FIRST: Migration = Migration {
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
