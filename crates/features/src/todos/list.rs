//! The unfinished entries of the client's task list. Anything odd is skipped, because an unreadable list must not hold an
//! agent.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use substrate_core::text::one_line;

/// How many entries of a list are kept.
const MAX_KEPT: usize = 50;

/// How many entries the reason names.
const MAX_TOLD: usize = 20;

/// How many entries the briefing names.
const MAX_BRIEFED: usize = 5;

/// One unfinished entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Todo {
    pub(super) id: String,
    pub(super) status: Status,
    pub(super) subject: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Pending,
    InProgress,
}

impl Status {
    /// `None` for an entry that needs no more work: completed, deleted, or of unknown status.
    fn read(entry: &Value) -> Option<Self> {
        match entry.get("status")?.as_str()? {
            "pending" => Some(Self::Pending),
            "in_progress" => Some(Self::InProgress),
            _ => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
        }
    }
}

/// The number of unfinished entries, and the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unfinished {
    pub(super) n: usize,
    pub(super) first: Vec<Todo>,
}

impl Unfinished {
    fn of(mut all: Vec<Todo>) -> Self {
        let n = all.len();
        all.truncate(MAX_KEPT);
        Self { n, first: all }
    }

    /// Reads the client's task files, given by name and text.
    pub(super) fn in_files(files: &[(String, String)]) -> Self {
        let mut all: Vec<Todo> =
            files.iter().filter_map(|(name, text)| in_file(name, text)).collect();
        all.sort_by_key(|todo| (todo.id.parse::<u64>().unwrap_or(u64::MAX), todo.id.clone()));
        Self::of(all)
    }

    /// Reads the input of a `TodoWrite` call. Its entries have no ids, so their position counts.
    pub(super) fn in_todo_write(input: &str) -> Option<Self> {
        let input: Value = serde_json::from_str(input).ok()?;
        let entries = input.get("todos")?.as_array()?.iter().enumerate();
        let read = |(at, entry): (usize, &Value)| {
            let status = Status::read(entry)?;
            Some(Todo { id: (at + 1).to_string(), status, subject: words(entry.get("content")) })
        };
        Some(Self::of(entries.filter_map(read).collect()))
    }

    /// Why the agent may not stop; `None` if everything is done.
    pub(super) fn reason(&self) -> Option<String> {
        let list = self.told(MAX_TOLD)?;
        Some(format!(
            "{} incomplete task(s): {list}. Complete ALL tasks before stopping, or ask your question and stop again.",
            self.n
        ))
    }

    /// What the agent is reminded of; `None` if everything is done.
    pub(super) fn briefing(&self) -> Option<String> {
        let list = self.told(MAX_BRIEFED)?;
        Some(format!("{} unfinished task(s): {list}", self.n))
    }

    fn told(&self, max: usize) -> Option<String> {
        if self.first.is_empty() {
            return None;
        }
        let say = |todo: &Todo| {
            let subject = match todo.subject.as_str() {
                "" => String::new(),
                subject => format!(" \"{subject}\""),
            };
            format!("#{} [{}]{subject}", todo.id, todo.status.name())
        };
        let told: Vec<String> = self.first.iter().take(max).map(say).collect();
        let n_more = self.n.saturating_sub(told.len());
        let mut out = told.join(", ");
        if n_more > 0 {
            let _infallible = write!(out, ", … and {n_more} more");
        }
        Some(out)
    }
}

fn in_file(name: &str, text: &str) -> Option<Todo> {
    let entry: Value = serde_json::from_str(text).ok()?;
    let status = Status::read(&entry)?;
    let stem = name.trim_end_matches(".json").to_owned();
    let written = match entry.get("id") {
        Some(Value::String(id)) => Some(id.clone()),
        Some(Value::Number(id)) => Some(id.to_string()),
        _ => None,
    };
    let id = [written, Some(stem)].into_iter().flatten().find(|id| is_plain(id));
    Some(Todo {
        id: id.unwrap_or_else(|| "?".to_owned()),
        status,
        subject: words(entry.get("subject")),
    })
}

/// Whether an id is safe in a sentence of ours.
fn is_plain(id: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=20).contains(&id.len()) && id.bytes().all(plain)
}

/// Foreign words, made safe between our quotation marks.
fn words(text: Option<&Value>) -> String {
    one_line(text.and_then(Value::as_str).unwrap_or_default(), 60).replace('"', "'")
}
