//! The tables of the hub. Steps are added, never edited. The text is the same on both databases: `bytea` means nothing to
//! SQLite, which keeps bytes as they are.

use substrate_core::DbError;

use super::{Connection, transact};

const STEPS: &[&str] = &[STEP_1];

/// A row per step. Two hubs that start at once both try to insert the same row; one waits for the other and finds it done.
const LEDGER: &str =
    "create table if not exists hub_steps (step bigint primary key, done_ms bigint not null)";

const STEP_1: &str = "
create table team (one bigint primary key, id text not null, made_ms bigint not null);
create table machines (
  id text primary key,
  name text not null,
  person text not null,
  public_key bytea not null,
  seal_key bytea not null,
  joined_ms bigint not null,
  heard_ms bigint not null,
  revoked_ms bigint,
  roster bigint not null
);
create unique index machines_name on machines (name) where revoked_ms is null;
create table invites (
  hash text primary key,
  name text,
  expires_ms bigint not null,
  used_ms bigint
);
create table mailboxes (machine text primary key, next bigint not null, told bigint not null);
create table mail (
  mailbox text not null,
  number bigint not null,
  sender text not null,
  id text not null,
  n bigint not null,
  kind text not null,
  agent text not null,
  sealed bigint not null,
  put_ms bigint not null,
  got_ms bigint,
  told bigint not null,
  body bytea not null,
  primary key (mailbox, number)
);
create unique index mail_once on mail (sender, id);
create index mail_waiting on mail (mailbox, number) where got_ms is null;
create index mail_untold on mail (sender, number) where told = 1;
create index mail_old on mail (got_ms) where got_ms is not null;
create table agents (
  machine text not null,
  agent text not null,
  name text not null,
  project text not null,
  status text not null,
  since_ms bigint not null,
  gone bigint not null,
  version bigint not null,
  primary key (machine, agent)
);
create index agents_version on agents (machine, version);
create table claims (
  name text primary key,
  machine text not null,
  agent text not null,
  holder text not null,
  note text not null,
  epoch bigint not null,
  granted_ms bigint not null,
  expires_ms bigint not null
);
create table work (
  item text primary key,
  queue text not null,
  body bytea not null,
  added_ms bigint not null,
  done_ms bigint,
  machine text,
  agent text,
  once text,
  epoch bigint not null,
  expires_ms bigint not null
);
create index work_open on work (queue, added_ms, item) where done_ms is null;
create index work_once on work (once) where once is not null
";

pub(super) fn migrate(connection: &mut dyn Connection) -> Result<(), DbError> {
    // Two hubs may create the ledger at once, and PostgreSQL lets one of them fail.
    for _ in 0..3 {
        if transact(connection, &mut |db| db.execute(LEDGER, &[])).is_ok() {
            break;
        }
    }
    for (number, sql) in (1_i64..).zip(STEPS) {
        transact(connection, &mut |db| {
            let claimed = db.execute(
                "insert into hub_steps (step, done_ms) values ($1, now_ms()) on conflict (step) do nothing",
                &[number.into()],
            )?;
            if claimed == 1 {
                for statement in sql.split(';') {
                    db.execute(statement.trim(), &[])?;
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}
