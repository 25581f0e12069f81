//! The client's tools in our own terms.

use substrate_core::{ToolCall, ToolClass};

use super::DIALECT;
use crate::decode::use_id;
use crate::wire::{Payload, ToolInput};

/// The tools that we know.
pub(super) const ALL: &[(&str, ToolClass)] = &[
    ("run_shell_command", ToolClass::Shell),
    ("replace", ToolClass::Edit),
    ("write_file", ToolClass::Edit),
    ("read_file", ToolClass::Read),
    ("list_directory", ToolClass::Read),
    ("glob", ToolClass::Read),
    ("grep_search", ToolClass::Read),
    ("invoke_agent", ToolClass::Agent),
    ("activate_skill", ToolClass::Skill),
    ("write_todos", ToolClass::Todo),
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
        ToolClass::Edit => vec![input.file_path],
        ToolClass::Read => vec![input.file_path, input.dir_path],
        _ => Vec::new(),
    };
    Some(ToolCall {
        class,
        // The client gives a call no id.
        use_id: Some(use_id(&name, json)),
        files: named.iter().filter_map(|raw| raw.some_text()).collect(),
        command: input.command.some_text().filter(|_| class == ToolClass::Shell),
        in_background: class == ToolClass::Shell && input.is_background.is_true(),
        skill: input.name.some_text().filter(|_| class == ToolClass::Skill),
        is_search: matches!(name.as_str(), "list_directory" | "glob" | "grep_search"),
        input: json.to_owned(),
        name,
        ..ToolCall::default()
    })
}
