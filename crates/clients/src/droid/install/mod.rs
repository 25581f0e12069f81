//! Droid's `settings.json`: what we want in it. `crate::settings` edits it.

use crate::install::{Drops, IfMissing, Installer, Places};
use crate::plan::ShellPlan;
use crate::settings::ours::Ours;
use crate::settings::schema::{Kind, NEW, Schema, optional, required};
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
    format: settings::format::<Droid>(),
    entries: |form| PLAN.entries(form),
    prompts: Vec::new,
    scripts: |_| Vec::new(),
    rule: None,
    broad_rule: "",
    own_check: None,
    // Not known, so the careful way.
    if_missing: IfMissing::Refuses,
    trust: None,
};

const FOLDER: &str = ".factory";

const PLAN: ShellPlan = ShellPlan {
    client: NAME,
    events: &[
        ("SessionStart", 30),
        ("UserPromptSubmit", 20),
        ("PreToolUse", 15),
        ("PostToolUse", 15),
        ("SubagentStop", 60),
        ("PreCompact", 15),
        ("Stop", 60),
        ("SessionEnd", 5),
    ],
    ours: |event| event,
};

struct Droid;

impl Flavour for Droid {
    const OURS: Ours<'static> = Ours { client: NAME, prompts: &[], is_flat: false };
    const SCHEMA: Schema = Schema {
        new: NEW,
        second: 1,
        keys: None,
        file: &[],
        permissions: &[],
        group: &[optional("matcher", Kind::Text), required("hooks", Kind::List)],
        types: &[(
            "command",
            &[required("command", Kind::Text), optional("timeout", Kind::Positive)],
        )],
        every_type: &[],
        knows: |event| PLAN.events.iter().any(|(name, _)| *name == event),
        costs: |_| Drops::Entry,
    };
    const HOOKS_OFF: Option<&'static str> = None;
}
