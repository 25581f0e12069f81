//! A reply as the Messages API writes it: one JSON object, or the same as server-sent events.
use serde_json::{Map, Value, json};

use super::script::{Block, Usage};

/// A whole message of the model.
pub(super) struct Reply<'a> {
    /// Unique in its server: the client merges what has the same message id.
    pub(super) number: usize,
    pub(super) model: &'a str,
    pub(super) blocks: &'a [Block],
    pub(super) usage: Usage,
}

impl Reply<'_> {
    /// The answer to a request without `stream`.
    pub(super) fn json(&self) -> Value {
        self.message(self.blocks.iter().enumerate().map(|(n, block)| self.block(n, block)))
    }

    /// The answer to a request with `stream`, all events at once.
    pub(super) fn events(&self) -> String {
        let mut start = self.message([]);
        start["stop_reason"] = Value::Null;
        let mut all = event(&json!({"type": "message_start", "message": start}));
        for (index, block) in self.blocks.iter().enumerate() {
            let mut empty = self.block(index, block);
            let delta = match block {
                Block::Text(text) => {
                    empty["text"] = "".into();
                    json!({"type": "text_delta", "text": text})
                }
                Block::Tool { input, .. } => {
                    empty["input"] = json!({});
                    json!({"type": "input_json_delta", "partial_json": input.to_string()})
                }
            };
            for data in [
                json!({"type": "content_block_start", "index": index, "content_block": empty}),
                json!({"type": "content_block_delta", "index": index, "delta": delta}),
                json!({"type": "content_block_stop", "index": index}),
            ] {
                all += &event(&data);
            }
        }
        let delta = json!({"stop_reason": self.stop_reason(), "stop_sequence": null});
        let usage = json!({"output_tokens": self.usage.output_tokens});
        all += &event(&json!({"type": "message_delta", "delta": delta, "usage": usage}));
        all + &event(&json!({"type": "message_stop"}))
    }

    fn message(&self, content: impl IntoIterator<Item = Value>) -> Value {
        json!({
            "id": format!("msg_{:08}", self.number),
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content.into_iter().collect::<Vec<_>>(),
            "stop_reason": self.stop_reason(),
            "stop_sequence": null,
            "usage": {
                "input_tokens": self.usage.input_tokens,
                "cache_creation_input_tokens": self.usage.cache_creation_input_tokens,
                "cache_read_input_tokens": self.usage.cache_read_input_tokens,
                "output_tokens": self.usage.output_tokens,
            },
        })
    }

    fn block(&self, index: usize, block: &Block) -> Value {
        match block {
            Block::Text(text) => json!({"type": "text", "text": text}),
            Block::Tool { name, input } => {
                let id = format!("toolu_{:08}_{index}", self.number);
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            }
        }
    }

    fn stop_reason(&self) -> &'static str {
        let calls = self.blocks.iter().any(|block| matches!(block, Block::Tool { .. }));
        if calls { "tool_use" } else { "end_turn" }
    }
}

/// A harmless value that fits a JSON schema: what a side request with one gets (for a prompt hook
/// `{"ok": true, …}`).
pub(super) fn fitting(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("object") => {
            let name = |name: &Value| name.as_str().map(str::to_owned);
            let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
            let pair = |name: String| {
                let value = fitting(&schema["properties"][&name]);
                (name, value)
            };
            Value::Object(required.iter().filter_map(name).map(pair).collect::<Map<_, _>>())
        }
        Some("array") => json!([]),
        Some("boolean") => json!(true),
        Some("number" | "integer") => json!(0),
        _ => schema["enum"].get(0).cloned().unwrap_or_else(|| json!("scripted")),
    }
}

fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(blocks: &[Block]) -> Reply<'_> {
        Reply { number: 7, model: "m", blocks, usage: Usage::default() }
    }

    #[test]
    fn a_tool_call_is_streamed_as_the_api_does_it() {
        let blocks = [Block::Tool { name: "Bash".into(), input: json!({"command": "true"}) }];
        let events = reply(&blocks).events();
        let names: Vec<_> = events.lines().filter_map(|l| l.strip_prefix("event: ")).collect();
        assert_eq!(
            names,
            [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop",
            ]
        );
        assert!(events.contains(r#""partial_json":"{\"command\":\"true\"}""#), "{events}");
        assert!(events.contains(r#""stop_reason":"tool_use""#), "{events}");
    }

    #[test]
    fn a_text_ends_the_turn() {
        let message = reply(&[Block::Text("hi".into())]).json();
        assert_eq!(message["stop_reason"], "end_turn");
        assert_eq!(message["content"], json!([{"type": "text", "text": "hi"}]));
    }

    #[test]
    fn a_schema_gets_a_value_that_fits() {
        let schema = json!({
            "type": "object",
            "properties": {"ok": {"type": "boolean"}, "reason": {"type": "string"}},
            "required": ["ok", "reason"],
        });
        assert_eq!(fitting(&schema), json!({"ok": true, "reason": "scripted"}));
    }
}
