//! Qwen Code, as measured with version 0.24.4: Claude Code's events and answers, with tools of its own.
//!
//! `samples/` holds payloads that were captured from the real program; what is claimed here rests on them and on runs of
//! it. It reports every continuation of a turn as a prompt, even what a hook made it go on with. Such a prompt is not an
//! event for us: it would begin a new turn.

mod decode;
mod deliver;
mod install;
mod tools;

use substrate_core::Dialect;

use crate::relaunch::without_resume;
use crate::{Client, Evidence, Relaunch, Variables, encode};

const NAME: &str = "qwen";

pub(super) const CLIENT: Client = Client {
    name: NAME,
    title: "Qwen Code",
    program: "qwen",
    evidence: Evidence::Run { version: "0.24.4" },
    variables: VARIABLES,
    dialect: &DIALECT,
    runs_others: |_| false,
    decode: decode::decode,
    encode: |event, verdict| encode::say(event, verdict, deliver::channels(event.kind)),
    delivers: |event, wish| deliver::channels(event).delivers(wish),
    tells_subagents: true,
    // Its start after one was not seen.
    starts_after_compaction: false,
    session_files: None,
    was_interrupted: |_| false,
    status: |_| None,
    relaunch: Relaunch {
        fresh: |line| without_resume(NAME, RESUME, &["--continue", "-c"], line),
        again: <[_]>::to_vec,
    },
    install: install::INSTALLER,
};

/// The flags that may name a session.
const RESUME: &[&str] = &["--resume", "-r", "--session-id"];

const VARIABLES: Variables = Variables {
    process: None,
    inside: &["QWEN_CODE"],
    session: &["QWEN_CODE_SESSION_ID"],
    project: &["QWEN_PROJECT_DIR"],
    config: Some("QWEN_HOME"),
    block_cap: None,
};

const DIALECT: Dialect = Dialect {
    client: NAME,
    settings_files: &[
        "$CONFIG/settings.json",
        "$PROJECT/.qwen/settings.json",
        "~/.qwen/settings.json",
        "/etc/qwen-code/",
    ],
    session_variable: Some("QWEN_CODE_SESSION_ID"),
    own_directions: &["QWEN.md", "AGENTS.md"],
    tools: tools::ALL,
    tells_before_calls: false,
    call: |name, input| crate::decode::recorded(name, input, tools::call),
    resume: |session| format!("qwen --resume {session}"),
    ..Dialect::UNKNOWN
};

#[cfg(test)]
mod tests;
