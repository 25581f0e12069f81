//! The client's tools in our own terms.
//!
//! The names are the client's; a tool that is not listed is `Other`, and of such a tool we claim to know nothing.

use substrate_core::{ToolCall, ToolClass};

use super::wire::{Payload, Raw, ToolInput};

/// The call that a payload is about; `None` where it names no tool.
pub(super) fn call(payload: &Payload<'_>) -> Option<ToolCall> {
    let name = payload.tool_name.some_text()?;
    let class = class(&name);
    let json = payload.tool_input.object().unwrap_or("{}");
    let input = match class {
        ToolClass::Edit | ToolClass::Read | ToolClass::Shell => {
            serde_json::from_str::<ToolInput<'_>>(json).unwrap_or_default()
        }
        // Nothing that we look for: their inputs (a prompt, a list) are not read again.
        ToolClass::Agent | ToolClass::Todo | ToolClass::Skill | ToolClass::Other => {
            ToolInput::default()
        }
    };
    Some(ToolCall {
        class,
        use_id: payload.tool_use_id.some_text(),
        files: files(class, &input),
        command: match class {
            ToolClass::Shell => input.command.some_text(),
            _ => None,
        },
        input: json.to_owned(),
        name,
    })
}

fn class(name: &str) -> ToolClass {
    match name {
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => ToolClass::Edit,
        "Read" | "Glob" | "Grep" | "LS" | "NotebookRead" => ToolClass::Read,
        "Bash" => ToolClass::Shell,
        // The same tool: `Task` is what it was called before there was a task list.
        "Task" | "Agent" => ToolClass::Agent,
        "Skill" => ToolClass::Skill,
        "TodoWrite" | "TaskCreate" | "TaskUpdate" | "TaskList" | "TaskGet" => ToolClass::Todo,
        _ => ToolClass::Other,
    }
}

fn files(class: ToolClass, input: &ToolInput<'_>) -> Vec<String> {
    let named: &[Raw<'_>] = match class {
        ToolClass::Edit => &[input.file_path, input.notebook_path],
        // Searches name the folder where they look, and only if it is not the current one.
        ToolClass::Read => &[input.file_path, input.notebook_path, input.path],
        ToolClass::Shell
        | ToolClass::Agent
        | ToolClass::Todo
        | ToolClass::Skill
        | ToolClass::Other => &[],
    };
    named.iter().filter_map(|raw| raw.some_text()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn called(name: &str, input: &str) -> ToolCall {
        let json = format!(r#"{{"tool_name":"{name}","tool_input":{input},"tool_use_id":"t1"}}"#);
        let payload: Payload<'_> = serde_json::from_str(&json).unwrap();
        call(&payload).unwrap()
    }

    #[rstest]
    #[case("Edit", r#"{"file_path":"/a b.rs","old_string":"x"}"#, ToolClass::Edit, &["/a b.rs"], None)]
    #[case("Write", r#"{"file_path":"a\\b.rs","content":""}"#, ToolClass::Edit, &["a\\b.rs"], None)]
    #[case("MultiEdit", r#"{"file_path":"/a","edits":[]}"#, ToolClass::Edit, &["/a"], None)]
    #[case("NotebookEdit", r#"{"notebook_path":"/n.ipynb"}"#, ToolClass::Edit, &["/n.ipynb"], None)]
    #[case("Read", r#"{"file_path":"/a"}"#, ToolClass::Read, &["/a"], None)]
    #[case("NotebookRead", r#"{"notebook_path":"/n"}"#, ToolClass::Read, &["/n"], None)]
    #[case("Grep", r#"{"pattern":"x","path":"src"}"#, ToolClass::Read, &["src"], None)]
    #[case("Glob", r#"{"pattern":"*"}"#, ToolClass::Read, &[], None)]
    #[case("LS", r#"{"path":"/"}"#, ToolClass::Read, &["/"], None)]
    #[case("Bash", r#"{"command":"ls\n-l","path":"x"}"#, ToolClass::Shell, &[], Some("ls\n-l"))]
    #[case::half_a_pair("Bash", r#"{"command":"rm x \ud83d"}"#, ToolClass::Shell, &[], Some("rm x \u{fffd}\u{fffd}\u{fffd}"))]
    #[case::no_text("Bash", r#"{"command":["ls"]}"#, ToolClass::Shell, &[], None)]
    #[case("Task", r#"{"prompt":"x"}"#, ToolClass::Agent, &[], None)]
    #[case("Agent", "{}", ToolClass::Agent, &[], None)]
    #[case("TodoWrite", "{}", ToolClass::Todo, &[], None)]
    #[case("TaskCreate", "{}", ToolClass::Todo, &[], None)]
    #[case("TaskUpdate", "{}", ToolClass::Todo, &[], None)]
    #[case("TaskList", "{}", ToolClass::Todo, &[], None)]
    #[case("TaskGet", "{}", ToolClass::Todo, &[], None)]
    #[case("Skill", r#"{"skill":"fix","args":"the door"}"#, ToolClass::Skill, &[], None)]
    #[case("mcp__fs__write", r#"{"path":"/a","command":"ls"}"#, ToolClass::Other, &[], None)]
    #[case::case_counts("bash", r#"{"command":"ls"}"#, ToolClass::Other, &[], None)]
    fn a_call_of(
        #[case] name: &str,
        #[case] input: &str,
        #[case] class: ToolClass,
        #[case] files: &[&str],
        #[case] command: Option<&str>,
    ) {
        let call = called(name, input);
        assert_eq!(call.class, class);
        assert_eq!(call.files, files);
        assert_eq!(call.command.as_deref(), command);
        assert_eq!(call.use_id.as_deref(), Some("t1"));
        assert_eq!(call.input, input, "the input passes untouched");
    }

    #[rstest]
    #[case("\"ls\"")]
    #[case("null")]
    #[case("[1]")]
    fn an_input_that_is_no_object_counts_as_empty(#[case] input: &str) {
        assert_eq!(called("Bash", input).input, "{}");
    }
}
