//! `substrate journal health`: how fast the hooks were, what was refused and what failed, and what is open in each feature.
//!
//! A journal may have a million entries, so a span is looked at in steps of equal length, and of each step only the first
//! entries. How many were looked at is said.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::size::Bytes;
use substrate_core::time::{Took, parse_span};
use substrate_core::verb::VerbArgs;
use substrate_core::view::{Check, CheckKind};
use substrate_core::{
    Access, Audience, Caller, Cx, Db, DbError, FeatureError, Output, Timestamp, VerbError,
};

use super::record::LATE;
use super::verbs::percentile;
use super::{feature_costs, ops};

/// The steps of a span.
const STEPS: i64 = 30;

/// The entries that are looked at in each step.
const PER_STEP: i64 = 100;

/// How many days are counted.
pub(super) const DAYS: i64 = 14;

const DAY_MS: i64 = 86_400_000;
const HOUR_MS: i64 = 3_600_000;

/// The failures that are read.
const MAX_FAILURES: i64 = 200;

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Health {
    /// The span to look at, e.g. `1h`, `24h`, `7d`
    #[arg(long, default_value = "1h")]
    since: String,
}

/// How everything is.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Condition {
    pub(super) since_ms: i64,
    pub(super) n_events: i64,
    pub(super) n_looked_at: usize,
    pub(super) n_late: usize,
    pub(super) n_malformed: usize,
    pub(super) events: Vec<EventCost>,
    pub(super) features: Vec<FeatureCost>,
    pub(super) days: Vec<Day>,
    pub(super) failures: Vec<Failed>,
    pub(super) database: Database,
    pub(super) checks: Vec<Check>,
    /// Features that could not say what is open.
    pub(super) unheard: Vec<&'static str>,
}

/// What one kind of event cost.
#[derive(Clone, Debug, Serialize)]
pub(super) struct EventCost {
    pub(super) event: String,
    pub(super) n: usize,
    pub(super) p50_us: i64,
    pub(super) p99_us: i64,
    /// p50 and p99 of each step, oldest first.
    pub(super) steps: Vec<Option<(i64, i64)>>,
}

/// What one feature cost at an event, in the hours of the span.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FeatureCost {
    pub(super) feature: String,
    pub(super) p50_us: i64,
    pub(super) p99_us: i64,
}

/// What was counted on a day, newest last.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Day {
    pub(super) from_ms: i64,
    pub(super) n_events: i64,
    pub(super) n_refused: i64,
}

/// A feature that failed to answer.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Failed {
    pub(super) feature: String,
    pub(super) n: usize,
    pub(super) last_entry: i64,
    pub(super) last_ms: i64,
    pub(super) message: String,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Database {
    pub(super) bytes: i64,
    pub(super) max_bytes: i64,
    pub(super) n_entries: i64,
    pub(super) first_ms: Option<i64>,
    pub(super) max_age_ms: i64,
}

impl VerbArgs for Health {
    const PATH: &'static [&'static str] = &["journal", "health"];
    const ABOUT: &'static str =
        "Show how fast the hooks were, what failed, and what is open in each feature";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let span = parse_span(&self.since).ok_or_else(|| {
            VerbError::user(
                format!("`{}` is not a duration", self.since),
                "write it like `1h` or `7d`",
            )
        })?;
        let found = condition(cx, span, caller.tz_offset_s)?;
        Ok(Output::new(text(&found), json!(found)))
    }
}

fn text(found: &Condition) -> String {
    let mut out = format!("{:<22} {:>8} {:>9} {:>9}\n", "event", "count", "p50", "p99");
    for one in &found.events {
        let _infallible = writeln!(
            out,
            "{:<22} {:>8} {:>9} {:>9}",
            one.event,
            one.n,
            Took(one.p50_us),
            Took(one.p99_us)
        );
    }
    let Database { bytes, n_entries, .. } = found.database;
    let _infallible = writeln!(
        out,
        "\nLooked at {} of {} events. The database has {n_entries} entries and {}.",
        found.n_looked_at,
        found.n_events,
        Bytes(u64::try_from(bytes).unwrap_or(0))
    );
    for one in &found.failures {
        let _infallible =
            writeln!(out, "failed: {} {} times, last: {}", one.feature, one.n, one.message);
    }
    for check in &found.checks {
        let word = match check.kind {
            CheckKind::Fine => "fine",
            CheckKind::Attention => "look",
            CheckKind::Error => "error",
            CheckKind::Waits => "waits",
        };
        let _infallible = writeln!(out, "{word:<6} {}  {}", check.what, check.detail);
    }
    out
}

/// Everything about the span up to now.
pub(super) fn condition(
    cx: &mut Cx<'_>,
    span_ms: i64,
    tz_offset_s: i32,
) -> Result<Condition, VerbError> {
    let from = cx.now.plus_ms(-span_ms);
    let ends = ops::ends(cx.db)?;
    let (first, last) = ends.map_or((0, 0), |(first, last)| (first - 1, last));
    let after = ops::id_between(cx.db, from, (first, last))?;
    let mut counted = Counted::default();
    let mut low = after;
    for step in 0..STEPS {
        let until = from.plus_ms(span_ms * (step + 1) / STEPS);
        let high = match step == STEPS - 1 {
            true => last,
            false => ops::id_between(cx.db, until, (low, last))?,
        };
        // What fits is looked at whole.
        let limit = if last - after <= STEPS * PER_STEP { i64::MAX } else { PER_STEP };
        let place = usize::try_from(step).unwrap_or(0);
        ops::costs(cx.db, (low, high), limit, &mut |row| counted.add(place, row))?;
        low = high;
    }
    let (checks, unheard) = checks(cx)?;
    let max_age_ms = cx.settings.int("journal.max_age");
    Ok(Condition {
        since_ms: from.0,
        n_events: last - after,
        n_looked_at: counted.n,
        n_late: counted.n_late,
        n_malformed: counted.n_malformed,
        features: features(cx.db, from)?,
        events: counted.events(),
        days: days(cx.db, cx.now, tz_offset_s, (first, last))?,
        failures: failures(cx.db, after)?,
        database: Database {
            bytes: cx.db.size_bytes()?,
            max_bytes: cx.settings.int("journal.max_size"),
            n_entries: last - first,
            first_ms: ops::at(cx.db, first + 1)?,
            max_age_ms,
        },
        checks,
        unheard,
    })
}

/// Asks every feature. One that fails is named.
fn checks(cx: &mut Cx<'_>) -> Result<(Vec<Check>, Vec<&'static str>), VerbError> {
    let (mut out, mut unheard) = (Vec::new(), Vec::new());
    for feature in crate::ALL {
        let Some(checks) = feature.checks else { continue };
        match checks(cx) {
            Ok(found) => out.extend(found),
            Err(FeatureError::Db(error)) => return Err(error.into()),
            Err(FeatureError::Other(_) | FeatureError::Refused { .. }) => {
                unheard.push(feature.name);
            }
        }
    }
    Ok((out, unheard))
}

/// How many things fail now, for the header of every page: what features call an error, and features that failed to answer
/// in the last hour.
pub(super) fn n_failing(cx: &mut Cx<'_>) -> Result<i64, VerbError> {
    let (checks, unheard) = checks(cx)?;
    let n = checks.iter().filter(|check| check.kind == CheckKind::Error).count() + unheard.len();
    let after = ops::id_before(cx.db, cx.now.plus_ms(-HOUR_MS))?;
    let n_failed = ops::failed(cx.db, after, 1)?.len();
    Ok(i64::try_from(n + n_failed).unwrap_or(i64::MAX))
}

/// The columns that say what an event cost.
pub(super) struct CostRow {
    pub(super) event: String,
    pub(super) spent_us: i64,
    pub(super) why: Option<String>,
}

#[derive(Default)]
struct Counted {
    n: usize,
    n_late: usize,
    n_malformed: usize,
    by_event: BTreeMap<String, BTreeMap<usize, Vec<i64>>>,
}

impl Counted {
    fn add(&mut self, step: usize, row: CostRow) {
        self.n += 1;
        self.n_late += usize::from(row.why.as_deref() == Some(LATE));
        self.n_malformed += usize::from(row.event == "Malformed");
        self.by_event.entry(row.event).or_default().entry(step).or_default().push(row.spent_us);
    }

    /// The most frequent first.
    fn events(self) -> Vec<EventCost> {
        let cost = |(event, steps): (String, BTreeMap<usize, Vec<i64>>)| {
            let mut all: Vec<i64> = steps.values().flatten().copied().collect();
            all.sort_unstable();
            let n_steps = usize::try_from(STEPS).unwrap_or(0);
            let step = |at: usize| {
                let mut of = steps.get(&at)?.clone();
                of.sort_unstable();
                Some((percentile(&of, 50), percentile(&of, 99)))
            };
            EventCost {
                event,
                n: all.len(),
                p50_us: percentile(&all, 50),
                p99_us: percentile(&all, 99),
                steps: (0..n_steps).map(step).collect(),
            }
        };
        let mut out: Vec<EventCost> = self.by_event.into_iter().map(cost).collect();
        out.sort_by_key(|one| std::cmp::Reverse(one.n));
        out
    }
}

/// The dearest first.
fn features(db: &mut dyn Db, from: Timestamp) -> Result<Vec<FeatureCost>, DbError> {
    let mut out: Vec<FeatureCost> = feature_costs::since(db, from)?
        .into_iter()
        .map(|feature_costs::Share { feature, p50_us, p99_us }| FeatureCost {
            feature,
            p50_us,
            p99_us,
        })
        .collect();
    out.sort_by_key(|one| std::cmp::Reverse((one.p99_us, one.p50_us)));
    Ok(out)
}

fn days(
    db: &mut dyn Db,
    now: Timestamp,
    tz_offset_s: i32,
    (first, last): (i64, i64),
) -> Result<Vec<Day>, DbError> {
    let offset = i64::from(tz_offset_s) * 1_000;
    let today = (now.0 + offset).div_euclid(DAY_MS) * DAY_MS - offset;
    let mut low = first;
    let mut out = Vec::new();
    let begin = Timestamp(today - (DAYS - 1) * DAY_MS);
    low = ops::id_between(db, begin, (low, last))?;
    for n in 0..DAYS {
        let from_ms = begin.0 + n * DAY_MS;
        let high = ops::id_between(db, Timestamp(from_ms + DAY_MS), (low, last))?;
        let n_refused = ops::n_refused(db, low, high)?;
        out.push(Day { from_ms, n_events: high - low, n_refused });
        low = high;
    }
    Ok(out)
}

fn failures(db: &mut dyn Db, after: i64) -> Result<Vec<Failed>, DbError> {
    let mut out: Vec<Failed> = Vec::new();
    for (id, at_ms, json) in ops::failed(db, after, MAX_FAILURES)? {
        let told: Vec<Value> = serde_json::from_str(&json).unwrap_or_default();
        for failure in told {
            let feature = failure["feature"].as_str().unwrap_or("unknown");
            match out.iter_mut().find(|known| known.feature == feature) {
                Some(known) => known.n += 1,
                None => out.push(Failed {
                    feature: feature.to_owned(),
                    n: 1,
                    last_entry: id,
                    last_ms: at_ms,
                    message: failure["message"].as_str().unwrap_or_default().to_owned(),
                }),
            }
        }
    }
    Ok(out)
}
