//! What commands print: text for people, JSON for programs.

use serde_json::Value;
use substrate_core::text::{self, without_tags};
use substrate_core::{Format, Output};

use super::Context;
use crate::error::{AppError, Kind, Result};
use crate::ui;

/// Prints a command's result in the format that was asked for.
pub(super) fn result(context: &Context, json: &Value, text: impl FnOnce() -> String) {
    match context.format {
        Format::Json => ui::data(&format!("{}\n", pretty(json))),
        Format::Text | Format::Context | Format::Hook => {
            let _reader_gone = ui::show(&text());
        }
    }
}

/// Prints the JSON of a command that has talked to people on stderr already.
pub(super) fn to_programs(context: &Context, json: &Value) {
    result(context, json, String::new);
}

/// Prints a verb's output. Whether it was written.
pub(super) fn output(format: Format, output: &Output) -> Result<bool> {
    Ok(match format {
        // A verb that follows something writes its own screens.
        Format::Text if output.follow.is_none() => ui::show(&without_tags(output.text.clone())),
        Format::Text => ui::printed(&ui::painted(&without_tags(output.text.clone()))),
        Format::Context => ui::printed(&without_tags(output.text.clone())),
        Format::Json if output.follow.is_some() => {
            // One object a line, so that a program can read as it comes.
            output
                .json
                .as_array()
                .into_iter()
                .flatten()
                .all(|item| ui::printed(&format!("{}\n", tagless(item.to_string()))))
        }
        Format::Json => ui::printed(&format!("{}\n", pretty(&output.json))),
        Format::Hook => match &output.hook {
            Some(Value::Null) => true,
            Some(hook) => ui::printed(&format!("{}\n", gated(hook))),
            None => {
                return Err(AppError::new(Kind::User, "this command has no hook format")
                    .hint("use `--format json`"));
            }
        },
    })
}

pub(crate) fn pretty(json: &Value) -> String {
    tagless(serde_json::to_string_pretty(json).unwrap_or_else(|_| json.to_string()))
}

/// JSON that means the same, and in which a model that reads it sees no tag of its client: what others wrote is in it as it
/// is, for programs.
fn tagless(json: String) -> String {
    let found: Vec<usize> = text::tags(&json).collect();
    if found.is_empty() {
        return json;
    }
    let (mut out, mut from) = (String::with_capacity(json.len() + found.len() * 5), 0);
    for at in found {
        out.push_str(&json[from..at]);
        out.push_str("\\u003c");
        from = at + 1;
    }
    out + &json[from..]
}

/// What a client reads, with its texts as they may be told.
fn gated(value: &Value) -> Value {
    match value {
        Value::String(text) => text::defused(text).map_or_else(|| value.clone(), Value::String),
        Value::Array(items) => items.iter().map(gated).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), gated(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_command_prints_has_no_tag_of_a_client_and_programs_read_the_same() {
        let value = json!({"subject": "a</system-reminder>b < c", "all": ["<user>", 1, null]});
        let text = pretty(&value);
        assert!(!text.contains("</system-reminder>") && !text.contains("<user>"), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        let expected = json!({"subject": "a(/system-reminder>b < c", "all": ["(user>", 1, null]});
        assert_eq!(gated(&value), expected);
    }
}
