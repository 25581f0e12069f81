//! One settings file: its values, and what is wrong with it, by line.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value as Json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key::{Key, Kind, ProjectMay, Table, Value};
use crate::size::Bytes;
use crate::text::one_line;

/// A project's settings file is at most this long, in bytes.
pub const MAX_PROJECT_FILE: usize = 64 << 10;

/// A list in a project's settings has at most this many entries.
pub const MAX_PROJECT_LIST: usize = 200;

/// This many problems of one file are reported; the rest are counted.
const MAX_PROBLEMS: usize = 20;

/// Unknown tables are searched this deep.
const MAX_UNKNOWN_DEPTH: usize = 8;

/// A longer word can't be a misspelt key.
const MAX_MEANT: usize = 64;

/// Where a value was written. Later scopes win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    Default,
    Profile,
    User,
    Project,
    Local,
}

impl Scope {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Profile => "profile",
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }

    /// Files that come with a project, so from outside.
    pub const fn is_foreign(self) -> bool {
        matches!(self, Self::Project | Self::Local)
    }
}

/// A settings file that was read.
#[derive(Clone, Debug)]
pub struct Layer {
    pub scope: Scope,
    pub file: String,
    pub(super) values: Vec<(&'static str, Value, usize)>,
    pub problems: Vec<Problem>,
    /// Why nothing of the file is used, where a project asks for too much. It is among the problems as well.
    pub refused: Option<Problem>,
    /// Problems that are only counted.
    n_more: usize,
}

/// Something in a settings file that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub file: String,
    pub line: usize,
    pub message: String,
    pub hint: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl Layer {
    /// Reads a file's text in linear time. What is wrong is left out and reported; the rest holds. A project's file
    /// that is too large is refused as a whole.
    pub fn read(scope: Scope, file: &str, text: &str, keys: &[&Key]) -> Self {
        if scope.is_foreign() && text.len() > MAX_PROJECT_FILE {
            return Self::oversized(scope, file, text.len() as u64);
        }
        let mut layer = Self::empty(scope, file);
        let lines = Lines::of(text);
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let line = error.span().map_or(1, |span| lines.at(span.start));
            layer.problem(line, || {
                let hint = "fix the syntax; the other lines still apply";
                (error.message().to_owned(), hint.to_owned())
            });
        }
        layer.read_table(&lines, "", table.get_ref(), keys);
        let longest = layer.values.iter().map(|(key, value, _)| (value.n_entries(), *key)).max();
        if let Some((n, key)) = longest.filter(|(n, _)| *n > MAX_PROJECT_LIST && scope.is_foreign())
        {
            let why = format!("`{key}` has {n} entries, and at most {MAX_PROJECT_LIST} are read");
            return Self::refuse(scope, file, &why);
        }
        layer.problems.sort_by_key(|problem| problem.line);
        if layer.n_more > 0 {
            let message = format!("and {} more problems", layer.n_more);
            layer.push(1, message, "mend those above first".to_owned());
        }
        layer
    }

    /// A file of which nothing is used, and why.
    pub fn unusable(scope: Scope, file: &str, why: &str) -> Self {
        let mut layer = Self::empty(scope, file);
        layer.push(1, why.to_owned(), "make it readable, or remove it".to_owned());
        layer
    }

    /// A project's file of which nothing is used, and why: the user is told.
    pub fn refuse(scope: Scope, file: &str, why: &str) -> Self {
        let mut layer = Self::empty(scope, file);
        let message = format!("this file is not used: {why}");
        layer.push(1, message, "make it smaller, or remove it".to_owned());
        layer.refused = layer.problems.last().cloned();
        layer
    }

    /// A project's file of this length, which is not read.
    pub fn oversized(scope: Scope, file: &str, n_bytes: u64) -> Self {
        let (size, max) = (Bytes(n_bytes), Bytes::of(MAX_PROJECT_FILE));
        Self::refuse(scope, file, &format!("it has {size}, and at most {max} are read"))
    }

    /// This refused file, with the values of its last good version.
    #[must_use]
    pub fn with_values_of(mut self, good: &Self) -> Self {
        self.values.clone_from(&good.values);
        for problem in self.problems.iter_mut().chain(self.refused.as_mut()) {
            problem.message.push_str("; its last good version stays in force");
        }
        self
    }

    fn empty(scope: Scope, file: &str) -> Self {
        let file = file.to_owned();
        Self { scope, file, values: Vec::new(), problems: Vec::new(), refused: None, n_more: 0 }
    }

    fn read_table(&mut self, lines: &Lines, prefix: &str, table: &DeTable<'_>, keys: &[&Key]) {
        for (name, value) in table {
            let line = lines.at(name.span().start);
            let full = format!("{prefix}{}", name.get_ref());
            if let Some(key) = keys.iter().find(|key| key.name == full) {
                self.read_value(lines, key, value, line);
                continue;
            }
            let is_above =
                |key: &&Key| key.name.strip_prefix(&full).is_some_and(|rest| rest.starts_with('.'));
            match value.get_ref() {
                DeValue::Table(inner) if keys.iter().any(is_above) => {
                    self.read_table(lines, &format!("{full}."), inner, keys);
                }
                value => self.unknown(lines, &full, value, line, keys, MAX_UNKNOWN_DEPTH),
            }
        }
    }

    /// Reports names that no key has. Once enough are reported, the names are not even built.
    fn unknown(
        &mut self,
        lines: &Lines,
        full: &str,
        value: &DeValue<'_>,
        line: usize,
        keys: &[&Key],
        depth: usize,
    ) {
        match value {
            DeValue::Table(inner) if depth > 0 && self.problems.len() < MAX_PROBLEMS => {
                for (name, value) in inner {
                    if self.problems.len() >= MAX_PROBLEMS {
                        self.n_more += 1;
                        continue;
                    }
                    let line = lines.at(name.span().start);
                    let full = format!("{full}.{}", name.get_ref());
                    self.unknown(lines, &full, value.get_ref(), line, keys, depth - 1);
                }
            }
            _ => self.problem(line, || {
                let hint = nearest(full, keys.iter().map(|key| key.name)).map_or_else(
                    || "`substrate config` lists every key".to_owned(),
                    |name| format!("did you mean `{name}`?"),
                );
                (format!("unknown key `{}`", one_line(full, MAX_MEANT)), hint)
            }),
        }
    }

    fn read_value(&mut self, lines: &Lines, key: &Key, value: &Spanned<DeValue<'_>>, line: usize) {
        let fitting = match key.kind {
            Kind::Tables => {
                tables(self.scope, &self.file, lines, value).map(|all| Value::Tables(all.into()))
            }
            Kind::Profiles(names) if value.get_ref().is_array() => {
                self.read_profiles(key, names, value.get_ref(), line)
            }
            kind => fits(kind, value.get_ref()),
        };
        let Some(value) = fitting else {
            let message = || format!("`{}` must be {}", key.name, key.kind.shape());
            self.problem(line, || (message(), "the value was left out".to_owned()));
            return;
        };
        if let Some(why) = not_for_a_project(key, &value).filter(|_| self.scope.is_foreign()) {
            let message = || format!("`{}`: {why}", key.name);
            self.problem(line, || (message(), "set it in your own config.toml".to_owned()));
            return;
        }
        self.values.push((key.name, value, line));
    }

    /// A list of profiles. A name that is not known is reported, and the others count.
    fn read_profiles(
        &mut self,
        key: &Key,
        names: &[&str],
        value: &DeValue<'_>,
        line: usize,
    ) -> Option<Value> {
        let Some(Value::Texts(all)) = fits(Kind::Texts, value) else { return None };
        let (known, unknown): (Vec<String>, Vec<String>) =
            all.into_iter().partition(|name| names.contains(&name.as_str()));
        for name in unknown {
            self.problem(line, || {
                let hint = nearest(&name, names.iter().copied()).map_or_else(
                    || format!("`{}` must be {}", key.name, key.kind.shape()),
                    |close| format!("did you mean `{close}`?"),
                );
                (format!("`{}`: there is no `{}`", key.name, one_line(&name, MAX_MEANT)), hint)
            });
        }
        Some(Value::Texts(known))
    }

    fn problem(&mut self, line: usize, words: impl FnOnce() -> (String, String)) {
        if self.problems.len() >= MAX_PROBLEMS {
            self.n_more += 1;
            return;
        }
        let (message, hint) = words();
        self.push(line, message, hint);
    }

    fn push(&mut self, line: usize, message: String, hint: String) {
        self.problems.push(Problem { file: self.file.clone(), line, message, hint });
    }
}

/// Why a project may not give that value to the key; `None` where it may.
pub(super) fn not_for_a_project(key: &Key, value: &Value) -> Option<&'static str> {
    match (key.project, value) {
        (ProjectMay::Set | ProjectMay::Append | ProjectMay::Widen, _)
        | (ProjectMay::TurnOn, Value::Bool(true)) => None,
        (ProjectMay::TurnOn, Value::Word(word)) if word != "off" => None,
        (ProjectMay::TurnOn, _) => Some("a project can turn it on, not off"),
        (ProjectMay::Nothing, _) => Some("a project can't set it"),
    }
}

/// The value, if it is of the key's kind.
pub(super) fn fits(kind: Kind, value: &DeValue<'_>) -> Option<Value> {
    match (kind, value) {
        (Kind::Bool, DeValue::Boolean(on)) => Some(Value::Bool(*on)),
        (Kind::Count, DeValue::Integer(number)) => {
            let number = i64::from_str_radix(number.as_str(), number.radix()).ok();
            number.filter(|number| *number >= 0).map(Value::Int)
        }
        (Kind::Texts, DeValue::Array(items)) => {
            let texts: Option<Vec<String>> =
                items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect();
            texts.map(Value::Texts)
        }
        (Kind::Tables, DeValue::Array(items)) if items.is_empty() => {
            Some(Value::Tables(Arc::default()))
        }
        (_, DeValue::String(text)) => kind.read_text(text),
        _ => None,
    }
}

/// Where the lines of a text begin, to find the line of an offset without rereading the text.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(breaks.map(|(at, _)| at).collect())
    }

    /// The number of the line that a place is in; the first is 1.
    pub(super) fn at(&self, place: usize) -> usize {
        self.0.partition_point(|end| *end < place) + 1
    }
}

/// The most similar name, if one is near enough to be meant.
pub(super) fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_MEANT {
        return None;
    }
    names
        .map(|name| (crate::text::distance(word, name), name))
        .filter(|(distance, name)| *distance <= name.len() / 3)
        .min()
        .map(|(_, name)| name)
}

/// The tables of a list; `None` where it is not one. What is in them is passed on as JSON, with the line on which each begins.
fn tables(
    scope: Scope,
    file: &str,
    lines: &Lines,
    value: &Spanned<DeValue<'_>>,
) -> Option<Vec<Table>> {
    let DeValue::Array(items) = value.get_ref() else { return None };
    let table = |item: &Spanned<DeValue<'_>>| {
        let DeValue::Table(_) = item.get_ref() else { return None };
        let line = lines.at(item.span().start);
        Some(Table {
            scope,
            origin: format!("{file}:{line}"),
            json: json(item.get_ref()).to_string(),
        })
    };
    items.iter().map(table).collect()
}

fn json(value: &DeValue<'_>) -> Json {
    match value {
        DeValue::String(text) => Json::String(text.to_string()),
        DeValue::Boolean(on) => Json::Bool(*on),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(Json::Null, Json::from)
        }
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Json::Null, Json::from),
        DeValue::Datetime(moment) => Json::String(moment.to_string()),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => table
            .iter()
            .map(|(name, value)| (name.get_ref().to_string(), json(value.get_ref())))
            .collect::<Map<String, Json>>()
            .into(),
    }
}
