//! Qwen Code, as measured with version 0.24.4: Claude Code's events and answers, with tools of its own.
//!
//! `samples/` holds payloads that were captured from the real program; what is claimed here rests on them and on runs of
//! it. It reports every continuation of a turn as a prompt, even what a hook made it go on with. Such a prompt is not an
//! event for us: it would begin a new turn.

mod decode;
mod deliver;
mod install;
mod tools;

use std::ffi::OsString;
use std::path::Path;

use substrate_core::Dialect;

use crate::{Client, Evidence, Relaunch, Variables, encode};

const NAME: &str = "qwen";

pub(super) const CLIENT: Client = Client {
    name: NAME,
    title: "Qwen Code",
    program: "qwen",
    evidence: Evidence::Run { version: "0.24.4" },
    variables: VARIABLES,
    dialect: &DIALECT,
    decode: decode::decode,
    encode: |event, verdict| encode::say(event, verdict, deliver::channels(event.kind)),
    delivers: |event, wish| deliver::channels(event).delivers(wish),
    tells_subagents: true,
    // Its start after one was not seen.
    starts_after_compaction: false,
    session_files: None,
    was_interrupted: |_| false,
    status: |_| None,
    relaunch: Relaunch { fresh, again: <[_]>::to_vec },
    install: install::INSTALLER,
};

const VARIABLES: Variables = Variables {
    process: None,
    inside: &["QWEN_CODE"],
    session: &["QWEN_CODE_SESSION_ID"],
    project: &["QWEN_PROJECT_DIR"],
    config: "QWEN_HOME",
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
    call: |name, input| crate::decode::recorded(name, input, tools::call),
    resume: |session| format!("qwen --resume {session}"),
    ..Dialect::UNKNOWN
};

/// Without the flags that take up an earlier conversation.
fn fresh(line: &[OsString]) -> Vec<OsString> {
    let is_client = |program: &OsString| {
        Path::new(program).file_name().is_some_and(|name| name == CLIENT.program)
    };
    if !line.first().is_some_and(is_client) {
        return line.to_vec();
    }
    let mut out = Vec::new();
    let mut words = line.iter().peekable();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--continue" | "-c") => {}
            Some("--resume" | "-r" | "--session-id") => {
                words.next_if(|next| !next.as_encoded_bytes().starts_with(b"-"));
            }
            _ => out.push(word.clone()),
        }
    }
    out
}

#[cfg(test)]
mod tests;
