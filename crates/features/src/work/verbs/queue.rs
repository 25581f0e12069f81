//! `substrate work add`, `work list`, `work show`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::size::Bytes;
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Local, Output, VerbError};

use super::{find, shown, whole};
use crate::identity::holder::Pulses;
use crate::listing::aligned;
use crate::work::items::{self, Added, ItemState, NewItem};

/// The longest title, in characters.
const MAX_TITLE: usize = 200;

/// The longest body, in bytes.
const MAX_BODY: usize = 64 << 10;

/// The longest key, in bytes.
const MAX_KEY: usize = 1 << 10;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Add {
    /// What to do, in one line
    #[arg(required_unless_present = "jsonl")]
    title: Option<String>,
    /// Everything the agent needs to know to do it
    #[arg(long, conflicts_with = "body_file", allow_hyphen_values = true)]
    body: Option<String>,
    /// Read the body from this file; `-` is standard input
    #[arg(long)]
    body_file: Option<String>,
    /// Add the item only if this project never had one under this key
    #[arg(long, value_name = "KEY")]
    #[serde(alias = "idempotency-key")]
    idempotency_key: Option<String>,
    /// Add one item per line of this file (`-` is standard input): JSON objects with `title` and optionally `body`
    #[arg(long, conflicts_with_all = ["title", "body", "body_file", "idempotency_key"])]
    jsonl: Option<String>,
    #[arg(skip)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<Value>,
}

impl VerbArgs for Add {
    const PATH: &'static [&'static str] = &["work", "add"];
    const ABOUT: &'static str = "Add work to this project's queue";
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
            let added = self.add(cx, caller, &caller.request)?;
            let Added { id, is_repeated } = added;
            let text = if is_repeated { "was added before" } else { "is queued" };
            return Ok(Output::new(format!("#{id} {text}.\n"), answer(added)));
        }
        let n_lines = self.lines.len();
        let mut answers = Vec::with_capacity(n_lines);
        for (n, line) in self.lines.into_iter().enumerate() {
            // A bad line is found before anything is written for it.
            let request = format!("{} {n}", caller.request);
            let added = serde_json::from_value::<Self>(line)
                .map_err(|error| {
                    VerbError::user(format!("this line is not a valid item: {error}"), "")
                })
                .and_then(|one| one.add(cx, caller, &request));
            answers.push(match added {
                Ok(added) => answer(added),
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

fn answer(added: Added) -> Value {
    json!({"ok": true, "id": added.id, "repeated": added.is_repeated})
}

impl Add {
    fn add(self, cx: &mut Cx<'_>, caller: &Caller, request: &str) -> Result<Added, VerbError> {
        let title = self.title.unwrap_or_default();
        let n_chars = title.trim().chars().count();
        if n_chars > MAX_TITLE {
            return Err(VerbError::user(
                format!("the title has {n_chars} characters; at most {MAX_TITLE} are allowed"),
                "keep it to one line and put the rest into `--body` or `--body-file`",
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
                "put it in a file of the project and name that file in the body",
            ));
        }
        let by = cx.who.as_ref().map_or_else(|| "an unknown agent".to_owned(), |who| who.address());
        // A request without an id is never a repetition of another.
        let unique = format!("{request} {} {title}", cx.now.0);
        let request = if caller.request.is_empty() { &unique } else { request };
        let project = &caller.project;
        let key = self.idempotency_key.as_deref().filter(|key| !key.is_empty());
        if key.is_some_and(|key| key.len() > MAX_KEY) {
            return Err(VerbError::user(
                format!("the key is longer than {}", Bytes::of(MAX_KEY)),
                "use a shorter one, such as the item's id in the other tool",
            ));
        }
        let new = NewItem { project, title: &title, body: &body, by: &by, request, key };
        Ok(items::add(cx.db, &new, cx.now)?)
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct List {
    /// Only items in this state
    #[arg(long, value_parser = ["queued", "claimed", "done"])]
    #[serde(default)]
    state: Option<String>,
    /// Show every project
    #[arg(long)]
    #[serde(default)]
    all: bool,
    /// Show at most this many, the newest
    #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=20_000))]
    #[serde(default = "fifty")]
    limit: i64,
}

fn fifty() -> i64 {
    50
}

impl VerbArgs for List {
    const PATH: &'static [&'static str] = &["work", "list"];
    const ABOUT: &'static str = "List work: queued, claimed and done";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let project = if self.all { "" } else { &caller.project };
        let state = self.state.as_deref().unwrap_or_default();
        let mut items = items::list(cx.db, project, state, self.limit.clamp(1, 20_000))?;
        items.reverse();
        let mut pulses = Pulses::default();
        let (mut text, mut list) = (String::new(), Vec::new());
        for item in &items {
            let shown = shown(cx, &mut pulses, item)?;
            text.push_str(&shown.line);
            list.push(shown.json);
        }
        let mut counts = serde_json::Map::new();
        let mut words = Vec::new();
        for state in ItemState::ALL {
            let n = items::count(cx.db, project, state)?;
            words.push(format!("{n} {}", state.name()));
            counts.insert(state.name().to_owned(), n.into());
        }
        let text = if items.is_empty() && state.is_empty() {
            "No work yet. `substrate work add \"TITLE\"` adds an item.\n".to_owned()
        } else {
            format!("{}{}\n", aligned(&text), words.join(", "))
        };
        Ok(Output::new(text, json!({"work": list, "counts": Value::Object(counts)})))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Show {
    /// The item
    id: i64,
}

impl VerbArgs for Show {
    const PATH: &'static [&'static str] = &["work", "show"];
    const ABOUT: &'static str = "Show everything about one item";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let item = find(cx, self.id)?;
        let shown = shown(cx, &mut Pulses::default(), &item)?;
        Ok(Output::new(whole(&item, &shown.line), shown.json))
    }
}
