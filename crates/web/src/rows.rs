//! The rows of a rendered page: elements with `data-row` and an id. Only those that changed are sent.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// One row of our own templates' output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row<'a> {
    pub(crate) id: &'a str,
    pub(crate) html: &'a str,
}

impl Row<'_> {
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        look_at(self.html, &mut hasher);
        hasher.finish()
    }
}

/// What of a text counts. The nonces of forms are others each time, and those that a tab has are as good.
fn look_at(html: &str, hasher: &mut DefaultHasher) {
    let mut parts = html.split("<input type=\"hidden\" name=\"_");
    parts.next().unwrap_or_default().hash(hasher);
    for part in parts {
        part.split_once('>').map_or("", |(_, rest)| rest).hash(hasher);
    }
}

/// The rows of a page, in order, and a digest of everything around them. Text that others wrote is escaped, so every `<`
/// is a tag of ours.
pub(crate) fn rows(html: &str) -> (Vec<Row<'_>>, u64) {
    let (mut out, mut at) = (Vec::new(), 0);
    let mut hasher = DefaultHasher::new();
    while let Some(found) = html[at..].find(" data-row") {
        let inside = at + found;
        let after = inside + " data-row".len();
        let is_attribute = html[after..].starts_with([' ', '>']);
        let open = html[..inside].rfind('<').filter(|_| is_attribute);
        let row = open.and_then(|open| Some((open, end(html, open)?)));
        let Some((open, end)) = row else {
            look_at(&html[at..after], &mut hasher);
            at = after;
            continue;
        };
        look_at(&html[at..open], &mut hasher);
        let row = &html[open..end];
        let head = row.split('>').next().unwrap_or_default();
        let id = head.split(" id=\"").nth(1).and_then(|rest| rest.split('"').next());
        match id {
            Some(id) => {
                id.hash(&mut hasher);
                out.push(Row { id, html: row });
            }
            None => look_at(row, &mut hasher),
        }
        at = end;
    }
    look_at(&html[at..], &mut hasher);
    (out, hasher.finish())
}

/// Where the element that begins there ends.
fn end(html: &str, open: usize) -> Option<usize> {
    let name = html[open + 1..].split([' ', '>', '\n']).next()?;
    let is_end_of_name = |rest: &str| rest.starts_with([' ', '>', '\n', '/']);
    let (mut depth, mut at) = (0_usize, open);
    loop {
        at += html[at..].find('<')?;
        let rest = &html[at + 1..];
        if rest.strip_prefix(name).is_some_and(is_end_of_name) {
            depth += 1;
        } else if rest
            .strip_prefix('/')
            .and_then(|rest| rest.strip_prefix(name))
            .is_some_and(is_end_of_name)
        {
            depth -= 1;
            if depth == 0 {
                return Some(at + html[at..].find('>')? + 1);
            }
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_whole() {
        let html = "<ol data-rows id=\"l\"><li id=\"a\" data-row>x<ul><li>y</li></ul></li> <li data-row class=\"c\" id=\"b\">z</li></ol>";
        let (rows, _) = rows(html);
        let found: Vec<_> = rows.iter().map(|row| (row.id, row.html)).collect();
        assert_eq!(
            found,
            [
                ("a", "<li id=\"a\" data-row>x<ul><li>y</li></ul></li>"),
                ("b", "<li data-row class=\"c\" id=\"b\">z</li>")
            ]
        );
    }

    #[test]
    fn what_is_around_the_rows_has_a_digest_of_its_own() {
        let page = |row: &str, text: &str| format!("<p>{text}</p><li id=\"a\" data-row>{row}</li>");
        let around = |row, text| rows(&page(row, text)).1;
        assert_eq!(around("1", "t"), around("2", "t"));
        assert_ne!(around("1", "t"), around("1", "u"));
        assert_ne!(rows("<li id=\"a\" data-row>x</li>").1, rows("<li id=\"b\" data-row>x</li>").1);
    }

    #[test]
    fn a_nonce_is_no_change() {
        let form = |nonce: &str| {
            format!(
                "<form><input type=\"hidden\" name=\"_row\" value=\"{nonce}\"><input type=\"hidden\" name=\"_nonce\" value=\"{nonce}\"><b>x</b></form>"
            )
        };
        let row = |nonce: &str| format!("<li id=\"a\" data-row>{}</li>", form(nonce));
        assert_eq!(rows(&form("1")).1, rows(&form("2")).1);
        assert_eq!(rows(&row("1")).0[0].digest(), rows(&row("2")).0[0].digest());
        assert_ne!(rows(&form("1")).1, rows(&form("1").replace('x', "y")).1);
    }

    #[test]
    fn odd_text_is_no_row() {
        for html in ["", " data-row", "<p data-row", "<p data-row>x", "a data-rows b <p>"] {
            assert!(rows(html).0.is_empty(), "{html}");
        }
    }
}
