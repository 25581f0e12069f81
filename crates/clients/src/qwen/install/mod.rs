//! Qwen Code's `settings.json`: what we want in it. `crate::settings` edits it.

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
        local_settings: None,
    },
    format: settings::format::<Qwen>(),
    entries: |form| PLAN.entries(form),
    prompts: Vec::new,
    scripts: |_| Vec::new(),
    rule: None,
    broad_rule: "",
    own_check: None,
    if_missing: IfMissing::Allows,
    trust: None,
};

const FOLDER: &str = ".qwen";

const PLAN: ShellPlan = ShellPlan {
    client: NAME,
    events: &[
        ("SessionStart", 30),
        ("UserPromptSubmit", 20),
        ("PreToolUse", 15),
        ("PostToolUse", 15),
        ("PostToolUseFailure", 15),
        ("SubagentStart", 15),
        ("SubagentStop", 60),
        ("PreCompact", 15),
        ("Stop", 600),
        ("SessionEnd", 5),
    ],
    ours: |event| event,
};

struct Qwen;

impl Flavour for Qwen {
    const OURS: Ours<'static> = Ours { client: NAME, prompts: &[], is_flat: false };
    const SCHEMA: Schema = Schema {
        new: NEW,
        second: 1,
        keys: None,
        file: &[],
        permissions: &[],
        group: &[optional("matcher", Kind::Text), required("hooks", Kind::List)],
        types: &[
            ("command", &[required("command", Kind::Text), optional("timeout", Kind::Positive)]),
            ("http", &[required("url", Kind::Url)]),
            ("prompt", &[]),
        ],
        every_type: &[],
        knows: |event| PLAN.events.iter().any(|(name, _)| *name == event),
        costs: |_| Drops::Entry,
    };
    const HOOKS_OFF: Option<&'static str> = Some("disableAllHooks");
}
