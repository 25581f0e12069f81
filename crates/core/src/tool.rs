//! A tool call in our own terms, whatever the client calls its tools.

/// What a tool does, as far as a policy must know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
    /// Runs the skill that is named in `ToolCall::skill`.
    Skill,
    /// Anything else, MCP tools included.
    #[default]
    Other,
}

/// One call of one tool. `input` is the client's JSON, untouched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// The command outlives the call. Before the call: the agent asked for it. After it: the command still runs.
    pub in_background: bool,
    /// The call searches: its `files` are folders, and say nothing about which files the agent works on.
    pub is_search: bool,
    /// The skill that the call runs, without a slash.
    pub skill: Option<String>,
    /// What the call asks the user, and what they answered.
    pub questions: Vec<Question>,
    /// The whole to-do list, if the call replaces it.
    pub todos: Option<Vec<TodoItem>>,
}

/// One question to the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    pub text: String,
    pub answer: Option<String>,
    /// The answers that it offers. The user may write another.
    pub options: Vec<String>,
    /// Several of them may be chosen.
    pub takes_several: bool,
}

/// One entry of the client's to-do list that is not done yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoItem {
    pub id: String,
    pub is_begun: bool,
    pub subject: String,
}
