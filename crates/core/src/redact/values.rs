//! The value that follows a name, and whether it is one that must be hidden.

use super::bytes::{
    Beginnings, Mix, after_blanks, entropy, is_basic, is_json, is_quote, line_end, says,
};
use super::names::Promise;

/// Where a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) is_quoted: bool,
}

/// How the value was assigned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'a> {
    pub(super) name: &'a [u8],
    pub(super) promise: Promise,
    /// There are blanks between name and value.
    pub(super) is_spaced: bool,
}

/// A value is judged by its first bytes.
const LOOKED_AT: usize = 256;

/// A quoted value longer than this ends with its line. A scan that hides that much hides the rest of the line too.
pub(super) const LONGEST_QUOTED: usize = 16 * 1_024;

/// JSON in JSON in JSON has this many backslashes before a quote.
const MOST_ESCAPES: usize = 7;

/// The value at `at`, after blanks. None where something else stands: a structure, a reference, the end of the line.
pub(super) fn read(text: &[u8], at: usize) -> Option<Value> {
    let at = after_blanks(text, at);
    let mut open = at;
    // `b"…"`, `f'…'`, `@"…"`: the mark before the quote.
    if text.get(open).is_some_and(|b| b.is_ascii_alphabetic() || *b == b'@')
        && text.get(open + 1).is_some_and(|b| is_quote(*b))
    {
        open += 1;
    }
    if let Some(value) = quoted(text, open) {
        return Some(value);
    }
    bare(text, at)
}

/// A value in quotes; in JSON text the quotes are escaped, perhaps more than once.
pub(super) fn quoted(text: &[u8], at: usize) -> Option<Value> {
    let escapes = text.get(at..)?.iter().take(MOST_ESCAPES);
    let n_escapes = escapes.take_while(|b| **b == b'\\').count();
    let quote = *text.get(at + n_escapes).filter(|b| is_quote(**b))?;
    // In JSON a string begins after one of these signs; any other quote ends one.
    if n_escapes % 2 == 0 && quote == b'"' && is_json(text) {
        if n_escapes > 0 {
            return None;
        }
        let before = text[..at].trim_ascii_end().last();
        before.filter(|b| matches!(b, b':' | b',' | b'[' | b'{'))?;
    }
    let start = at + n_escapes + 1;
    let limit = text.len().min(start + LONGEST_QUOTED);
    // A quote without an escape ends the string of the JSON that the value is in.
    let ends_json = (quote != b'"' || n_escapes > 0) && is_json(text);
    let mut n_before = 0;
    for (n, byte) in text[start..limit].iter().enumerate() {
        if ends_json && *byte == b'"' && n_before % 2 == 0 {
            return Some(Value { start, end: start + n, is_quoted: true });
        }
        if n_escapes == 0 && *byte == quote && n_before % 2 == 0 {
            return Some(Value { start, end: start + n, is_quoted: true });
        }
        if *byte == quote && n_escapes > 0 && n_before <= n_escapes {
            // The escapes of the closing quote are not part of the value.
            return Some(Value { start, end: start + n - n_before.min(n), is_quoted: true });
        }
        n_before = if *byte == b'\\' { n_before + 1 } else { 0 };
    }
    Some(Value { start, end: open_end(&text[..limit], start), is_quoted: true })
}

/// Where a value ends whose quote is never closed: with its line, or at the next quote.
pub(super) fn open_end(text: &[u8], start: usize) -> usize {
    let ends = |n: &usize| match text[*n] {
        b'\n' | b'\r' => true,
        b'\\' => matches!(text.get(n + 1), Some(b'n' | b'r')),
        byte => is_quote(byte),
    };
    let end = (start..text.len()).find(ends).unwrap_or(text.len());
    // What was JSON stays JSON: the escapes belong to the quote.
    let is_cut = is_json(text) && text.get(end).is_some_and(|b| is_quote(*b));
    let escapes = text[start..end].iter().rev().take_while(|b| is_cut && **b == b'\\');
    end - escapes.count()
}

fn bare(text: &[u8], start: usize) -> Option<Value> {
    let first = *text.get(start)?;
    let is_reference = match first {
        b'$' => !text.get(start + 1).is_some_and(u8::is_ascii_digit),
        b'(' | b'{' | b'[' | b'<' | b'&' | b'|' | b',' | b';' | b')' | b'}' | b']' => true,
        _ => false,
    };
    if is_reference {
        return None;
    }
    let end = bare_end(text, start);
    (end > start).then_some(Value { start, end, is_quoted: false })
}

/// Where a word ends that is not quoted.
pub(super) fn bare_end(text: &[u8], start: usize) -> usize {
    let ends = |at: usize| match text[at] {
        b if b.is_ascii_whitespace() || is_quote(b) => true,
        b',' | b';' | b'&' | b'|' | b')' | b'}' | b']' | 0x1b => true,
        b'\\' => text.get(at + 1).is_none_or(|next| {
            is_quote(*next) || matches!(next, b'n' | b'r' | b't' | b'u' | b'\\')
        }),
        _ => false,
    };
    (start..text.len()).find(|at| ends(*at)).unwrap_or(text.len())
}

/// Whether the value is a secret, as far as its name and its looks say.
pub(super) fn is_secret(text: &[u8], value: Value, setting: Setting<'_>) -> bool {
    let whole = &text[value.start..value.end];
    let seen = &whole[..whole.len().min(LOOKED_AT)];
    if seen.len() < 3
        || !seen.iter().any(u8::is_ascii_alphanumeric)
        || is_placeholder(seen, setting.name)
    {
        return false;
    }
    let mix = Mix::of(seen);
    match setting.promise {
        Promise::Perhaps => is_basic(seen) || is_random(seen, mix, 16, value.is_quoted),
        Promise::Password | Promise::Authorization | Promise::Cookie => {
            is_password(text, value, seen, mix, setting)
        }
        Promise::Token => is_token(text, value, seen, mix, setting),
    }
}

fn is_password(text: &[u8], value: Value, seen: &[u8], mix: Mix, setting: Setting<'_>) -> bool {
    if value.is_quoted {
        return !is_sentence(seen);
    }
    !is_expression(text, value, seen, mix, setting)
}

fn is_token(text: &[u8], value: Value, seen: &[u8], mix: Mix, setting: Setting<'_>) -> bool {
    let is_number =
        seen.iter().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'_' | b':' | b'-' | b','));
    if is_number && seen.len() < 16 {
        return false;
    }
    let is_mixed = mix.has_digit || mix.has_other || (mix.has_upper && mix.has_lower);
    if value.is_quoted {
        return !seen.contains(&b' ') && (seen.len() >= 16 || (is_mixed && seen.len() >= 4));
    }
    // A name with a dash is a header's or a setting's, never a variable of code.
    let is_header = setting.name.contains(&b'-') && seen.len() >= 16;
    if setting.is_spaced && is_header {
        return !is_call(seen) && (!seen.contains(&b'/') || is_random(seen, mix, 8, false));
    }
    if setting.is_spaced {
        return is_random(seen, mix, 8, false) && !is_call(seen);
    }
    !is_expression(text, value, seen, mix, setting)
}

/// Something that a program would look up or compute, or a type, rather than the value itself.
fn is_expression(text: &[u8], value: Value, seen: &[u8], mix: Mix, setting: Setting<'_>) -> bool {
    if is_call(seen) {
        return true;
    }
    let is_identifier = seen.iter().all(|b| b.is_ascii_alphabetic() || *b == b'_');
    let is_constant = !setting.name.iter().any(u8::is_ascii_lowercase);
    if !is_identifier {
        // `user.password`, `Vec<u8>`: code, unless there is a digit or a sign that no name has.
        let is_code = |b: &u8| b.is_ascii_alphanumeric() || b"_.<>:&?!*'".contains(b);
        return !is_constant
            && seen.iter().all(is_code)
            && !mix.has_digit
            && !seen.ends_with(b"!")
            && (setting.is_spaced
                || text.get(value.end).is_some_and(|b| matches!(b, b',' | b')')));
    }
    if is_constant {
        return false;
    }
    if !setting.is_spaced {
        return text.get(value.end).is_some_and(|b| matches!(b, b',' | b')'))
            || (seen[0].is_ascii_uppercase() && seen.len() < 12);
    }
    // A line of its own in a file of settings, or code?
    let is_line = value.end == line_end(&text[..text.len().min(value.end + 2)], value.end);
    !is_line || !seen[0].is_ascii_lowercase() || seen.contains(&b'_') || is_type(seen)
}

fn is_call(seen: &[u8]) -> bool {
    let name = seen.iter().take_while(|b| b.is_ascii_alphanumeric() || b"_.:".contains(b)).count();
    name > 0 && matches!(seen.get(name), Some(b'(' | b'[' | b'{'))
}

fn is_type(seen: &[u8]) -> bool {
    const TYPES: &[&[u8]] = &[
        b"str",
        b"string",
        b"bytes",
        b"bool",
        b"boolean",
        b"int",
        b"integer",
        b"number",
        b"any",
        b"object",
        b"text",
        b"varchar",
        b"char",
        b"unknown",
        b"never",
        b"void",
        b"uuid",
        b"symbol",
        b"float",
        b"double",
        b"invalid",
        b"missing",
        b"expired",
        b"incorrect",
        b"wrong",
        b"accepted",
        b"rejected",
        b"denied",
        b"failed",
        b"ok",
    ];
    TYPES.contains(&seen)
}

/// Words for people, not a password that has blanks.
fn is_sentence(seen: &[u8]) -> bool {
    const TELL: &[&str] = &[
        "password",
        "please",
        "enter",
        "your",
        "must",
        "invalid",
        "required",
        "the ",
        "secret",
        "incorrect",
        "characters",
        "forgot",
        "cannot",
        "failed",
    ];
    static BEGINNINGS: Beginnings = Beginnings::of(TELL);
    seen.contains(&b' ')
        && (0..seen.len())
            .any(|at| BEGINNINGS.fit(&seen[at..]) && TELL.iter().any(|word| says(seen, at, word)))
}

/// Words that mean "none".
const NONE: &[&str] = &[
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "yes",
    "no",
    "string",
    "str",
    "optional",
    "required",
    "redacted",
    "hidden",
    "masked",
    "unset",
    "empty",
    "password",
    "secret",
    "token",
    "prompt",
    "self",
    "this",
    "example",
    "include",
    "omit",
    "same-origin",
    "placeholder",
    "todo",
    "enabled",
    "disabled",
    "default",
    "inherit",
    "write",
    "read",
    "text",
];

/// How references and examples begin.
const BEGINNINGS: &[&str] = &[
    "[",
    "<",
    "${",
    "$(",
    "{{",
    "%(",
    "%s",
    "{%",
    "your",
    "env.",
    "process.env",
    "os.environ",
    "os.getenv",
    "secrets.",
    "vars.",
    "config.",
    "settings.",
    "self.",
    "this.",
    "args.",
    "env[",
    "xxx",
    "...",
    "***",
    "op://",
    "vault:",
    "ref+",
    "arn:aws:",
    "/run/secrets/",
    "file:",
    "sha256:",
    "sha512-",
    "sha1-",
    "projects/",
];

/// Placeholders in examples, and words that mean "none".
fn is_placeholder(seen: &[u8], name: &[u8]) -> bool {
    let Ok(seen) = std::str::from_utf8(seen) else { return false };
    let mut small = [0; 32];
    let n = seen.len().min(32);
    small[..n].copy_from_slice(&seen.as_bytes()[..n]);
    small.make_ascii_lowercase();
    let small = &small[..n];
    let first = small[0];
    seen.as_bytes().iter().all(|b| b.eq_ignore_ascii_case(&first))
        || (seen.len() < 32 && NONE.iter().any(|none| none.as_bytes() == small))
        || BEGINNINGS.iter().any(|beginning| {
            beginning.as_bytes()[0] == first && small.starts_with(beginning.as_bytes())
        })
        || (first == b'$'
            && seen.as_bytes()[1].is_ascii_alphabetic()
            && !seen[1..].contains('$')
            && is_variable(seen))
        || seen.ends_with("...")
        || seen.ends_with('…')
        || (seen.as_bytes().contains(&b'[') && is_hidden(seen))
        || seen.as_bytes().eq_ignore_ascii_case(name)
}

fn is_hidden(seen: &str) -> bool {
    seen.contains("[redacted]") || seen.contains("[key]")
}

/// `$NAME`, as a shell writes it.
fn is_variable(seen: &str) -> bool {
    seen[1..].bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether the value looks as if a machine had made it up.
pub(super) fn is_random(seen: &[u8], mix: Mix, at_least: usize, is_quoted: bool) -> bool {
    if seen.len() < at_least || seen.contains(&b' ') {
        return false;
    }
    let is_path = seen.iter().filter(|b| **b == b'/').count() * 12 > seen.len()
        || seen.starts_with(b"/")
        || seen.windows(3).any(|three| three == b"://");
    let has_letter = mix.has_lower || mix.has_upper;
    let is_uuid = seen.len() == 36 && seen.iter().filter(|b| **b == b'-').count() == 4;
    // Digests have small letters only, and a name that promises little is often beside one.
    let is_hex = seen.iter().all(u8::is_ascii_hexdigit);
    let is_dashed =
        seen.iter().filter(|b| matches!(b, b'-' | b'_' | b'.' | b':')).count() * 8 > seen.len();
    if is_path || is_uuid || (at_least > 8 && (is_hex || is_dashed)) || (is_dashed && !is_quoted) {
        return false;
    }
    mix.has_digit && has_letter && entropy(seen) >= if is_hex { 2.5 } else { 2.7 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::names;
    use rstest::rstest;

    #[rstest]
    #[case::env("DB_PASS=", "hunter2", true)]
    #[case::constant("DB_PASS=", "hunter", true)]
    #[case::ini("password = ", "hunter2", true)]
    #[case::yaml_line("password: ", "correcthorse", true)]
    #[case::python_type("password: ", "str", false)]
    #[case::rust_type("password: ", "Option<String>,", false)]
    #[case::keyword_argument("password=", "password)", false)]
    #[case::member("password = ", "self.password", false)]
    #[case::call("token = ", "next_token(reader)", false)]
    #[case::count("token: ", "4096", false)]
    #[case::variable("PASSWORD=", "\"$PASSWORD\"", false)]
    #[case::environment("token = ", "process.env.TOKEN", false)]
    #[case::quoted("password = ", "\"correct horse battery\"", true)]
    #[case::label("password = ", "\"Please enter your password\"", false)]
    #[case::digest(
        "key: ",
        "3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b",
        false
    )]
    #[case::docker("auth: ", "\"dXNlcjpwYXNzd29yZA==\"", true)]
    fn a_value_is_judged(#[case] before: &str, #[case] value: &str, #[case] expected: bool) {
        let text = format!("{before}{value}");
        let name = names::before(before.as_bytes(), before.find(['=', ':', ' ']).unwrap());
        let promise = names::promise(name).unwrap();
        let setting = Setting { name, promise, is_spaced: before.ends_with(' ') };
        let found = read(text.as_bytes(), before.len())
            .is_some_and(|value| is_secret(text.as_bytes(), value, setting));
        assert_eq!(found, expected);
    }
}
