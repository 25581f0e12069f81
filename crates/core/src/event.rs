//! What a client reported, in our own terms.

use crate::dialect::Dialect;
use crate::ids::SafeId;
use crate::time::Timestamp;
use crate::tool::ToolCall;

/// One event. The key of all state is `(session, actor)`: subagents carry their parent's session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The client's name.
    pub client: &'static str,
    /// How that client does things.
    pub dialect: &'static Dialect,
    pub at: Timestamp,
    pub kind: EventKind,
    /// The client's own name for the event; the only name that an unknown event has.
    pub name: String,
    /// Absent when a hook is tried by hand without a payload.
    pub session: Option<SafeId>,
    pub actor: Actor,
    /// Where the session is now; follows `cd`.
    pub cwd: String,
    /// The root that the client calls its project, if it says so.
    pub project_dir: Option<String>,
    pub transcript: Option<String>,
    pub prompt_id: Option<String>,
    /// The client's own word for what an agent may do without being asked.
    pub permission_mode: Option<String>,
    /// The agent is to plan only: it may not write anything.
    pub is_planning: bool,
    /// The process of the client itself, to notice that it is gone.
    pub client_pid: Option<u32>,
    /// Whether a person watches this session; `None` where the client does not say.
    pub attended: Option<bool>,
    /// Where exports for the session's later shell commands go, if this event has such a file.
    pub env_file: Option<String>,
    /// How many blocks in a row the client honours at Stop; 0 where it has no such cap.
    pub block_cap: u32,
    /// The agent that the session is meant to be, if its surroundings say so (`AGENT_ID`).
    pub wanted_agent: Option<String>,
    /// How the session is meant to persist, if its surroundings say so (`SUBSTRATE_PERSIST`).
    pub wanted_persist: Option<String>,
    /// The effort that the session is meant to work on, if its surroundings say so (`SUBSTRATE_EFFORT`).
    pub wanted_effort: Option<i64>,
    /// Where the client keeps the session's own to-do list, if it does.
    pub tasks_dir: Option<String>,
    /// Where the client keeps what is the user's own (settings, skills), if it says so.
    pub config_dir: Option<String>,
    /// The pane of a terminal multiplexer that the client runs in, if it says so.
    pub pane: Option<Pane>,
    /// Which project it is: the same for all working trees of one repository. Empty where the host does not know.
    pub project: String,
    /// Since when this very event is being answered, if it had to wait.
    pub waiting_since: Option<Timestamp>,
    pub detail: Detail,
    /// How many bytes the client sent.
    pub n_bytes: usize,
    /// How many fields of the payload are new to us: a sign that the client has moved on.
    pub n_unknown_fields: usize,
}

/// A pane of a terminal multiplexer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pane {
    /// The socket of its server: an absolute path without control characters.
    pub socket: String,
    /// Its id, such as `%3`.
    pub id: String,
}

impl Pane {
    /// From what the multiplexer puts into the environment: `SOCKET,PID,SESSION` and the pane's id. Anything of another
    /// form is refused, because both values go to another program.
    pub fn of(server: &str, id: &str) -> Option<Self> {
        let socket = server.split(',').next().unwrap_or_default();
        let digits = id.strip_prefix('%').unwrap_or_default();
        let is_id = (1..=9).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        let is_socket =
            socket.starts_with('/') && socket.len() <= 200 && !socket.contains(char::is_control);
        (is_id && is_socket).then(|| Self { socket: socket.to_owned(), id: id.to_owned() })
    }
}

/// Who does something inside a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    /// The main thread. `kind` is set only where the whole session was started as a certain agent.
    Main { kind: Option<String> },
    /// One subagent. An empty `kind` is the client's own compaction fork.
    Subagent { id: SafeId, kind: String },
}

impl Actor {
    /// `main`, or the subagent's id: the form in which state is keyed and filters are typed.
    pub fn key(&self) -> &str {
        match self {
            Self::Main { .. } => "main",
            Self::Subagent { id, .. } => id.as_str(),
        }
    }

    pub fn kind(&self) -> Option<&str> {
        match self {
            Self::Main { kind } => kind.as_deref(),
            Self::Subagent { kind, .. } => Some(kind),
        }
    }

    /// The client's own helper that summarises a conversation. It has no identity, and nothing may delay it.
    pub fn is_compaction_fork(&self) -> bool {
        matches!(self, Self::Subagent { kind, .. } if kind.is_empty())
    }
}

macro_rules! event_kinds {
    ($($kind:ident),+ $(,)?) => {
        /// The kinds of events that any client can report. The names are those of the richest client.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum EventKind {
            $($kind,)+
            /// Not a client event: our own process beside a stopped session. A block starts a turn.
            Waiter,
            /// Not a client event: what the client shows beside its events. It sends none when a person interrupts a
            /// turn or declines a dialog.
            Activity,
            /// The `SessionEnd` of a client whose session goes on in another client process.
            ClientLeft,
            /// Well-formed, but unknown to us.
            Unknown,
            /// Not even well-formed.
            Malformed,
        }

        impl EventKind {
            /// Every kind that has a name, in the clients' order.
            pub const ALL: &[Self] = &[$(Self::$kind,)+];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => stringify!($kind),)+
                    Self::Waiter => "Waiter",
                    Self::Activity => "Activity",
                    Self::ClientLeft => "ClientLeft",
                    Self::Unknown => "Unknown",
                    Self::Malformed => "Malformed",
                }
            }
        }
    };
}

event_kinds!(
    PreToolUse,
    PostToolUse,
    PostToolUseFailure,
    PostToolBatch,
    Notification,
    UserPromptSubmit,
    UserPromptExpansion,
    SessionStart,
    SessionEnd,
    Stop,
    StopFailure,
    SubagentStart,
    SubagentStop,
    PreCompact,
    PostCompact,
    PreModelSwitch,
    PostModelSwitch,
    PermissionRequest,
    PermissionDenied,
    Setup,
    TeammateIdle,
    TaskCreated,
    TaskCompleted,
    Elicitation,
    ElicitationResult,
    ConfigChange,
    WorktreeCreate,
    WorktreeRemove,
    InstructionsLoaded,
    CwdChanged,
    FileChanged,
    DirectoryAdded,
    MessageDisplay,
);

impl EventKind {
    /// The kind of that name; `Unknown` for any other.
    pub fn named(name: &str) -> Self {
        Self::ALL.iter().copied().find(|kind| kind.name() == name).unwrap_or(Self::Unknown)
    }
}

/// What a session does, as its client shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activity {
    /// No turn runs. A shell command may go on `in_background`.
    Idle { in_background: bool },
    /// A turn or a background subagent runs, or a hook holds a turn.
    Working,
    /// A dialog waits for a person.
    Asking(Dialog),
}

/// What a dialog is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialog {
    /// May this tool be used?
    Permission,
    /// A question, or a form of a tool server.
    Input,
    /// A menu that the person may have opened.
    Menu,
    /// Something else that the client asks for.
    Other,
}

impl Activity {
    /// The name of its event, as the journal keeps it.
    pub const fn event_name(self) -> &'static str {
        match self {
            Self::Idle { .. } => Self::IDLE,
            Self::Working => "ActivityWorking",
            Self::Asking(_) => "ActivityAsking",
        }
    }

    /// The name of the event that says that no turn runs.
    pub const IDLE: &'static str = "ActivityIdle";
}

/// How a session started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StartSource {
    Startup,
    Resume,
    Fork,
    Clear,
    Compact,
    /// The client did not say, or said something new.
    Other,
}

impl StartSource {
    /// As the client calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
            Self::Fork => "fork",
            Self::Clear => "clear",
            Self::Compact => "compact",
            Self::Other => "",
        }
    }
}

/// What is particular to a kind of event. Kinds that carry nothing a policy needs have `Plain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    Plain,
    SessionStart {
        source: StartSource,
        model: Option<String>,
    },
    /// `reason` or `trigger` or `source`: one word on why it happened (SessionEnd, Setup, compaction, ConfigChange, …).
    Because {
        word: String,
    },
    /// A prompt. `from_person` is false for turns that the client itself starts (a finished background task).
    Prompt {
        text: String,
        from_person: bool,
    },
    /// A person used a command or a skill by its name: the client puts its text in place of the prompt.
    Expansion {
        command: String,
        text: String,
    },
    /// Before a call, or a request for permission to make it.
    ToolBefore {
        call: ToolCall,
    },
    ToolAfter {
        call: ToolCall,
        response: String,
        duration_ms: Option<i64>,
    },
    ToolFailed {
        call: ToolCall,
        error: String,
        interrupted: bool,
        duration_ms: Option<i64>,
    },
    /// Several calls of one message are done.
    ToolBatch {
        n_calls: usize,
    },
    /// The main thread (Stop) or a subagent (SubagentStop) wants to end.
    Stop {
        /// The client is stopping after an earlier block of the same turn.
        again: bool,
        last_message: Option<String>,
        n_background_tasks: usize,
        transcript: Option<String>,
    },
    /// The waiter was started beside that event of its session: `SessionStart` or `Stop`.
    Waiter {
        beside: EventKind,
    },
    /// What the session does, and since when by the client's own clock.
    Activity {
        now: Activity,
        since: Timestamp,
    },
    StopFailure {
        error: String,
        last_message: Option<String>,
    },
    Notification {
        kind: String,
        message: String,
    },
    /// A task of the client's own list was created or completed.
    Task {
        id: String,
        subject: String,
        description: Option<String>,
        teammate: Option<String>,
    },
    /// A member of a team of agents has nothing to do.
    Teammate {
        name: String,
        team: Option<String>,
    },
    ModelSwitch {
        from: Option<String>,
        to: Option<String>,
    },
    /// A file or folder that the event is about (FileChanged, InstructionsLoaded, CwdChanged, worktrees, …).
    Path {
        path: String,
        word: Option<String>,
    },
    /// Bytes that are not an event. `error` says why.
    Malformed {
        error: String,
        excerpt: String,
    },
}

impl Event {
    /// An actor wants to end here, and a block makes it go on.
    pub fn is_stop(&self) -> bool {
        matches!(self.kind, EventKind::Stop | EventKind::SubagentStop)
    }

    /// What the client showed, if this is not an event of its own.
    pub fn activity(&self) -> Option<Activity> {
        match self.detail {
            Detail::Activity { now, .. } => Some(now),
            _ => None,
        }
    }

    /// The tool call that the event is about, if any.
    pub fn tool(&self) -> Option<&ToolCall> {
        match &self.detail {
            Detail::ToolBefore { call }
            | Detail::ToolAfter { call, .. }
            | Detail::ToolFailed { call, .. } => Some(call),
            Detail::Plain
            | Detail::SessionStart { .. }
            | Detail::Because { .. }
            | Detail::Prompt { .. }
            | Detail::Expansion { .. }
            | Detail::ToolBatch { .. }
            | Detail::Stop { .. }
            | Detail::Waiter { .. }
            | Detail::Activity { .. }
            | Detail::StopFailure { .. }
            | Detail::Notification { .. }
            | Detail::Task { .. }
            | Detail::Teammate { .. }
            | Detail::ModelSwitch { .. }
            | Detail::Path { .. }
            | Detail::Malformed { .. } => None,
        }
    }

    /// An event of this kind with nothing else set. Tests and malformed input start from it.
    pub fn bare(client: &'static str, kind: EventKind, at: Timestamp) -> Self {
        Self {
            client,
            dialect: &Dialect::UNKNOWN,
            at,
            kind,
            name: kind.name().to_owned(),
            session: None,
            actor: Actor::Main { kind: None },
            cwd: String::new(),
            project_dir: None,
            transcript: None,
            prompt_id: None,
            permission_mode: None,
            is_planning: false,
            client_pid: None,
            attended: None,
            env_file: None,
            block_cap: 0,
            wanted_agent: None,
            wanted_persist: None,
            wanted_effort: None,
            tasks_dir: None,
            config_dir: None,
            pane: None,
            project: String::new(),
            waiting_since: None,
            detail: Detail::Plain,
            n_bytes: 0,
            n_unknown_fields: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_33_named_kinds_and_each_finds_itself() {
        assert_eq!(EventKind::ALL.len(), 33);
        for kind in EventKind::ALL {
            assert_eq!(EventKind::named(kind.name()), *kind);
        }
        assert_eq!(EventKind::named("Unknown"), EventKind::Unknown);
        assert_eq!(EventKind::named("pretooluse"), EventKind::Unknown);
    }

    #[test]
    fn a_pane_is_known_by_its_server_and_its_number() {
        let pane = Pane::of("/tmp/tmux-1000/default,1234,0", "%3").unwrap();
        assert_eq!((pane.socket.as_str(), pane.id.as_str()), ("/tmp/tmux-1000/default", "%3"));
        for (server, id) in [
            ("", "%3"),
            ("default,1,0", "%3"),
            ("/tmp/\u{1b}x,1,0", "%3"),
            ("/tmp/s", ""),
            ("/tmp/s", "3"),
            ("/tmp/s", "%"),
            ("/tmp/s", "%3;kill-server"),
            ("/tmp/s", "%1234567890"),
        ] {
            assert_eq!(Pane::of(server, id), None, "{server} {id}");
        }
    }

    #[test]
    fn the_compaction_fork_is_a_subagent_without_a_kind() {
        let id = SafeId::new("a1").unwrap();
        assert!(Actor::Subagent { id: id.clone(), kind: String::new() }.is_compaction_fork());
        assert!(!Actor::Subagent { id, kind: "reviewer".to_owned() }.is_compaction_fork());
        assert!(!Actor::Main { kind: None }.is_compaction_fork());
    }
}
