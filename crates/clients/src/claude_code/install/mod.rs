//! Claude Code's settings file: what we want in it. `crate::settings` edits it.
//!
//! What is said here about the client was measured with version 2.1.325 and its `doctor`.

mod plan;
mod schema;

use crate::install::{Entry, IfMissing, Installer, Places, SettingsFormat};
use crate::settings::ours::Ours;
use crate::settings::schema::Schema;
use crate::settings::{self, Flavour};

use super::NAME;

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
    rule: Some(plan::rule),
    broad_rule: "Bash(substrate:*)",
    own_check: Some("claude doctor"),
    if_missing: IfMissing::Allows,
    trust: None,
};

/// A hook as the client's files write it.
pub(super) fn hook_value(entry: &Entry) -> serde_json::Value {
    settings::render::Json::hook(entry, schema::SCHEMA.second).value()
}

/// The client's folder, in a home and in a project.
const FOLDER: &str = ".claude";

const SETTINGS: SettingsFormat = settings::format::<Claude>();

struct Claude;

impl Flavour for Claude {
    const OURS: Ours<'static> = Ours { client: NAME, prompts: &plan::PROMPTS, is_flat: false };
    const SCHEMA: Schema = schema::SCHEMA;
    const HOOKS_OFF: Option<&'static str> = Some("disableAllHooks");
}

#[cfg(test)]
mod tests;
