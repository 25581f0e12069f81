//! What must be remembered between two calls: who was refused what lately, and what was said once.

use substrate_core::Migration;

pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    about: "calls that were refused lately, and rules that speak once in a session",
    sql: "create table guard_refused (
            session text not null,
            actor text not null,
            rule text not null,
            digest text not null,
            at_ms bigint not null,
            primary key (session, actor, rule, digest)
          );
          create index guard_refused_at on guard_refused (at_ms);
          create table guard_said (
            session text not null,
            rule text not null,
            at_ms bigint not null,
            primary key (session, rule)
          );
          create index guard_said_at on guard_said (at_ms);",
}];
