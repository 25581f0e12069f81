//! OpenAI's Codex CLI, as measured with version 0.166.0.
//!
//! `samples/` holds payloads that were captured from the real program; what is claimed here rests on them and on runs of
//! it. It reads answers strictly: one key that it does not know turns a refusal into a pass. It runs a hook only once the
//! user trusts it ([`trust`]), and skips it silently until then.

mod decode;
mod deliver;
mod dialect;
mod install;
mod relaunch;
mod tools;
mod trust;

use crate::{Client, Evidence, Relaunch, Variables, encode};
use dialect::DIALECT;

const NAME: &str = "codex";

pub(super) const CLIENT: Client = Client {
    name: NAME,
    title: "Codex",
    program: "codex",
    evidence: Evidence::Run { version: "0.166.0" },
    variables: VARIABLES,
    dialect: &DIALECT,
    runs_others: |_| false,
    decode: decode::decode,
    encode: |event, verdict| encode::say(event, verdict, deliver::channels(event.kind)),
    delivers: |event, wish| deliver::channels(event).delivers(wish),
    tells_subagents: true,
    starts_after_compaction: true,
    session_files: None,
    // It sends an event of its own.
    was_interrupted: |_| false,
    status: |_| None,
    relaunch: Relaunch { fresh: relaunch::fresh, again: <[_]>::to_vec },
    install: install::INSTALLER,
};

const VARIABLES: Variables = Variables {
    process: None,
    inside: &["CODEX_THREAD_ID"],
    session: &["CODEX_SESSION_ID"],
    project: &[],
    config: Some("CODEX_HOME"),
    block_cap: None,
};

#[cfg(test)]
mod tests;
