//! Places where secrets stand without a form: URLs, headers, blocks of keys, files of passwords.

use super::bytes::{Mix, after_blanks, is_basic, is_escaped, is_json, is_quote, line_end, says};
use super::names;
use super::scan::word_after;
use super::values;

type Piece = (usize, usize);

/// The end of the block of a private key that begins at `at`, or of the text. Blocks of other kinds are public.
pub(super) fn key_block(text: &[u8], at: usize) -> Option<usize> {
    let head = &text[at..text.len().min(at + 80)];
    let label = head
        .get(11..)?
        .iter()
        .take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || **b == b' ')
        .count();
    let label = &head[11..11 + label];
    if !label.windows(11).any(|word| word == b"PRIVATE KEY") {
        return None;
    }
    let body = at + 11 + label.len();
    let text = if is_json(text) { &text[..text_end(text, body)] } else { text };
    let end = find(text, body, b"-----END ").map(|end| end + 9);
    let dashes = end.and_then(|end| find(&text[..text.len().min(end + 80)], end, b"-----"));
    Some(dashes.map_or_else(|| text_end(text, body), |dashes| dashes + 5))
}

/// The end of the text, or of the string that it is in: what is left must still be JSON.
fn text_end(text: &[u8], at: usize) -> usize {
    let is_end = |n: &usize| text[*n] == b'"' && !is_escaped(text, *n);
    (at..text.len()).find(is_end).unwrap_or(text.len())
}

/// A key file of PuTTY, to the end of its text.
pub(super) fn putty(text: &[u8], at: usize) -> Option<usize> {
    says(text, at, "PuTTY-User-Key-File-").then(|| text_end(text, at))
}

fn find(text: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    text[from..].windows(what.len()).position(|found| found == what).map(|n| from + n)
}

/// How much of a URL is looked at for its password.
pub(super) const LONGEST_URL: usize = 192;

/// The password of the URL whose `://` ends at `at`. It may have `@` and `/` in it: the last `@` before a host counts.
pub(super) fn url_password(text: &[u8], at: usize) -> Option<Piece> {
    let url = &text[at..text.len().min(at + LONGEST_URL)];
    let ends = |b: &u8| {
        b.is_ascii_whitespace() || is_quote(*b) || matches!(b, b'<' | b'>' | b'\\' | b'|' | b')')
    };
    let url = &url[..url.iter().position(ends).unwrap_or(url.len())];
    let user = url.iter().position(|b| matches!(b, b':' | b'@' | b'/' | b'?' | b'#'))?;
    match url[user] {
        b'@' => {
            // `https://TOKEN@host`: a name of people is short, or has no digits.
            let name = &url[..user];
            values::is_random(name, Mix::of(name), 20, true).then_some((at, at + user))
        }
        b':' => {
            let rest = &url[user + 1..];
            let is_host = |from: usize| {
                rest.get(from).is_some_and(|b| {
                    b.is_ascii_alphanumeric() || matches!(b, b'[' | b'$' | b'{' | b'_')
                })
            };
            let sign = rest
                .iter()
                .enumerate()
                .rev()
                .find(|(n, b)| **b == b'@' && is_host(n + 1))
                .map(|(n, _)| n);
            let sign =
                sign.or_else(|| rest.last().filter(|b| **b == b'@').map(|_| rest.len() - 1))?;
            let password = &rest[..sign];
            let is_port = password
                .iter()
                .position(|b| matches!(b, b'/' | b'?' | b'#'))
                .is_some_and(|n| n > 0 && password[..n].iter().all(u8::is_ascii_digit));
            let is_reference = password.starts_with(b"$")
                || password.starts_with(b"{")
                || password.starts_with(b"%(");
            let is_empty =
                password.is_empty() || password == b"*" || password.iter().all(|b| *b == b'*');
            (!is_port && !is_reference && !is_empty)
                .then_some((at + user + 1, at + user + 1 + sign))
        }
        _ => None,
    }
}

/// After `Authorization:`, the credentials; the scheme stays.
pub(super) fn authorization(text: &[u8], at: usize) -> Option<Piece> {
    let at = after_blanks(text, at);
    let value = match values::quoted(text, at) {
        Some(value) => value,
        None => {
            let end = header_end(text, at, at + LONGEST_HEADER);
            values::Value { start: at, end, is_quoted: false }
        }
    };
    let said = &text[value.start..value.end];
    let scheme =
        said.iter().take(24).take_while(|b| b.is_ascii_alphanumeric() || **b == b'-').count();
    let (start, is_schemed) = match said.get(scheme) {
        Some(b' ') if scheme > 1 => (after_blanks(text, value.start + scheme), true),
        _ => (value.start, false),
    };
    let credentials = &text[start..value.end];
    let is_reference = credentials.starts_with(b"$")
        || credentials.starts_with(b"{")
        || credentials.starts_with(b"<")
        || credentials.starts_with(b"%");
    if credentials.len() < 4 || is_reference {
        return None;
    }
    let mut n_blanks = 0;
    let (mut has_equals, mut is_call) = (false, false);
    for byte in credentials {
        n_blanks += usize::from(*byte == b' ');
        has_equals |= *byte == b'=';
        is_call |= matches!(byte, b'(' | b'{');
    }
    let is_prose = n_blanks > 1 && !has_equals;
    let mix = Mix::of(credentials);
    let has_sign = mix.has_other && n_blanks == 0;
    let is_mixed = mix.has_digit || has_sign || (mix.has_upper && mix.has_lower);
    let is_word = !is_mixed && credentials.len() < 24;
    if is_prose || is_call || is_word || (!is_schemed && !mix.has_digit && !value.is_quoted) {
        return None;
    }
    Some((start, if value.is_quoted { value.end } else { header_end(text, start, text.len()) }))
}

/// How much of a header is looked at before it is known to be one.
const LONGEST_HEADER: usize = 128;

fn header_end(text: &[u8], at: usize, limit: usize) -> usize {
    let limit = limit.min(text.len());
    let ends = |b: &u8| matches!(b, b'"' | b'\'' | b'`' | b'\n' | b'\r' | b'\\');
    text[at..limit].iter().position(ends).map_or(limit, |n| at + n)
}

/// The values of the pairs of a cookie; its attributes stay. Where the header ends.
pub(super) fn cookies(text: &[u8], at: usize, mut found: impl FnMut(usize, usize)) -> usize {
    const ATTRIBUTES: [&str; 6] = ["path", "domain", "expires", "max-age", "samesite", "version"];
    let mut at = after_blanks(text, at);
    if let Some(value) = values::quoted(text, at) {
        at = value.start;
    }
    loop {
        let name = text[at..]
            .iter()
            .take(128)
            .take_while(|b| {
                b.is_ascii_graphic()
                    && !matches!(b, b'=' | b';' | b'"' | b'\'' | b'\\' | b',' | b'(')
            })
            .count();
        let is_pair = name > 0 && text.get(at + name) == Some(&b'=');
        let end = if is_pair {
            let start = at + name + 1;
            let ends = |b: &u8| {
                b.is_ascii_whitespace() || matches!(b, b';' | b'"' | b'\'' | b'`' | b'\\' | b',')
            };
            let end = text[start..].iter().position(ends).map_or(text.len(), |n| start + n);
            let is_attribute =
                ATTRIBUTES.iter().any(|word| says(text, at, word) && word.len() == name);
            let is_reference = matches!(text.get(start), Some(b'$' | b'{' | b'<' | b'='));
            if !is_attribute && !is_reference && end > start + 1 {
                found(start, end);
            }
            end
        } else {
            at + name
        };
        if text.get(end) != Some(&b';') {
            return end;
        }
        at = after_blanks(text, end + 1);
    }
}

/// `Bearer x`, `Basic x`, `password "x"`, `IDENTIFIED BY 'x'`, and the `password x` of a `.netrc`.
pub(super) fn after_keyword(text: &[u8], at: usize) -> Option<Piece> {
    if says(text, at, "bearer ") || says(text, at, "basic ") {
        let is_bearer = matches!(text[at + 1], b'e' | b'E');
        let start = after_blanks(text, at + if is_bearer { 7 } else { 6 });
        let is_part = |b: &&u8| b.is_ascii_alphanumeric() || b"._~+/=-".contains(b);
        let len = text[start..].iter().take_while(is_part).count();
        let said = &text[start..start + len];
        let mix = Mix::of(said);
        let is_token = len >= 8 && (mix.has_digit || (mix.has_upper && mix.has_lower && len >= 20));
        return if is_bearer { is_token } else { is_basic(said) }.then_some((start, start + len));
    }
    if says(text, at, "define(") {
        return defined(text, at + 7);
    }
    if says(text, at, "identified by ") || says(text, at, "identified with ") {
        let line = &text[..text.len().min(at + 128)];
        let line = &line[..line_end(line, at)];
        let quote = (at + 13..line.len()).find(|n| is_quote(line[*n]));
        return quote
            .and_then(|quote| values::quoted(text, quote))
            .filter(|value| value.end > value.start)
            .map(|value| (value.start, value.end));
    }
    let len =
        ["password", "passwd"].iter().find(|word| says(text, at, word)).map(|word| word.len())?;
    let value = word_after(text, at + len)?;
    let said = &text[value.start..value.end];
    if said.len() < 3 || said.starts_with(b"$") {
        return None;
    }
    let setting =
        values::Setting { name: b"password", promise: names::Promise::Password, is_spaced: true };
    let is_it = if value.is_quoted {
        !said.contains(&b' ') && values::is_secret(text, value, setting)
    } else {
        is_netrc(text, at)
    };
    is_it.then_some((value.start, value.end))
}

/// Whether `machine NAME login NAME` stands before, or `default login NAME`.
fn is_netrc(text: &[u8], at: usize) -> bool {
    let before = &text[at.saturating_sub(200)..at];
    let mut words = before.rsplit(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let (_user, login) = (words.next(), words.next());
    let is_file = |word: &[u8]| word.ends_with(b"machine") || word.ends_with(b"default");
    login.is_some_and(|word| word.ends_with(b"login")) && words.take(2).any(is_file)
}

/// `define('NAME', 'value')`.
fn defined(text: &[u8], at: usize) -> Option<Piece> {
    let name = values::quoted(text, at)?;
    let promise = names::promise(text.get(name.start..name.end.min(name.start + 64))?)?;
    let rest = &text[name.end..text.len().min(name.end + 16)];
    let comma = rest.iter().position(|b| *b == b',')?;
    let value = values::quoted(text, after_blanks(text, name.end + comma + 1))?;
    let setting = values::Setting { name: b"DEFINE", promise, is_spaced: false };
    values::is_secret(text, value, setting).then_some((value.start, value.end))
}

/// A line of a `.pgpass`: `host:port:database:user:password`. `at` is the first colon.
pub(super) fn pgpass(text: &[u8], at: usize) -> Option<Piece> {
    let is_host =
        |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'*' | b'/');
    let host = text[at.saturating_sub(128)..at].iter().rev().take_while(|b| is_host(b)).count();
    let start = at.checked_sub(host).filter(|_| host > 0)?;
    let is_line = start == 0
        || matches!(text[start - 1], b'\n' | b'"' | b'\'' | b' ')
        || (start > 1 && text[start - 2] == b'\\');
    if !is_line {
        return None;
    }
    let line = &text[at + 1..text.len().min(at + 257)];
    let ends = |b: &u8| b.is_ascii_whitespace() || is_quote(*b) || *b == b'\\';
    let line = &line[..line.iter().position(ends).unwrap_or(line.len())];
    let mut fields = line.splitn(4, |b| *b == b':');
    let (port, database, user, password) =
        (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let is_port =
        port == b"*" || (port.len() >= 2 && port.len() <= 5 && port.iter().all(u8::is_ascii_digit));
    let is_name = |field: &[u8]| field == b"*" || field.iter().any(u8::is_ascii_alphabetic);
    let is_it = is_port
        && is_name(database)
        && is_name(user)
        && password.len() >= 3
        && !password.contains(&b':')
        && !user.contains(&b'/');
    let end = at + 1 + line.len();
    is_it.then_some((end - password.len(), end))
}

/// `.env:3:NAME=value`, as `grep` prints it. `at` is the first colon.
pub(super) fn line_of_dotenv(text: &[u8], at: usize) -> Option<Piece> {
    let before = &text[at.saturating_sub(32)..at];
    let dot = before.windows(4).rposition(|found| found == b".env")?;
    let rest = &before[dot + 4..];
    let is_file = rest.is_empty()
        || (rest[0] == b'.'
            && rest[1..]
                .iter()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_')));
    if !is_file {
        return None;
    }
    let digits = text[at + 1..].iter().take(8).take_while(|b| b.is_ascii_digit()).count();
    let is_numbered = digits > 0 && matches!(text.get(at + 1 + digits), Some(b':' | b'-'));
    let mut start = at + 1 + if is_numbered { digits + 1 } else { 0 };
    start = after_blanks(text, start);
    if says(text, start, "export ") {
        start += 7;
    }
    let name = text[start..]
        .iter()
        .take(128)
        .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
        .count();
    let sign = after_blanks(text, start + name);
    let is_line = name > 0 && text.get(sign) == Some(&b'=');
    is_line.then(|| dotenv_value(text, sign + 1))
}

/// The value of a line of a `.env`: to the end of the line, or in quotes.
pub(super) fn dotenv_value(text: &[u8], at: usize) -> Piece {
    let start = after_blanks(text, at);
    if let Some(value) = values::quoted(text, start)
        && is_quote(text[value.start - 1])
        && value.end < text.len()
        && value.end > value.start
    {
        return (value.start, value.end);
    }
    let ends = |b: &u8| matches!(b, b'\n' | b'\r' | b'"' | b'\'' | b'\\');
    let end = text[start..].iter().position(ends).map_or(text.len(), |n| start + n);
    let end = start + text[start..end].trim_ascii_end().len();
    (start, end)
}

pub(super) fn is_variable(name: &[u8]) -> bool {
    !name[0].is_ascii_digit() && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

/// Where the value of a flag begins: after a blank, or as the next string of a list (`"--password", "x"`).
pub(super) fn after_flag(text: &[u8], end: usize) -> Option<usize> {
    match text.get(end)? {
        b' ' | b'\t' => Some(after_blanks(text, end)),
        b'"' | b'\'' | b'\\' => {
            let rest = &text[end..text.len().min(end + 24)];
            let comma = rest
                .iter()
                .position(|b| !is_quote(*b) && *b != b'\\')
                .filter(|n| rest[*n] == b',')?;
            Some(after_blanks(text, end + comma + 1))
        }
        _ => None,
    }
}

/// `echo x | docker login --password-stdin`: the word that is printed. `at` is the flag.
pub(super) fn echoed(text: &[u8], at: usize) -> Option<Piece> {
    let first = at.saturating_sub(256);
    let before = &text[first..at];
    let bar = before.iter().rposition(|b| *b == b'|')?;
    let print = before[..bar].windows(5).rposition(|word| word == b"echo " || word == b"intf ")?;
    let start = first + print + 5;
    let value = values::read(text, start)?;
    (value.end <= first + bar && !text[value.start..].starts_with(b"$"))
        .then_some((value.start, value.end))
}

/// Words that follow a flag when people write of it.
pub(super) fn is_prose(said: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"to",
        b"and",
        b"or",
        b"is",
        b"for",
        b"the",
        b"flag",
        b"flags",
        b"option",
        b"options",
        b"with",
        b"in",
        b"from",
        b"as",
        b"if",
        b"when",
        b"was",
        b"not",
        b"argument",
        b"value",
        b"are",
        b"on",
        b"can",
        b"must",
        b"instead",
        b"parameter",
        b"into",
        b"that",
        b"which",
        b"should",
        b"will",
        b"has",
        b"takes",
        b"needs",
        b"of",
        b"by",
        b"via",
        b"at",
        b"a",
        b"an",
        b"it",
        b"you",
    ];
    let end = said.len() - usize::from(said.ends_with(b".") || said.ends_with(b","));
    WORDS.contains(&&said[..end])
}
