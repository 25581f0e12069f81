//! GitHub's Copilot CLI, as measured with version 1.0.102.
//!
//! `samples/` holds payloads that were captured from the real program; what is claimed here rests on them and on runs of
//! it. Events are registered by the common names, which make it write the common form, with inputs of its own. A subagent's
//! events carry the subagent's id as their session. It refuses every call of a hook that fails or whose program is missing,
//! so our commands look for theirs first and never exit with anything but 0.

mod decode;
mod deliver;
mod install;
mod tools;

use substrate_core::Dialect;

use crate::relaunch::without_resume;
use crate::{Client, Evidence, Relaunch, Variables, encode};

const NAME: &str = "copilot";

pub(super) const CLIENT: Client = Client {
    name: NAME,
    title: "Copilot CLI",
    program: NAME,
    evidence: Evidence::Run { version: "1.0.102" },
    variables: VARIABLES,
    dialect: &DIALECT,
    // It also runs the hooks in a repository's `.claude/settings.json`. Only hooks have this variable.
    runs_others: |input| input.env(PROJECT).is_some(),
    decode: decode::decode,
    encode: |event, verdict| encode::say(event, verdict, deliver::channels(event.kind)),
    delivers: |event, wish| deliver::channels(event).delivers(wish),
    tells_subagents: true,
    starts_after_compaction: false,
    session_files: None,
    was_interrupted: |_| false,
    status: |_| None,
    relaunch: Relaunch {
        fresh: |line| without_resume(NAME, &["--resume"], &["--continue"], line),
        again: <[_]>::to_vec,
    },
    install: install::INSTALLER,
};

const PROJECT: &str = "COPILOT_PROJECT_DIR";

const VARIABLES: Variables = Variables {
    process: None,
    inside: &["COPILOT_CLI"],
    session: &["COPILOT_AGENT_SESSION_ID"],
    project: &[PROJECT],
    config: Some("COPILOT_HOME"),
    block_cap: None,
};

const DIALECT: Dialect = Dialect {
    client: NAME,
    settings_files: &[
        "$CONFIG/hooks/",
        "$CONFIG/config.json",
        "$PROJECT/.github/hooks/",
        "~/.copilot/hooks/",
        "~/.copilot/config.json",
    ],
    session_variable: Some("COPILOT_AGENT_SESSION_ID"),
    own_directions: &["AGENTS.md"],
    tools: tools::ALL,
    call: |name, input| crate::decode::recorded(name, input, tools::call),
    resume: |session| format!("copilot --resume {session}"),
    ..Dialect::UNKNOWN
};

#[cfg(test)]
mod tests;
