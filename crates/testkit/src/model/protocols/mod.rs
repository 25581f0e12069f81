//! Other APIs than the Messages API, for other clients. A request becomes a conversation of the Messages API, so scripts and
//! records are the same for every client, and the scripted blocks become a reply of the client's own API.
mod chat;
mod gemini;
mod responses;

use serde_json::{Value, json};

use super::record::Thread;
use super::script::{Block, Script};

pub(super) use chat::CHAT;
pub(super) use gemini::{GEMINI, GEMINI_STREAM};
pub(super) use responses::RESPONSES;

/// One API.
#[derive(Clone, Copy)]
pub(super) struct Protocol {
    /// The messages of a request.
    pub(super) messages: fn(&Value) -> Vec<Value>,
    /// Whether the request offers tools.
    pub(super) has_tools: fn(&Value) -> bool,
    /// The reply with that number, and whether it is a stream of events.
    pub(super) reply: fn(usize, &Value, &[Block]) -> Said,
}

/// What is sent back.
pub(super) enum Said {
    Json(Value),
    Events(String),
}

impl Protocol {
    /// The request as a conversation of the Messages API; what the client really sent is in `raw`.
    pub(super) fn conversation(&self, body: &Value) -> Value {
        json!({"messages": merged((self.messages)(body)), "raw": body})
    }

    /// Who asks. A subagent is known by its prompt: these clients name it in no header.
    pub(super) fn asker(&self, script: &Script, conversation: &Value) -> Thread {
        if !(self.has_tools)(&conversation["raw"]) {
            return Thread::Side;
        }
        let messages = conversation["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let prompts: Vec<String> = messages.iter().flat_map(super::record::prompts).collect();
        let is_its = |(prompt, _): &&(String, Vec<_>)| {
            prompts.iter().any(|text| text.contains(prompt.as_str()))
        };
        let found = script.subagents.iter().find(is_its);
        found.map_or(Thread::Main, |(prompt, _)| Thread::Subagent(prompt.clone()))
    }
}

/// Calls and texts of one reply come one by one. Together they are one turn.
fn merged(messages: Vec<Value>) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for message in messages {
        match out.last_mut() {
            Some(last) if last["role"] == "assistant" && message["role"] == "assistant" => {
                let more = message["content"].as_array().cloned().unwrap_or_default();
                if let Some(content) = last["content"].as_array_mut() {
                    content.extend(more);
                }
            }
            _ => out.push(message),
        }
    }
    out
}

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": [{"type": "text", "text": text}]})
}

fn called(name: &Value, input: &Value) -> Value {
    json!({"role": "assistant", "content": [{"type": "tool_use", "name": name, "input": input}]})
}

fn result(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "tool_result", "content": text}]})
}

/// All text of a value that is a string, or a list of parts with texts.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        Value::Object(_) if value["text"].is_string() => text_of(&value["text"]),
        Value::Object(_) => text_of(&value["content"]),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// The arguments of a call as APIs take them that want text.
fn arguments(input: &Value) -> String {
    input.as_str().map_or_else(|| input.to_string(), str::to_owned)
}

fn call_id(number: usize, index: usize) -> String {
    format!("call_{number:08}_{index}")
}
