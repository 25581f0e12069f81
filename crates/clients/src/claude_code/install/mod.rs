//! Claude Code's settings file: what we want in it, and how it is edited.
//!
//! Everything is a function from text to text. Invariants, each with a test over `corpus/`: an edit inserts or cuts
//! whole entries of our own and copies every other byte; `remove` undoes `add` byte for byte; what the client would
//! drop is not written into. What is said here about the client was measured with version 2.1.325 and its `doctor`.

mod add;
mod document;
mod edit;
mod findings;
mod layout;
mod ours;
mod plan;
mod remove;
mod render;
mod schema;

use crate::install::{Entry, IfMissing, Installer, Places, SettingsFormat};

pub(super) const INSTALLER: Installer = Installer {
    places: Places {
        home: FOLDER,
        project: FOLDER,
        user_settings: "settings.json",
        project_settings: "settings.json",
        local_settings: Some("settings.local.json"),
    },
    format: SETTINGS,
    entries: plan::entries,
    prompts: plan::prompts,
    scripts: plan::scripts,
    rule: plan::rule,
    broad_rule: "Bash(substrate:*)",
    own_check: Some("claude doctor"),
    if_missing: IfMissing::Allows,
};

/// A hook as the client's files write it.
pub(super) fn hook_value(entry: &Entry) -> serde_json::Value {
    render::Json::hook(entry).value()
}

/// The client's folder, in a home and in a project.
const FOLDER: &str = ".claude";

const SETTINGS: SettingsFormat = SettingsFormat {
    add: add::add,
    remove: remove::remove,
    without_status_line: remove::without_status_line,
    registered: ours::registered,
    findings: findings::findings,
    rules: findings::rules,
    hooks_off: findings::hooks_off,
};

#[cfg(test)]
mod tests;
