//! What every agent is doing right now: working, done, waiting for a person, or in trouble.
//!
//! Events change the status of an actor (`status`, a pure table). `substrate fleet` shows it, those who need a person
//! first. `substrate tmux on` colours panes and tabs by it.
//!
//! ```text
//! Needs you
//!   attention  CalmOtter    1m  repo              asks for permission: Bash rm x
//! At work
//!   working    NobleLion    1m  repo              Bash
//! ```
//!
//! Invariants:
//!
//! * A status is written only when it changes. An event of a working agent costs one look-up and no write.
//! * Liveness is looked up when asked for, so a client that died is never shown as working.
//! * A pane gets its own colours back when its agent leaves it.
//!
//! Layout: `record` handles events, `activity` what a client shows beside them, `limits` reads rate and context limits,
//! `needs` says what waits for the user, `lanes` what happened when and how the fleet was then, `story` one agent's own,
//! `view` and `render` are the list, `paint` the colours, `ops` the SQL.

mod activity;
mod lanes;
mod limits;
mod needs;
mod ops;
mod page;
mod paint;
mod record;
mod render;
mod status;
mod story;
mod verbs;
mod view;

#[cfg(test)]
mod tests;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::{Db, DbError, Feature, Verb};

/// What other features may ask here: everything that waits for the user.
pub(crate) mod face {
    pub(crate) use super::needs::n_waiting;
    pub(crate) use super::verbs::needs::all as needs;
}

/// The sockets of the tmux servers that show colours.
pub fn tmux_servers(db: &mut dyn Db) -> Result<Vec<String>, DbError> {
    ops::servers(db)
}

pub(crate) const FEATURE: Feature = Feature {
    name: "fleet",
    about: "Shows who works, who is done and who needs you, in tmux by colours.",
    migrations: ops::MIGRATIONS,
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
        colour(
            "fleet.error_colour",
            "\"#3a1418\"",
            "The colour of `error` in tmux, for the pane and the tab of its window.",
        ),
        colour("fleet.attention_colour", "\"#3a3010\"", "The colour of `attention`."),
        colour(
            "fleet.working_colour",
            "\"#10263a\"",
            "The colour of `working`. Only the tab shows it.",
        ),
        colour("fleet.checked_colour", "\"#262626\"", "The colour of `checked`."),
        colour("fleet.done_colour", "\"#12301c\"", "The colour of `done`."),
    ],
    record: Some(record::record),
    is_news: Some(activity::is_news),
    explain: Some(record::explain),
    tick: Some(paint::tick),
    needs_you: Some(needs::needs_you),
    verbs: &[
        Verb::of::<verbs::overview::Overview>(),
        Verb::of::<verbs::needs::Needs>(),
        Verb::of::<verbs::fleet::List>(),
        Verb::of::<verbs::fleet::Check>(),
        Verb::of::<verbs::fleet::Go>(),
        Verb::of::<lanes::Lanes>(),
        Verb::of::<story::Story>(),
        Verb::of::<verbs::tmux::On>(),
        Verb::of::<verbs::tmux::Off>(),
        Verb::of::<verbs::tmux::Status>(),
    ],
    pages: page::PAGES,
    ..Feature::NOTHING
};

const fn colour(name: &'static str, default: &'static str, about: &'static str) -> Key {
    Key { name, kind: Kind::Colour, default, about, project: ProjectMay::Nothing, profiles: &[] }
}
