//! What single characters and short runs of them are. Everything is a table, so that one look at a byte decides.

/// The characters that the rest of a token is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alphabet {
    /// Letters and digits.
    Alnum,
    /// Letters, digits, `+`, `/`, `=`, `_` and `-`.
    Base64,
    /// Hexadecimal digits, and the `-` of a UUID.
    Hex,
    /// Small letters and digits.
    Lower,
    /// Letters, digits, `_`, `-` and the dots between the parts.
    Pair,
    /// Letters, digits and `%`.
    Percent,
    /// Capitals and digits.
    Upper,
    /// Letters, digits, `_`, `-`, `%`, `@`, `.` and `/`.
    Url,
    /// Letters, digits, `_` and `-`.
    Word,
}

impl Alphabet {
    const ALL: [Self; 9] = [
        Self::Alnum,
        Self::Base64,
        Self::Hex,
        Self::Lower,
        Self::Pair,
        Self::Percent,
        Self::Upper,
        Self::Url,
        Self::Word,
    ];

    /// How many bytes from `at` on are of this alphabet.
    pub(super) fn run(self, text: &[u8], at: usize) -> usize {
        let bit = 1 << self as u16;
        text[at.min(text.len())..]
            .iter()
            .take_while(|byte| MEMBER[usize::from(**byte)] & bit != 0)
            .count()
    }

    const fn has(self, b: u8) -> bool {
        match self {
            Self::Alnum => b.is_ascii_alphanumeric(),
            Self::Base64 => {
                b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'_' | b'-')
            }
            Self::Hex => b.is_ascii_hexdigit() || b == b'-',
            Self::Lower => b.is_ascii_lowercase() || b.is_ascii_digit(),
            Self::Pair => b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'),
            Self::Percent => b.is_ascii_alphanumeric() || b == b'%',
            Self::Upper => b.is_ascii_uppercase() || b.is_ascii_digit(),
            Self::Url => {
                b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'%' | b'@' | b'.' | b'/')
            }
            Self::Word => b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'),
        }
    }
}

/// Which alphabets a byte is of, a bit each.
static MEMBER: [u16; 256] = {
    let mut table = [0; 256];
    let mut b = 0;
    while b < 256 {
        let mut n = 0;
        while n < Alphabet::ALL.len() {
            if Alphabet::ALL[n].has(b as u8) {
                table[b] |= 1 << Alphabet::ALL[n] as u16;
            }
            n += 1;
        }
        b += 1;
    }
    table
};

/// What the scan does at a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Plain,
    Word,
    /// A capital that a token without a fixed beginning may begin with.
    Initial,
    Equals,
    Colon,
    Dash,
    Backslash,
    Escape,
}

pub(super) static ROLE: [Role; 256] = {
    let mut table = [Role::Plain; 256];
    let mut b = 0;
    while b < 256 {
        table[b] = match b as u8 {
            b'=' => Role::Equals,
            b':' => Role::Colon,
            b'-' => Role::Dash,
            b'\\' => Role::Backslash,
            0x1b => Role::Escape,
            b'M' | b'N' | b'O' | b'S' => Role::Initial,
            byte if is_word(byte) => Role::Word,
            _ => Role::Plain,
        };
        b += 1;
    }
    table
};

/// The beginnings of some words, in any case. It may say yes too often, never no.
pub(super) struct Beginnings {
    /// Which letters follow a first one, a bit each.
    pub(super) seconds: [u32; 256],
    /// The first four letters of each word, or three if it has no more: a bit at a part of their hash.
    fours: [u64; 256],
}

impl Beginnings {
    pub(super) const EMPTY: Self = Self { seconds: [0; 256], fours: [0; 256] };

    pub(super) const fn of(words: &[&str]) -> Self {
        let mut all = Self::EMPTY;
        let mut n = 0;
        while n < words.len() {
            all.add(words[n]);
            n += 1;
        }
        all
    }

    pub(super) const fn add(&mut self, word: &str) {
        let word = word.as_bytes();
        if word.len() > 1 {
            let bit = 1 << (word[1] & 31);
            self.seconds[word[0].to_ascii_lowercase() as usize] |= bit;
            self.seconds[word[0].to_ascii_uppercase() as usize] |= bit;
        }
        let four = four(word);
        let n = Self::slot(if word.len() < 4 { three(four) } else { four });
        self.fours[n / 64] |= 1 << (n % 64);
    }

    /// Whether one of the words may stand at the beginning of the text.
    pub(super) fn fit(&self, text: &[u8]) -> bool {
        let [first, second, ..] = text else { return false };
        self.pair(*first, *second) && self.begin(four(text))
    }

    /// Whether one of the words may begin with these two letters.
    pub(super) const fn pair(&self, first: u8, second: u8) -> bool {
        self.seconds[first as usize] >> (second & 31) & 1 != 0
    }

    /// Whether one of the words may begin with these four letters.
    pub(super) const fn begin(&self, four: u32) -> bool {
        self.has(four) || self.has(three(four))
    }

    const fn has(&self, letters: u32) -> bool {
        let n = Self::slot(letters);
        self.fours[n / 64] >> (n % 64) & 1 != 0
    }

    const fn slot(letters: u32) -> usize {
        // Of some odd numbers, the one with which the fewest words of code collide.
        (letters.wrapping_mul(0x63ca_828d) >> 18) as usize
    }
}

/// The first four bytes as one number, in small letters. Blanks follow the end.
pub(super) const fn four(text: &[u8]) -> u32 {
    match text.first_chunk() {
        Some(bytes) => u32::from_le_bytes(*bytes) | 0x2020_2020,
        None => last_four(text),
    }
}

#[cold]
const fn last_four(text: &[u8]) -> u32 {
    let mut bytes = [b' '; 4];
    let mut n = 0;
    while n < text.len() {
        bytes[n] = text[n] | 0x20;
        n += 1;
    }
    u32::from_le_bytes(bytes)
}

/// The first three of them.
pub(super) const fn three(four: u32) -> u32 {
    four & 0x00ff_ffff
}

/// Which kinds of characters a text has, and how many different ones, in its first 64 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mix {
    pub(super) has_lower: bool,
    pub(super) has_upper: bool,
    pub(super) has_digit: bool,
    pub(super) has_other: bool,
    pub(super) n_different: u32,
}

impl Mix {
    pub(super) fn of(text: &[u8]) -> Self {
        let mut mix = Self::default();
        let mut seen = [0u64; 4];
        for byte in text.iter().take(64) {
            match byte {
                b'a'..=b'z' => mix.has_lower = true,
                b'A'..=b'Z' => mix.has_upper = true,
                b'0'..=b'9' => mix.has_digit = true,
                _ => mix.has_other = true,
            }
            seen[usize::from(byte / 64)] |= 1 << (byte % 64);
        }
        mix.n_different = seen.iter().map(|bits| bits.count_ones()).sum();
        mix
    }
}

/// Bits per byte, of the first 64: 4 is the most that hexadecimal digits can have, 6 base 64.
pub(super) fn entropy(text: &[u8]) -> f32 {
    let text = &text[..text.len().min(64)];
    let mut counts = [0u8; 256];
    for byte in text {
        counts[usize::from(*byte)] += 1;
    }
    let n = text.len() as f32;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f32::from(*count) / n)
        .map(|share| -share * share.log2())
        .sum()
}

/// Whether the text, read as base 64, is a name and a password with a colon between them.
pub(super) fn is_basic(text: &[u8]) -> bool {
    let end = text.iter().position(|b| *b == b'=').unwrap_or(text.len());
    if !(6..=512).contains(&end) {
        return false;
    }
    let mut bits = 0u32;
    let mut n_bits = 0;
    let mut n_colons = 0;
    for byte in &text[..end] {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return false,
        };
        bits = bits << 6 | u32::from(value);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            let byte = (bits >> n_bits & 255) as u8;
            if !(b' '..=b'~').contains(&byte) {
                return false;
            }
            n_colons += u32::from(byte == b':');
        }
    }
    n_colons > 0
}

pub(super) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The end of the word that the byte at `at` belongs to.
pub(super) fn word_end(text: &[u8], mut at: usize) -> usize {
    while at < text.len() && IS_WORD[usize::from(text[at])] {
        at += 1;
    }
    at
}

static IS_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 256 {
        table[b] = is_word(b as u8);
        b += 1;
    }
    table
};

pub(super) const fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// Whether `text` goes on with `word` at `at`, in any case.
pub(super) fn says(text: &[u8], at: usize, word: &str) -> bool {
    text.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
}

/// The position after the blanks at `at`. A line break is not a blank.
pub(super) fn after_blanks(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|b| matches!(b, b' ' | b'\t')) {
        at += 1;
    }
    at
}

/// The end of the line at `at`; in JSON text a line ends at an escaped line break, too.
pub(super) fn line_end(text: &[u8], at: usize) -> usize {
    let rest = &text[at..];
    let ends = |n: usize| match rest[n] {
        b'\n' | b'\r' => true,
        b'\\' => matches!(rest.get(n + 1), Some(b'n' | b'r')),
        _ => false,
    };
    (0..rest.len()).find(|n| ends(*n)).map_or(text.len(), |n| at + n)
}

/// Whether the text is JSON, by its looks: then a `"` without an escape ends a string, whatever is in it.
pub(super) fn is_json(text: &[u8]) -> bool {
    matches!(text, [b'{', ..] | [b'[', b'{' | b'[' | b'"', ..])
}

/// Whether the byte at `at` follows an odd number of backslashes.
pub(super) fn is_escaped(text: &[u8], at: usize) -> bool {
    text[..at].iter().rev().take_while(|b| **b == b'\\').count() % 2 == 1
}
