//! Claims: named resources with one holder, in the whole team or, without one, on this machine.
//!
//! A claim has an epoch, which grows with every new holder. The holder passes it on to what it guards, which can refuse an
//! older one. With a hub its database decides, and this machine keeps what it was told. Without a team our own table does.

mod asks;
mod ops;
mod verbs;

use substrate_core::Migration;
use substrate_core::settings::{Key, Kind, ProjectMay};

pub(super) use asks::waiting;
pub(super) use verbs::{Answered, Claim, Claims, Release, Renew};

pub(super) const TABLES: Migration = Migration {
    about: "claims on named resources, and questions to the hub",
    sql: "create table claims (
            name text primary key,
            token text not null,
            holder text not null,
            note text not null,
            epoch bigint not null,
            in_team bigint not null,
            granted_ms bigint not null,
            ttl_ms bigint not null,
            expires_ms bigint not null
          );
          create table team_asks (
            id integer primary key,
            what text not null,
            until_ms bigint not null,
            answer text
          );",
};

pub(super) const KEYS: &[Key] = &[Key {
    name: "team.claims_when_away",
    kind: Kind::Word(&["deny", "allow"]),
    default: "\"deny\"",
    about: "What `substrate claim` does while the team's hub is away: refuse, or let this machine decide alone.",
    project: ProjectMay::Nothing,
    profiles: &[],
}];
