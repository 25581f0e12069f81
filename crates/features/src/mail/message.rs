//! The types that commands read: message numbers, lists of names, priorities.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The number of a message, typed `42` or `#42`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct MessageId(pub(super) i64);

impl FromStr for MessageId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.trim().trim_start_matches('[').trim_end_matches(']');
        let number = digits.strip_prefix('#').unwrap_or(digits).parse::<i64>();
        number.ok().filter(|id| *id > 0).map(Self).ok_or_else(|| {
            "a message is known by its number, e.g. 42; `substrate inbox --all` shows them"
                .to_owned()
        })
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl<'de> Deserialize<'de> for MessageId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = match Value::deserialize(from)? {
            Value::Number(number) => number.to_string(),
            Value::String(text) => text,
            other => return Err(D::Error::custom(format!("`{other}` is not a message"))),
        };
        text.parse().map_err(D::Error::custom)
    }
}

/// One or several names: `"A,B"` or `["A", "B"]`.
pub(super) fn names<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let listed = match Value::deserialize(from)? {
        Value::String(text) => vec![text],
        Value::Array(items) => items
            .into_iter()
            .map(|item| item.as_str().map(str::to_owned).ok_or(item))
            .collect::<Result<_, _>>()
            .map_err(|item| D::Error::custom(format!("`{item}` is not a name")))?,
        other => return Err(D::Error::custom(format!("`{other}` is not a list of names"))),
    };
    Ok(listed
        .iter()
        .flat_map(|text| text.split(','))
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect())
}

/// How much it matters. The numbers are those of the database, where a higher one comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Priority {
    /// Shown even between two tool calls
    Urgent,
    #[default]
    Normal,
    Low,
}

impl Priority {
    pub(super) const fn number(self) -> i64 {
        match self {
            Self::Low => 0,
            Self::Normal => 1,
            Self::Urgent => 2,
        }
    }

    pub(super) const fn of(number: i64) -> Self {
        match number {
            ..=0 => Self::Low,
            1 => Self::Normal,
            2.. => Self::Urgent,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Urgent => "urgent",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("42", Some(42))]
    #[case("#42", Some(42))]
    #[case("[#42]", Some(42))]
    #[case("0", None)]
    #[case("-3", None)]
    #[case("##42", None)]
    #[case("x", None)]
    #[case("99999999999999999999", None)]
    fn a_message_is_known_by_its_number(#[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(text.parse().ok(), expected.map(MessageId));
        let json: Option<MessageId> = serde_json::from_value(Value::String(text.to_owned())).ok();
        assert_eq!(json, expected.map(MessageId));
    }

    #[test]
    fn priorities_survive_the_database() {
        for priority in [Priority::Low, Priority::Normal, Priority::Urgent] {
            assert_eq!(Priority::of(priority.number()), priority);
        }
    }
}
