//! The table of supervisors; a row is there only while its child runs.

use substrate_core::Migration;

pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    about: "supervisors and their clients",
    sql: "create table supervisors (
            token text primary key,
            pid bigint not null,
            began bigint,
            child bigint not null,
            child_began bigint,
            n_restarts bigint not null,
            since_ms bigint not null,
            session text,
            agent text,
            wanted_ms bigint,
            why text
          );
          create index supervisors_child on supervisors (child);",
}];
