//! The unfinished entries of the client's task list. Anything odd is skipped, because an unreadable list must not hold an
//! agent.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use substrate_core::text::one_line;
use substrate_core::{Dialect, TodoItem};

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

impl Todo {
    /// What the client says about it; where it names none, its file's name is the id.
    fn of(item: &TodoItem, file: &str) -> Self {
        let id = [item.id.as_str(), file].into_iter().find(|id| is_plain(id));
        Self {
            id: id.unwrap_or("?").to_owned(),
            status: if item.is_begun { Status::InProgress } else { Status::Pending },
            subject: words(&item.subject),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Pending,
    InProgress,
}

impl Status {
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

    /// From the client's task files: name and text of each.
    pub(super) fn in_files(dialect: &Dialect, files: &[(String, String)]) -> Self {
        let read = |(name, text): &(String, String)| {
            let item = (dialect.todo_file)(text)?;
            Some(Todo::of(&item, name.trim_end_matches(".json")))
        };
        let mut all: Vec<Todo> = files.iter().filter_map(read).collect();
        all.sort_by_key(|todo| (todo.id.parse::<u64>().unwrap_or(u64::MAX), todo.id.clone()));
        Self::of(all)
    }

    /// From a call that wrote the whole list.
    pub(super) fn in_list(items: &[TodoItem]) -> Self {
        Self::of(items.iter().map(|item| Todo::of(item, "")).collect())
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

/// Whether an id is safe in a sentence of ours.
fn is_plain(id: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=20).contains(&id.len()) && id.bytes().all(plain)
}

/// Foreign words, made safe between our quotation marks.
fn words(text: &str) -> String {
    one_line(text, 60).replace('"', "'")
}
