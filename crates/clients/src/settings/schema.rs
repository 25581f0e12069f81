//! What a client accepts where. Each client has a table of its own.

use jsonc_parser::ast::{Object, Value};

use crate::install::Drops;

use super::document::{kind_of, member};

/// What a value must be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Text,
    Url,
    Flag,
    Positive,
    /// A number without a fraction.
    Whole,
    List,
    Texts,
    Object,
    ObjectOfTexts,
    OneOf(&'static [&'static str]),
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) is_required: bool,
}

pub(crate) const fn required(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, is_required: true }
}

pub(crate) const fn optional(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, is_required: false }
}

/// What a client accepts in its settings file, as far as hooks and permissions go. Keys that are not listed are accepted
/// with any value, unless `keys` names the only ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schema {
    /// What an empty file counts as.
    pub(crate) new: &'static str,
    /// The only keys that the whole file may have, if the client is that strict.
    pub(crate) keys: Option<&'static [&'static str]>,
    /// The keys of the whole file whose mistakes drop it.
    pub(crate) file: &'static [Field],
    pub(crate) permissions: &'static [Field],
    pub(crate) group: &'static [Field],
    /// The keys of a hook by its `type`, besides those of every hook.
    pub(crate) types: &'static [(&'static str, &'static [Field])],
    pub(crate) every_type: &'static [Field],
    /// Whether the client has an event of that name. It ignores what stands under any other.
    pub(crate) knows: fn(&str) -> bool,
    /// How many of a timeout's units are a second.
    pub(crate) second: u32,
    /// How much a mistake under that event costs.
    pub(crate) costs: fn(&str) -> Drops,
}

/// An empty file of most clients.
pub(crate) const NEW: &str = "{}\n";

/// The fields of an object that are not as they must be: where each stands (`None`: missing), and what is wrong.
pub(crate) fn mistakes<'v, 'a>(
    object: &'v Object<'a>,
    fields: &'v [Field],
) -> impl Iterator<Item = (&'v Field, Option<&'v Value<'a>>, String)> {
    fields.iter().filter_map(|field| match member(object, field.name) {
        Some(prop) => {
            let wrong = field.kind.wrong(&prop.value)?;
            Some((field, Some(&prop.value), wrong))
        }
        None if field.is_required => Some((field, None, "is missing".to_owned())),
        None => None,
    })
}

impl Kind {
    /// What is wrong with a value, as the end of a sentence.
    pub(crate) fn wrong(self, value: &Value<'_>) -> Option<String> {
        let is_right = match (self, value) {
            (Self::Text, Value::StringLit(_))
            | (Self::Flag, Value::BooleanLit(_))
            | (Self::List, Value::Array(_))
            | (Self::Object, Value::Object(_)) => true,
            (Self::Url, Value::StringLit(text)) => is_url(&text.value),
            (Self::OneOf(choices), Value::StringLit(text)) => {
                choices.contains(&text.value.as_ref())
            }
            (Self::Positive, Value::NumberLit(number)) => {
                number.value.parse::<f64>().is_ok_and(|number| number > 0.0 && number.is_finite())
            }
            (Self::Whole, Value::NumberLit(number)) => number.value.parse::<u64>().is_ok(),
            (Self::Texts, Value::Array(array)) => array.elements.iter().all(is_text),
            (Self::ObjectOfTexts, Value::Object(object)) => {
                object.properties.iter().all(|prop| is_text(&prop.value))
            }
            _ => false,
        };
        (!is_right).then(|| format!("must be {}, not {}", self.expected(), shown(value)))
    }

    fn expected(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Url => "a URL".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Positive => "a number above 0".to_owned(),
            Self::Whole => "a whole number".to_owned(),
            Self::List => "a list".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::Object => "an object".to_owned(),
            Self::ObjectOfTexts => "an object of texts".to_owned(),
            Self::OneOf(choices) => format!("one of `{}`", choices.join("`, `")),
        }
    }
}

fn is_text(value: &Value<'_>) -> bool {
    matches!(value, Value::StringLit(_))
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::StringLit(text) if text.value.chars().count() <= 20 => format!("{:?}", text.value),
        Value::NumberLit(number) => number.value.to_owned(),
        other => kind_of(other).to_owned(),
    }
}

/// Roughly what `new URL(…)` takes: a scheme, and a host where the scheme has one.
fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.trim().split_once(':') else { return false };
    let has_host =
        !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https" | "ws" | "wss" | "ftp")
            || !rest.trim_start_matches(['/', '\\']).is_empty();
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        && has_host
}
