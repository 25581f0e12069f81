//! A turn that ended at a limit: the request rate, a plan's usage, or the context. A client's message is recognised by
//! its beginning, so that an agent that merely writes about limits is not taken for one that has reached one.

pub(super) use substrate_core::dialect::Limit;
use substrate_core::{Detail, Event, EventKind, Timestamp};

/// A limit that was reached, and when it ends if the client says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LimitHit {
    pub(super) limit: Limit,
    pub(super) until: Option<Timestamp>,
}

impl LimitHit {
    /// `rate limit, ends in 2h (16:00 UTC)`.
    pub(super) fn words(self, now: Timestamp) -> String {
        let words = self.limit.words();
        let Some(until) = self.until else { return words.to_owned() };
        let at = jiff::Timestamp::from_millisecond(until.0)
            .map_or_else(|_| String::new(), |at| at.strftime("%H:%M UTC").to_string());
        let left = until.0.saturating_sub(now.0);
        if left <= 0 {
            return format!("{words} ended {} ago", substrate_core::time::Ago(-left));
        }
        format!("{words}, ends in {} ({at})", substrate_core::time::Ago(left))
    }
}

/// A client's own words are short; an answer is long.
const MAX_WORDS: usize = 400;

/// The limit that ended a turn, if one did. `offset_s` is how far the local clock is ahead of UTC.
pub(super) fn of(event: &Event, offset_s: i32) -> Option<LimitHit> {
    let (error, message) = match (event.kind, &event.detail) {
        (EventKind::StopFailure, Detail::StopFailure { error, last_message }) => {
            (error.as_str(), last_message.as_deref().unwrap_or_default())
        }
        (EventKind::Stop | EventKind::SubagentStop, Detail::Stop { last_message, .. }) => {
            ("", last_message.as_deref().filter(|text| text.len() <= MAX_WORDS)?)
        }
        _ => return None,
    };
    let words = message.trim_start().to_lowercase();
    let words = words.strip_prefix("api error:").map_or(words.as_str(), str::trim_start);
    let by_kind = event.dialect.limit_kinds.iter().find(|(kind, _)| *kind == error);
    let by_words = event.dialect.limit_words.iter().find(|(begins, _)| words.starts_with(begins));
    // A kind that says nothing about a limit (`max_output_tokens`) may still come with words that do.
    let (_, limit) = by_words.or(by_kind)?;
    let until = match limit {
        Limit::Rate => until(words, event.at, offset_s),
        Limit::Context => None,
    };
    Some(LimitHit { limit: *limit, until })
}

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// When a limit ends: `resets 4pm (Europe/Berlin)`, `resets at 16:30`, `resets Nov 20, 4pm`, `try again in 5 minutes`,
/// `…|1762970000`. A time without a day is the next one.
fn until(words: &str, now: Timestamp, offset_s: i32) -> Option<Timestamp> {
    if let Some((_, seconds)) = words.rsplit_once('|')
        && let Ok(seconds) = seconds.trim().parse::<i64>()
    {
        return Some(Timestamp(seconds.checked_mul(1_000)?));
    }
    if let Some((_, rest)) = words.split_once("resets ") {
        return clock(rest, now, offset_s).or_else(|| span(rest, now));
    }
    ["try again in ", "retry after ", "retry in "]
        .iter()
        .find_map(|begins| span(words.split_once(begins)?.1, now))
}

/// `5 minutes`, `30s`, `in 2h`.
fn span(text: &str, now: Timestamp) -> Option<Timestamp> {
    let text = text.strip_prefix("in ").unwrap_or(text);
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let n: i64 = text[..digits].parse().ok().filter(|n| *n < 10_000)?;
    let unit = match text[digits..].trim_start().chars().next() {
        Some('s') | None => 1_000,
        Some('m') => MINUTE_MS,
        Some('h') => 60 * MINUTE_MS,
        Some('d') => DAY_MS,
        Some(_) => return None,
    };
    Some(now.plus_ms(n * unit))
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// A time of day, with a day before it or not, in local time unless it says `utc`.
fn clock(text: &str, now: Timestamp, offset_s: i32) -> Option<Timestamp> {
    let is_utc = text.contains("utc");
    let ahead_ms = if is_utc { 0 } else { i64::from(offset_s) * 1_000 };
    let local =
        |at: Timestamp| jiff::Timestamp::from_millisecond(at.0.saturating_add(ahead_ms)).ok();
    let here = local(now)?.to_zoned(jiff::tz::TimeZone::UTC);
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | '(' | ')'))
        .filter(|word| !word.is_empty() && !matches!(*word, "at" | "on"))
        .take(4)
        .collect();
    let month =
        words.first().and_then(|word| MONTHS.iter().position(|month| word.starts_with(month)));
    let (day, time) = match month {
        Some(month) => {
            let day: i8 =
                words.get(1)?.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok()?;
            let month = i8::try_from(month + 1).ok()?;
            let date = jiff::civil::Date::new(here.year(), month, day).ok()?;
            let date = if date < here.date() {
                jiff::civil::Date::new(here.year() + 1, month, day).ok()?
            } else {
                date
            };
            (Some(date), words.get(2).copied())
        }
        None => (None, words.first().copied()),
    };
    let time = match time {
        Some(word) => of_day(word)?,
        None => (0, 0),
    };
    let date = day.unwrap_or_else(|| here.date());
    let at = date.at(time.0, time.1, 0, 0).to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    let at = Timestamp(at.timestamp().as_millisecond().saturating_sub(ahead_ms));
    Some(if day.is_none() && at <= now { at.plus_ms(DAY_MS) } else { at })
}

/// `4pm`, `4:30pm`, `16:30`: hour and minute.
fn of_day(word: &str) -> Option<(i8, i8)> {
    let am = word.strip_suffix("am").map(|rest| (rest, 0));
    let half = am.or_else(|| word.strip_suffix("pm").map(|rest| (rest, 12)));
    let (digits, half) = half.map_or((word, None), |(rest, half)| (rest, Some(half)));
    let (hour, minute) = digits.split_once(':').unwrap_or((digits, "0"));
    // A bare number is not a time of day.
    if half.is_none() && !digits.contains(':') {
        return None;
    }
    let (hour, minute): (i8, i8) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return None,
        None => hour,
    };
    ((0..24).contains(&hour) && (0..60).contains(&minute)).then_some((hour, minute))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// 2027-01-15 08:00:00 UTC.
    const NOW: Timestamp = Timestamp(1_800_000_000_000);
    const HOUR: i32 = 3_600;

    fn failed(error: &str, message: &str, offset_s: i32) -> Option<LimitHit> {
        let last_message = (!message.is_empty()).then(|| message.to_owned());
        let detail = Detail::StopFailure { error: error.to_owned(), last_message };
        of(&Event { detail, ..event(EventKind::StopFailure) }, offset_s)
    }

    fn event(kind: EventKind) -> Event {
        Event { dialect: substrate_clients::DEFAULT.dialect, ..Event::bare("test", kind, NOW) }
    }

    fn stopped(message: &str) -> Option<LimitHit> {
        let detail = Detail::Stop {
            again: false,
            last_message: Some(message.to_owned()),
            n_background_tasks: 0,
            transcript: None,
        };
        of(&Event { detail, ..event(EventKind::Stop) }, 0)
    }

    fn rate(minutes: i64) -> Option<LimitHit> {
        Some(LimitHit { limit: Limit::Rate, until: Some(NOW.plus_ms(minutes * MINUTE_MS)) })
    }

    #[rstest]
    #[case::kind("rate_limit", "", 0, Some(LimitHit { limit: Limit::Rate, until: None }))]
    #[case::in_the_afternoon("rate_limit", "You've hit your session limit · resets 4pm (UTC)", 0, rate(8 * 60))]
    #[case::local("rate_limit", "You've hit your session limit · resets 4pm (Europe/Berlin)", HOUR, rate(7 * 60))]
    #[case::west("rate_limit", "You've hit your limit · resets 4:30am (America/Los_Angeles)", -8 * HOUR, rate(4 * 60 + 30))]
    #[case::utc_whatever_the_clock("rate_limit", "You've hit your limit · resets 16:30 UTC", HOUR, rate(8 * 60 + 30))]
    #[case::at("rate_limit", "You've hit your weekly limit · resets at 16:30", 0, rate(8 * 60 + 30))]
    #[case::tomorrow("rate_limit", "You've hit your limit · resets 7am", 0, rate(23 * 60))]
    #[case::midnight("rate_limit", "You've hit your limit · resets 12am", 0, rate(16 * 60))]
    #[case::noon("rate_limit", "You've hit your limit · resets 12pm", 0, rate(4 * 60))]
    #[case::a_day("rate_limit", "You've hit your weekly limit · resets Jan 17, 8am", 0, rate(2 * 24 * 60))]
    #[case::a_day_alone("rate_limit", "You've hit your limit · resets January 16", 0, rate(16 * 60))]
    #[case::next_year("rate_limit", "You've hit your limit · resets Jan 14 at 8am", 0, rate(364 * 24 * 60))]
    #[case::since_1970("rate_limit", "Claude AI usage limit reached|1800003600", 0, rate(60))]
    #[case::minutes(
        "rate_limit",
        "API Error: Rate limit reached, try again in 5 minutes.",
        0,
        rate(5)
    )]
    #[case::seconds("rate_limit_error", "429 Too many requests; retry after 60", 0, rate(1))]
    #[case::hours("rate_limit", "Usage limit reached, resets in 2h", 0, rate(120))]
    #[case::odd_time("rate_limit", "You've hit your limit · resets soon", 0, Some(LimitHit { limit: Limit::Rate, until: None }))]
    #[case::no_time("rate_limit", "You've hit your limit · resets 25:99", 0, Some(LimitHit { limit: Limit::Rate, until: None }))]
    #[case::huge("rate_limit", "usage limit reached|99999999999999999999", 0, Some(LimitHit { limit: Limit::Rate, until: None }))]
    #[case::context("invalid_request", "Prompt is too long", 0, Some(LimitHit { limit: Limit::Context, until: None }))]
    #[case::window("max_output_tokens", "API Error: The model has reached its context window limit.", 0, Some(LimitHit { limit: Limit::Context, until: None }))]
    #[case::output(
        "max_output_tokens",
        "API Error: Claude's response exceeded the 32000 output token maximum.",
        0,
        None
    )]
    #[case::server("server_error", "API Error: 529 Overloaded.", 0, None)]
    #[case::login("authentication_failed", "Failed to authenticate. API Error: 401 x", 0, None)]
    fn a_turn_that_failed(
        #[case] error: &str,
        #[case] message: &str,
        #[case] offset_s: i32,
        #[case] expected: Option<LimitHit>,
    ) {
        assert_eq!(failed(error, message, offset_s), expected);
    }

    #[rstest]
    #[case::limit("You've hit your session limit · resets 4pm", true)]
    #[case::context("Prompt is too long", true)]
    #[case::an_answer("The rate limit of the API is 5 per second.", false)]
    #[case::a_long_answer(&format!("Rate limits matter. {}", "x".repeat(500)), false)]
    #[case::done("All done.", false)]
    fn a_turn_that_ended(#[case] message: &str, #[case] expected: bool) {
        assert_eq!(stopped(message).is_some(), expected);
    }

    #[rstest]
    #[case(Some(90), "rate limit, ends in 1h (09:30 UTC)")]
    #[case(Some(-5), "rate limit ended 5m ago")]
    #[case(None, "rate limit")]
    fn people_read(#[case] minutes: Option<i64>, #[case] expected: &str) {
        let until = minutes.map(|minutes| NOW.plus_ms(minutes * MINUTE_MS));
        assert_eq!(LimitHit { limit: Limit::Rate, until }.words(NOW), expected);
    }
}
