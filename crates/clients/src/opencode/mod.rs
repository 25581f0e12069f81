//! opencode, as measured with version 1.18.33. It has no hooks that are commands: a plugin of ours, `plugin.js`, runs inside
//! it, speaks to the daemon's socket, and gives up in time.
//!
//! The plugin writes the payloads, in the common form, and carries our answers out: it throws to refuse a call, appends to
//! results and prompts, and prompts a session that must go on. `samples/` holds what it wrote in a run of the real program.

mod decode;
mod deliver;
mod install;
mod tools;

use substrate_core::Dialect;

use crate::relaunch::without_resume;
use crate::{Client, Evidence, Relaunch, Variables, encode};

const NAME: &str = "opencode";

pub(super) const CLIENT: Client = Client {
    name: NAME,
    title: "opencode",
    program: NAME,
    evidence: Evidence::Run { version: "1.18.33" },
    variables: VARIABLES,
    dialect: &DIALECT,
    runs_others: |_| false,
    decode: decode::decode,
    encode: |event, verdict| encode::say(event, verdict, deliver::channels(event.kind)),
    delivers: |event, wish| deliver::channels(event).delivers(wish),
    tells_subagents: true,
    starts_after_compaction: false,
    session_files: None,
    was_interrupted: |_| false,
    status: |_| None,
    relaunch: Relaunch {
        fresh: |line| without_resume(NAME, &["--session", "-s"], &["--continue", "-c"], line),
        again: <[_]>::to_vec,
    },
    install: install::INSTALLER,
};

const VARIABLES: Variables = Variables {
    process: None,
    inside: &["OPENCODE"],
    // Our plugin sets it.
    session: &["OPENCODE_SESSION_ID"],
    project: &[],
    config: None,
    block_cap: None,
};

const DIALECT: Dialect = Dialect {
    client: NAME,
    settings_files: &[
        "$PROJECT/.opencode/plugins/",
        "$PROJECT/opencode.json",
        "~/.config/opencode/opencode.json",
        "~/.config/opencode/plugins/",
    ],
    session_variable: Some("OPENCODE_SESSION_ID"),
    own_directions: &["AGENTS.md"],
    tools: tools::ALL,
    tells_before_calls: false,
    call: |name, input| crate::decode::recorded(name, input, tools::call),
    resume: |session| format!("opencode --session {session}"),
    ..Dialect::UNKNOWN
};

#[cfg(test)]
mod tests;
