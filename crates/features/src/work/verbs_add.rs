//! `substrate work add`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::size::Bytes;
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Local, Output, VerbError};

use super::ops::{self, NewItem};

/// The longest title, in characters.
const MAX_TITLE: usize = 200;

/// The longest body, in bytes.
const MAX_BODY: usize = 64 << 10;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Add {
    /// What is to be done, in one line
    #[arg(required_unless_present = "jsonl")]
    title: Option<String>,
    /// Everything that one must know to do it
    #[arg(long, conflicts_with = "body_file", allow_hyphen_values = true)]
    body: Option<String>,
    /// The file with that; `-` is standard input
    #[arg(long)]
    body_file: Option<String>,
    /// One item per line of this file (`-`: standard input), each a JSON object with `title` and perhaps `body`
    #[arg(long, conflicts_with_all = ["title", "body", "body_file"])]
    jsonl: Option<String>,
    #[arg(skip)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<Value>,
}

impl VerbArgs for Add {
    const PATH: &'static [&'static str] = &["work", "add"];
    const ABOUT: &'static str = "Put work into this project's queue";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        if let Some(file) = self.body_file.take() {
            self.body = Some(local.read(&file)?);
        }
        Ok(())
    }

    fn streams(body: &Value) -> Option<String> {
        body.get("jsonl")?.as_str().map(str::to_owned)
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        if self.lines.is_empty() {
            let id = self.add(cx, caller, &caller.request)?;
            let text = format!("#{id} is queued.\n");
            return Ok(Output::new(text, json!({"ok": true, "id": id})));
        }
        let n_lines = self.lines.len();
        let mut answers = Vec::with_capacity(n_lines);
        for (n, line) in self.lines.into_iter().enumerate() {
            // Whatever is wrong with a line is found before anything is written.
            let request = format!("{} {n}", caller.request);
            let added = serde_json::from_value::<Self>(line)
                .map_err(|error| VerbError::user(format!("the line does not fit: {error}"), ""))
                .and_then(|one| one.add(cx, caller, &request));
            answers.push(match added {
                Ok(id) => json!({"ok": true, "id": id}),
                Err(VerbError::User { message, hint }) => {
                    json!({"ok": false, "error": message, "hint": hint})
                }
                Err(error @ (VerbError::Db(_) | VerbError::Unsure { .. })) => return Err(error),
            });
        }
        let n_added = answers.iter().filter(|answer| answer["ok"] == json!(true)).count();
        Ok(Output::new(format!("{n_added} of {n_lines} queued.\n"), Value::Array(answers)))
    }
}

impl Add {
    fn add(self, cx: &mut Cx<'_>, caller: &Caller, request: &str) -> Result<i64, VerbError> {
        let title = self.title.unwrap_or_default();
        let n_chars = title.trim().chars().count();
        if n_chars > MAX_TITLE {
            return Err(VerbError::user(
                format!("the title has {n_chars} characters; it may have {MAX_TITLE}"),
                "say it in one line, and put the rest into `--body` or `--body-file`",
            ));
        }
        let title = one_line(&title, MAX_TITLE);
        if title.is_empty() {
            return Err(VerbError::user("the title is empty", "`substrate work add \"TITLE\"`"));
        }
        let body = self.body.unwrap_or_default();
        if body.len() > MAX_BODY {
            return Err(VerbError::user(
                format!("the body is longer than {}", Bytes::of(MAX_BODY)),
                "put it into a file of the project, and name that file in the body",
            ));
        }
        let by = cx.who.as_ref().map_or_else(|| "somebody".to_owned(), |who| who.address());
        // Without an id of its caller no request is the same as another.
        let unique = format!("{request} {} {title}", cx.now.0);
        let request = if caller.request.is_empty() { &unique } else { request };
        let project = &caller.project;
        let new = NewItem { project, title: &title, body: &body, by: &by, request };
        Ok(ops::add(cx.db, &new, cx.now)?)
    }
}
