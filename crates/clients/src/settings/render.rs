//! The text of what we insert. Where each item has a line of its own it looks as the client's own writing does, so
//! that the client's next save changes nothing of it.

use crate::install::{Entry, What};

use super::layout::Style;

/// A value of ours. Members keep their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    Text(String),
    Number(u32),
    True,
    List(Vec<Self>),
    Object(Vec<(&'static str, Self)>),
}

impl Json {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// The group with our hooks of one event. No `matcher`: the client would drop the whole file over a wrong one.
    pub(crate) fn group(hooks: Vec<Self>) -> Self {
        Self::Object(vec![("hooks", Self::List(hooks))])
    }

    /// One hook; `second` is how many of a timeout's units are a second.
    pub(crate) fn hook(entry: &Entry, second: u32) -> Self {
        let mut members = match &entry.what {
            What::Exec { program, args, .. } => vec![
                ("type", Self::text("command")),
                ("command", Self::text(program)),
                ("args", Self::List(args.iter().map(|arg| Self::text(arg)).collect())),
            ],
            What::Shell { command, .. } => {
                vec![("type", Self::text("command")), ("command", Self::text(command))]
            }
            What::Prompt { prompt } => {
                vec![("type", Self::text("prompt")), ("prompt", Self::text(prompt))]
            }
        };
        members.push(("timeout", Self::Number(entry.timeout_s * second)));
        if let What::Exec { wakes: true, .. } | What::Shell { wakes: true, .. } = entry.what {
            members.push(("asyncRewake", Self::True));
        }
        Self::Object(members)
    }

    /// The same where no group is around it and its kind is not said.
    pub(crate) fn flat_hook(entry: &Entry, second: u32) -> Self {
        match Self::hook(entry, second) {
            Self::Object(members) => {
                Self::Object(members.into_iter().filter(|(key, _)| *key != "type").collect())
            }
            other => other,
        }
    }

    /// Without `indent` on one line; with it, the value begins on a line that is indented like that.
    pub(crate) fn render(&self, style: &Style, indent: Option<&str>, out: &mut String) {
        match self {
            Self::Text(text) => out.push_str(&quoted(text)),
            Self::Number(number) => out.push_str(&number.to_string()),
            Self::True => out.push_str("true"),
            Self::List(items) => {
                container(items, ['[', ']'], style, indent, out, |item, inner, out| {
                    item.render(style, inner, out);
                });
            }
            Self::Object(members) => {
                container(members, ['{', '}'], style, indent, out, |(key, value), inner, out| {
                    render_key(key, style, out);
                    value.render(style, inner, out);
                });
            }
        }
    }

    pub(crate) fn value(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Number(number) => (*number).into(),
            Self::True => true.into(),
            Self::List(items) => items.iter().map(Self::value).collect(),
            Self::Object(members) => {
                members.iter().map(|(key, value)| ((*key).to_owned(), value.value())).collect()
            }
        }
    }
}

pub(crate) fn render_key(key: &str, style: &Style, out: &mut String) {
    out.push_str(&quoted(key));
    out.push_str(if style.is_airy { ": " } else { ":" });
}

/// What stands between two items, or before the first one.
pub(crate) fn render_gap(is_first: bool, style: &Style, indent: Option<&str>, out: &mut String) {
    if !is_first {
        out.push(',');
    }
    match indent {
        Some(indent) => {
            out.push_str(style.eol);
            out.push_str(indent);
        }
        None if style.is_airy && !is_first => out.push(' '),
        None => {}
    }
}

fn container<T>(
    items: &[T],
    [open, close]: [char; 2],
    style: &Style,
    indent: Option<&str>,
    out: &mut String,
    render: impl Fn(&T, Option<&str>, &mut String),
) {
    let inner = indent.map(|indent| format!("{indent}{}", style.unit));
    out.push(open);
    for (n, item) in items.iter().enumerate() {
        render_gap(n == 0, style, inner.as_deref(), out);
        render(item, inner.as_deref(), out);
    }
    if let Some(indent) = indent
        && !items.is_empty()
    {
        out.push_str(style.eol);
        out.push_str(indent);
    }
    out.push(close);
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
