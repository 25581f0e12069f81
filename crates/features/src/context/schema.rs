//! What status lines and model names reported about an actor's window.

use substrate_core::Migration;

pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    about: "how full context windows are, as clients say it",
    sql: "create table context_usage (
            session text not null,
            actor text not null,
            used bigint,
            size bigint not null,
            source text not null,
            at_ms bigint not null,
            primary key (session, actor)
          );
          create index context_usage_at on context_usage (at_ms);",
}];
