//! Which reminders each actor was told, so that none comes twice.

use substrate_core::Migration;

pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    about: "which reminders an actor was told",
    sql: "create table reminders_told (
            session text not null,
            actor text not null,
            reminder text not null,
            request text not null,
            at_ms bigint not null,
            primary key (session, actor, reminder)
          );",
}];
