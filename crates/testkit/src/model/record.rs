//! Every request of the client, kept as proof: what a hook injected must be in the next one.
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::process::lock;
use crate::wait::wait_until;

/// Who asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Thread {
    Main,
    /// By the client's `agent_id`.
    Subagent(String),
    /// The client's own requests, which are not part of any turn: titles, summaries, prompt hooks.
    Side,
}

/// One `POST /v1/messages`.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub thread: Thread,
    pub session: Option<String>,
    pub body: Value,
    /// Since the server was started.
    pub at: Duration,
}

/// A tool's result as the model gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    pub text: String,
    pub is_error: bool,
}

impl Recorded {
    /// All text of the conversation: prompts, reminders, tool results, replies. Not the inputs of
    /// tool calls: those are the script's own words and prove nothing.
    pub fn texts(&self) -> String {
        joined(self.messages())
    }

    /// The text that is new in this request: everything after the model's last reply.
    pub fn news(&self) -> String {
        joined(self.since_last_reply())
    }

    /// The results that the tools of the model's last reply gave.
    pub fn tool_results(&self) -> Vec<ToolResult> {
        let blocks = self.since_last_reply().iter().flat_map(blocks);
        let results = blocks.filter(|block| block["type"] == "tool_result");
        let result = |block: &Value| ToolResult {
            text: text_of(block),
            is_error: block["is_error"].as_bool().unwrap_or_default(),
        };
        results.map(result).collect()
    }

    /// The prompts of the conversation, oldest first: user texts that are not reminders.
    pub fn prompts(&self) -> Vec<String> {
        self.messages().iter().flat_map(prompts).collect()
    }

    pub(super) fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    fn since_last_reply(&self) -> &[Value] {
        let messages = self.messages();
        let reply = messages.iter().rposition(is_reply);
        &messages[reply.map_or(0, |at| at + 1)..]
    }
}

/// The records of one server, shared with its thread.
#[derive(Debug, Clone)]
pub struct Recorder {
    all: Arc<Mutex<Vec<Recorded>>>,
    started: Instant,
}

impl Recorder {
    pub(super) fn new() -> Self {
        Self { all: Arc::default(), started: Instant::now() }
    }

    pub(super) fn add(&self, thread: Thread, session: Option<String>, body: Value) -> Recorded {
        let recorded = Recorded { thread, session, body, at: self.started.elapsed() };
        lock(&self.all).push(recorded.clone());
        recorded
    }

    /// Every request so far, oldest first.
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.all).clone()
    }

    /// The requests of the main thread.
    pub fn main_requests(&self) -> Vec<Recorded> {
        self.where_(|request| request.thread == Thread::Main)
    }

    /// The requests of all subagents.
    pub fn subagent_requests(&self) -> Vec<Recorded> {
        self.where_(|request| matches!(request.thread, Thread::Subagent(_)))
    }

    /// The first request in which this text is new.
    pub fn request_containing(&self, text: &str) -> Option<Recorded> {
        lock(&self.all).iter().find(|request| request.news().contains(text)).cloned()
    }

    /// Like [`Recorder::request_containing`], but waits for it.
    ///
    /// # Panics
    /// If it does not come within `deadline`.
    pub fn wait_for_request(&self, text: &str, deadline: Duration) -> Recorded {
        let mut found = None;
        wait_until(deadline, &format!("a request with {text:?}"), || {
            found = self.request_containing(text);
            found.is_some()
        });
        found.expect("waited until it was found")
    }

    fn where_(&self, keep: impl Fn(&Recorded) -> bool) -> Vec<Recorded> {
        lock(&self.all).iter().filter(|request| keep(request)).cloned().collect()
    }
}

pub(super) fn is_reply(message: &Value) -> bool {
    message["role"] == "assistant"
}

/// The user's texts of a message. A message is a string or a list of blocks: the client sends the
/// newest as blocks and an older one of a single block as a string.
pub(super) fn prompts(message: &Value) -> Vec<String> {
    if message["role"] != "user" {
        return Vec::new();
    }
    let texts = match &message["content"] {
        Value::String(text) => vec![text.as_str()],
        content => {
            let all = content.as_array().map_or(&[][..], Vec::as_slice);
            all.iter().filter_map(|block| block["text"].as_str()).collect()
        }
    };
    let prompt = |text: &&str| !text.starts_with("<system-reminder>");
    texts.into_iter().map(str::trim).filter(prompt).map(str::to_owned).collect()
}

fn joined(messages: &[Value]) -> String {
    messages.iter().map(text_of).collect::<Vec<_>>().join("\n")
}

fn blocks(message: &Value) -> &[Value] {
    message["content"].as_array().map_or(&[], Vec::as_slice)
}

/// The text of a message or of a block: a string, its `text`, or what its `content` has.
fn text_of(value: &Value) -> String {
    if let Some(text) = value.as_str().or_else(|| value["text"].as_str()) {
        return text.to_owned();
    }
    match &value["content"] {
        Value::Array(blocks) => joined(blocks),
        Value::String(text) => text.clone(),
        _ => String::new(),
    }
}
