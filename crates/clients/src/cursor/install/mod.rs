//! Cursor's `hooks.json`: what we want in it. `crate::settings` edits it.

use crate::install::{Drops, IfMissing, Installer, Places};
use crate::plan::ShellPlan;
use crate::settings::ours::Ours;
use crate::settings::schema::{Kind, Schema, optional};
use crate::settings::{self, Flavour};

use super::{NAME, decode};

pub(super) const INSTALLER: Installer = Installer {
    places: Places {
        home: FOLDER,
        project: FOLDER,
        user_settings: "hooks.json",
        project_settings: "hooks.json",
        local_settings: None,
    },
    format: settings::format::<Cursor>(),
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

const FOLDER: &str = ".cursor";

const PLAN: ShellPlan = ShellPlan {
    client: NAME,
    events: &[
        ("sessionStart", 30),
        ("beforeSubmitPrompt", 20),
        ("preToolUse", 15),
        ("postToolUse", 15),
        ("postToolUseFailure", 15),
        ("preCompact", 15),
        ("stop", 60),
        ("sessionEnd", 5),
    ],
    ours: decode::ours,
};

struct Cursor;

impl Flavour for Cursor {
    const OURS: Ours<'static> = Ours { client: NAME, prompts: &[], is_flat: true };
    const SCHEMA: Schema = Schema {
        new: "{\n  \"version\": 1\n}\n",
        second: 1,
        keys: None,
        file: &[],
        permissions: &[],
        group: &[optional("command", Kind::Text), optional("timeout", Kind::Positive)],
        types: &[],
        every_type: &[],
        knows: |event| PLAN.events.iter().any(|(name, _)| *name == event),
        costs: |_| Drops::Entry,
    };
    const HOOKS_OFF: Option<&'static str> = None;
}
