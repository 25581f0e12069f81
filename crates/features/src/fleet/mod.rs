//! What every agent is doing right now, as far as its events tell: working, done, waiting for a person, or in trouble.
//!
//! The status of an actor is written only when it changes. Whether somebody is still there is not written at all, but
//! looked up when somebody asks: a client that died is never shown as working.

mod activity;
mod explain;
mod limits;
mod ops;
mod paint;
mod record;
mod render;
mod schema;
mod status;
mod tick;
mod verbs;
mod view;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Db, DbError, Feature, Verb};

/// The sockets of the tmux servers that show colours.
pub fn tmux_servers(db: &mut dyn Db) -> Result<Vec<String>, DbError> {
    ops::servers(db)
}

pub(crate) const FEATURE: Feature = Feature {
    name: "fleet",
    about: "Shows who works, who is done and who needs you; in tmux by colours.",
    migrations: schema::MIGRATIONS,
    keys: &[
        Key {
            name: "fleet.on",
            kind: Kind::Bool,
            default: "true",
            about: "Keep the status of every agent for `substrate fleet` and the colours in tmux.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "fleet.idle_is_attention",
            kind: Kind::Bool,
            default: "false",
            about: "An agent that finished its turn needs you when its client has waited a minute for the next prompt.",
            project: ProjectMay::Nothing,
            profiles: &[("engine", "true")],
        },
        Key {
            name: "fleet.pane_colours",
            kind: Kind::Texts,
            default: "[\"error:#3a1418\", \"attention:#3a3010\", \"checked:#262626\", \"done:#12301c\"]",
            about: "The background of a tmux pane by status (`error`, `attention`, `working`, `checked`, `done`): a colour as tmux names it, or `#rrggbb`. A status that is not listed has none.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "fleet.tab_colours",
            kind: Kind::Texts,
            default: "[\"error:colour124\", \"attention:colour136\", \"working:colour24\", \"checked:colour240\", \"done:colour28\"]",
            about: "The same for the tab of its window in tmux's status line.",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
    ],
    record: Some(record::record),
    is_news: Some(activity::is_news),
    explain: Some(explain::explain),
    tick: Some(tick::tick),
    verbs: &[
        Verb::of::<verbs::fleet::List>(),
        Verb::of::<verbs::fleet::Check>(),
        Verb::of::<verbs::tmux::On>(),
        Verb::of::<verbs::tmux::Off>(),
        Verb::of::<verbs::tmux::Status>(),
    ],
    ..Feature::NOTHING
};
