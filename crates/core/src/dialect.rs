//! What features may know about a client beside its events: plain data and pure functions, which the client's own folder
//! in `clients` fills in. Features read a dialect and never ask which client it belongs to.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::tool::{TodoItem, ToolCall, ToolClass};

/// How one client does things.
#[derive(Clone, Copy)]
pub struct Dialect {
    /// The client's name, as in `Event::client`.
    pub client: &'static str,
    /// The client's settings and hooks, which only the user changes: each a path below `$CONFIG` (`Event::config_dir`),
    /// `$PROJECT`, `~` or `/`. One that ends with `/` is a folder with everything in it.
    pub settings_files: &'static [&'static str],
    /// The variable in which the session's shells find its id.
    pub session_variable: Option<&'static str>,
    /// Names of files with directions that the client reads by itself, in any folder.
    pub own_directions: &'static [&'static str],
    /// The tool with which an agent asks its user something.
    pub question_tool: Option<&'static str>,
    /// How the client wraps the commands of its shell tool, if it does.
    pub shell_wrapper: Option<ShellWrapper>,
    /// The kinds of failures that the client names when a turn ends because of a limit.
    pub limit_kinds: &'static [(&'static str, Limit)],
    /// How its own words about a limit begin, in lower case.
    pub limit_words: &'static [(&'static str, Limit)],
    /// What a file of the session's own to-do list (`Event::tasks_dir`) says; `None` where nothing is left to do. The id is
    /// empty where the file names none.
    pub todo_file: fn(&str) -> Option<TodoItem>,
    /// Its tools by name, the usual one of a class first. Any other is `ToolClass::Other`.
    pub tools: &'static [(&'static str, ToolClass)],
    /// A call as it was recorded, by its tool and its input, which may be cut. `None`: nothing can be read from it.
    pub call: fn(&str, &str) -> Option<ToolCall>,
    /// The latest answer of the model that the end of a transcript tells of, after the latest compaction. The second
    /// argument says that the transcript is a subagent's own.
    pub latest_answer: fn(&str, bool) -> Option<LatestAnswer>,
    /// What one line of a transcript says about usage. `None`: nothing.
    pub usage: fn(&str) -> Option<UsageLine>,
    /// What its models cost.
    pub prices: Prices,
    /// Every line that says something has this in it, and few others do. Empty: no line does.
    pub usage_mark: &'static str,
    /// Whether text reaches the model before a call runs. Otherwise it goes out with the call's result.
    pub tells_before_calls: bool,
    /// The command that opens a closed session again, in the folder where it ran.
    pub resume: fn(&str) -> String,
}

impl Dialect {
    /// Nothing is known: a client that no folder describes.
    pub const UNKNOWN: Self = Self {
        client: "unknown",
        settings_files: &[],
        session_variable: None,
        own_directions: &[],
        question_tool: None,
        shell_wrapper: None,
        limit_kinds: &[],
        limit_words: &[],
        todo_file: |_| None,
        tools: &[],
        call: |_, _| None,
        latest_answer: |_, _| None,
        usage: |_| None,
        usage_mark: "",
        prices: Prices { as_of: "", models: &[] },
        tells_before_calls: true,
        resume: |_| String::new(),
    };

    /// What the tool of that name does.
    pub fn class_of(&self, tool: &str) -> ToolClass {
        let found = self.tools.iter().find(|(name, _)| *name == tool);
        found.map_or(ToolClass::Other, |(_, class)| *class)
    }

    /// The usual tool of that class.
    pub fn tool_of(&self, class: ToolClass) -> Option<&'static str> {
        self.tools.iter().find(|(_, of)| *of == class).map(|(name, _)| *name)
    }
}

/// A client has one dialect.
impl PartialEq for Dialect {
    fn eq(&self, other: &Self) -> bool {
        self.client == other.client
    }
}

impl Eq for Dialect {}

impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Dialect").field(&self.client).finish()
    }
}

/// What stands around a command in the command line of the shell that runs it, without white space and quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShellWrapper {
    /// The first of these comes right before the command.
    pub before: &'static str,
    /// The last of these comes right after it.
    pub after: &'static str,
}

/// What the latest answer of a model cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatestAnswer {
    /// Tokens of the window that were in use.
    pub used: i64,
    pub model: String,
    /// When it was written, if the transcript says so.
    pub at: Option<Timestamp>,
}

/// What one answer of a model used. A transcript may say it several times, once per part of the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageLine {
    /// The answer: the same in every line about it, and in copies of them.
    pub id: String,
    pub model: String,
    /// When it was written, if the transcript says so.
    pub at: Option<Timestamp>,
    pub tokens: Tokens,
}

/// List prices as of a day, by the name of a model. Only a date may follow the name.
#[derive(Clone, Copy, Debug)]
pub struct Prices {
    pub as_of: &'static str,
    pub models: &'static [(&'static str, Price)],
}

/// Billionths of a dollar per token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    pub input: i64,
    pub output: i64,
    pub cache_read: i64,
}

/// Tokens, by what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    pub input: i64,
    pub output: i64,
    pub cache_read: i64,
    /// Written to a cache that lasts five minutes.
    pub cache_5m: i64,
    /// Written to a cache that lasts an hour.
    pub cache_1h: i64,
}

impl Tokens {
    /// What the model was given: how full its context was.
    pub const fn given(&self) -> i64 {
        self.input + self.cache_read + self.cache_5m + self.cache_1h
    }

    /// All of them.
    pub const fn sum(&self) -> i64 {
        self.given() + self.output
    }
}

/// What a client tells the command behind its status line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientStatus {
    pub session: String,
    pub model: String,
    /// Tokens of the window that are in use. `None` before the first answer.
    pub used: Option<i64>,
    /// How many the window holds, if the client says so.
    pub size: Option<i64>,
    /// What the session has cost so far, in millionths of a dollar, if the client says so.
    pub micro_usd: Option<i64>,
}

/// Why a client refuses to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Requests are refused for a while.
    Rate,
    /// The conversation does not fit any more.
    Context,
}

impl Limit {
    /// The name under which it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Context => "context",
        }
    }

    /// The limit of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Rate, Self::Context].into_iter().find(|limit| limit.name() == name)
    }

    /// As people read it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Rate => "rate limit",
            Self::Context => "context full",
        }
    }
}
