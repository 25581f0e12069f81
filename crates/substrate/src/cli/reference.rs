//! The reference, made from what the program really has: `cargo xtask docs` writes it, a test compares it.

use std::fmt::Write as _;

use clap::Command;
use substrate_core::redact::{ABOUT, FORMS};
use substrate_core::settings::Key;

use super::audience;
use crate::error::Kind;

/// The variables that change what Substrate does.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("SUBSTRATE_HOME", "the state home (default: `~/.subtrate`)"),
    (
        "SUBSTRATE_HOOK_DEADLINE_MS",
        "how long a hook may take in all (default: 10000; 1000 for SessionEnd)",
    ),
    (
        "CLAUDE_SESSION_ID, CLAUDE_CODE_SESSION_ID",
        "the session that a command acts for, unless `--session-id` says so; inside a session only its own counts",
    ),
    (
        "AGENT_ID",
        "the agent that a command acts as, unless `--agent` says so; inside a session only its own counts",
    ),
    ("CLAUDE_PROJECT_DIR", "the project that a command acts in, unless `--project-dir` says so"),
];

/// `docs/reference.md`.
pub(super) fn markdown() -> String {
    let mut out = "# Reference\n\nMade by `cargo xtask docs` from the program itself; a test fails when it is stale.\n\n## Commands\n\n".to_owned();
    let mut root = super::command();
    root.build();
    commands(&mut out, &root, "");
    settings(&mut out);
    features(&mut out);
    let _infallible = writeln!(out, "## Environment\n\n| variable | meaning |\n|---|---|");
    for (name, about) in ENVIRONMENT {
        let _infallible = writeln!(out, "| {name} | {about} |");
    }
    let _infallible = writeln!(
        out,
        "\nA hook passes AGENT_ID, SUBSTRATE_\\*, CLAUDE_\\*, CLAUDECODE, TMUX and TMUX_PANE on to the daemon, and nothing\nelse; names with the words TOKEN, KEY, SECRET, PASSWORD, PASSPHRASE, CREDENTIALS, AUTH or HEADERS never.\n"
    );
    let _infallible = writeln!(
        out,
        "## Exit codes\n\n| code | meaning |\n|---|---|\n| 0 | ok |\n| 2 | wrong usage |"
    );
    for kind in Kind::ALL {
        let _infallible = writeln!(out, "| {} | {} |", kind.exit_code(), kind.about());
    }
    let _infallible = writeln!(
        out,
        "\n`substrate-hook` exits 0, whatever happens, unless a verdict is delivered by exit code 2.\n\n## What is never stored, mirrored or logged\n"
    );
    for about in ABOUT {
        let _infallible = writeln!(out, "* {about}");
    }
    let mut issuers: Vec<&str> = FORMS.iter().map(|form| form.issuer).collect();
    issuers.dedup();
    let _infallible = writeln!(out, "* tokens of {}", issuers.join(", "));
    let _infallible = writeln!(
        out,
        "\nA message is delivered as it was sent, and an artifact that an agent writes itself is its own."
    );
    out
}

fn commands(out: &mut String, command: &Command, path: &str) {
    for inner in
        command.get_subcommands().filter(|inner| inner.get_name() != "help" && !inner.is_hide_set())
    {
        let path = format!("{path} {}", inner.get_name());
        let about = inner.get_about().map(ToString::to_string).unwrap_or_default();
        let _infallible =
            writeln!(out, "### `substrate{path}`\n\n{}.\n", about.trim_end_matches('.'));
        let words: Vec<&str> = path.split_whitespace().collect();
        if let Some(audience) = audience::audience(&words).filter(|_| !inner.has_subcommands()) {
            let _infallible = writeln!(out, "{}.\n", audience.words());
        }
        let flags: Vec<_> = inner
            .get_arguments()
            .filter(|arg| {
                !arg.is_hide_set()
                    && !arg.is_global_set()
                    && arg.get_id() != "help"
                    && !inner.has_subcommands()
            })
            .collect();
        for arg in &flags {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let _infallible = writeln!(out, "* `{}`: {help}", shape(arg));
        }
        if !flags.is_empty() {
            out.push('\n');
        }
        commands(out, inner, &path);
    }
    if path.is_empty() {
        let _infallible = writeln!(out, "### Flags of every command\n");
        for arg in command.get_arguments().filter(|arg| arg.is_global_set()) {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let _infallible = writeln!(out, "* `{}`: {help}", shape(arg));
        }
        out.push('\n');
    }
}

fn shape(arg: &clap::Arg) -> String {
    let value = arg.get_value_names().map(|names| names.join(" ")).unwrap_or_default();
    let takes_value = arg.get_action().takes_values();
    match (arg.get_long(), arg.get_short()) {
        (Some(long), _) if takes_value => format!("--{long} {value}"),
        (Some(long), _) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => value,
    }
}

fn settings(out: &mut String) {
    let _infallible = writeln!(
        out,
        "## Settings\n\n`config.toml` in the state home, then `.substrate.toml` and `.substrate.local.toml` at the project's root; later ones win.\nA project may only do what the last column says.\n\n| key | value | default | meaning | a project may |\n|---|---|---|---|---|"
    );
    for key in substrate_features::keys() {
        let project = match key.project {
            substrate_core::settings::ProjectMay::Set => "set it",
            substrate_core::settings::ProjectMay::TurnOn => "turn it on",
            substrate_core::settings::ProjectMay::Append
            | substrate_core::settings::ProjectMay::Widen => "add to it",
            substrate_core::settings::ProjectMay::Nothing => "not set it",
        };
        let _infallible = writeln!(
            out,
            "| `{}` | {} | `{}` | {} | {project} |",
            key.name,
            key.kind.shape(),
            key.default,
            key.about
        );
    }
    let _infallible = writeln!(
        out,
        "\n### Profiles\n\nThey add up. A project's add to the user's, with the values that a project may give.\n\n| profile | what it adds | settings |\n|---|---|---|"
    );
    for (name, about) in substrate_features::PROFILES {
        let _infallible = writeln!(out, "| `{name}` | {about} | {} |", given_by(name));
    }
    out.push('\n');
}

/// The settings that a profile gives another value.
fn given_by(profile: &str) -> String {
    let one = |key: &&'static Key| {
        let (_, value) = key.profiles.iter().find(|(name, _)| *name == profile)?;
        Some(format!("`{} = {value}`", key.name))
    };
    substrate_features::keys().iter().filter_map(one).collect::<Vec<_>>().join(", ")
}

fn features(out: &mut String) {
    let _infallible = writeln!(out, "## Features\n\nIn the order in which they speak.\n");
    for feature in substrate_features::ALL {
        let _infallible = writeln!(out, "* **{}**: {}", feature.name, feature.about);
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn the_reference_is_current() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference.md");
        let written = std::fs::read_to_string(file).unwrap_or_default();
        assert!(written == super::markdown(), "docs/reference.md is stale: run `cargo xtask docs`");
    }
}
