//! How a settings file is laid out, read off its text.
//!
//! Invariant: what is read off a file is the same before an `add` and after it. `remove` relies on that to find the
//! end of what `add` put into an empty container.

use jsonc_parser::ast::Object;
use jsonc_parser::common::Ranged;

use super::document::{BLANKS, Document, List};

/// What the whole file has in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    pub eol: &'static str,
    /// One step of indentation.
    pub unit: String,
    /// Whether a space follows a colon, and a comma on the same line.
    pub is_airy: bool,
}

impl Style {
    pub(crate) fn of(document: &Document<'_>) -> Self {
        let text = document.text;
        let eol = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let unit = List::from(&document.root)
            .items
            .first()
            .and_then(|first| indent_in(&text[document.root.start() + 1..first.start]))
            .filter(|indent| !indent.is_empty())
            .unwrap_or("  ");
        Self { eol, unit: unit.to_owned(), is_airy: is_airy(text, &document.root) }
    }
}

fn is_airy(text: &str, root: &Object<'_>) -> bool {
    root.properties
        .first()
        .is_none_or(|first| text[first.name.end()..first.value.start()].ends_with(BLANKS))
}

/// How the items of one container are laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One after the other.
    Inline,
    /// Each on a line of its own.
    Lines {
        indent: String,
        /// Of the line with the closing bracket.
        base: String,
    },
}

impl Layout {
    pub(crate) fn of_root(document: &Document<'_>, style: &Style) -> Self {
        let outside = Self::Lines { indent: String::new(), base: String::new() };
        match Self::of(&List::from(&document.root), &outside, document.text, style) {
            // The closing brace of the whole file is never indented by us.
            Self::Lines { indent, .. } => Self::Lines { indent, base: String::new() },
            Self::Inline => Self::Inline,
        }
    }

    /// A new item goes where the last one stands; an empty container follows the one that it is in.
    pub(crate) fn of(list: &List, outside: &Self, text: &str, style: &Style) -> Self {
        let base = outside.indent().unwrap_or_default();
        let Some(last) = list.items.last() else {
            return match outside {
                Self::Inline => Self::Inline,
                Self::Lines { indent, .. } => {
                    Self::Lines { indent: format!("{indent}{}", style.unit), base: base.to_owned() }
                }
            };
        };
        let before = list.items.iter().rev().nth(1).map_or(list.open, |item| item.end);
        match indent_in(&text[before..last.start]) {
            Some(indent) => Self::Lines { indent: indent.to_owned(), base: base.to_owned() },
            None => Self::Inline,
        }
    }

    pub(crate) fn indent(&self) -> Option<&str> {
        match self {
            Self::Inline => None,
            Self::Lines { indent, .. } => Some(indent),
        }
    }

    /// What stands before the closing bracket of a container that we filled.
    pub(crate) fn closing(&self, style: &Style) -> String {
        match self {
            Self::Inline => String::new(),
            Self::Lines { base, .. } => format!("{}{base}", style.eol),
        }
    }
}

/// How far the text after the last line break is indented, if there is a line break.
fn indent_in(gap: &str) -> Option<&str> {
    let (_, line) = gap.rsplit_once('\n')?;
    let rest = line.trim_start_matches([' ', '\t']);
    Some(&line[..line.len() - rest.len()])
}
