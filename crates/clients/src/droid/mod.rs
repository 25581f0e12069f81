//! Factory's Droid, from its documentation alone: nothing here was tried. It keeps to the common form, with names of its own
//! for tools. A report about version 0.186.0 says that it reads hooks from `settings.json` only, so they go there.
//!
//! `samples/` holds payloads as the documentation describes them.

mod decode;
mod deliver;
mod install;
mod tools;

use substrate_core::Dialect;

use crate::relaunch::without_resume;
use crate::{Client, Evidence, Relaunch, Variables, encode};

const NAME: &str = "droid";

pub(super) const CLIENT: Client = Client {
    name: NAME,
    title: "Droid",
    program: NAME,
    evidence: Evidence::Documents,
    variables: VARIABLES,
    dialect: &DIALECT,
    runs_others: |_| false,
    decode: decode::decode,
    encode: |event, verdict| encode::say(event, verdict, deliver::channels(event.kind)),
    delivers: |event, wish| deliver::channels(event).delivers(wish),
    tells_subagents: false,
    starts_after_compaction: true,
    session_files: None,
    was_interrupted: |_| false,
    status: |_| None,
    relaunch: Relaunch {
        fresh: |line| without_resume(NAME, &["--resume", "-r"], &[], line),
        again: <[_]>::to_vec,
    },
    install: install::INSTALLER,
};

const VARIABLES: Variables = Variables {
    process: None,
    inside: &["FACTORY_PROJECT_DIR"],
    session: &[],
    project: &["FACTORY_PROJECT_DIR"],
    config: None,
    block_cap: None,
};

const DIALECT: Dialect = Dialect {
    client: NAME,
    settings_files: &[
        "$CONFIG/settings.json",
        "$CONFIG/hooks.json",
        "$PROJECT/.factory/settings.json",
        "$PROJECT/.factory/settings.local.json",
        "$PROJECT/.factory/hooks.json",
        "~/.factory/settings.json",
        "~/.factory/hooks.json",
    ],
    own_directions: &["AGENTS.md"],
    tools: tools::ALL,
    tells_before_calls: false,
    call: |name, input| crate::decode::recorded(name, input, tools::call),
    resume: |session| format!("droid --resume {session}"),
    ..Dialect::UNKNOWN
};

#[cfg(test)]
mod tests;
