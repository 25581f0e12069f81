//! Local days, and which of them count for a scratchpad.

use jiff::civil::Date;
use jiff::tz::Offset;
use substrate_core::{Timestamp, World};

/// The date of a moment where clocks are `offset_s` ahead of UTC, e.g. `2026-02-08`.
pub(super) fn day(at: Timestamp, offset_s: i32) -> String {
    let offset = Offset::from_seconds(offset_s).unwrap_or(Offset::UTC);
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    offset.to_datetime(at).date().to_string()
}

/// The local date of a moment.
pub(super) fn here(world: &dyn World, at: Timestamp) -> String {
    day(at, world.offset_s(at))
}

/// A date that is in the future everywhere on earth. A file named by it or a later one is misnamed.
pub fn horizon(now: Timestamp) -> String {
    day(now.plus_ms(2 * 86_400_000), 0)
}

/// The days from an agent's start to now, in either order of the clock.
///
/// An agent may work in another time zone, where today is our yesterday or tomorrow. So the days on either side count
/// too, for a file that was written since the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Days {
    first: String,
    last: String,
    beside: [String; 2],
    since: Option<Timestamp>,
}

impl Days {
    /// `since` is when the agent started, if that is known.
    pub fn new(start: String, today: String, since: Option<Timestamp>) -> Self {
        let (first, last) = if start <= today { (start, today) } else { (today, start) };
        let day = |day: &str| day.parse::<Date>().ok();
        let before = day(&first).and_then(|day| day.yesterday().ok());
        let after = day(&last).and_then(|day| day.tomorrow().ok());
        let beside = [before, after].map(|day| day.map(|day| day.to_string()).unwrap_or_default());
        Self { first, last, beside, since }
    }

    /// Whether a file of that day counts. `changed` is when it was written, in milliseconds since 1970.
    pub fn hold(&self, day: &str, changed: Option<i64>) -> bool {
        (self.first.as_str() <= day && day <= self.last.as_str())
            || (self.beside.iter().any(|beside| beside == day)
                && self.since.is_some_and(|since| changed.is_some_and(|at| since.0 <= at)))
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
    fn a_moment_has_a_local_date(#[case] at: i64, #[case] offset_s: i32, #[case] expected: &str) {
        assert_eq!(day(Timestamp(at), offset_s), expected);
    }

    #[rstest]
    #[case("2026-02-07", "2026-02-08", "2026-02-07", true)]
    #[case("2026-02-07", "2026-02-08", "2026-02-08", true)]
    #[case("2026-02-07", "2026-02-08", "2026-02-06", false)]
    #[case("2026-02-07", "2026-02-08", "2026-02-09", false)]
    #[case("2026-02-08", "2026-02-07", "2026-02-07", true)]
    fn files_of_the_days_since_the_start_count(
        #[case] start: &str,
        #[case] today: &str,
        #[case] day: &str,
        #[case] expected: bool,
    ) {
        let days = Days::new(start.to_owned(), today.to_owned(), None);
        assert_eq!(days.hold(day, Some(i64::MAX)), expected);
    }

    #[rstest]
    #[case::yesterday("2026-02-06", 1_000, true)]
    #[case::tomorrow("2026-02-09", 1_000, true)]
    #[case::of_another("2026-02-06", 999, false)]
    #[case::too_far("2026-02-10", 1_000, false)]
    #[case::our_own("2026-02-07", 0, true)]
    fn the_days_on_either_side_count_for_files_written_since_the_start(
        #[case] day: &str,
        #[case] changed: i64,
        #[case] expected: bool,
    ) {
        let days =
            Days::new("2026-02-07".to_owned(), "2026-02-08".to_owned(), Some(Timestamp(1_000)));
        assert_eq!(days.hold(day, Some(changed)), expected);
    }
}
