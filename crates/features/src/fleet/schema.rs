//! The tables of the fleet. An event looks up one row by its primary key.

use substrate_core::Migration;

pub(super) const MIGRATIONS: &[Migration] = &[
    Migration {
        about: "the status of every actor, and the tmux servers that show it",
        sql: "create table fleet_status (
            session text not null,
            actor text not null,
            status text not null,
            why text not null,
            asks text not null,
            task text not null,
            since_ms bigint not null,
            checked_ms bigint,
            socket text,
            pane text,
            primary key (session, actor)
          );
          create index fleet_status_pane on fleet_status (pane, socket) where pane is not null;
          create table fleet_tmux (
            socket text primary key,
            on_ms bigint not null
          );",
    },
    Migration {
        about: "the limit that ended a turn, and when it ends itself",
        sql: "alter table fleet_status add column limit_kind text not null default '';
              alter table fleet_status add column until_ms bigint;",
    },
];
