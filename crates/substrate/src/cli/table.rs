//! Every command, defined in one way: the program's own and the features' verbs.
//!
//! A definition says what a command is called, who may run it, which flags it takes and what runs. [`layout`] says where
//! help shows it and under which other names it can be typed.

use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{ArgMatches, Command};
use substrate_core::{Audience, Verb};

use super::layout::{self, Place};
use super::{
    Context, claim, clients, commit_hook, config, daemon, dashboard, db, demo, doctor, hook, hooks,
    hub, import, manual, mcp, notify, overview, plugin, reference, run, scratchpad, setup, team,
    tmux,
};
use crate::error::Result;

/// A command that can be typed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Definition {
    /// Its name. A verb has the same one in the daemon's API.
    pub(super) path: &'static [&'static str],
    pub(super) about: &'static str,
    pub(super) audience: Audience,
    /// The group's name alone means this command: `substrate journal` is `substrate journal list`.
    pub(super) is_default: bool,
    /// Adds its flags.
    pub(super) flags: fn(Command) -> Command,
    pub(super) run: Run,
}

/// What a command does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Run {
    /// It runs in this process.
    Here(fn(&Context, &ArgMatches) -> Result<()>),
    /// It runs a client in this process and ends with the client's exit code.
    Client(fn(&Context, &ArgMatches) -> Result<ExitCode>),
    /// The daemon runs it.
    Verb(&'static Verb),
}

impl Definition {
    /// A command of the program itself that takes no flags.
    pub(super) const fn new(
        path: &'static [&'static str],
        audience: Audience,
        about: &'static str,
        run: fn(&Context, &ArgMatches) -> Result<()>,
    ) -> Self {
        Self {
            path,
            about,
            audience,
            is_default: false,
            flags: |command| command,
            run: Run::Here(run),
        }
    }

    /// With flags.
    pub(super) const fn taking(self, flags: fn(Command) -> Command) -> Self {
        Self { flags, ..self }
    }

    /// As what its group's name alone means.
    pub(super) const fn by_default(self) -> Self {
        Self { is_default: true, ..self }
    }

    fn of(verb: &'static Verb) -> Self {
        Self {
            path: verb.path,
            about: verb.about,
            audience: verb.audience,
            is_default: verb.default,
            flags: verb.augment,
            run: Run::Verb(verb),
        }
    }
}

/// The program's own commands.
const OWN: &[&[Definition]] = &[
    setup::COMMANDS,
    hooks::COMMANDS,
    clients::COMMANDS,
    config::COMMANDS,
    demo::COMMANDS,
    run::COMMANDS,
    tmux::COMMANDS,
    dashboard::COMMANDS,
    overview::COMMANDS,
    notify::COMMANDS,
    scratchpad::COMMANDS,
    doctor::COMMANDS,
    daemon::COMMANDS,
    db::COMMANDS,
    hub::COMMANDS,
    team::COMMANDS,
    claim::COMMANDS,
    hook::COMMANDS,
    mcp::COMMANDS,
    plugin::COMMANDS,
    import::COMMANDS,
    manual::COMMANDS,
    reference::COMMANDS,
];

/// Own commands that help lists after the verbs of the same group.
const OWN_LAST: &[&[Definition]] = &[commit_hook::COMMANDS];

static ALL: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    let own = || OWN.iter().chain(OWN_LAST).copied().flatten();
    // An own command may stand in front of the verb of its name, and call it.
    let verbs = verbs().filter(|verb| own().all(|known| known.path != verb.path));
    let first = OWN.iter().copied().flatten().copied();
    first
        .chain(verbs.map(Definition::of))
        .chain(OWN_LAST.iter().copied().flatten().copied())
        .collect()
});

/// Every command, once.
pub(super) fn all() -> &'static [Definition] {
    &ALL
}

/// The features' verbs.
pub(super) fn verbs() -> impl Iterator<Item = &'static Verb> {
    substrate_features::ALL.iter().flat_map(|feature| feature.verbs)
}

/// The command that was typed. `None`: the words name a group that needs another word.
pub(super) fn typed(words: &[&str]) -> Option<&'static Definition> {
    let is_meant = |place: &&Place| {
        place.path == words
            || (place.is_default
                && place.path.split_last().is_some_and(|(_, group)| group == words))
    };
    layout::places().iter().find(is_meant).map(|place| place.definition)
}

/// The words of a command line that name a command, and the flags behind them.
pub(super) fn words(matches: &ArgMatches) -> (Vec<&str>, &ArgMatches) {
    let (mut words, mut at) = (Vec::new(), matches);
    while let Some((name, inner)) = at.subcommand() {
        words.push(name);
        at = inner;
    }
    (words, at)
}
