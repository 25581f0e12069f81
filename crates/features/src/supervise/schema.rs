//! The table of supervisors. A row exists only while its supervisor runs.

use substrate_core::Migration;

pub(super) const MIGRATIONS: &[Migration] = &[
    Migration {
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
    },
    Migration {
        about: "the client below a supervisor, and what a fresh one is told",
        sql: "alter table supervisors add column client bigint;
          alter table supervisors add column client_began bigint;
          alter table supervisors add column next_effort bigint;
          alter table supervisors add column effort bigint;
          alter table supervisors add column claim text;
          alter table supervisors add column claimed_ms bigint;
          alter table supervisors add column told_ms bigint;
          alter table supervisors add column wake_claim text;
          alter table supervisors add column wake_claimed_ms bigint;
          alter table supervisors add column woken_ms bigint;
          alter table supervisors add column is_futile bigint not null default 0;
          drop index supervisors_child;
          create index supervisors_client on supervisors (client);
          create index supervisors_claim on supervisors (claim) where claim is not null;
          create index supervisors_wake_claim on supervisors (wake_claim) where wake_claim is not null;",
    },
];
