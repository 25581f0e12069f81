//! Codex runs a hook only if the user trusts it: `config.toml` keeps a hash of what was trusted, under the place where the
//! hook stands. The user approves hooks in `/hooks`, or lets us write the same entries.
//!
//! Invariant: an edit adds or takes out whole tables that carry our mark and copies every other byte, or the file is left
//! alone. The hash was compared with `hooks/list` of the real program: over the hook's event, command, time and `async`
//! flag, as JSON without blanks and with sorted keys.

use serde_json::{Value, json};
use substrate_core::ids::checksum;
use toml_edit::{DocumentMut, Item};

use crate::install::{Edited, SettingsError, Trust, TrustedIn};

pub(super) const TRUST: Trust = Trust {
    file: "config.toml",
    how: "start `codex` and approve them in `/hooks`",
    untrusted,
    add,
    remove,
};

/// Stands before every table that we write.
const MARK: &str = "# written by `substrate hooks install --trust`";

/// One hook of ours: where it stands, and what it is.
#[derive(Debug, PartialEq, Eq)]
struct Hook {
    event: String,
    key: String,
    hash: String,
}

/// The events whose hooks of ours the client would skip.
fn untrusted(trusted: &TrustedIn<'_>, text: &str) -> Vec<String> {
    let document: DocumentMut = text.parse().unwrap_or_default();
    let known = |hook: &Hook| {
        let entry = document.get("hooks")?.get("state")?.get(&hook.key)?;
        let is_on = entry.get("enabled").and_then(Item::as_bool) != Some(false);
        Some(is_on && entry.get("trusted_hash")?.as_str()? == hook.hash)
    };
    let hooks = hooks(trusted).into_iter();
    hooks.filter(|hook| known(hook) != Some(true)).map(|hook| hook.event).collect()
}

/// Adds what is not trusted yet, behind everything else.
fn add(trusted: &TrustedIn<'_>, text: &str) -> Result<Edited, SettingsError> {
    let mut out = without_ours(text);
    let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut stale = Vec::new();
    let mut new = String::new();
    {
        let document =
            toml_edit::Document::parse(out.as_str()).map_err(|error| not_toml(text, &error))?;
        for hook in hooks(trusted) {
            let state = document.get("hooks").and_then(|hooks| hooks.get("state"));
            let entry = state.and_then(|state| state.get(&hook.key));
            match entry.map(|entry| entry.get("trusted_hash")) {
                // The user's own entry, perhaps for an earlier form of the hook.
                Some(Some(known)) if known.as_str() == Some(&hook.hash) => {}
                Some(known) => {
                    let place = known.and_then(Item::span).ok_or_else(not_tables)?;
                    stale.push((place, hook.hash));
                }
                None => {
                    let (key, hash) = (toml_edit::Key::new(&hook.key), hook.hash);
                    let key = key.display_repr().into_owned();
                    new.extend([eol, MARK, eol, "[hooks.state.", &key, "]", eol]);
                    new.extend(["trusted_hash = \"", &hash, "\"", eol]);
                }
            }
        }
    }
    stale.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    for (place, hash) in stale {
        out.replace_range(place, &format!("\"{hash}\""));
    }
    let added = format!("{out}{new}");
    // A table that is written in another way can't be added to like this.
    let is_whole = added.parse::<DocumentMut>().is_ok() && untrusted(trusted, &added).is_empty();
    if is_whole || hooks(trusted).is_empty() {
        Ok(Edited { is_empty: added.trim().is_empty(), text: added })
    } else {
        Err(not_tables())
    }
}

/// Takes out what carries our mark.
fn remove(text: &str) -> Result<Edited, SettingsError> {
    let text = without_ours(text);
    Ok(Edited { is_empty: text.trim().is_empty(), text })
}

/// Cuts each table of ours: the end of the line before it, our mark, its header and its keys.
fn without_ours(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        if line.trim() != MARK
            || !lines.peek().is_some_and(|next| next.starts_with("[hooks.state."))
        {
            out.push_str(line);
            continue;
        }
        lines.next();
        let is_key = |line: &&str| !line.trim().is_empty() && !line.starts_with(['[', '#']);
        while lines.next_if(is_key).is_some() {}
        let kept =
            out.strip_suffix('\n').map_or(out.len(), |kept| kept.trim_end_matches('\r').len());
        out.truncate(kept);
    }
    out
}

fn not_toml(text: &str, error: &toml_edit::TomlError) -> SettingsError {
    let at = error.span().map_or(0, |span| span.start);
    SettingsError {
        line: 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count(),
        message: format!("it is not TOML ({})", error.message().lines().next().unwrap_or("")),
        advice: "mend the line, or restore a backup of the file".to_owned(),
    }
}

fn not_tables() -> SettingsError {
    SettingsError {
        line: 1,
        message: "`hooks.state` is not written as tables, so nothing can be added to it".to_owned(),
        advice: format!("{}, or make it `[hooks.state.\"…\"]` tables", TRUST.how),
    }
}

/// All of ours, as the client itself counts and hashes them.
fn hooks(trusted: &TrustedIn<'_>) -> Vec<Hook> {
    let settings: Value = serde_json::from_str(trusted.settings).unwrap_or_default();
    let mut out = Vec::new();
    for (event, groups) in settings["hooks"].as_object().into_iter().flatten() {
        let label = snake(event);
        for (n_group, group) in groups.as_array().into_iter().flatten().enumerate() {
            for (n_hook, hook) in group["hooks"].as_array().into_iter().flatten().enumerate() {
                let Some(command) = hook["command"].as_str() else { continue };
                if !trusted.commands.contains(&command) {
                    continue;
                }
                let key = format!("{}:{label}:{n_group}:{n_hook}", trusted.path);
                out.push(Hook { event: event.clone(), key, hash: hash(&label, group, hook) });
            }
        }
    }
    out
}

/// A map of JSON is sorted by its keys.
fn hash(label: &str, group: &Value, hook: &Value) -> String {
    let mut one = json!({
        "type": "command",
        "command": hook["command"],
        "timeout": hook["timeout"].as_u64().unwrap_or(600),
        "async": hook["async"].as_bool().unwrap_or(false),
    });
    if hook["statusMessage"].is_string() {
        one["statusMessage"] = hook["statusMessage"].clone();
    }
    let mut identity = json!({"event_name": label, "hooks": [one]});
    if group["matcher"].is_string() {
        identity["matcher"] = group["matcher"].clone();
    }
    format!("sha256:{}", checksum(&identity.to_string()))
}

fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const COMMAND: &str = "/bin/substrate-hook codex Interrupt";

    fn settings() -> String {
        let hook = |command: &str| json!({"hooks": [{"type": "command", "command": command, "timeout": 3}]});
        json!({"hooks": {
            "Interrupt": [hook("theirs"), hook(COMMAND)],
            "Stop": [hook("theirs")],
        }})
        .to_string()
    }

    fn trusted<'a>(settings: &'a str) -> TrustedIn<'a> {
        TrustedIn { path: "/home/u/.codex/hooks.json", settings, commands: &[COMMAND] }
    }

    /// From `hooks/list` of 0.166.0.
    #[test]
    fn the_hash_is_the_clients_own() {
        let guard =
            json!({"type": "command", "command": "/usr/bin/guard \"ü\" --now", "timeout": 5});
        assert_eq!(
            hash("pre_tool_use", &json!({"matcher": "Bash"}), &guard),
            "sha256:e45dd17553c431e66e06afdd6e3af94fb1674a537e48534d02a589245c8c8bd7"
        );
        let say = json!({"type": "command", "command": "say done"});
        assert_eq!(
            hash("stop", &json!({}), &say),
            "sha256:db6d1036b16c90c1bf11c92a851449cc3aa08ead98a7a29a5667e36c0b8f8d6b"
        );
    }

    #[rstest]
    #[case::nothing("")]
    #[case::keys("model = \"m\"\n")]
    #[case::no_line_end("model = \"m\"")]
    #[case::tables(
        "# mine\nmodel = \"m\"\n\n[projects.\"/repo\"]\ntrust_level = \"trusted\" # yes\n"
    )]
    #[case::hooks("[hooks]\nx = 1\n\n[[hooks.Stop]]\nhooks = []\n")]
    #[case::state(
        "[hooks.state.\"other\"]\ntrusted_hash = \"sha256:1\"\nenabled = true\n\n\n[tui]\n"
    )]
    #[case::crlf("model = \"m\"\r\n[tui]\r\nx = 1\r\n")]
    fn what_was_there_is_there_again(#[case] text: &str) {
        let settings = settings();
        let trusted = trusted(&settings);
        assert_eq!(untrusted(&trusted, text), ["Interrupt"], "only ours, and it is new");
        let added = add(&trusted, text).unwrap();
        assert_eq!(untrusted(&trusted, &added.text), [] as [&str; 0], "{}", added.text);
        assert!(added.text.contains("hooks.json:interrupt:1:0"), "{}", added.text);
        assert_eq!(add(&trusted, &added.text).unwrap().text, added.text, "twice is once");
        assert_eq!(remove(&added.text).unwrap().text, text);
    }

    #[test]
    fn an_entry_of_the_user_is_brought_up_to_date_in_its_place() {
        let settings = settings();
        let trusted = trusted(&settings);
        let old = "[hooks.state.\"/home/u/.codex/hooks.json:interrupt:1:0\"]\ntrusted_hash = \"sha256:0\"\n\n[tui]\n";
        let added = add(&trusted, old).unwrap().text;
        assert_eq!(untrusted(&trusted, &added), [] as [&str; 0]);
        assert!(!added.contains(MARK) && added.ends_with("\n\n[tui]\n"), "{added}");
        let off = added.replace("\n\n[tui]", "\nenabled = false\n\n[tui]");
        assert_eq!(untrusted(&trusted, &off), ["Interrupt"], "switched off by the user");
    }

    #[rstest]
    #[case("model = \n")]
    #[case("hooks = 7\n")]
    #[case("hooks = { state = {} }\n")]
    fn a_file_that_can_not_be_added_to_is_left_alone(#[case] text: &str) {
        let settings = settings();
        let error = add(&trusted(&settings), text).unwrap_err();
        assert!(error.line > 0 && !error.advice.is_empty());
    }
}
