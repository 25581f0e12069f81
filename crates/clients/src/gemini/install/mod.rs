//! Gemini CLI's `settings.json`: what we want in it. `crate::settings` edits it.

use crate::install::{Drops, IfMissing, Installer, Places};
use crate::plan::ShellPlan;
use crate::settings::ours::Ours;
use crate::settings::schema::{Kind, NEW, Schema, optional, required};
use crate::settings::{self, Flavour};

use super::{NAME, decode};

pub(super) const INSTALLER: Installer = Installer {
    places: Places {
        home: FOLDER,
        project: FOLDER,
        user_settings: "settings.json",
        project_settings: "settings.json",
        local_settings: None,
    },
    format: settings::format::<Gemini>(),
    entries: |form| PLAN.entries(form),
    prompts: Vec::new,
    scripts: |_| Vec::new(),
    rule: None,
    broad_rule: "",
    own_check: None,
    if_missing: IfMissing::Refuses,
    trust: None,
};

const FOLDER: &str = ".gemini";

/// Every other event comes before each request to the model, and each would cost a process.
const PLAN: ShellPlan = ShellPlan {
    client: NAME,
    events: &[
        ("SessionStart", 30),
        ("BeforeAgent", 20),
        ("BeforeTool", 15),
        ("AfterTool", 15),
        ("AfterAgent", 600),
        ("SessionEnd", 5),
    ],
    ours: decode::ours,
};

struct Gemini;

impl Flavour for Gemini {
    const OURS: Ours<'static> = Ours { client: NAME, prompts: &[], is_flat: false };
    const SCHEMA: Schema = Schema {
        new: NEW,
        keys: None,
        file: &[],
        permissions: &[],
        group: &[optional("matcher", Kind::Text), required("hooks", Kind::List)],
        types: &[
            ("command", &[required("command", Kind::Text), optional("timeout", Kind::Positive)]),
            ("runtime", &[]),
        ],
        every_type: &[],
        knows: |event| {
            const OTHERS: [&str; 5] =
                ["BeforeModel", "AfterModel", "BeforeToolSelection", "PreCompress", "Notification"];
            OTHERS.contains(&event) || PLAN.events.iter().any(|(name, _)| *name == event)
        },
        // Milliseconds.
        second: 1_000,
        costs: |_| Drops::Entry,
    };
    const HOOKS_OFF: Option<&'static str> = None;
}
