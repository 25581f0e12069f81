//! What our own commands print: text for people, JSON for programs.

use serde_json::Value;
use substrate_core::Format;

use super::{Context, verbs};
use crate::ui;

/// The result of a command, in the form that was asked for.
pub(super) fn result(context: &Context, json: &Value, text: impl FnOnce() -> String) {
    match context.format {
        Format::Json => ui::data(&format!("{}\n", verbs::pretty(json))),
        Format::Text | Format::Context | Format::Hook => ui::data(&text()),
    }
}

/// The result of a command that has told people about it already, on stderr.
pub(super) fn to_programs(context: &Context, json: &Value) {
    result(context, json, String::new);
}
