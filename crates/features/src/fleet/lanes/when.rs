//! A moment as people and links write it.

use substrate_core::time::parse_span;
use substrate_core::{Cx, DbError, Timestamp, VerbError};

use crate::journal::face;

const DAY_MS: i64 = 86_400_000;

/// How a moment is written, for error messages.
pub(in crate::fleet) const RULE: &str = "write it like `14:40`, `15m` (ago), `2026-02-08T14:40:00Z` or `#4711` (an entry of the journal)";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    At(i64),
    Entry(i64),
}

/// The moment that a text means.
pub(in crate::fleet) fn moment(
    cx: &mut Cx<'_>,
    text: &str,
    tz_offset_s: i32,
) -> Result<Timestamp, VerbError> {
    let unknown = |why: &str| VerbError::user(format!("`{text}` {why}"), RULE);
    match parsed(text, cx.now, tz_offset_s) {
        None => Err(unknown("is not a moment")),
        Some(When::At(at_ms)) => Ok(Timestamp(at_ms)),
        Some(When::Entry(id)) => {
            let found: Result<Option<i64>, DbError> = face::time_of(cx.db, id);
            found?.map(Timestamp).ok_or_else(|| unknown("is not in the journal"))
        }
    }
}

fn parsed(text: &str, now: Timestamp, tz_offset_s: i32) -> Option<When> {
    let text = text.trim();
    if let Some(id) = text.strip_prefix('#') {
        return id.parse().ok().map(When::Entry);
    }
    // Milliseconds, as links have them.
    if text.len() >= 12 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().map(When::At);
    }
    if let Some(span) = parse_span(text) {
        return Some(When::At(now.0 - span));
    }
    if let Some(of_day) = clock(text) {
        let offset = i64::from(tz_offset_s) * 1_000;
        let midnight = (now.0 + offset).div_euclid(DAY_MS) * DAY_MS - offset;
        let at = midnight + of_day;
        // A time that is still to come was yesterday's.
        return Some(When::At(if at > now.0 { at - DAY_MS } else { at }));
    }
    let at: jiff::Timestamp = text.parse().ok()?;
    Some(When::At(at.as_millisecond()))
}

/// `14:40` or `14:40:18`, in milliseconds of the day.
fn clock(text: &str) -> Option<i64> {
    let parts: Vec<&str> = text.split(':').collect();
    let (hours, minutes, seconds) = match parts.as_slice() {
        [hours, minutes] => (hours, minutes, &"0"),
        [hours, minutes, seconds] => (hours, minutes, seconds),
        _ => return None,
    };
    let number = |text: &str, max: i64| text.parse::<i64>().ok().filter(|n| (0..max).contains(n));
    let (hours, minutes) = (number(hours, 24)?, number(minutes, 60)?);
    Some(((hours * 60 + minutes) * 60 + number(seconds, 60)?) * 1_000)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// 1970-01-11, 15:00 UTC.
    const NOW: i64 = 10 * DAY_MS + 15 * 3_600_000;

    #[rstest]
    #[case::clock("14:40", Some(When::At(NOW - 20 * 60_000)))]
    #[case::seconds("14:40:18", Some(When::At(NOW - 20 * 60_000 + 18_000)))]
    #[case::yesterday("15:01", Some(When::At(NOW + 60_000 - DAY_MS)))]
    #[case::ago("15m", Some(When::At(NOW - 15 * 60_000)))]
    #[case::link("1700000000123", Some(When::At(1_700_000_000_123)))]
    #[case::exact("1970-01-01T00:00:01Z", Some(When::At(1_000)))]
    #[case::entry("#42", Some(When::Entry(42)))]
    #[case::hour("24:00", None)]
    #[case::words("yesterday", None)]
    #[case::nothing("", None)]
    fn a_moment_is_read(#[case] text: &str, #[case] expected: Option<When>) {
        assert_eq!(parsed(text, Timestamp(NOW), 0), expected);
    }

    #[test]
    fn a_clock_is_the_readers_own() {
        let at = NOW - 20 * 60_000;
        assert_eq!(parsed("16:40", Timestamp(NOW), 7_200), Some(When::At(at)));
        assert_eq!(parsed("06:40", Timestamp(NOW), -28_800), Some(When::At(at)));
    }
}
