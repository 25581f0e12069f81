//! What is told now: pure, from what waits, what was told, the settings and the time.

use substrate_core::{Settings, Timestamp, UserNeed};

/// Two notifications are at least this far apart.
pub(super) const GAP_MS: i64 = 10_000;

pub(super) const HOUR_MS: i64 = 3_600_000;

/// What the user's settings say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) after_ms: i64,
    pub(super) quiet: Option<Hours>,
    pub(super) max_per_hour: i64,
}

impl Rules {
    pub(super) fn of(settings: &Settings) -> Self {
        Self {
            after_ms: settings.int("notify.after"),
            quiet: Hours::read(settings.text("notify.quiet")),
            max_per_hour: settings.int("notify.max_per_hour"),
        }
    }
}

/// Hours of the day, in minutes since midnight. They may go past midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hours {
    from: i64,
    to: i64,
}

impl Hours {
    /// Reads `22:00-07:00`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (from, to) = text.split_once('-')?;
        Some(Self { from: minute(from.trim())?, to: minute(to.trim())? })
    }

    const fn has(self, minute: i64) -> bool {
        if self.from <= self.to {
            self.from <= minute && minute < self.to
        } else {
            minute >= self.from || minute < self.to
        }
    }
}

fn minute(text: &str) -> Option<i64> {
    let (hour, minute) = text.split_once(':')?;
    let is_number = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(hour) || !is_number(minute) {
        return None;
    }
    let (hour, minute): (i64, i64) = (hour.parse().ok()?, minute.parse().ok()?);
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

/// What was told before.
#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    /// The ids of rows, and when each was told.
    pub(super) rows: Vec<(String, Timestamp)>,
    /// When notifications went out in the last hour.
    pub(super) sent: Vec<Timestamp>,
}

impl Before {
    /// An agent's next dialog has the id of its last one. It is another thing if it began after that was told.
    fn has_told(&self, need: &UserNeed) -> bool {
        self.rows.iter().any(|(id, at)| *id == need.id && need.since_ms <= at.0)
    }
}

/// What to do now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision<'a> {
    /// One notification about these.
    Tell(Vec<&'a UserNeed>),
    /// Nothing is new.
    Nothing,
    /// Something is, and is held back.
    Hold(Why),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The user may answer it at once, or others may follow.
    Fresh,
    Quiet,
    TooMany,
    /// The last notification has only just come.
    TooSoon,
}

impl Why {
    /// How soon it may be over.
    pub(super) const fn again_ms(self) -> i64 {
        match self {
            Self::Fresh => 1_000,
            Self::TooSoon => GAP_MS / 2,
            Self::Quiet | Self::TooMany => 60_000,
        }
    }
}

pub(super) fn decide<'a>(
    needs: &'a [UserNeed],
    before: &Before,
    rules: Rules,
    now: Timestamp,
    tz_offset_s: i32,
) -> Decision<'a> {
    let new: Vec<&UserNeed> = needs.iter().filter(|need| !before.has_told(need)).collect();
    let age = |need: &&UserNeed| now.0 - need.since_ms;
    let (Some(youngest), Some(oldest)) = (new.iter().map(age).min(), new.iter().map(age).max())
    else {
        return Decision::Nothing;
    };
    if oldest < rules.after_ms {
        return Decision::Hold(Why::Fresh);
    }
    let minute = (now.0 / 1_000 + i64::from(tz_offset_s)).rem_euclid(86_400) / 60;
    if rules.quiet.is_some_and(|hours| hours.has(minute)) {
        return Decision::Hold(Why::Quiet);
    }
    let ago = |at: &Timestamp| now.since(*at);
    if before.sent.iter().map(ago).any(|ms| ms < GAP_MS) {
        return Decision::Hold(Why::TooSoon);
    }
    let n_sent = before.sent.iter().map(ago).filter(|ms| *ms < HOUR_MS).count();
    if i64::try_from(n_sent).unwrap_or(i64::MAX) >= rules.max_per_hour {
        return Decision::Hold(Why::TooMany);
    }
    // Wait for the rest of a burst, but not for ever.
    if youngest < rules.after_ms && oldest < 2 * rules.after_ms {
        return Decision::Hold(Why::Fresh);
    }
    Decision::Tell(new.into_iter().filter(|need| age(need) >= rules.after_ms).collect())
}
