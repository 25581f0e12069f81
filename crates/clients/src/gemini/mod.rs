//! Google's Gemini CLI, as measured with version 0.61.0.
//!
//! `samples/` holds payloads that were captured from the real program; what is claimed here rests on them and on runs of
//! it. Its events have names of their own. In a terminal its session id changes within a turn, so a session is known by its
//! transcript. It refuses every call of a hook whose program is missing, so our commands look for theirs first. It says
//! nothing about subagents, and gives calls no id.

mod decode;
mod deliver;
mod install;
mod tools;

use substrate_core::Dialect;

use crate::relaunch::without_resume;
use crate::{Client, Evidence, Relaunch, Variables, encode};

const NAME: &str = "gemini";

pub(super) const CLIENT: Client = Client {
    name: NAME,
    title: "Gemini CLI",
    program: NAME,
    evidence: Evidence::Run { version: "0.61.0" },
    variables: VARIABLES,
    dialect: &DIALECT,
    runs_others: |_| false,
    decode: decode::decode,
    encode: |event, verdict| encode::say(event, verdict, deliver::channels(event.kind)),
    delivers: |event, wish| deliver::channels(event).delivers(wish),
    tells_subagents: false,
    starts_after_compaction: false,
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
    inside: &["GEMINI_CLI"],
    // Its word for a session is not the one that lasts.
    session: &[],
    project: &["GEMINI_PROJECT_DIR"],
    config: None,
    block_cap: None,
};

const DIALECT: Dialect = Dialect {
    client: NAME,
    settings_files: &[
        "$CONFIG/settings.json",
        "$PROJECT/.gemini/settings.json",
        "~/.gemini/settings.json",
        "/etc/gemini-cli/",
    ],
    own_directions: &["GEMINI.md"],
    tools: tools::ALL,
    tells_before_calls: false,
    call: |name, input| crate::decode::recorded(name, input, tools::call),
    resume: |session| format!("gemini --resume {session}"),
    ..Dialect::UNKNOWN
};

#[cfg(test)]
mod tests;
