//! Sizes as people write them. A KB has 1,024 bytes.

use std::fmt;

/// The units of a size, in bytes, largest first.
const UNITS: &[(&str, u64)] = &[("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10), ("B", 1)];

/// Prints a number of bytes: `512 B`, `1.5 KB`, `64 MB`.
#[derive(Clone, Copy, Debug)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Of something in memory.
    pub const fn of(n: usize) -> Self {
        Self(n as u64)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size) = UNITS.iter().find(|(_, size)| self.0 >= *size).unwrap_or(&("B", 1));
        let (whole, tenth) = (self.0 / size, self.0 % size * 10 / size);
        let text = match tenth {
            0 => format!("{whole} {unit}"),
            _ if whole >= 100 => format!("{whole} {unit}"),
            _ => format!("{whole}.{tenth} {unit}"),
        };
        f.pad(&text)
    }
}

/// Reads `512KB`, `64MB`, `2GB`.
pub(crate) fn parse_size(text: &str) -> Option<i64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let (_, size) = UNITS.iter().find(|(known, _)| *known == unit)?;
    number.parse::<i64>().ok()?.checked_mul(i64::try_from(*size).ok()?)
}

/// A size as `parse_size` reads it, with nothing left out: `64MB`, `1536KB`.
pub(crate) fn written_size(bytes: u64) -> String {
    let fits = |(_, size): &&(&str, u64)| bytes >= *size && bytes.is_multiple_of(*size);
    let (unit, size) = UNITS.iter().find(fits).unwrap_or(&("B", 1));
    format!("{}{unit}", bytes / size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(0, "0 B")]
    #[case(1_023, "1023 B")]
    #[case(1_536, "1.5 KB")]
    #[case(64 << 20, "64 MB")]
    #[case((200 << 20) + (1 << 19), "200 MB")]
    #[case(5 << 29, "2.5 GB")]
    fn a_size_is_said(#[case] bytes: u64, #[case] expected: &str) {
        assert_eq!(Bytes(bytes).to_string(), expected);
    }

    #[rstest]
    #[case("512KB", Some(524_288))]
    #[case("2GB", Some(2_147_483_648))]
    #[case("2 GB", None)]
    #[case("GB", None)]
    #[case("2", None)]
    fn a_size_is_read(#[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(parse_size(text), expected);
    }

    #[rstest]
    #[case("0B")]
    #[case("1536KB")]
    #[case("64MB")]
    #[case("1025B")]
    fn a_size_is_written_as_it_is_read(#[case] text: &str) {
        let bytes = u64::try_from(parse_size(text).unwrap()).unwrap();
        assert_eq!(written_size(bytes), text);
    }
}
