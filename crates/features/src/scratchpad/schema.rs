//! The table of the agents that worked in a session.

use substrate_core::Migration;

pub(super) const MIGRATIONS: &[Migration] = &[WORKERS, UNHEARD];

const WORKERS: Migration = Migration {
    about: "who worked in a session, since when, and whether its scratchpad was seen",
    sql: "create table scratchpad_actors (
            session text not null,
            actor text not null,
            folder text not null,
            root text not null,
            started_ms bigint not null,
            wrote bigint not null default 0,
            primary key (session, actor)
          );",
};

const UNHEARD: Migration = Migration {
    about: "why a subagent was let go without a look at its scratchpad, until the person is told",
    sql: "alter table scratchpad_actors add column unheard text not null default '';",
};
