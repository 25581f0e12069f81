//! Passes what says nothing, many bytes at a time. Nearly all of a text does, so this is most of what redaction costs.

use super::bytes::{ROLE, Role, is_quote, is_word};
use super::names;
use super::scan::{BEGINNINGS, name_end};
use crate::lanes::{self, Lanes};

/// The next place where something may stand, or the end. Nearly all of a text is passed here, many bytes at a time; inside of
/// `spans` it would be slower.
#[inline(never)]
pub(super) fn next(text: &[u8], mut at: usize, is_dotenv: bool) -> usize {
    // Whether the byte before the block belongs to a word that was looked at.
    let mut in_word = 0;
    let mut end_of_text;
    'blocks: while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let bytes = match rest.first_chunk::<SEEN>() {
            Some(bytes) => bytes,
            None => {
                end_of_text = [0; SEEN];
                end_of_text[..rest.len()].copy_from_slice(rest);
                &end_of_text
            }
        };
        let (words, stops) = words_and_stops(bytes);
        let starts = words & !(words << 1 | in_word);
        let mut places = starts | stops;
        while places != 0 {
            let place = places.trailing_zeros() as usize % BLOCK;
            places &= places - 1;
            if !may_begin(bytes[place], bytes[place + 1]) {
                continue;
            }
            if stops >> place & 1 == 0 {
                if is_known_beginning(text, at + place) {
                    return at + place;
                }
                continue;
            }
            match passed(text, at + place, is_dotenv) {
                0 => return at + place,
                1 => {}
                n if place + n >= BLOCK => {
                    at += place + n;
                    in_word = 0;
                    continue 'blocks;
                }
                // The letter of an escape is not the beginning of a word; what follows it may be one.
                n => places = places & u32::MAX << (place + n) | words & 1 << (place + n),
            }
        }
        at += BLOCK;
        in_word = words >> (BLOCK - 1);
    }
    text.len()
}

/// How many bytes `next` looks at together.
const BLOCK: usize = 2 * lanes::N;

/// A block, and the byte behind it.
const SEEN: usize = BLOCK + 1;

/// Where a block has letters of words, and signs that may say something: a bit each.
fn words_and_stops(bytes: &[u8; SEEN]) -> (u32, u32) {
    let (mut words, mut stops) = (0, 0);
    for at in [lanes::N, 0] {
        let Some(block) = Lanes::at(bytes, at) else { continue };
        // A `-` with this bit is a `=` as well.
        let signs = block.with(0x10).equal(b'=')
            | block.equal(b':')
            | block.equal(b'\\')
            | block.equal(0x1b);
        words = words << lanes::N | block.words().bits();
        stops = stops << lanes::N | signs.bits();
    }
    (words, stops)
}

/// Whether a word with these first two letters may be anything. Nearly all are not; a sign always may.
pub(super) const fn may_begin(first: u8, second: u8) -> bool {
    PAIRS[first as usize] >> (second & 31) & 1 != 0
}

/// Whether the word at `at` may be anything, by its first four letters.
#[cold]
pub(super) fn is_known_beginning(text: &[u8], at: usize) -> bool {
    ROLE[usize::from(text[at])] == Role::Initial || BEGINNINGS.fit(&text[at..])
}

/// Which bytes follow the first one of what may be anything, a bit each.
static PAIRS: [u32; 256] = {
    let mut pairs = BEGINNINGS.seconds;
    let mut b = 0;
    while b < 256 {
        if !matches!(ROLE[b], Role::Word | Role::Plain) {
            pairs[b] = u32::MAX;
        }
        b += 1;
    }
    pairs
};

/// How many bytes of a sign can be passed, because it says nothing. 0: `Scan` looks closer.
pub(super) fn passed(text: &[u8], at: usize, is_dotenv: bool) -> usize {
    let Some(after) = text.get(at + 1) else { return 0 };
    // Line breaks and quotes of JSON; paths of code.
    if let (b'\\', b'n' | b'"') | (b':', b':') = (text[at], after) {
        return 2;
    }
    let before = at.checked_sub(1).map_or(b' ', |before| text[before]);
    let says_nothing = match (text[at], after) {
        (b':', b'/' | b'A') => false,
        (b':', b'0'..=b'9' | b'*') if !is_quote(before) => false,
        (b':' | b'=', _) => {
            !is_dotenv && name_end(text, at).is_none_or(|end| names::says_nothing(text, end))
        }
        (b'-', b'-' | b'u') => false,
        // Between two words, or before none.
        (b'-', after) => !is_flag_after(before) || !is_word(*after),
        _ => false,
    };
    usize::from(says_nothing)
}

/// Whether a `-` after this byte begins a flag.
pub(super) const fn is_flag_after(byte: u8) -> bool {
    byte.is_ascii_whitespace() || is_quote(byte)
}
