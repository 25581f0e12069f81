//! Codex's `hooks.json`: what we want in it. `crate::settings` edits it, and `super::trust` makes the client run it.

use crate::install::{Drops, IfMissing, Installer, Places};
use crate::plan::ShellPlan;
use crate::settings::ours::Ours;
use crate::settings::schema::{Field, Kind, NEW, Schema, optional, required};
use crate::settings::{self, Flavour};

use super::{NAME, trust};

pub(super) const INSTALLER: Installer = Installer {
    places: Places {
        home: FOLDER,
        project: FOLDER,
        user_settings: "hooks.json",
        project_settings: "hooks.json",
        local_settings: None,
    },
    format: settings::format::<Codex>(),
    entries: |form| PLAN.entries(form),
    prompts: Vec::new,
    scripts: |_| Vec::new(),
    rule: None,
    broad_rule: "",
    own_check: None,
    if_missing: IfMissing::Allows,
    trust: Some(trust::TRUST),
};

const FOLDER: &str = ".codex";

/// The client cuts the time of the last two to three seconds, and a hook's time is part of what the user trusts.
const PLAN: ShellPlan = ShellPlan {
    client: NAME,
    events: &[
        ("SessionStart", 30),
        ("UserPromptSubmit", 20),
        ("PreToolUse", 15),
        ("PermissionRequest", 15),
        ("PostToolUse", 15),
        ("SubagentStart", 15),
        ("SubagentStop", 60),
        ("PreCompact", 15),
        ("PostCompact", 15),
        ("Stop", 600),
        ("SessionEnd", 3),
        ("Interrupt", 3),
    ],
    ours: |event| event,
};

struct Codex;

impl Flavour for Codex {
    const OURS: Ours<'static> = Ours { client: NAME, prompts: &[], is_flat: false };
    const SCHEMA: Schema = Schema {
        new: NEW,
        second: 1,
        keys: Some(&["description", "hooks"]),
        file: &[optional("description", Kind::Text)],
        permissions: &[],
        group: &[optional("matcher", Kind::Text), optional("hooks", Kind::List)],
        types: &[
            ("command", COMMAND),
            ("mcp_tool", &[required("server", Kind::Text), required("tool", Kind::Text)]),
            ("prompt", &[]),
            ("agent", &[]),
        ],
        every_type: &[],
        knows: |event| {
            event == "PreModelRequest" || PLAN.events.iter().any(|(name, _)| *name == event)
        },
        // The client reads all of the file or nothing.
        costs: |_| Drops::File,
    };
    const HOOKS_OFF: Option<&'static str> = None;
}

const COMMAND: &[Field] = &[
    required("command", Kind::Text),
    optional("timeout", Kind::Whole),
    optional("async", Kind::Flag),
    optional("statusMessage", Kind::Text),
];
