//! What commands that list rows share: the flag for every project, and a page of lines with their JSON.

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::{Caller, Output};

/// The rows of one page.
pub(crate) const MAX_ROWS: i64 = 200;

/// Which projects a list covers.
#[derive(Args, Serialize, Deserialize, Clone, Copy, Debug, Default)]
#[serde(default)]
pub(crate) struct Scope {
    /// List every project, and what has ended or finished too
    #[arg(long)]
    pub(crate) all: bool,
}

impl Scope {
    /// The caller's project, or `None` for all of them. A caller outside any project sees all.
    pub(crate) fn project(self, caller: &Caller) -> Option<&str> {
        (!self.all && !caller.project.is_empty()).then_some(caller.project.as_str())
    }
}

/// Rows as lines for people and as JSON for programs.
#[derive(Debug, Default)]
pub(crate) struct Page {
    text: String,
    rows: Vec<Value>,
}

impl Page {
    /// Adds a row; the line includes its newline.
    pub(crate) fn push(&mut self, line: &str, row: Value) {
        self.text.push_str(line);
        self.rows.push(row);
    }

    /// The rows under `name`, or the sentence `if_empty`.
    pub(crate) fn output(self, name: &str, if_empty: impl FnOnce() -> String) -> Output {
        let text = if self.text.is_empty() { if_empty() } else { self.text };
        Output::new(text, json!({ name: self.rows }))
    }
}
