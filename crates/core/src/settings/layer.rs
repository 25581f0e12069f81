//! One settings file: its values, and what is wrong with it, by line.

use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key::{Key, Kind, ProjectMay, Value};
use super::tables;

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

    /// Files that come with a project, and so from outside.
    const fn is_foreign(self) -> bool {
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
    /// Reads a file's text. What is wrong is left out and reported; the rest holds.
    pub fn read(scope: Scope, file: &str, text: &str, keys: &[&Key]) -> Self {
        let mut layer =
            Self { scope, file: file.to_owned(), values: Vec::new(), problems: Vec::new() };
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            layer.problem(
                line,
                error.message().to_owned(),
                "mend the syntax; the other lines still hold",
            );
        }
        layer.read_table(text, "", table.get_ref(), keys);
        layer.problems.sort_by_key(|problem| problem.line);
        layer
    }

    fn read_table(&mut self, text: &str, prefix: &str, table: &DeTable<'_>, keys: &[&Key]) {
        for (name, value) in table {
            let line = line_of(text, name.span().start);
            let full = format!("{prefix}{}", name.get_ref());
            if let Some(key) = keys.iter().find(|key| key.name == full) {
                self.read_value(text, key, value, line);
            } else if let DeValue::Table(inner) = value.get_ref() {
                self.read_table(text, &format!("{full}."), inner, keys);
            } else {
                let hint = nearest(&full, keys.iter().map(|key| key.name)).map_or_else(
                    || "`substrate config` lists every key".to_owned(),
                    |name| format!("did you mean `{name}`?"),
                );
                self.problem(line, format!("unknown key `{full}`"), &hint);
            }
        }
    }

    fn read_value(&mut self, text: &str, key: &Key, value: &Spanned<DeValue<'_>>, line: usize) {
        let fitting = match key.kind {
            Kind::Tables => tables::read(self.scope, &self.file, text, value).map(Value::Tables),
            kind => fits(kind, value.get_ref()),
        };
        let Some(value) = fitting else {
            self.problem(
                line,
                format!("`{}` must be {}", key.name, key.kind.shape()),
                "the value was left out",
            );
            return;
        };
        if self.scope.is_foreign() {
            let refused = match (key.project, &value) {
                (ProjectMay::Set | ProjectMay::Append, _)
                | (ProjectMay::TurnOn, Value::Bool(true)) => None,
                (ProjectMay::TurnOn, _) => Some("a project can turn it on, not off"),
                (ProjectMay::Nothing, _) => Some("a project can't set it"),
            };
            if let Some(why) = refused {
                self.problem(
                    line,
                    format!("`{}`: {why}", key.name),
                    "set it in your own config.toml",
                );
                return;
            }
        }
        self.values.push((key.name, value, line));
    }

    fn problem(&mut self, line: usize, message: String, hint: &str) {
        self.problems.push(Problem {
            file: self.file.clone(),
            line,
            message,
            hint: hint.to_owned(),
        });
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
            Some(Value::Tables(Vec::new()))
        }
        (_, DeValue::String(text)) => kind.read_text(text),
        _ => None,
    }
}

pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The most similar name, if one is near enough to be meant.
pub(super) fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names
        .map(|name| (distance(word, name), name))
        .filter(|(distance, name)| *distance <= name.len() / 3)
        .min()
        .map(|(_, name)| name)
}

/// Edit distance (Levenshtein), by rows.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
