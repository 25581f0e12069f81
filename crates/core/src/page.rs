//! A page of the dashboard: what a feature's read verbs return, rendered as HTML by a template in the feature's folder.
//!
//! Pages are plain data on a [`Feature`](crate::Feature). The host decides who may see them, puts the layout around
//! them, and renders them again when something changed.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::db::DbError;
use crate::feature::Cx;
use crate::html;
use crate::verb::{Caller, VerbError};

/// One page. It only reads.
#[derive(Debug)]
pub struct Page {
    /// `/mail`, or `/mail/{id}`: a segment in braces matches any one segment.
    pub path: &'static str,
    /// Its name in the header.
    pub title: &'static str,
    /// Its place in the header, counted from the left. `None`: it is reached by links.
    pub nav: Option<u8>,
    /// The number beside its name in the header, and what it counts: `waiting`, `unread`.
    pub badge: Option<Badge>,
    pub render: Render,
}

/// Counts something for the header.
#[derive(Clone, Copy, Debug)]
pub struct Badge {
    pub word: &'static str,
    pub count: fn(&mut Cx<'_>) -> Result<i64, DbError>,
}

pub type Render = fn(&mut Cx<'_>, &PageRequest) -> Result<PageBody, VerbError>;

/// What a page shows.
#[derive(Clone, Debug, Default)]
pub struct PageBody {
    /// For the tab: short, and most specific first.
    pub title: String,
    /// The content of `<main>`. An element with `data-row` and an id is replaced alone when it changes. The children of
    /// an element with `data-rows` and an id come and go by their ids.
    pub html: String,
}

/// Which page is asked for, and by whom.
#[derive(Clone, Debug, Default)]
pub struct PageRequest {
    /// The path with its query, to come back to.
    pub here: String,
    /// The values of the segments in braces, in order.
    pub segments: Vec<String>,
    /// The query, in order.
    pub query: Vec<(String, String)>,
    /// The user.
    pub caller: Caller,
    /// Whether this browser may change something. A page for one that may not has no forms.
    pub may_act: bool,
    /// Makes the nonces of forms.
    pub nonces: Nonces,
}

impl PageRequest {
    /// The first value of a query field that is not empty.
    pub fn field(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, value)| known == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }

    /// The hidden fields of a form that runs a verb (`send`, `locks release`) once for this row: its nonce, and where to go
    /// afterwards. The form posts to `/do/<verb>`.
    pub fn hidden(&self, verb: &str, row: &str) -> String {
        let mut out = String::new();
        for (name, value) in
            [("_row", row), ("_nonce", &self.nonces.of(verb, row)), ("_back", &self.here)]
        {
            let _infallible = write!(out, "<input type=\"hidden\" name=\"{name}\" value=\"");
            let _infallible = html::escape(&mut out, value);
            out.push_str("\">");
        }
        out
    }
}

/// Makes nonces: a form acts only with one of this browser, for this verb and this row.
#[derive(Clone, Default)]
pub struct Nonces {
    secret: String,
}

impl Nonces {
    /// From the host's secret and the browser's key.
    pub fn new(secret: &str, key: i64) -> Self {
        Self { secret: format!("{secret} {key}") }
    }

    pub fn of(&self, verb: &str, row: &str) -> String {
        let digest = Sha256::digest(format!("{}\0{verb}\0{row}", self.secret));
        digest[..16].iter().fold(String::new(), |mut out, byte| {
            let _infallible = write!(out, "{byte:02x}");
            out
        })
    }
}

impl std::fmt::Debug for Nonces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Nonces")
    }
}

/// The values of the segments in braces, if the path is one of this page.
pub fn matched(pattern: &str, path: &str) -> Option<Vec<String>> {
    let (mut wanted, mut given) = (pattern.split('/'), path.split('/'));
    let mut out = Vec::new();
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(out),
            (Some(name), Some(value)) if name.starts_with('{') && !value.is_empty() => {
                out.push(value.to_owned());
            }
            (Some(name), Some(value)) if name == value => {}
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("/mail", "/mail", Some(vec![]))]
    #[case("/mail/{id}", "/mail/42", Some(vec!["42"]))]
    #[case("/mail/{id}", "/mail/", None)]
    #[case("/mail/{id}", "/mail/42/x", None)]
    #[case("/", "/", Some(vec![]))]
    #[case("/", "//", None)]
    fn a_path_matches(
        #[case] pattern: &str,
        #[case] path: &str,
        #[case] expected: Option<Vec<&str>>,
    ) {
        let expected = expected.map(|words| words.into_iter().map(str::to_owned).collect());
        assert_eq!(matched(pattern, path), expected);
    }

    #[test]
    fn a_nonce_is_for_one_browser_one_verb_and_one_row() {
        let nonces = Nonces::new("s", 1);
        let one = nonces.of("send", "compose");
        assert_eq!(one, Nonces::new("s", 1).of("send", "compose"));
        assert_ne!(one, nonces.of("send", "other"));
        assert_ne!(one, nonces.of("reply", "compose"));
        assert_ne!(one, Nonces::new("s", 2).of("send", "compose"));
        assert_ne!(one, Nonces::new("t", 1).of("send", "compose"));
    }

    #[test]
    fn hidden_fields_are_escaped() {
        let request = PageRequest { here: "/a?b=\"><x".to_owned(), ..PageRequest::default() };
        assert!(request.hidden("send", "r").contains("value=\"/a?b=&quot;&gt;&lt;x\""));
    }
}
