//! A tool call in our own terms, whatever the client calls its tools.

/// What a tool does, as far as a policy must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolClass {
    /// Changes the files named in `ToolCall::files`.
    Edit,
    /// Only looks.
    Read,
    /// Runs `ToolCall::command` in a shell.
    Shell,
    /// Starts a subagent.
    Agent,
    /// Keeps the client's own task list.
    Todo,
    /// Runs a skill: the input names it as `skill`.
    Skill,
    /// Anything else, MCP tools included.
    Other,
}

/// One call of one tool. `input` is the client's JSON, untouched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    pub name: String,
    pub class: ToolClass,
    /// The client's id of this call; the same before and after it.
    pub use_id: Option<String>,
    /// The paths that the call names as its target, as the client wrote them (perhaps relative to the event's cwd).
    pub files: Vec<String>,
    /// The command line of a shell call.
    pub command: Option<String>,
    /// The whole input, as JSON text.
    pub input: String,
}
