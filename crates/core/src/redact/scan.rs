//! One pass over a text that finds what has to be hidden.
//!
//! Most bytes cost one look into a table. A word is looked at further if its first letters begin a known form, a `=`, a
//! `:` and a `-` if the name beside them announces a secret. Every look is bounded or moves the scan on, so the time is linear
//! in the text, whatever it is.

use std::sync::LazyLock;

use super::bytes::{
    Beginnings, ROLE, Role, after_blanks, four, is_json, is_quote, says, three, word_end,
};
use super::commands::{self, N_PROGRAMS};
use super::forms::{FORMS, Form};
use super::names::{self, Promise};
use super::skip::{is_flag_after, next};
use super::values::{self, Setting};
use super::{places, tokens};

/// A piece of the text, and what stands in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) instead: &'static str,
}

pub(super) const KEY: &str = "[key]";
pub(super) const TOKEN: &str = "[token]";
pub(super) const VALUE: &str = "[redacted]";
pub(super) const PRIVATE_KEY: &str = "[private key]";

/// Words that announce something without being a form.
const KEYWORDS: &[&str] = &[
    "bearer",
    "basic",
    "password",
    "passwd",
    "identified",
    "define",
    "eyJ",
    "PuTTY-User-Key-File",
];

/// The beginnings of all that a word can be.
pub(super) static BEGINNINGS: Beginnings = {
    let mut all = Beginnings::EMPTY;
    let mut n = 0;
    while n < FORMS.len() {
        all.add(FORMS[n].prefix);
        n += 1;
    }
    n = 0;
    while n < KEYWORDS.len() {
        all.add(KEYWORDS[n]);
        n += 1;
    }
    n = 0;
    while n < N_PROGRAMS {
        all.add(commands::name(n));
        n += 1;
    }
    all
};

/// Something that a word may begin.
#[derive(Clone, Copy, Debug)]
enum Anchor {
    Form(&'static Form),
    Keyword,
    Program(usize),
}

/// What begins with which three letters, in order.
static ANCHORS: LazyLock<Vec<(u32, Anchor)>> = LazyLock::new(|| {
    let gram = |word: &str| three(four(word.as_bytes()));
    let forms = FORMS.iter().map(|form| (gram(form.prefix), Anchor::Form(form)));
    let keywords = KEYWORDS.iter().map(|word| (gram(word), Anchor::Keyword));
    let programs = (0..N_PROGRAMS).map(|n| (gram(commands::name(n)), Anchor::Program(n)));
    let mut all: Vec<_> = forms.chain(keywords).chain(programs).collect();
    all.sort_by_key(|(gram, _)| *gram);
    all
});

/// The anchors that the word at `at` may be.
fn anchors(text: &[u8], at: usize) -> impl Iterator<Item = Anchor> {
    let gram = three(four(&text[at..]));
    let first = ANCHORS.partition_point(|(other, _)| *other < gram);
    ANCHORS[first..].iter().take_while(move |(other, _)| *other == gram).map(|(_, anchor)| *anchor)
}

/// Everything to hide, in the order of the text, without overlaps.
pub(super) fn spans(text: &[u8], is_dotenv: bool) -> Vec<Span> {
    let mut scan = Scan::new(text, is_dotenv);
    let mut at = 0;
    loop {
        at = next(text, at, is_dotenv);
        let Some(byte) = text.get(at) else { break };
        at = match ROLE[usize::from(*byte)] {
            Role::Plain => at + 1,
            Role::Backslash => after_escape(text, at),
            Role::Word => scan.word(at),
            Role::Initial => scan.initial(at),
            Role::Equals => scan.assignment(at),
            Role::Colon => scan.colon(at),
            Role::Dash => scan.dash(at),
            Role::Escape => after_colour(text, at + 1),
        };
    }
    merged(scan.found)
}

struct Scan<'a> {
    text: &'a [u8],
    found: Vec<Span>,
    is_dotenv: bool,
    commands: commands::Read,
    run: tokens::Run,
    next_sign: usize,
}

impl<'a> Scan<'a> {
    fn new(text: &'a [u8], is_dotenv: bool) -> Self {
        Self {
            text,
            found: Vec::new(),
            is_dotenv,
            commands: commands::Read::default(),
            run: tokens::Run::default(),
            next_sign: 0,
        }
    }

    fn hide(&mut self, start: usize, mut end: usize, instead: &'static str) -> usize {
        if end - start.min(end) >= values::LONGEST_QUOTED {
            end = values::open_end(self.text, end);
        }
        if start < end {
            self.found.push(Span { start, end, instead });
        }
        end
    }

    /// A word begins like something we know. Where the scan goes on.
    fn word(&mut self, at: usize) -> usize {
        self.known_word(at).unwrap_or_else(|| word_end(self.text, at + 1))
    }

    /// A word begins with a capital that some tokens have in place of a name.
    fn initial(&mut self, at: usize) -> usize {
        match tokens::without_prefix(self.text, at) {
            Some(end) => self.hide(at, end, KEY),
            None if BEGINNINGS.fit(&self.text[at..]) => self.word(at),
            None => word_end(self.text, at + 1),
        }
    }

    fn known_word(&mut self, at: usize) -> Option<usize> {
        let text = self.text;
        for anchor in anchors(text, at) {
            match anchor {
                Anchor::Form(form) => {
                    if let Some(end) = tokens::end(text, at, form) {
                        return Some(self.hide(at, end, KEY));
                    }
                }
                Anchor::Keyword => {
                    if text[at..].starts_with(b"eyJ") {
                        if let Some(end) = self.run.web_token(text, at) {
                            return Some(self.hide(at, end, TOKEN));
                        }
                    } else if let Some((start, end)) = places::after_keyword(text, at) {
                        return Some(self.hide(start, end, VALUE));
                    } else if let Some(end) = places::putty(text, at) {
                        return Some(self.hide(at, end, PRIVATE_KEY));
                    }
                }
                Anchor::Program(n) => {
                    let found = &mut self.found;
                    commands::passwords(text, at, n, &mut self.commands, |start, end| {
                        found.push(Span { start, end, instead: VALUE });
                    });
                }
            }
        }
        None
    }

    fn colon(&mut self, at: usize) -> usize {
        let text = self.text;
        match text.get(at + 1) {
            Some(b'/') if text.get(at + 2) == Some(&b'/') => {
                return match self.url_password(at + 3) {
                    Some((start, end)) => self.hide_value(start, end),
                    None => at + 3,
                };
            }
            Some(b':') => return at + 2,
            Some(b'A') => {
                if let Some((start, end)) = tokens::telegram(text, at) {
                    return self.hide(start, end, KEY);
                }
            }
            // After a quote there is no host.
            Some(b'0'..=b'9' | b'*') if at > 0 && !is_quote(text[at - 1]) => {
                if let Some((start, end)) = places::pgpass(text, at) {
                    return self.hide(start, end, VALUE);
                }
            }
            _ => {}
        }
        self.assignment(at)
    }

    /// Most URLs have no `@`, so the next one is remembered.
    fn url_password(&mut self, at: usize) -> Option<(usize, usize)> {
        if self.next_sign < at {
            let next = self.text[at..].iter().position(|b| *b == b'@');
            self.next_sign = next.map_or(usize::MAX, |next| at + next);
        }
        if self.next_sign > at + places::LONGEST_URL {
            return None;
        }
        places::url_password(self.text, at)
    }

    /// A `=` or a `:`.
    fn assignment(&mut self, at: usize) -> usize {
        let text = self.text;
        let Some(end) = name_end(text, at) else { return at + 1 };
        if !self.is_dotenv && names::says_nothing(text, end) {
            return at + 1;
        }
        let name = names::before(text, end);
        if name.len() < 2 && !self.is_dotenv {
            return at + 1;
        }
        if name.is_empty() {
            return at + 1;
        }
        if self.is_dotenv && text[at] == b'=' && places::is_variable(name) {
            let (start, end) = places::dotenv_value(text, at + 1);
            return self.hide(start, end, VALUE).max(at + 1);
        }
        if text[at] == b':'
            && end == at
            && name.contains(&b'.')
            && let Some((start, end)) = places::line_of_dotenv(text, at)
        {
            return self.hide(start, end, VALUE);
        }
        let Some(promise) = names::promise(name) else { return at + 1 };
        let signs =
            text[at..].iter().take(3).take_while(|b| matches!(b, b'=' | b':' | b'>')).count();
        let after = at + signs;
        match promise {
            Promise::Authorization => {
                if let Some((start, end)) = places::authorization(text, after) {
                    return self.hide(start, end, VALUE);
                }
                return after;
            }
            Promise::Cookie => {
                let found = &mut self.found;
                let end = places::cookies(text, after, |start, end| {
                    found.push(Span { start, end, instead: VALUE });
                });
                return end.max(after);
            }
            Promise::Password | Promise::Token | Promise::Perhaps => {}
        }
        let is_spaced = text.get(after).is_some_and(|b| matches!(b, b' ' | b'\t'))
            || end < at && text[at - 1] == b' ';
        // Inside a string of JSON, a quote without an escape is the end of it.
        if end == at && is_json(text) && text.get(after) == Some(&b'"') {
            return after;
        }
        let Some(value) = values::read(text, after) else { return after };
        if !values::is_secret(text, value, Setting { name, promise, is_spaced }) {
            return after;
        }
        self.hide_value(value.start, value.end)
    }

    /// Hides a value; what has a name of its own (a key, a URL) is named so.
    fn hide_value(&mut self, start: usize, end: usize) -> usize {
        let text = self.text;
        let is_key = form_end(text, start) == Some(end);
        self.hide(start, end, if is_key { KEY } else { VALUE })
    }

    /// A `-`: a flag, a block of a key, or nothing.
    fn dash(&mut self, at: usize) -> usize {
        let text = self.text;
        let before = at.checked_sub(1).map_or(b' ', |before| text[before]);
        let is_flag = is_flag_after(before);
        // Between two words.
        if !is_flag && !matches!(text.get(at + 1), Some(b'-' | b'u')) {
            return at + 1;
        }
        if text[at..].starts_with(b"-----BEGIN ") {
            return match places::key_block(text, at) {
                Some(end) => self.hide(at, end, PRIVATE_KEY),
                None => at + 11,
            };
        }
        if text[at + 1..].starts_with(b"us")
            && let Some((start, end)) = tokens::mailchimp(text, at)
        {
            return self.hide(start, end, KEY);
        }
        let dashes = text[at..].iter().take(8).take_while(|b| **b == b'-').count();
        let start = at + dashes;
        if !is_flag || dashes > 2 {
            return start;
        }
        let len = text[start..]
            .iter()
            .take(64)
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
            .count();
        let name = &text[start..start + len];
        if len < 3 {
            return start;
        }
        if name.ends_with(b"password-stdin")
            && let Some((start, end)) = places::echoed(text, at)
        {
            self.hide(start, end, VALUE);
        }
        let end = start + len;
        let Some(after) = places::after_flag(text, end) else { return start };
        // `-psecret` is the flag `p`, `-password` is a long one.
        let is_long = dashes == 2
            || ["pass", "token", "secret", "api", "auth"].iter().any(|word| says(name, 0, word));
        let promised = names::promise(name).filter(|_| is_long);
        let Some(promise @ (Promise::Password | Promise::Token)) = promised else {
            return start;
        };
        let Some(value) = values::read(text, after) else { return end };
        let said = &text[value.start..value.end];
        let is_other = said.starts_with(b"-") || places::is_prose(said);
        let setting = Setting { name: b"FLAG", promise, is_spaced: false };
        if is_other || !values::is_secret(text, value, setting) {
            return end;
        }
        self.hide_value(value.start, value.end)
    }
}

/// The end of the token at `at`, if it has one of the forms.
fn form_end(text: &[u8], at: usize) -> Option<usize> {
    let mut anchors = anchors(text, at).filter(|_| BEGINNINGS.fit(&text[at..]));
    anchors.find_map(|anchor| match anchor {
        Anchor::Form(form) => tokens::end(text, at, form),
        Anchor::Keyword | Anchor::Program(_) => None,
    })
}

/// Where the name ends that stands before a `=` or `:`, past blanks, quotes and brackets.
pub(super) fn name_end(text: &[u8], at: usize) -> Option<usize> {
    let mut end = at;
    if end > 0 && names::is_part(text[end - 1]) {
        return Some(end);
    }
    if end > 0 && matches!(text[end - 1], b'!' | b'+' | b'?' | b':') {
        end -= 1;
    }
    let mut n_blanks = 0;
    while end > 0 && matches!(text[end - 1], b' ' | b'\t') {
        end -= 1;
        n_blanks += 1;
        if n_blanks > 32 {
            return None;
        }
    }
    let mut n_signs = 0;
    while end > 0 && (is_quote(text[end - 1]) || matches!(text[end - 1], b']' | b'\\')) {
        end -= 1;
        n_signs += 1;
        if n_signs > 8 {
            return None;
        }
    }
    Some(end)
}

/// After an escape of JSON or of a shell, a word may begin at once: `\nghp_…`.
fn after_escape(text: &[u8], at: usize) -> usize {
    match text.get(at + 1) {
        Some(b'n' | b'r' | b't' | b'b' | b'f') => at + 2,
        Some(b'u') if says(text, at + 2, "001b") => after_colour(text, at + 6),
        Some(b'x') if says(text, at + 2, "1b") => after_colour(text, at + 4),
        Some(b'u')
            if text
                .get(at + 2..at + 6)
                .is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit)) =>
        {
            at + 6
        }
        _ => at + 1,
    }
}

/// After the rest of an escape sequence of a terminal: `[31m`.
fn after_colour(text: &[u8], at: usize) -> usize {
    if text.get(at) != Some(&b'[') {
        return at;
    }
    let n =
        text[at + 1..].iter().take(16).take_while(|b| b.is_ascii_digit() || **b == b';').count();
    let is_ended = text.get(at + 1 + n).is_some_and(u8::is_ascii_alphabetic);
    if is_ended { at + 2 + n } else { at + 1 }
}

/// In order, and of two that overlap only what the first leaves.
fn merged(mut found: Vec<Span>) -> Vec<Span> {
    if found.len() < 2 {
        return found;
    }
    found.sort_by_key(|span| (span.start, usize::MAX - span.end));
    let mut out: Vec<Span> = Vec::with_capacity(found.len());
    for mut span in found {
        if let Some(last) = out.last() {
            if span.end <= last.end {
                continue;
            }
            span.start = span.start.max(last.end);
        }
        out.push(span);
    }
    out
}

/// The text without its spans.
pub(super) fn without(text: &str, spans: &[Span]) -> String {
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    for span in spans {
        out.extend_from_slice(&bytes[at..span.start]);
        out.extend_from_slice(span.instead.as_bytes());
        at = span.end;
    }
    out.extend_from_slice(&bytes[at..]);
    String::from_utf8(out)
        .unwrap_or_else(|broken| String::from_utf8_lossy(broken.as_bytes()).into_owned())
}

/// For `places`: the value after blanks at `at`.
pub(super) fn word_after(text: &[u8], at: usize) -> Option<values::Value> {
    let next = after_blanks(text, at);
    (next > at).then(|| values::read(text, next)).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::skip::{is_known_beginning, may_begin, passed};
    use super::*;

    /// What `next` does, one byte after the other.
    fn by_bytes(text: &[u8], mut at: usize, is_dotenv: bool) -> usize {
        while at < text.len() {
            match ROLE[usize::from(text[at])] {
                Role::Plain => at += 1,
                Role::Word | Role::Initial => {
                    let after = text.get(at + 1).copied().unwrap_or(0);
                    if may_begin(text[at], after) && is_known_beginning(text, at) {
                        return at;
                    }
                    at = word_end(text, at + 1);
                }
                _ => match passed(text, at, is_dotenv) {
                    0 => return at,
                    n => at += n,
                },
            }
        }
        at
    }

    /// What `Scan` would do at a sign that is passed.
    fn looked_at(text: &[u8], at: usize, is_dotenv: bool) -> (usize, usize) {
        let mut scan = Scan::new(text, is_dotenv);
        let next = match ROLE[usize::from(text[at])] {
            Role::Equals => scan.assignment(at),
            Role::Colon => scan.colon(at),
            Role::Dash => scan.dash(at),
            _ => after_escape(text, at).max(at + 2),
        };
        (next - at, scan.found.len())
    }

    proptest! {
        #[test]
        fn many_bytes_at_once_are_read_as_one_by_one(
            words in prop::collection::vec(prop::sample::select(vec![
                "word", "a_b9", "ghp_", "sk-", "Sum", "MTk", "=", ":", "::", "-", "--", "\\n", "\\\"", "\\", "\u{1b}[31m", " ",
                "bearer", "eyJ", ".", "é", "curl", "\n", "x", "(", "pass", "pw", "//", "5432", "*", "\"", "us12", "A",
            ]), 0..60),
            is_dotenv: bool,
        ) {
            let text = words.concat().into_bytes();
            for at in 0..=text.len() {
                prop_assert_eq!(next(&text, at, is_dotenv), by_bytes(&text, at, is_dotenv), "from {}", at);
                let sign = text.get(at).filter(|byte| b"=:-\\".contains(byte));
                if sign.is_some() && let n @ 1.. = passed(&text, at, is_dotenv) {
                    prop_assert_eq!((n, 0), looked_at(&text, at, is_dotenv), "at {}", at);
                }
            }
        }
    }
}
