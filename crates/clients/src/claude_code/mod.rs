//! Claude Code, as measured with version 2.1.325.
//!
//! `samples/` holds one captured payload per event and variant; what is claimed here about the client rests on them
//! and on runs of the real client. Invariant: a payload that is a JSON object is always an event, and nothing is ever
//! said on a channel that the client does not honour at that event.

mod decode;
mod deliver;
mod dialect;
mod install;
mod plugin;
mod prices;
mod relaunch;
mod sessions;
mod status;
mod todos;
mod tools;
mod transcript;
mod usage;

use crate::encode;
use crate::mcp::Mcp;
use crate::{BlockCap, Client, Evidence, Relaunch, Variables};
use dialect::DIALECT;

pub(super) use plugin::PLUGIN;
pub(super) use status::STATUS_LINE;

const NAME: &str = "claude-code";
const TITLE: &str = "Claude Code";

pub(super) const CLIENT: Client = Client {
    name: NAME,
    title: TITLE,
    program: "claude",
    evidence: Evidence::Run { version: "2.1.325" },
    variables: VARIABLES,
    dialect: &DIALECT,
    runs_others: |_| false,
    decode: decode::decode,
    encode: |event, verdict| encode::say(event, verdict, deliver::channels(event.kind)),
    delivers: deliver::delivers,
    tells_subagents: true,
    starts_after_compaction: true,
    session_files: Some(sessions::FILES),
    was_interrupted: sessions::was_interrupted,
    status: status::read,
    relaunch: Relaunch { fresh: relaunch::fresh, again: relaunch::again },
    install: install::INSTALLER,
};

/// Each call of a tool has the id that our PreToolUse hook gets, so subagents that share the server are told apart.
pub(super) const MCP: Mcp = Mcp {
    client: NAME,
    call_id: "claudecode/toolUseId",
    search_hint: Some("anthropic/searchHint"),
    add: |scope, program| {
        words(&["mcp", "add", "--scope", scope, "substrate", "--", program, "mcp"])
    },
    remove: |scope| words(&["mcp", "remove", "--scope", scope, "substrate"]),
};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

const VARIABLES: Variables = Variables {
    process: Some("CLAUDE_PID"),
    inside: &["CLAUDECODE"],
    session: &["CLAUDE_CODE_SESSION_ID", "CLAUDE_SESSION_ID"],
    project: &["CLAUDE_PROJECT_DIR"],
    config: Some("CLAUDE_CONFIG_DIR"),
    block_cap: Some(BlockCap { variable: "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", default: 8 }),
};

#[cfg(test)]
mod tests;
