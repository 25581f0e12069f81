//! Days, as people here count them.

use jiff::tz::Offset;
use substrate_core::{Timestamp, World};

/// The day of that moment where clocks are `offset_s` ahead of UTC: `2026-02-08`.
pub(super) fn day(at: Timestamp, offset_s: i32) -> String {
    let offset = Offset::from_seconds(offset_s).unwrap_or(Offset::UTC);
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    offset.to_datetime(at).date().to_string()
}

/// The local day of that moment.
pub(super) fn here(world: &dyn World, at: Timestamp) -> String {
    day(at, world.offset_s(at))
}

/// The days from somebody's start to now. A clock that was set back makes them no fewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Days {
    first: String,
    last: String,
}

impl Days {
    pub(super) fn new(start: String, today: String) -> Self {
        if start <= today {
            Self { first: start, last: today }
        } else {
            Self { first: today, last: start }
        }
    }

    pub(super) fn hold(&self, day: &str) -> bool {
        self.first.as_str() <= day && day <= self.last.as_str()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::utc(1_770_508_799_999, 0, "2026-02-07")]
    #[case::midnight(1_770_508_800_000, 0, "2026-02-08")]
    #[case::east(1_770_508_799_999, 1, "2026-02-08")]
    #[case::west(1_770_508_800_000, -1, "2026-02-07")]
    #[case::far(1_770_508_800_000, 50_400, "2026-02-08")]
    #[case::leap(1_709_208_000_000, 0, "2024-02-29")]
    #[case::nonsense(1_770_508_800_000, i32::MAX, "2026-02-08")]
    #[case::endless(i64::MAX, 0, "1970-01-01")]
    fn a_moment_has_a_day(#[case] at: i64, #[case] offset_s: i32, #[case] expected: &str) {
        assert_eq!(day(Timestamp(at), offset_s), expected);
    }

    #[rstest]
    #[case("2026-02-07", "2026-02-08", "2026-02-07", true)]
    #[case("2026-02-07", "2026-02-08", "2026-02-08", true)]
    #[case("2026-02-07", "2026-02-08", "2026-02-06", false)]
    #[case("2026-02-07", "2026-02-08", "2026-02-09", false)]
    #[case("2026-02-08", "2026-02-07", "2026-02-07", true)]
    fn days_hold(
        #[case] start: &str,
        #[case] today: &str,
        #[case] day: &str,
        #[case] expected: bool,
    ) {
        assert_eq!(Days::new(start.to_owned(), today.to_owned()).hold(day), expected);
    }
}
