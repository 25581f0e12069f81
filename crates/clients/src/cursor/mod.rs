//! Cursor, from its documentation alone: nothing here was tried. Its events, fields and answers have names of their own.
//!
//! `samples/` holds payloads as the documentation describes them. Where its user lets it read hooks of other clients, it
//! runs those of a Claude Code installation as well; then one of both installations is enough.

mod decode;
mod deliver;
mod install;
mod tools;

use substrate_core::Dialect;

use crate::relaunch::without_resume;
use crate::{Client, Evidence, Relaunch, Variables};

const NAME: &str = "cursor";
const PROGRAM: &str = "cursor-agent";

pub(super) const CLIENT: Client = Client {
    name: NAME,
    title: "Cursor",
    program: PROGRAM,
    evidence: Evidence::Documents,
    variables: VARIABLES,
    dialect: &DIALECT,
    runs_others: |_| false,
    decode: decode::decode,
    encode: deliver::encode,
    delivers: deliver::delivers,
    tells_subagents: false,
    starts_after_compaction: false,
    session_files: None,
    was_interrupted: |_| false,
    status: |_| None,
    relaunch: Relaunch {
        fresh: |line| without_resume(PROGRAM, &["--resume"], &[], line),
        again: <[_]>::to_vec,
    },
    install: install::INSTALLER,
};

const VARIABLES: Variables = Variables {
    process: None,
    inside: &["CURSOR_AGENT"],
    session: &[],
    project: &["CURSOR_PROJECT_DIR"],
    config: None,
    block_cap: None,
};

const DIALECT: Dialect = Dialect {
    client: NAME,
    settings_files: &["$PROJECT/.cursor/hooks.json", "~/.cursor/hooks.json"],
    own_directions: &["AGENTS.md"],
    tools: tools::ALL,
    tells_before_calls: false,
    call: |name, input| crate::decode::recorded(name, input, tools::call),
    resume: |session| format!("{PROGRAM} --resume {session}"),
    ..Dialect::UNKNOWN
};

#[cfg(test)]
mod tests;
