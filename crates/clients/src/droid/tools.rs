//! The client's tools in our own terms.

use substrate_core::{ToolCall, ToolClass};

use super::DIALECT;
use crate::decode::use_id;
use crate::patch;
use crate::wire::{Payload, ToolInput};

/// The tools that we know.
pub(super) const ALL: &[(&str, ToolClass)] = &[
    ("Execute", ToolClass::Shell),
    ("Edit", ToolClass::Edit),
    ("MultiEdit", ToolClass::Edit),
    ("Create", ToolClass::Edit),
    ("ApplyPatch", ToolClass::Edit),
    ("Read", ToolClass::Read),
    ("LS", ToolClass::Read),
    ("Glob", ToolClass::Read),
    ("Grep", ToolClass::Read),
    ("Task", ToolClass::Agent),
    ("Skill", ToolClass::Skill),
    ("TodoWrite", ToolClass::Todo),
];

/// The call that a payload is about; `None` where it names no tool.
pub(super) fn call(payload: &Payload<'_>) -> Option<ToolCall> {
    let name = payload.tool_name.some_text()?;
    let class = DIALECT.class_of(&name);
    let json = payload.tool_input.object().unwrap_or("{}");
    let input = match class {
        ToolClass::Agent | ToolClass::Todo | ToolClass::Other => ToolInput::default(),
        _ => ToolInput::read(json, &[]).unwrap_or_default(),
    };
    let named = match class {
        ToolClass::Edit | ToolClass::Read => vec![input.file_path, input.path],
        _ => Vec::new(),
    };
    let patched = patch::files(&input.input.text().unwrap_or_default());
    Some(ToolCall {
        class,
        // The documentation names none.
        use_id: payload.tool_use_id.some_text().or_else(|| Some(use_id(&name, json))),
        files: named.iter().filter_map(|raw| raw.some_text()).chain(patched).collect(),
        command: input.command.some_text().filter(|_| class == ToolClass::Shell),
        skill: input.skill.some_text().filter(|_| class == ToolClass::Skill),
        is_search: matches!(name.as_str(), "LS" | "Glob" | "Grep"),
        input: json.to_owned(),
        name,
        ..ToolCall::default()
    })
}
