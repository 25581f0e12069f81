//! Copilot CLI's hooks: a file of our own in the folder from which it reads all of them. `crate::settings` writes it.

use crate::install::{Drops, IfMissing, Installer, Places};
use crate::plan::ShellPlan;
use crate::settings::ours::Ours;
use crate::settings::schema::{Kind, Schema, optional};
use crate::settings::{self, Flavour};

use super::NAME;

pub(super) const INSTALLER: Installer = Installer {
    places: Places {
        home: ".copilot",
        project: ".github",
        user_settings: FILE,
        project_settings: FILE,
        local_settings: None,
    },
    format: settings::format::<Copilot>(),
    entries: |form| PLAN.entries(form),
    prompts: Vec::new,
    scripts: |_| Vec::new(),
    rule: None,
    broad_rule: "",
    own_check: None,
    if_missing: IfMissing::Refuses,
    trust: None,
};

const FILE: &str = "hooks/substrate.json";

/// How an event is spelled decides the form of its payload: these make the client write the common one. A request for a
/// permission comes even where every tool is allowed, so it would only say that someone waits who does not.
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
        ("Stop", 600),
        ("SessionEnd", 5),
    ],
    ours: |event| event,
};

struct Copilot;

impl Flavour for Copilot {
    const OURS: Ours<'static> = Ours { client: NAME, prompts: &[], is_flat: false };
    const SCHEMA: Schema = Schema {
        new: "{\n  \"version\": 1\n}\n",
        keys: None,
        file: &[optional("version", Kind::Whole)],
        permissions: &[],
        // A hook may also stand alone, without a group around it.
        group: &[optional("matcher", Kind::Text), optional("hooks", Kind::List)],
        types: &[
            ("command", &[optional("command", Kind::Text), optional("timeout", Kind::Positive)]),
            ("http", &[]),
            ("prompt", &[]),
        ],
        every_type: &[],
        knows: |event| PLAN.events.iter().any(|(name, _)| *name == event),
        second: 1,
        costs: |_| Drops::Entry,
    };
    const HOOKS_OFF: Option<&'static str> = Some("disableAllHooks");
}
