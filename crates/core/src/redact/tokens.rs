//! Where a token of a known form ends, and the forms that have no fixed beginning.

use super::bytes::{Alphabet, Mix, is_word};
use super::forms::Form;

/// A token is judged by its first bytes.
const LOOKED_AT: usize = 64;

/// The end of the token at `at`, if it is one of this form.
pub(super) fn end(text: &[u8], at: usize, form: &Form) -> Option<usize> {
    if !text[at..].starts_with(form.prefix.as_bytes()) {
        return None;
    }
    let before = at.checked_sub(1).map_or(b' ', |before| text[before]);
    let body = at + form.prefix.len();
    let is_vague = form.prefix.len() <= 4 && !form.prefix.ends_with('_');
    if is_vague && matches!(before, b'-' | b'.' | b'/' | b'+') {
        return None;
    }
    let window = &text[..text.len().min(body + form.at_least.max(LOOKED_AT))];
    if form.alphabet.run(window, body) < form.at_least {
        return None;
    }
    let mix = Mix::of(&window[body..]);
    let is_short =
        form.prefix.len() <= 3 && !matches!(form.alphabet, Alphabet::Hex | Alphabet::Lower);
    // A prefix this long is never a plain word.
    let is_plain = form.prefix.len() >= 6;
    let is_mixed = if is_short {
        mix.has_digit && mix.has_lower && mix.has_upper
    } else {
        is_plain || mix.has_digit || (mix.has_lower && mix.has_upper)
    };
    (is_mixed && mix.n_different >= 6).then(|| body + form.alphabet.run(text, body))
}

/// Tokens that begin with a letter or two: bots of Discord (`M….….…`), keys of Twilio (`SK` and a digest).
pub(super) fn without_prefix(text: &[u8], at: usize) -> Option<usize> {
    if text[at] == b'S' {
        let is_key = text.get(at + 1) == Some(&b'K');
        let rest = &text[..text.len().min(at + 35)];
        let is_it = is_key
            && Alphabet::Hex.run(rest, at + 2) == 32
            && !text[at + 2..at + 34].contains(&b'-');
        return is_it.then_some(at + 34);
    }
    // Most words are shorter than the first part.
    if !text.get(at + 22).is_some_and(|b| is_word(*b) || *b == b'-') {
        return None;
    }
    let parts = [(23, 28), (6, 7), (27, 40)];
    let mut end = at;
    for (n, (least, most)) in parts.into_iter().enumerate() {
        if n > 0 {
            if text.get(end) != Some(&b'.') {
                return None;
            }
            end += 1;
        }
        let window = &text[..text.len().min(end + most + 1)];
        let len = Alphabet::Word.run(window, end);
        if !(least..=most).contains(&len) {
            return None;
        }
        end += len;
    }
    Mix::of(&text[at..end]).has_digit.then_some(end)
}

/// `12345678:AA…`: a bot of Telegram. `at` is the colon.
pub(super) fn telegram(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let digits =
        text[at.saturating_sub(12)..at].iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let window = &text[..text.len().min(at + 48)];
    let len = Alphabet::Word.run(window, at + 1);
    let is_it = (8..=10).contains(&digits) && (33..=37).contains(&len);
    is_it.then_some((at - digits, at + 1 + len))
}

/// 32 digits and a data centre: `…-us12`. `at` is the dash.
pub(super) fn mailchimp(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let start = at.checked_sub(32)?;
    let digits = text[at + 3..].iter().take(3).take_while(|b| b.is_ascii_digit()).count();
    let is_hex = text[start..at].iter().all(u8::is_ascii_hexdigit);
    let is_word_start = start == 0 || !is_word(text[start - 1]);
    (is_hex && is_word_start && matches!(digits, 1 | 2)).then_some((start, at + 3 + digits))
}

/// The run of characters that was looked at last. The parts of a web token may be long, and every `-` in them begins a word.
#[derive(Default)]
pub(super) struct Run {
    end: usize,
}

impl Run {
    /// The end of the JSON web token at `at`.
    pub(super) fn web_token(&mut self, text: &[u8], at: usize) -> Option<usize> {
        if at < self.end {
            return None;
        }
        let head = Alphabet::Word.run(text, at);
        self.end = at + head;
        if head < 11 || text.get(self.end) != Some(&b'.') {
            return None;
        }
        let body = self.end + 1;
        let len = Alphabet::Pair.run(text, body);
        (len >= 8).then_some(body + len)
    }
}
