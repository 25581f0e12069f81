//! The client's tools in our own terms.

use substrate_core::{ToolCall, ToolClass};

use super::DIALECT;
use crate::patch;
use crate::wire::{Payload, object};

/// The tools that we know.
pub(super) const ALL: &[(&str, ToolClass)] = &[
    ("bash", ToolClass::Shell),
    ("edit", ToolClass::Edit),
    ("write", ToolClass::Edit),
    ("apply_patch", ToolClass::Edit),
    ("read", ToolClass::Read),
    ("list", ToolClass::Read),
    ("glob", ToolClass::Read),
    ("grep", ToolClass::Read),
    ("task", ToolClass::Agent),
    ("skill", ToolClass::Skill),
    ("todowrite", ToolClass::Todo),
];

object! {
    /// The fields of a call that say what it is about.
    struct Fields {
        file_path = "filePath",
        path,
        command,
        name,
        patch_text = "patchText",
    }
}

/// The call that a payload is about; `None` where it names no tool.
pub(super) fn call(payload: &Payload<'_>) -> Option<ToolCall> {
    let name = payload.tool_name.some_text()?;
    let class = DIALECT.class_of(&name);
    let json = payload.tool_input.object().unwrap_or("{}");
    let input = match class {
        ToolClass::Agent | ToolClass::Todo | ToolClass::Other => Fields::default(),
        _ => Fields::read(json, &[]).unwrap_or_default(),
    };
    let named = match class {
        ToolClass::Edit | ToolClass::Read => vec![input.file_path, input.path],
        _ => Vec::new(),
    };
    let patched = patch::files(&input.patch_text.text().unwrap_or_default());
    Some(ToolCall {
        class,
        use_id: payload.tool_use_id.some_text(),
        files: named.iter().filter_map(|raw| raw.some_text()).chain(patched).collect(),
        command: input.command.some_text().filter(|_| class == ToolClass::Shell),
        skill: input.name.some_text().filter(|_| class == ToolClass::Skill),
        is_search: matches!(name.as_str(), "list" | "glob" | "grep"),
        input: json.to_owned(),
        name,
        ..ToolCall::default()
    })
}
