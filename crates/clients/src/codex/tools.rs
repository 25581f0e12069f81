//! The client's tools in our own terms. It has no tool to read files: that goes through the shell.

use substrate_core::{ToolCall, ToolClass};

use super::DIALECT;
use crate::patch;
use crate::wire::{Payload, ToolInput};

/// The tools that we know. Names of a namespace are joined to it without a separator.
pub(super) const ALL: &[(&str, ToolClass)] = &[
    ("Bash", ToolClass::Shell),
    ("apply_patch", ToolClass::Edit),
    ("spawn_agent", ToolClass::Agent),
    ("multi_agent_v1spawn_agent", ToolClass::Agent),
    ("collaborationspawn_agent", ToolClass::Agent),
];

/// The call that a payload is about; `None` where it names no tool.
pub(super) fn call(payload: &Payload<'_>) -> Option<ToolCall> {
    let name = payload.tool_name.some_text()?;
    let class = DIALECT.class_of(&name);
    let json = payload.tool_input.object().unwrap_or("{}");
    let input = match class {
        ToolClass::Shell | ToolClass::Edit => ToolInput::read(json, &[]).unwrap_or_default(),
        _ => ToolInput::default(),
    };
    let files = match class {
        ToolClass::Edit => patch::files(&input.command.text().unwrap_or_default()),
        _ => Vec::new(),
    };
    Some(ToolCall {
        class,
        use_id: payload.tool_use_id.some_text(),
        files,
        command: input.command.some_text().filter(|_| class == ToolClass::Shell),
        input: json.to_owned(),
        name,
        ..ToolCall::default()
    })
}

/// A call that the journal kept, by its tool and its input. `None`: the input was cut.
pub(super) fn recorded(name: &str, input: &str) -> Option<ToolCall> {
    crate::decode::recorded(name, input, call)
}
