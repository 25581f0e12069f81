//! The one place that reads the clock.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use substrate_core::Timestamp;

#[expect(
    clippy::disallowed_methods,
    reason = "all other code gets the time from here, as an argument"
)]
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Microseconds on a monotonic clock.
pub(crate) fn micros() -> u64 {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(BEGAN.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// The local offset from UTC, in seconds.
pub(crate) fn tz_offset_s(at: Timestamp) -> i32 {
    let Ok(at) = jiff::Timestamp::from_millisecond(at.0) else { return 0 };
    jiff::tz::TimeZone::try_system().map_or(0, |zone| zone.to_offset(at).seconds())
}
