//! One pass over the text of a JSON object: its keys, and each value as the text that it is. Nothing is built.
//!
//! Invariants: it is exactly as strict as `serde_json`, half a surrogate pair included. Nesting does not recurse.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use substrate_core::lanes::{self, Lanes};

/// Shows every key and value of an object to `each`, in order, and whether the value has no escapes. `None`: the text is no
/// JSON object.
pub(crate) fn object<'a>(text: &'a str, mut each: impl FnMut(&str, &'a str, bool)) -> Option<()> {
    let mut scan = Scan { bytes: text.as_bytes(), at: 0, n_escapes: 0 };
    scan.take(b'{')?;
    if scan.next()? == b'}' {
        return scan.end();
    }
    scan.at -= 1;
    loop {
        let n_before = scan.n_escapes;
        let key = scan.key()?;
        let key = match scan.n_escapes == n_before {
            true => Cow::Borrowed(text.get(key.0 + 1..key.1 - 1)?),
            false => unquoted(text.get(key.0..key.1)?)?,
        };
        scan.next()?;
        scan.at -= 1;
        let (from, n_before) = (scan.at, scan.n_escapes);
        scan.value()?;
        each(&key, text.get(from..scan.at)?, scan.n_escapes == n_before);
        match scan.next()? {
            b',' => {}
            b'}' => return scan.end(),
            _ => return None,
        }
    }
}

/// The text of a JSON string. Half of a surrogate pair becomes `�`s.
pub(crate) fn unquoted(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if !has_escape(inner.as_bytes()) {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<Unescaped>(json).ok().map(|text| Cow::Owned(text.0))
}

fn has_escape(text: &[u8]) -> bool {
    let mut at = 0;
    while let Some(block) = Lanes::at(text, at) {
        if block.equal(b'\\').first().is_some() {
            return true;
        }
        at += lanes::N;
    }
    text[at..].contains(&b'\\')
}

/// A string with its escapes resolved.
struct Unescaped(String);

impl<'de> Deserialize<'de> for Unescaped {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_bytes(Bytes)
    }
}

/// The bytes of a string, which `serde_json` hands out without insisting on whole surrogate pairs.
struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = Unescaped;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Unescaped(String::from_utf8_lossy(bytes).into_owned()))
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// How many escapes there were in strings so far.
    n_escapes: usize,
}

impl Scan<'_> {
    /// The next byte that is no space.
    fn next(&mut self) -> Option<u8> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Some(byte);
            }
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    /// Nothing may follow.
    fn end(&mut self) -> Option<()> {
        self.next().is_none().then_some(())
    }

    /// A key with its quotes, and the colon behind it.
    fn key(&mut self) -> Option<(usize, usize)> {
        self.take(b'"')?;
        let from = self.at - 1;
        self.string()?;
        let key = (from, self.at);
        self.take(b':')?;
        Some(key)
    }

    /// One value, however deep.
    fn value(&mut self) -> Option<()> {
        let mut open = Open::default();
        loop {
            match self.next()? {
                b'"' => self.string()?,
                b'{' if self.next()? != b'}' => {
                    self.at -= 1;
                    self.key()?;
                    open.push(true);
                    continue;
                }
                b'[' if self.next()? != b']' => {
                    self.at -= 1;
                    open.push(false);
                    continue;
                }
                b'{' | b'[' => {}
                b't' => self.word(b"rue")?,
                b'f' => self.word(b"alse")?,
                b'n' => self.word(b"ull")?,
                b'-' => {
                    let first = *self.bytes.get(self.at)?;
                    self.at += 1;
                    self.number(first)?;
                }
                first => self.number(first)?,
            }
            loop {
                let Some(in_object) = open.last() else { return Some(()) };
                match (self.next()?, in_object) {
                    (b',', true) => {
                        self.key()?;
                        break;
                    }
                    (b',', false) => break,
                    (b'}', true) | (b']', false) => open.pop(),
                    _ => return None,
                }
            }
        }
    }

    fn word(&mut self, rest: &[u8]) -> Option<()> {
        self.bytes.get(self.at..)?.starts_with(rest).then(|| self.at += rest.len())
    }

    /// What follows the first digit.
    fn number(&mut self, first: u8) -> Option<()> {
        match first {
            b'0' => {}
            b'1'..=b'9' => self.digits(),
            _ => return None,
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Some(())
    }

    fn digits(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Option<()> {
        let from = self.at;
        self.digits();
        (self.at > from).then_some(())
    }

    /// The rest of a string, behind its first quote.
    fn string(&mut self) -> Option<()> {
        'blocks: while let Some(block) = Lanes::at(self.bytes, self.at) {
            let found = block.equal(b'"') | block.equal(b'\\') | block.at_most(0x1f);
            let mut found = found.bits();
            while found != 0 {
                let place = found.trailing_zeros() as usize;
                let at = self.at + place;
                match (self.bytes[at], self.bytes.get(at + 1)) {
                    (b'"', _) => {
                        self.at = at + 1;
                        return Some(());
                    }
                    // A long text has one at the end of each line, so the block is not read again for it.
                    (b'\\', Some(b'n' | b'"' | b'\\' | b't')) if place + 2 < lanes::N => {
                        self.n_escapes += 1;
                        found &= u32::MAX << (place + 2);
                    }
                    (b'\\', _) => {
                        self.at = at + 1;
                        self.escape()?;
                        continue 'blocks;
                    }
                    _ => return None,
                }
            }
            self.at += lanes::N;
        }
        self.end_of_string()
    }

    /// The same for the last few bytes.
    fn end_of_string(&mut self) -> Option<()> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => return Some(()),
                b'\\' => self.escape()?,
                0..0x20 => return None,
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        self.n_escapes += 1;
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => {
                let digits = self.bytes.get(self.at..self.at + 4)?;
                self.at += 4;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(())
            }
            _ => None,
        }
    }
}

/// Which objects and lists are open: a bit each.
#[derive(Default)]
struct Open {
    bits: u64,
    n_bits: u32,
    deeper: Vec<u64>,
}

impl Open {
    fn push(&mut self, is_object: bool) {
        if self.n_bits == u64::BITS {
            self.deeper.push(self.bits);
            self.n_bits = 0;
        }
        self.bits = self.bits << 1 | u64::from(is_object);
        self.n_bits += 1;
    }

    fn pop(&mut self) {
        self.bits >>= 1;
        self.n_bits -= 1;
        if self.n_bits == 0
            && let Some(bits) = self.deeper.pop()
        {
            self.bits = bits;
            self.n_bits = u64::BITS;
        }
    }

    const fn last(&self) -> Option<bool> {
        if self.n_bits == 0 { None } else { Some(self.bits & 1 == 1) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde::de::IgnoredAny;
    use serde_json::value::RawValue;

    use super::*;

    /// Whether it is an object, by both readers; and both see the same.
    fn is_object(text: &str) -> bool {
        let mut ours = Vec::new();
        let is_object = object(text, |key, value, is_plain| {
            assert_eq!(is_plain, !value.contains('\\'), "{value}");
            ours.push((key.to_owned(), value.to_owned()));
        })
        .is_some();
        let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
        let begins = text.trim_start_matches([' ', '\n', '\t', '\r']).starts_with('{');
        assert_eq!(is_object, is_json && begins, "{text}");
        for (key, value) in ours.iter().filter(|_| is_object) {
            // A wrapper finds the end of a value by itself.
            let wrapped = format!("[{value}]");
            let [raw]: [&RawValue; 1] = serde_json::from_str(&wrapped).unwrap();
            assert_eq!(raw.get(), value);
            assert!(!key.contains('\u{0}') || text.contains("u0000"));
        }
        is_object
    }

    #[rstest]
    #[case::empty("{}", true)]
    #[case::spaces(" \n\t\r{ } ", true)]
    #[case::values(r#"{"a":1,"b":-0.5e+10,"c":[1,[],{}],"d":{"e":null},"f":true,"g":false}"#, true)]
    #[case::escapes(r#"{"a\u0041\ud83d\"":"\\\/\b\f\n\r\t\uDEAD"}"#, true)]
    #[case::spaces_between("{ \"a\" :\t1 ,\n\"b\" : [ 1 , 2 ] }", true)]
    #[case::huge_number(r#"{"a":1e999,"b":123456789012345678901234567890}"#, true)]
    #[case::list("[]", false)]
    #[case::nothing("", false)]
    #[case::leading_zero(r#"{"a":01}"#, false)]
    #[case::no_digit(r#"{"a":-}"#, false)]
    #[case::minus_twice(r#"{"a":--1}"#, false)]
    #[case::no_fraction(r#"{"a":1.}"#, false)]
    #[case::no_exponent(r#"{"a":1e}"#, false)]
    #[case::half_a_word(r#"{"a":tru}"#, false)]
    #[case::long_word(r#"{"a":nulll}"#, false)]
    #[case::comma_at_the_end(r#"{"a":1,}"#, false)]
    #[case::comma_in_a_list(r#"{"a":[1,]}"#, false)]
    #[case::no_comma(r#"{"a":1 "b":2}"#, false)]
    #[case::crossed(r#"{"a":[1}]"#, false)]
    #[case::more_behind("{} {}", false)]
    #[case::bad_escape(r#"{"a":"\x"}"#, false)]
    #[case::short_escape(r#"{"a":"\u12"}"#, false)]
    #[case::control("{\"a\":\"\u{1}\"}", false)]
    #[case::control_in_a_key("{\"\u{1f}\":1}", false)]
    #[case::open_string(r#"{"a":"b"#, false)]
    #[case::number_as_a_key("{1:1}", false)]
    fn a_text_is_an_object(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_object(text), expected);
    }

    #[test]
    fn a_string_ends_where_it_ends_wherever_that_is() {
        for n in 0..150 {
            for what in ["", "\\n", "\\\"", "\\u00e9", "é", "😀"] {
                let before = "x".repeat(n);
                for behind in ["", "y", "yyyyyyyy", &"y".repeat(70)] {
                    let value = format!("\"{before}{what}{behind}\"");
                    let text = format!("{{\"a\":{value},\"b\":2}}");
                    let mut seen = Vec::new();
                    object(&text, |_, value, _| seen.push(value.to_owned())).unwrap();
                    assert_eq!(seen, [value.as_str(), "2"]);
                }
            }
            assert!(!is_object(&format!("{{\"a\":\"{}\u{2}\"}}", "x".repeat(n))));
        }
    }

    #[test]
    fn depth_is_counted_beyond_one_word() {
        for n in [63, 64, 65, 128, 129, 1000] {
            let (open, close) = ("[{\"a\":".repeat(n), "}]".repeat(n));
            assert!(is_object(&format!("{{\"a\":{open}1{close}}}")));
            assert!(!is_object(&format!("{{\"a\":{open}1{close}]")));
        }
    }

    proptest! {
        #[test]
        fn both_readers_agree_on_anything_like_json(
            words in prop::collection::vec(prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"a\"", "\"", "\\", "\\u00", "1", "-", "0", ".", "e", "+", " ", "\n", "true",
                "null", "é", "\u{7f}", "\u{1f}", "\"session_id\":", "{}", "[]", "\"b\":1,",
            ]), 0..24),
        ) {
            is_object(&words.concat());
            is_object(&format!("{{\"a\":{}}}", words.concat()));
        }

        #[test]
        fn both_readers_agree_on_strings(text in any::<String>(), n in 0..40_usize) {
            let text = format!("{}{text}", "x".repeat(n));
            let json = serde_json::json!({ text.as_str(): text, "b": [text] }).to_string();
            prop_assert!(is_object(&json));
        }
    }
}
