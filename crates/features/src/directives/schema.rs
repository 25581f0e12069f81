//! Known directions: told to an actor of an effort (or of a session without one), or loaded by the client.

use substrate_core::Migration;

pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    about: "directions that were told or loaded",
    sql: "create table directives_told (
            scope text not null,
            actor text not null,
            path text not null,
            at_ms bigint not null,
            primary key (scope, actor, path)
          );
          create index directives_told_at on directives_told (at_ms);",
}];
