//! The client's tools in our own terms. Events that come in the common form call them by other names than the rest.

use substrate_core::{ToolCall, ToolClass};

use super::DIALECT;
use crate::decode::use_id;
use crate::patch;
use crate::wire::{Payload, ToolInput};

/// The tools that we know.
pub(super) const ALL: &[(&str, ToolClass)] = &[
    ("Bash", ToolClass::Shell),
    ("bash", ToolClass::Shell),
    ("Edit", ToolClass::Edit),
    ("edit", ToolClass::Edit),
    ("Write", ToolClass::Edit),
    ("create", ToolClass::Edit),
    (PATCH, ToolClass::Edit),
    ("Read", ToolClass::Read),
    ("view", ToolClass::Read),
    ("Glob", ToolClass::Read),
    ("glob", ToolClass::Read),
    ("Grep", ToolClass::Read),
    ("grep", ToolClass::Read),
    ("Agent", ToolClass::Agent),
    ("task", ToolClass::Agent),
    ("Skill", ToolClass::Skill),
    ("skill", ToolClass::Skill),
];

/// Some models edit by patches.
const PATCH: &str = "apply_patch";

/// The call that a payload is about; `None` where it names no tool.
pub(super) fn call(payload: &Payload<'_>) -> Option<ToolCall> {
    let name = payload.tool_name.some_text()?;
    let class = DIALECT.class_of(&name);
    let json = payload.tool_input.json().unwrap_or("{}");
    let input = match class {
        ToolClass::Agent | ToolClass::Other => ToolInput::default(),
        _ => ToolInput::read(json, &[]).unwrap_or_default(),
    };
    let files = match class {
        ToolClass::Edit if name == PATCH => patch::files(&patch_text(payload, &input)),
        ToolClass::Edit | ToolClass::Read => input.path.some_text().into_iter().collect(),
        _ => Vec::new(),
    };
    Some(ToolCall {
        class,
        // The client gives a call no id.
        use_id: Some(use_id(&name, json)),
        files,
        command: input.command.some_text().filter(|_| class == ToolClass::Shell),
        in_background: class == ToolClass::Shell && input.mode.text().as_deref() == Some("async"),
        skill: input.skill.some_text().filter(|_| class == ToolClass::Skill),
        is_search: matches!(name.as_str(), "Glob" | "glob" | "Grep" | "grep"),
        input: json.to_owned(),
        name,
        ..ToolCall::default()
    })
}

/// A patch is the whole input, or its one field.
fn patch_text(payload: &Payload<'_>, input: &ToolInput<'_>) -> String {
    let whole = payload.tool_input.text().map(std::borrow::Cow::into_owned);
    whole
        .or_else(|| input.input.some_text())
        .or_else(|| input.patch.some_text())
        .unwrap_or_default()
}
