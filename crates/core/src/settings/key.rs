//! One key: its type, its default, who may set it.

use std::sync::Arc;

use super::layer::Scope;
use crate::size::{parse_size, written_size};
use crate::time::{parse_span, written_span};

/// A setting. Every feature lists its own.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Dotted, as in `journal.max_age`.
    pub name: &'static str,
    pub kind: Kind,
    /// As it would be written in TOML.
    pub default: &'static str,
    pub about: &'static str,
    pub project: ProjectMay,
    /// Values that a profile gives in place of the default: `(profile, TOML text)`. Profiles add up, so no two give a
    /// key different values. The profile `all` has every value that any of them has.
    pub profiles: &'static [(&'static str, &'static str)],
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bool,
    /// A duration such as `"14d"`; kept in milliseconds.
    Span,
    /// A size such as `"512MB"`; kept in bytes.
    Size,
    /// A whole number, not below 0.
    Count,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any of these profiles: one word, or a list. The first is always in force and adds nothing.
    Profiles(&'static [&'static str]),
    /// Any text.
    Text,
    /// A colour as tmux knows it: `red`, `colour52`, `#3a1418`; empty for none.
    Colour,
    Texts,
    /// Tables, each kept as JSON text; their owner reads them.
    Tables,
}

/// What a project's own settings file may do to a key. A project comes from outside, so it may do little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectMay {
    /// Set it freely: the user relies on nothing that depends on it.
    Set,
    /// Turn it on, never off.
    TurnOn,
    /// Add to the list, never take away.
    Append,
    /// Add to a list that means "everything" when empty. An empty list stays empty.
    Widen,
    Nothing,
}

/// A value that fits its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Bool(bool),
    /// Milliseconds, bytes or a plain count.
    Int(i64),
    Word(String),
    Text(String),
    Texts(Vec<String>),
    /// Shared, so that the same tables are known by their address.
    Tables(Arc<[Table]>),
}

/// One table of a list of tables, and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub scope: Scope,
    /// `file:line`
    pub origin: String,
    pub json: String,
}

impl Value {
    /// How many entries a list has.
    pub(super) fn n_entries(&self) -> usize {
        match self {
            Self::Tables(tables) => tables.len(),
            Self::Texts(texts) => texts.len(),
            _ => 0,
        }
    }
}

impl Kind {
    /// What a value of this kind looks like, for messages and the reference.
    pub fn shape(self) -> String {
        match self {
            Self::Bool => "true or false".to_owned(),
            Self::Span => "a duration such as \"90s\", \"15m\", \"2h\" or \"14d\"".to_owned(),
            Self::Size => "a size such as \"512KB\", \"64MB\" or \"2GB\"".to_owned(),
            Self::Count => "a whole number such as 10".to_owned(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Profiles(names) => format!("one of {}, or a list of them", names.join(", ")),
            Self::Text => "a string".to_owned(),
            Self::Colour => {
                "a colour such as \"red\", \"colour52\" or \"#3a1418\", or \"\" for none".to_owned()
            }
            Self::Texts => "a list of strings".to_owned(),
            Self::Tables => "a list of tables (`[[…]]`)".to_owned(),
        }
    }

    /// A duration or a size as it is written in a settings file. `None`: a number of this kind is only a number.
    pub fn written(self, number: i64) -> Option<String> {
        match self {
            Self::Span => Some(written_span(number)),
            Self::Size => Some(written_size(u64::try_from(number).unwrap_or_default())),
            _ => None,
        }
    }

    /// Reads a string value of this kind.
    pub(super) fn read_text(self, text: &str) -> Option<Value> {
        match self {
            Self::Span => parse_span(text).map(Value::Int),
            Self::Size => parse_size(text).map(Value::Int),
            Self::Word(words) => words.contains(&text).then(|| Value::Word(text.to_owned())),
            Self::Text => Some(Value::Text(text.to_owned())),
            Self::Colour => is_colour(text).then(|| Value::Text(text.to_owned())),
            Self::Profiles(names) => {
                names.contains(&text).then(|| Value::Texts(vec![text.to_owned()]))
            }
            Self::Bool | Self::Count | Self::Texts | Self::Tables => None,
        }
    }
}

/// Only letters, digits and `#rrggbb`: tmux would expand or run anything else.
fn is_colour(text: &str) -> bool {
    match text.strip_prefix('#') {
        Some(hex) => hex.len() == 6 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => text.len() <= 20 && text.bytes().all(|byte| byte.is_ascii_alphanumeric()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::named("red", true)]
    #[case::numbered("colour52", true)]
    #[case::hex("#3a1418", true)]
    #[case::none("", true)]
    #[case::short_hex("#3a1", false)]
    #[case::a_command("#(touch /tmp/x)", false)]
    #[case::another_option("red,fg=blue", false)]
    #[case::a_format("#{pane_id}", false)]
    fn a_colour_is_a_colour_and_nothing_else(#[case] text: &str, #[case] is_read: bool) {
        assert_eq!(Kind::Colour.read_text(text), is_read.then(|| Value::Text(text.to_owned())));
    }
}
