//! OpenAI's Responses API.
use serde_json::{Value, json};

use super::{Protocol, Said, arguments, call_id, called, result, said, text_of};
use crate::model::script::Block;

pub(in crate::model) const RESPONSES: Protocol = Protocol {
    messages,
    has_tools: |body| body["tools"].as_array().is_some_and(|tools| !tools.is_empty()),
    reply,
};

fn messages(body: &Value) -> Vec<Value> {
    let items = body["input"].as_array().map_or(&[][..], Vec::as_slice);
    items.iter().filter_map(message).collect()
}

fn message(item: &Value) -> Option<Value> {
    Some(match item["type"].as_str().unwrap_or("message") {
        "message" => said(item["role"].as_str()?, &text_of(&item["content"])),
        // What one agent tells another.
        "agent_message" => said("user", &text_of(&item["content"])),
        "function_call" => called(&item["name"], &item["arguments"]),
        "custom_tool_call" => called(&item["name"], &item["input"]),
        "function_call_output" | "custom_tool_call_output" => result(&text_of(&item["output"])),
        _ => return None,
    })
}

fn reply(number: usize, body: &Value, blocks: &[Block]) -> Said {
    let output: Vec<Value> =
        blocks.iter().enumerate().map(|(n, block)| item(number, n, block)).collect();
    let usage = json!({
        "input_tokens": 100, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 105,
    });
    let whole = json!({
        "id": format!("resp_{number:08}"), "object": "response", "created_at": 0, "status": "completed",
        "model": body["model"], "output": output, "usage": usage,
    });
    if body["stream"] != true {
        return Said::Json(whole);
    }
    let mut begun = whole.clone();
    begun["status"] = "in_progress".into();
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut events = event(&json!({"type": "response.created", "response": begun}));
    for (index, item) in output.iter().enumerate() {
        let mut empty = item.clone();
        empty["status"] = "in_progress".into();
        if item["type"] == "message" {
            empty["content"] = json!([]);
        }
        events += &event(
            &json!({"type": "response.output_item.added", "output_index": index, "item": empty}),
        );
        if item["type"] == "message" {
            let delta = &item["content"][0]["text"];
            events += &event(&json!({
                "type": "response.output_text.delta", "item_id": item["id"],
                "output_index": index, "content_index": 0, "delta": delta,
            }));
        }
        events += &event(
            &json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        );
    }
    Said::Events(events + &event(&json!({"type": "response.completed", "response": whole})))
}

/// A call whose input is text is one of a tool that takes text.
fn item(number: usize, index: usize, block: &Block) -> Value {
    let id = format!("item_{number:08}_{index}");
    match block {
        Block::Text(text) => json!({
            "type": "message", "id": id, "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
        Block::Tool { name, input: Value::String(input) } => json!({
            "type": "custom_tool_call", "id": id, "call_id": call_id(number, index),
            "name": name, "input": input, "status": "completed",
        }),
        Block::Tool { name, input } => {
            // `NAMESPACE/NAME`
            let (space, name) = name
                .split_once('/')
                .map_or((None, name.as_str()), |(space, name)| (Some(space), name));
            let mut call = json!({
                "type": "function_call", "id": id, "call_id": call_id(number, index),
                "name": name, "arguments": arguments(input), "status": "completed",
            });
            if let Some(space) = space {
                call["namespace"] = space.into();
            }
            call
        }
    }
}

fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}
