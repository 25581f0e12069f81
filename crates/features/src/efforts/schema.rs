//! The tables of tasks, efforts, windows and messages. A tool call looks up one open window by its session and actor, and
//! counts in that row.

use substrate_core::Migration;

pub(super) const MIGRATIONS: &[Migration] = &[
    Migration {
    about: "tasks, efforts, context windows, messages and pending injections",
    sql: "create table tasks (
            dir text primary key,
            project text not null,
            root text not null,
            relative text not null,
            title text not null,
            keywords text not null,
            made_ms bigint not null
          );
          create index tasks_project on tasks (project, made_ms);
          create table efforts (
            id integer primary key,
            task text not null,
            project text not null,
            agent bigint not null,
            skill text not null,
            mode text not null,
            ordinal bigint not null,
            phase text not null,
            metadata text not null,
            warn_at bigint not null,
            block_at bigint not null,
            n_pending bigint not null,
            payload text,
            payload_by bigint,
            payload_ms bigint,
            payload_claim text,
            payload_claimed_ms bigint,
            payload_told_ms bigint,
            started_ms bigint not null,
            used_ms bigint not null,
            finished_ms bigint
          );
          create unique index efforts_task on efforts (task, ordinal);
          create index efforts_project on efforts (project, id);
          create index efforts_active on efforts (agent, project, used_ms) where finished_ms is null;
          create index efforts_claim on efforts (payload_claim)
            where payload_claim is not null and payload_told_ms is null;
          create table windows (
            id integer primary key,
            session text not null,
            actor text not null,
            kind text not null,
            agent bigint not null,
            project text not null,
            effort bigint,
            prev bigint,
            parent bigint,
            n_calls bigint not null,
            n_denied bigint not null,
            level bigint not null,
            refused_ms bigint,
            context_used bigint,
            started_ms bigint not null,
            ended_ms bigint,
            ended_why text
          );
          create unique index windows_open on windows (session, actor) where ended_ms is null;
          create index windows_agent on windows (agent) where ended_ms is null;
          create index windows_session on windows (session, id);
          create index windows_effort on windows (effort, id) where effort is not null;
          create index windows_project on windows (project, id);
          create table effort_messages (
            id integer primary key,
            effort bigint not null,
            who text not null,
            kind text not null,
            body text not null,
            at_ms bigint not null
          );
          create index effort_messages_effort on effort_messages (effort, kind, id);
          create table effort_pending (
            id integer primary key,
            effort bigint not null,
            kind text not null,
            body text not null,
            who text not null,
            made_ms bigint not null,
            claim text,
            claimed_ms bigint,
            told_ms bigint
          );
          create index effort_pending_open on effort_pending (effort, id) where told_ms is null;
          create index effort_pending_claim on effort_pending (claim)
            where claim is not null and told_ms is null;",
},
    Migration {
        about: "the rules of an effort's skill, apart from the rest of its metadata",
        sql: "alter table efforts add column guards text not null default ''",
    },
    Migration {
        about: "when a call was refused last",
        sql: "alter table windows add column denied_ms bigint",
    },
    Migration {
        about: "the files that a window has read or changed",
        sql: "create table window_files (
                window_id bigint not null,
                path text not null,
                at_ms bigint not null,
                primary key (window_id, path)
              );",
    },
    Migration {
        about: "the efforts of a project that are not finished, and which skill a window ran last",
        sql: "create index efforts_unfinished on efforts (project, used_ms) where finished_ms is null;
              alter table windows add column skill text not null default '';
              alter table windows add column skill_prompt text not null default '';
              alter table windows add column skill_ms bigint;",
    },
    Migration {
        about: "whether an actor has a shell, and what came of its tries to log",
        sql: "alter table windows add column has_shell bigint not null default 0;
              alter table windows add column n_tried bigint not null default 0;
              alter table windows add column let_go bigint not null default 0;",
    },
    Migration {
        about: "teammates that have nothing to do, for the main thread",
        sql: "alter table windows add column idle text not null default '';",
    },
];
