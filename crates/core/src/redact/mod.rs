//! Removes secrets before anything is stored. Every text that goes to the database, a log or a mirror passes this gate.
//!
//! A secret is known by its form (`forms`: what issuers document), by the name that it is assigned to (`names`, judged by
//! `values`), or by its place (`places`: headers, URLs, key blocks, files of passwords; `commands`: short flags). The gate keeps
//! names and hides values. It reads JSON text as well as plain text, so it knows that a quote or a line break may be escaped.
//! Linear time, whatever the text.

mod bytes;
mod commands;
mod event;
mod forms;
mod names;
mod places;
mod recent;
mod scan;
mod skip;
mod tokens;
mod values;

#[cfg(test)]
mod tests;

pub use bytes::Alphabet;
pub use forms::{FORMS, Form};

use std::borrow::Cow;

use crate::ids::checksum;
use crate::lanes::{self, Lanes};
use crate::text::cut;

/// What is hidden, for the reference.
pub const ABOUT: &[&str] = &[
    "private keys (PEM and PGP blocks, PuTTY files, age)",
    "JSON web tokens",
    "headers: `Authorization` in any scheme, every value of `Cookie` and `Set-Cookie`, `Bearer x`, `Basic x`",
    "passwords in URLs, also with `@` and `/` in them, and tokens in place of a name",
    "values whose name announces a secret (password, passphrase, `DB_PASS`, `MYSQL_PWD`, secret, token, credential, api key, access key, client key, account key, …), in environments, INI, YAML, TOML, JSON (also escaped), code, queries and flags; not references, placeholders, types and counts",
    "values that look random, where the name says less (key, auth, signature, session id, …)",
    "short flags of well-known commands (`curl -u name:x`, `mysql -px`, `sshpass -p x`, `docker login -p x`, `redis-cli -a x`, …)",
    "`.netrc`, `.pgpass`, `IDENTIFIED BY 'x'`",
    "every NAME=value where a `.env` file is read, written or printed",
];

/// How far beyond the kept text the gate looks, so that a secret across the cut is still recognised.
const BEYOND_THE_CUT: usize = 1_024;

/// The whole text without its secrets.
pub fn clean(text: &str) -> Cow<'_, str> {
    cleaned(text, names_dotenv(text))
}

/// The beginning of `text`, at most `max` bytes of it, without its secrets. Where a `.env` is read, every value is one.
pub fn redacted(text: &str, max: usize, is_dotenv: bool) -> Cow<'_, str> {
    let window = cut(text, max.saturating_add(BEYOND_THE_CUT));
    let out = cleaned(window, is_dotenv);
    if out.len() <= max && window.len() == text.len() {
        return out;
    }
    Cow::Owned(format!("{}…", cut(&out, max)))
}

fn cleaned(text: &str, is_dotenv: bool) -> Cow<'_, str> {
    let spans = scan::spans(text.as_bytes(), is_dotenv);
    if spans.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(scan::without(text, &spans)) }
}

/// Whether the text names a `.env` file.
pub fn names_dotenv(text: &str) -> bool {
    let text = text.as_bytes();
    let is_name = |at: usize| {
        let Some(after) = text[at..].strip_prefix(b".env") else { return false };
        let is_word = after.first().is_some_and(|byte| bytes::is_word(*byte));
        // The environment of a program, not a file.
        let is_code = text[..at].ends_with(b"process") || text[..at].ends_with(b"import.meta");
        !is_word && !is_code
    };
    let mut at = 0;
    while let (Some(dots), Some(letters)) = (Lanes::at(text, at), Lanes::at(text, at + 1)) {
        let mut both = dots.equal(b'.').bits() & letters.equal(b'e').bits();
        while both != 0 {
            if is_name(at + both.trailing_zeros() as usize) {
                return true;
            }
            both &= both - 1;
        }
        at += lanes::N;
    }
    (at..text.len()).any(is_name)
}

/// Whether nothing would be hidden.
pub fn is_clean(text: &str) -> bool {
    is_short_name(text)
        || recent::is_clean(text, |text| scan::spans(text.as_bytes(), false).is_empty())
}

/// A path or another key under which something is kept. Two keys stay two keys: a secret in it becomes its digest.
pub fn key(text: &str) -> Cow<'_, str> {
    if is_clean(text) {
        return Cow::Borrowed(text);
    }
    let clean = scan::without(text, &scan::spans(text.as_bytes(), false));
    Cow::Owned(format!("{clean}~{}", &checksum(text)[..12]))
}

/// Whether the text is a name, an id or a path that is shorter than any token. Most of what an event names is.
fn is_short_name(text: &str) -> bool {
    text.len() < forms::SHORTEST && text.bytes().all(|b| names::is_part(b) || b == b'/')
}
