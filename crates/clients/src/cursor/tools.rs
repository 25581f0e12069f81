//! The client's tools in our own terms.

use substrate_core::{ToolCall, ToolClass};

use super::DIALECT;
use crate::decode::use_id;
use crate::wire::{Payload, ToolInput};

/// The tools that we know.
pub(super) const ALL: &[(&str, ToolClass)] = &[
    ("Shell", ToolClass::Shell),
    ("Write", ToolClass::Edit),
    ("StrReplace", ToolClass::Edit),
    ("Edit", ToolClass::Edit),
    ("Delete", ToolClass::Edit),
    ("Read", ToolClass::Read),
    ("Grep", ToolClass::Read),
    ("Glob", ToolClass::Read),
    ("Task", ToolClass::Agent),
];

/// The call that a payload is about; `None` where it names no tool.
pub(super) fn call(payload: &Payload<'_>) -> Option<ToolCall> {
    let name = payload.tool_name.some_text()?;
    let class = DIALECT.class_of(&name);
    let json = payload.tool_input.object().unwrap_or("{}");
    let input = ToolInput::read(json, &[]).unwrap_or_default();
    let named = match class {
        ToolClass::Edit | ToolClass::Read => vec![input.file_path, input.path],
        _ => Vec::new(),
    };
    Some(ToolCall {
        class,
        use_id: payload.tool_use_id.some_text().or_else(|| Some(use_id(&name, json))),
        files: named.iter().filter_map(|raw| raw.some_text()).collect(),
        command: input.command.some_text().filter(|_| class == ToolClass::Shell),
        is_search: matches!(name.as_str(), "Grep" | "Glob"),
        input: json.to_owned(),
        name,
        ..ToolCall::default()
    })
}
