//! Lists without files: what a session's latest `TodoWrite` left unfinished.

use substrate_core::Migration;

pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    about: "unfinished entries of TodoWrite lists",
    sql: "create table todo_lists (
            session text primary key,
            entries text not null,
            n_unfinished bigint not null,
            at_ms bigint not null
          );",
}];
