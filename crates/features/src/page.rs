//! What the pages of features share: how text is escaped, and how ages and states are shown.

use std::fmt::{self, Write};

use askama::filters::Escaper;
use substrate_core::time::Ago;
use substrate_core::{PageBody, Timestamp, VerbError, html};

/// Escapes every `{{ text }}` of a template, and makes characters visible that hide or reorder text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visible;

impl Escaper for Visible {
    fn write_escaped_str<W: Write>(&self, mut dest: W, text: &str) -> fmt::Result {
        html::escape(&mut dest, text)
    }
}

/// A moment for people: how long ago, with the exact time behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since {
    pub(crate) at: Timestamp,
    pub(crate) now: Timestamp,
    pub(crate) tz_offset_s: i32,
}

impl Since {
    /// `6 min`, as the pages say it.
    pub(crate) fn age(&self) -> String {
        let text = Ago(self.now.since(self.at)).to_string();
        let (figure, unit) = text.split_at(text.len() - 1);
        let unit = match unit {
            "m" => "min",
            other => other,
        };
        format!("{figure} {unit}")
    }

    /// For `datetime`.
    pub(crate) fn exact(&self) -> String {
        jiff::Timestamp::from_millisecond(self.at.0).map(|at| at.to_string()).unwrap_or_default()
    }

    /// `14:35:02`, in the reader's zone.
    pub(crate) fn clock(&self) -> String {
        clock(self.at, self.tz_offset_s)
    }

    pub(crate) fn html(&self) -> String {
        format!(
            "<time datetime=\"{}\" title=\"{}\">{}</time>",
            self.exact(),
            self.clock(),
            self.age()
        )
    }
}

/// `14:35:02`, in a zone.
pub(crate) fn clock(at: Timestamp, tz_offset_s: i32) -> String {
    let seconds = (at.0.div_euclid(1_000) + i64::from(tz_offset_s)).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// A status with its shape and its word. The name is one of the stylesheet's.
pub(crate) fn status(name: &str, word: &str) -> String {
    let icon = if name == "gone" { "gone" } else { name };
    format!(
        "<span class=\"status {name}\"><svg class=\"i {name}\" aria-hidden=\"true\"><use href=\"#i-{icon}\"/></svg>{}</span>",
        html::shown(word)
    )
}

/// A value for a link's query.
pub(crate) fn in_query(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _infallible = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// An id for an element: stable, and without characters that mean something elsewhere.
pub(crate) fn element(kind: &str, name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    format!("{kind}-{}", name.chars().map(plain).collect::<String>())
}

/// The last part of a path.
pub(crate) fn folder(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// A rendered template.
pub(crate) fn body(
    title: impl Into<String>,
    page: &impl askama::Template,
) -> Result<PageBody, VerbError> {
    let html = page
        .render()
        .map_err(|error| VerbError::user(format!("the page can't be rendered: {error}"), ""))?;
    Ok(PageBody { title: title.into(), html })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_clocks() {
        let since = Since { at: Timestamp(0), now: Timestamp(6 * 60_000), tz_offset_s: 3_600 };
        assert_eq!(since.age(), "6 min");
        assert_eq!(since.clock(), "01:00:00");
        assert_eq!(since.exact(), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn links_and_ids_are_plain() {
        assert_eq!(in_query("a b&c\"ü"), "a%20b%26c%22%C3%BC");
        assert_eq!(element("agent", "A/b\" x"), "agent-A_b__x");
        assert_eq!(folder("/p/atlas/"), "atlas");
    }
}
