//! The table of requests for permission that wait, or waited, for an answer.

use substrate_core::Migration;

pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    about: "requests that wait for the user's answer",
    sql: "create table answers (
            id integer primary key,
            session text not null,
            call text not null,
            state text not null,
            agent text not null,
            project text not null,
            pane_socket text,
            pane_id text,
            tool text not null,
            asked_ms bigint not null,
            until_ms bigint not null,
            request text not null,
            decision text,
            choices text,
            by_whom text,
            closed_ms bigint,
            why text,
            message text,
            questions text,
            what text not null
          );
          create index answers_live on answers (session) where state <> 'closed';
          create index answers_request on answers (request) where state <> 'closed';
          create index answers_call on answers (session, call, id);
          create index answers_closed on answers (closed_ms) where state = 'closed';",
}];
