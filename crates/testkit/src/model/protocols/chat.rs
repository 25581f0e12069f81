//! OpenAI's Chat Completions API.
use serde_json::{Value, json};

use super::{Protocol, Said, arguments, call_id, called, result, said, text_of};
use crate::model::script::Block;

pub(in crate::model) const CHAT: Protocol = Protocol {
    messages,
    has_tools: |body| body["tools"].as_array().is_some_and(|tools| !tools.is_empty()),
    reply,
};

fn messages(body: &Value) -> Vec<Value> {
    let all = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().flat_map(message).collect()
}

fn message(message: &Value) -> Vec<Value> {
    let text = text_of(&message["content"]);
    match message["role"].as_str().unwrap_or("user") {
        "tool" => vec![result(&text)],
        "assistant" => {
            let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
            let calls = calls.iter().map(|call| &call["function"]);
            let calls = calls.map(|call| called(&call["name"], &call["arguments"]));
            std::iter::once(said("assistant", &text)).chain(calls).collect()
        }
        role => vec![said(role, &text)],
    }
}

fn reply(number: usize, body: &Value, blocks: &[Block]) -> Said {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for (index, block) in blocks.iter().enumerate() {
        match block {
            Block::Text(said) => text += said,
            Block::Tool { name, input } => calls.push(json!({
                "index": calls.len(), "id": call_id(number, index), "type": "function",
                "function": {"name": name, "arguments": arguments(input)},
            })),
        }
    }
    let reason = if calls.is_empty() { "stop" } else { "tool_calls" };
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    let base = |object: &str, choice: Value| {
        json!({
            "id": format!("chatcmpl-{number:08}"), "object": object, "created": 0,
            "model": body["model"], "choices": [choice],
            "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105},
        })
    };
    if body["stream"] != true {
        return Said::Json(base(
            "chat.completion",
            json!({"index": 0, "message": message, "finish_reason": reason}),
        ));
    }
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        format!("data: {}\n\n", base("chat.completion.chunk", choice))
    };
    Said::Events(
        chunk(message, Value::Null) + &chunk(json!({}), reason.into()) + "data: [DONE]\n\n",
    )
}
