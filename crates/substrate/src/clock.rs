//! The one place that reads the clock.

use std::path::Path;
use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use jiff::tz::TimeZone;
use substrate_core::Timestamp;

use crate::config::Env;

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
    // Asked many times per event, so without numbers of 128 bits.
    let since = BEGAN.elapsed();
    since.as_secs() * 1_000_000 + u64::from(since.subsec_micros())
}

/// The local offset from UTC, in seconds.
pub(crate) fn tz_offset_s(at: Timestamp) -> i32 {
    TimeZone::try_system().map_or(0, |zone| offset_s(&zone, at))
}

/// The same for a process that asks once. It reads the file of the zone and does not look for its name, which would mean a walk
/// through all zones: half of a short command.
pub(crate) fn tz_offset_once_s(at: Timestamp, env: &Env) -> i32 {
    let zone = match env.text("TZ") {
        None => read(Path::new("/etc/localtime")),
        Some(name) if is_plain(name) => read(&Path::new("/usr/share/zoneinfo").join(name)),
        Some(_) => None,
    };
    zone.map_or_else(|| tz_offset_s(at), |zone| offset_s(&zone, at))
}

fn offset_s(zone: &TimeZone, at: Timestamp) -> i32 {
    jiff::Timestamp::from_millisecond(at.0).map_or(0, |at| zone.to_offset(at).seconds())
}

/// The zone in that file.
fn read(file: &Path) -> Option<TimeZone> {
    TimeZone::tzif("local", &std::fs::read(file).ok()?).ok()
}

/// Whether a `TZ` is the name of a zone, such as `Europe/Berlin`. It may also be a path or a rule.
fn is_plain(name: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-+".contains(&byte);
    name.bytes().all(is_fine) && !name.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_zone_says_what_its_name_says() {
        for (name, ms) in [
            ("UTC", 0),
            ("Europe/Berlin", 1_750_000_000_000),
            ("Europe/Berlin", 1_795_000_000_000),
            ("America/St_Johns", 1_750_000_000_000),
            ("Asia/Kolkata", 1_750_000_000_000),
        ] {
            let Ok(zone) = TimeZone::get(name) else { continue };
            let env = Env::of_block(format!("TZ={name}\0").as_bytes());
            let at = Timestamp(ms);
            assert_eq!(tz_offset_once_s(at, &env), offset_s(&zone, at), "{name}");
        }
        assert_eq!(tz_offset_once_s(Timestamp(0), &Env::default()), tz_offset_s(Timestamp(0)));
    }

    #[test]
    fn a_path_or_a_rule_is_not_a_name() {
        for name in
            ["../../etc/passwd", "/etc/localtime", ":Europe/Berlin", "<+03>-3", "EST5EDT,M3.2.0"]
        {
            assert!(!is_plain(name), "{name}");
        }
        assert!(is_plain("Etc/GMT+3"));
    }
}
