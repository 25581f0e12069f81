//! The tables of leases. An event finds a file by path and identity, so ten thousand leases cost what ten cost.

use substrate_core::Migration;

pub(super) const MIGRATIONS: &[Migration] = &[FIRST, SECOND, THIRD, FOURTH];

const FIRST: Migration = Migration {
    about: "leases on files, reserved globs, who waits for whom, and what happened to a file",
    sql: "create table leases (
            path text primary key,
            root text not null,
            relative text not null,
            project text not null,
            session text not null,
            actor text not null,
            agent bigint not null,
            sub text not null,
            pid bigint,
            began bigint,
            reason text not null,
            acquired_ms bigint not null,
            confirmed_ms bigint,
            modified_ms bigint not null,
            expires_ms bigint not null,
            ttl_ms bigint not null
          );
          create index leases_owner on leases (session, actor);
          create index leases_root on leases (root, acquired_ms);
          create index leases_project on leases (project, acquired_ms);
          create index leases_expires on leases (expires_ms);
          create table lease_globs (
            id integer primary key,
            root text not null,
            glob text not null,
            is_shared bigint not null,
            project text not null,
            session text not null,
            actor text not null,
            agent bigint not null,
            sub text not null,
            pid bigint,
            began bigint,
            reason text not null,
            acquired_ms bigint not null,
            expires_ms bigint not null,
            ttl_ms bigint not null
          );
          create unique index lease_globs_root on lease_globs (root, session, actor, glob);
          create index lease_globs_owner on lease_globs (session, actor);
          create table lease_waiters (
            path text not null,
            session text not null,
            actor text not null,
            since_ms bigint not null,
            at_ms bigint not null,
            primary key (path, session, actor)
          );
          create index lease_waiters_at on lease_waiters (at_ms);
          create table lease_history (
            id integer primary key,
            path text not null,
            who text not null,
            what text not null,
            detail text not null,
            at_ms bigint not null
          );
          create index lease_history_path on lease_history (path, id);
          create index lease_history_at on lease_history (at_ms);",
};

const SECOND: Migration = Migration {
    about: "how a held file was last seen, and which calls of subagents are open",
    sql: "alter table leases add column seen_ms bigint;
          create table lease_agent_calls (
            session text not null,
            use_id text not null,
            actor text not null,
            began_ms bigint not null,
            primary key (session, use_id)
          );
          create index lease_agent_calls_began on lease_agent_calls (began_ms);",
};

const THIRD: Migration = Migration {
    about: "which file a lease is on, whatever its name",
    sql: "alter table leases add column file text;
          create index leases_file on leases (file) where file is not null;",
};

const FOURTH: Migration = Migration {
    about: "notes to holders of files that others are waiting for",
    sql: "create table lease_notes (
            session text not null,
            actor text not null,
            path text not null,
            glob bigint,
            said text not null,
            at_ms bigint not null,
            primary key (session, actor, path)
          );",
};
