//! What features may know about the client beside its events.

use serde_json::Value;
use substrate_core::dialect::{Dialect, Prices, Tokens, UsageLine};

use super::{NAME, tools};

pub(super) const DIALECT: Dialect = Dialect {
    client: NAME,
    settings_files: &[
        "$CONFIG/hooks.json",
        "$CONFIG/config.toml",
        "$CONFIG/rules/",
        "$PROJECT/.codex/",
        "~/.codex/hooks.json",
        "~/.codex/config.toml",
        "~/.codex/rules/",
        "/etc/codex/",
    ],
    session_variable: Some("CODEX_SESSION_ID"),
    own_directions: &["AGENTS.md"],
    tools: tools::ALL,
    call: tools::recorded,
    usage,
    usage_mark: "\"token_usage_record\"",
    prices: Prices { as_of: "", models: &[] },
    resume: |session| format!("codex resume {session}"),
    ..Dialect::UNKNOWN
};

/// One line per answer: `{"timestamp":…,"type":"token_usage_record","payload":{"response_id":…,"usage":{…}}}`. The model is
/// named only once per turn, in another line.
fn usage(line: &str) -> Option<UsageLine> {
    let line: Value = serde_json::from_str(line).ok()?;
    let payload = line.get("payload").filter(|_| line["type"] == "token_usage_record")?;
    let usage = payload.get("usage")?;
    let count = |name: &str| usage[name].as_i64().unwrap_or(0).max(0);
    let cached = count("cached_input_tokens");
    let tokens = Tokens {
        // What came from the cache is counted in both.
        input: (count("input_tokens") - cached).max(0),
        cache_read: cached,
        output: count("output_tokens"),
        ..Tokens::default()
    };
    let at = line["timestamp"].as_str().and_then(crate::decode::timestamp);
    let id = payload["response_id"].as_str()?.to_owned();
    Some(UsageLine { id, model: String::new(), at, tokens })
}
