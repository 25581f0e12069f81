//! Time as the database keeps it: whole milliseconds since the epoch.

use std::fmt::{self, Write as _};

/// A moment, in milliseconds since 1970 (UTC).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to `self`; negative when `earlier` is later.
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Prints a span as people say it: `45s`, `12m`, `3h`, `5d`.
#[derive(Clone, Copy, Debug)]
pub struct Ago(pub i64);

impl fmt::Display for Ago {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.max(0) / 1000;
        match seconds {
            0..60 => write!(f, "{seconds}s"),
            60..3_600 => write!(f, "{}m", seconds / 60),
            3_600..172_800 => write!(f, "{}h", seconds / 3_600),
            _ => write!(f, "{}d", seconds / 86_400),
        }
    }
}

/// Prints what something took, from microseconds: `850µs`, `1.2ms`, `3.4s`, `5m`.
#[derive(Clone, Copy, Debug)]
pub struct Took(pub i64);

impl Took {
    pub fn of(time: std::time::Duration) -> Self {
        Self(i64::try_from(time.as_micros()).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Took {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = self.0.max(0);
        let text = match us {
            0..1_000 => format!("{us}µs"),
            1_000..1_000_000 => tenths(us / 100, "ms"),
            1_000_000..60_000_000 => tenths(us / 100_000, "s"),
            _ => Ago(us / 1_000).to_string(),
        };
        f.pad(&text)
    }
}

/// A number of tenths: `12` is `1.2`, `340` is `34`.
fn tenths(n: i64, unit: &str) -> String {
    match (n / 10, n % 10) {
        (whole, 0) => format!("{whole}{unit}"),
        (whole, _) if whole >= 100 => format!("{whole}{unit}"),
        (whole, tenth) => format!("{whole}.{tenth}{unit}"),
    }
}

/// A span as `parse_span` reads it, with nothing left out: `14d`, `9m30s`, `0s`.
pub fn written_span(ms: i64) -> String {
    let mut left = ms.max(0);
    let mut out = String::new();
    for (unit, factor) in UNITS {
        if left >= *factor {
            let _infallible = write!(out, "{}{unit}", left / factor);
            left %= factor;
        }
    }
    if out.is_empty() { "0s".to_owned() } else { out }
}

/// The units of a span, in milliseconds, longest first.
const UNITS: &[(&str, i64)] =
    &[("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Reads `90s`, `15m`, `2h`, `7d`, `250ms`, or several of them as in `9m30s`, as milliseconds.
///
/// ```
/// use substrate_core::time::parse_span;
///
/// assert_eq!(parse_span("9m30s"), Some(570_000));
/// assert_eq!(parse_span("soon"), None);
/// ```
pub fn parse_span(text: &str) -> Option<i64> {
    let mut rest = text;
    let mut sum = 0_i64;
    while let Some((part, after)) = first_part(rest) {
        sum = sum.checked_add(parse_part(part)?)?;
        rest = after;
    }
    (rest.is_empty() && !text.is_empty()).then_some(sum)
}

/// A number with its unit, and what follows.
fn first_part(text: &str) -> Option<(&str, &str)> {
    let unit = text.find(|c: char| !c.is_ascii_digit())?;
    let end = text[unit..].find(|c: char| c.is_ascii_digit()).map_or(text.len(), |at| unit + at);
    Some(text.split_at(end))
}

fn parse_part(text: &str) -> Option<i64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let (_, factor) = UNITS.iter().find(|(known, _)| *known == unit)?;
    number.parse::<i64>().ok()?.checked_mul(*factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("250ms", Some(250))]
    #[case("90s", Some(90_000))]
    #[case("15m", Some(900_000))]
    #[case("2h", Some(7_200_000))]
    #[case("14d", Some(1_209_600_000))]
    #[case("9m30s", Some(570_000))]
    #[case("1h0m5s", Some(3_605_000))]
    #[case("9m30", None)]
    #[case("9m 30s", None)]
    #[case("", None)]
    #[case("14", None)]
    #[case("d", None)]
    #[case("-1s", None)]
    #[case("99999999999999999d", None)]
    fn a_span_is_read(#[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(parse_span(text), expected);
    }

    #[rstest]
    #[case(-5, "0s")]
    #[case(59_999, "59s")]
    #[case(60_000, "1m")]
    #[case(7_200_000, "2h")]
    #[case(172_800_000, "2d")]
    fn a_span_is_said(#[case] ms: i64, #[case] expected: &str) {
        assert_eq!(Ago(ms).to_string(), expected);
    }

    #[rstest]
    #[case(-1, "0µs")]
    #[case(999, "999µs")]
    #[case(1_000, "1ms")]
    #[case(1_250, "1.2ms")]
    #[case(50_001, "50ms")]
    #[case(123_456, "123ms")]
    #[case(3_400_000, "3.4s")]
    #[case(59_999_999, "59.9s")]
    #[case(300_000_000, "5m")]
    fn what_something_took_is_said(#[case] us: i64, #[case] expected: &str) {
        assert_eq!(Took(us).to_string(), expected);
        assert_eq!(format!("{:>9}", Took(us)).chars().count(), 9);
    }

    #[rstest]
    #[case(0, "0s")]
    #[case(250, "250ms")]
    #[case(570_000, "9m30s")]
    #[case(5_400_000, "1h30m")]
    #[case(1_209_600_000, "14d")]
    fn a_span_is_written_as_it_is_read(#[case] ms: i64, #[case] expected: &str) {
        assert_eq!(written_span(ms), expected);
        assert_eq!(parse_span(expected), Some(ms));
    }
}
