//! opencode's plugin: a file of our own in the folder from which it loads all of them. Whatever else is in that file stays.
//!
//! What is ours is one block between two comments: our commands by event, by which the plugin starts a daemon that is not
//! there, and the plugin itself.

use std::collections::BTreeMap;

use crate::install::{
    Edited, IfMissing, Installer, Places, Registered, SettingsError, SettingsFormat, Wanted, What,
};
use crate::plan::ShellPlan;

use super::NAME;

pub(super) const INSTALLER: Installer = Installer {
    places: Places {
        home: ".config/opencode",
        project: ".opencode",
        user_settings: FILE,
        project_settings: FILE,
        local_settings: None,
    },
    format: SettingsFormat {
        add,
        remove: |text, _| remove(text),
        without_status_line: |_| Ok(None),
        registered,
        findings: |_| Vec::new(),
        rules: |_| Vec::new(),
        hooks_off: |_| None,
    },
    entries: |form| PLAN.entries(form),
    prompts: Vec::new,
    scripts: |_| Vec::new(),
    rule: None,
    broad_rule: "",
    own_check: None,
    if_missing: IfMissing::Refuses,
    trust: None,
};

const FILE: &str = "plugins/substrate.js";

/// The plugin has its own limits.
const PLAN: ShellPlan = ShellPlan {
    client: NAME,
    events: &[
        ("SessionStart", 10),
        ("UserPromptSubmit", 10),
        ("PreToolUse", 10),
        ("PostToolUse", 10),
        ("PostToolUseFailure", 10),
        ("SubagentStart", 10),
        ("SubagentStop", 10),
        ("Stop", 10),
        ("SessionEnd", 1),
    ],
    ours: |event| event,
};

const BEGIN: &str = "// >>> substrate: written by `substrate hooks install`\n";
const END: &str = "// <<< substrate\n";
const COMMANDS: &str = "const COMMANDS = ";
const PLUGIN: &str = include_str!("../plugin.js");

fn add(text: &str, wanted: &Wanted) -> Result<Edited, SettingsError> {
    let rest = remove(text)?;
    if wanted.entries.is_empty() {
        return Ok(rest);
    }
    let command = |what: &What| match what {
        What::Shell { command, .. } => Some(command.clone()),
        What::Exec { .. } | What::Prompt { .. } => None,
    };
    let commands: BTreeMap<&str, String> =
        wanted.entries.iter().filter_map(|it| Some((it.event, command(&it.what)?))).collect();
    let commands = serde_json::to_string_pretty(&commands).unwrap_or_default();
    let text = format!("{}{BEGIN}{COMMANDS}{commands};\n{PLUGIN}{END}", rest.text);
    Ok(Edited { text, is_empty: false })
}

fn remove(text: &str) -> Result<Edited, SettingsError> {
    let (before, after) = match text.split_once(BEGIN) {
        None => (text, ""),
        Some((before, ours)) => {
            let after = ours.split_once(END).map(|(_, after)| after);
            (before, after.ok_or_else(|| without_end(before))?)
        }
    };
    let text = format!("{before}{after}");
    Ok(Edited { is_empty: text.trim_matches(['\u{feff}', ' ', '\n', '\r', '\t']).is_empty(), text })
}

fn registered(text: &str) -> Result<Vec<Registered>, SettingsError> {
    remove(text)?;
    let ours = text.split_once(BEGIN).map_or("", |(_, ours)| ours);
    let json = ours.strip_prefix(COMMANDS).and_then(|rest| rest.split_once(";\n"));
    let commands: BTreeMap<String, String> =
        json.and_then(|(json, _)| serde_json::from_str(json).ok()).unwrap_or_default();
    Ok(commands.into_iter().map(|(event, command)| Registered { event, command }).collect())
}

fn without_end(before: &str) -> SettingsError {
    SettingsError {
        line: before.lines().count() + 1,
        message: "the block that begins here has no end".to_owned(),
        advice: format!("delete the block, or put `{}` behind it", END.trim_end()),
    }
}
