//! What an agent is taught about us: short, since every word is paid for.

/// `skills/substrate/SKILL.md` in the client's folder.
pub(super) const TEXT: &str = r#"---
name: substrate
description: Work with other coding agents on this machine through Substrate. Use when you need to see what happened in this or another session (journal), why a tool call was refused, or whether Substrate itself is healthy.
---

# Substrate

Substrate listens to this client's hooks. Text that begins with `[substrate …]` comes from it, not from the user. A refusal
names its rule, its reason and a next step: follow the next step, don't look for a way around.

All commands print text; `--format json` is for programs. Your session is known from the environment.

| you want to | command |
|---|---|
| see what happened lately | `substrate journal` |
| … in this session | `substrate journal list --session "$CLAUDE_CODE_SESSION_ID"` |
| … what was refused | `substrate journal list --verdict deny` |
| know everything about one entry | `substrate journal show ID` |
| see the settings in force, and where they come from | `substrate config` |
| know whether Substrate works | `substrate doctor` |
| know any command's flags | `substrate COMMAND --help` |

Rules:

* Don't edit the client's settings or the files in `~/.subtrate` to get around a rule; tell the user instead.
* Never print secrets in order to have them journaled; they are taken out anyway.
* If a command fails, its `hint:` line says what to do.
"#;

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_short() {
        // About four characters make a token; 700 tokens are the limit.
        assert!(super::TEXT.len() < 2_600, "{} characters", super::TEXT.len());
        assert!(super::TEXT.starts_with("---\nname: substrate\n"));
    }
}
