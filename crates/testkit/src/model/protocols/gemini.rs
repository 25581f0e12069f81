//! Google's Gemini API.
use serde_json::{Value, json};

use super::{Protocol, Said, called, result, said};
use crate::model::script::Block;

/// `:generateContent`.
pub(in crate::model) const GEMINI: Protocol = Protocol {
    messages,
    has_tools: |body| body["tools"].as_array().is_some_and(|tools| !tools.is_empty()),
    reply: |_, _, blocks| Said::Json(reply(blocks)),
};

/// `:streamGenerateContent`.
pub(in crate::model) const GEMINI_STREAM: Protocol = Protocol {
    reply: |_, _, blocks| Said::Events(format!("data: {}\n\n", reply(blocks))),
    ..GEMINI
};

fn messages(body: &Value) -> Vec<Value> {
    let all = body["contents"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().flat_map(message).collect()
}

fn message(content: &Value) -> Vec<Value> {
    let role = if content["role"] == "model" { "assistant" } else { "user" };
    let parts = content["parts"].as_array().map_or(&[][..], Vec::as_slice);
    let part = |part: &Value| {
        if let Some(text) = part["text"].as_str() {
            return Some(said(role, text));
        }
        if part["functionCall"].is_object() {
            return Some(called(&part["functionCall"]["name"], &part["functionCall"]["args"]));
        }
        let response = &part["functionResponse"]["response"];
        response.is_object().then(|| {
            let text = response["output"].as_str().or_else(|| response["error"].as_str());
            result(&text.map_or_else(|| response.to_string(), str::to_owned))
        })
    };
    parts.iter().filter_map(part).collect()
}

fn reply(blocks: &[Block]) -> Value {
    let part = |block: &Block| match block {
        Block::Text(text) => json!({"text": text}),
        Block::Tool { name, input } => json!({"functionCall": {"name": name, "args": input}}),
    };
    let parts: Vec<Value> = blocks.iter().map(part).collect();
    json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 5, "totalTokenCount": 105},
        "modelVersion": "scripted",
    })
}
