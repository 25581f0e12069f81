//! How long each feature takes, as a histogram per feature and hour.
//!
//! Said with every event it would cost more than most features. So it is counted in the writer's memory, and written once for
//! many events. A daemon that is killed loses the counts of the last few; the events themselves say what took really long.

use std::cell::RefCell;
use std::collections::BTreeMap;

use substrate_core::{Db, DbError, Memorable, Timestamp};

/// Counts are written when this many events were counted.
const STEP: u32 = 64;

const HOUR_MS: i64 = 3_600_000;

/// Up to 8 µs each microsecond counts for itself, then each quarter of a doubling, up to 8 s.
const EXACT: u64 = 8;
const N_BUCKETS: usize = 8 + 20 * 4;

const PENDING: Memorable = Memorable { name: "costs that are not written yet", tables: &[] };

/// What was counted and is not written yet.
#[derive(Debug, Default)]
struct Pending(RefCell<Counts>);

#[derive(Debug, Default)]
struct Counts {
    hour_ms: i64,
    n_events: u32,
    /// In the order in which features speak.
    by_feature: Vec<(&'static str, [u32; N_BUCKETS])>,
}

impl Counts {
    /// The buckets of a feature, which are nearly always at the same place.
    fn of(&mut self, at: usize, feature: &'static str) -> &mut [u32; N_BUCKETS] {
        let is_it = |known: &'static str| std::ptr::eq(known, feature) || known == feature;
        let at = match self.by_feature.get(at) {
            Some((known, _)) if is_it(known) => at,
            _ => self.by_feature.iter().position(|(known, _)| is_it(known)).unwrap_or_else(|| {
                self.by_feature.push((feature, [0; N_BUCKETS]));
                self.by_feature.len() - 1
            }),
        };
        &mut self.by_feature[at].1
    }
}

/// It is in no table, so memory is always right.
impl PartialEq for Pending {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// As it is stored: the buckets that are not empty, by feature.
type Stored = BTreeMap<String, Vec<(usize, u64)>>;

/// Counts what an event cost each feature, in microseconds.
pub(super) fn count(
    db: &mut dyn Db,
    at: Timestamp,
    costs: &[(&'static str, u64)],
) -> Result<(), DbError> {
    let pending = db.remembered(PENDING, ["", ""], |_| Ok(Pending::default()))?;
    let hour_ms = at.0.div_euclid(HOUR_MS) * HOUR_MS;
    let is_due = {
        let counts = pending.0.borrow();
        counts.n_events >= STEP || counts.n_events > 0 && counts.hour_ms != hour_ms
    };
    if is_due {
        let counted = pending.0.take();
        write(db, &counted)?;
    }
    let mut counts = pending.0.borrow_mut();
    counts.hour_ms = hour_ms;
    counts.n_events += 1;
    for (at, (feature, us)) in costs.iter().enumerate() {
        counts.of(at, feature)[bucket(*us)] += 1;
    }
    Ok(())
}

/// Writes what was counted so far, and forgets hours before that moment.
pub(super) fn tick(db: &mut dyn Db, oldest: Timestamp) -> Result<(), DbError> {
    let pending = db.remembered(PENDING, ["", ""], |_| Ok(Pending::default()))?;
    let counted = pending.0.take();
    write(db, &counted)?;
    let params = [(oldest.0 - HOUR_MS).into()];
    db.execute("delete from journal_feature_costs where hour_ms < $1", &params)?;
    Ok(())
}

fn write(db: &mut dyn Db, counted: &Counts) -> Result<(), DbError> {
    if counted.n_events == 0 {
        return Ok(());
    }
    let sql = "select counts from journal_feature_costs where hour_ms = $1";
    let known = db.first(sql, &[counted.hour_ms.into()], |row| row.text(0))?;
    let mut stored = known.map_or_else(Stored::new, |text| read(&text));
    for (feature, buckets) in &counted.by_feature {
        let of_feature = stored.entry((*feature).to_owned()).or_default();
        for (bucket, n) in buckets.iter().enumerate().filter(|(_, n)| **n > 0) {
            add(of_feature, bucket, u64::from(*n));
        }
    }
    let text = serde_json::to_string(&stored).unwrap_or_default();
    db.execute(
        "insert into journal_feature_costs (hour_ms, counts) values ($1, $2)
         on conflict (hour_ms) do update set counts = excluded.counts",
        &[counted.hour_ms.into(), text.as_str().into()],
    )?;
    Ok(())
}

fn read(text: &str) -> Stored {
    serde_json::from_str(text).unwrap_or_default()
}

fn add(buckets: &mut Vec<(usize, u64)>, bucket: usize, n: u64) {
    match buckets.binary_search_by_key(&bucket, |(known, _)| *known) {
        Ok(at) => buckets[at].1 += n,
        Err(at) => buckets.insert(at, (bucket, n)),
    }
}

/// What the half and the dearest hundredth of the events cost one feature.
pub(super) struct Share {
    pub(super) feature: String,
    pub(super) p50_us: i64,
    pub(super) p99_us: i64,
}

/// The hours since that moment, the first one whole.
pub(super) fn since(db: &mut dyn Db, from: Timestamp) -> Result<Vec<Share>, DbError> {
    let mut all = Stored::new();
    let sql = "select counts from journal_feature_costs where hour_ms > $1";
    for text in db.rows(sql, &[(from.0 - HOUR_MS).into()], |row| row.text(0))? {
        for (feature, buckets) in read(&text) {
            let of_feature = all.entry(feature).or_default();
            buckets.into_iter().for_each(|(bucket, n)| add(of_feature, bucket, n));
        }
    }
    let share = |(feature, buckets): (String, Vec<(usize, u64)>)| Share {
        feature,
        p50_us: percentile(&buckets, 50),
        p99_us: percentile(&buckets, 99),
    };
    Ok(all.into_iter().map(share).collect())
}

fn percentile(buckets: &[(usize, u64)], percent: u64) -> i64 {
    let n: u64 = buckets.iter().map(|(_, n)| n).sum();
    let mut left = n * percent / 100;
    for (bucket, n) in buckets {
        if left < *n {
            return microseconds(*bucket);
        }
        left -= n;
    }
    0
}

fn bucket(us: u64) -> usize {
    if us < EXACT {
        return usize::try_from(us).unwrap_or(0);
    }
    let doublings = us.ilog2();
    let quarter = (us >> (doublings - 2)) & 3;
    let above = u64::from(doublings - 3) * 4 + quarter;
    usize::try_from(EXACT + above).unwrap_or(N_BUCKETS).min(N_BUCKETS - 1)
}

/// The middle of a bucket.
fn microseconds(bucket: usize) -> i64 {
    let bucket = i64::try_from(bucket.min(N_BUCKETS - 1)).unwrap_or(0);
    let exact = EXACT.cast_signed();
    if bucket < exact {
        return bucket;
    }
    let (doublings, quarter) = ((bucket - exact) / 4 + 3, (bucket - exact) % 4);
    let width = 1_i64 << (doublings - 2);
    (4 + quarter) * width + width / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::Stage;

    #[test]
    fn a_bucket_has_its_middle_and_all_grow() {
        for us in [0, 1, 7, 8, 9, 12, 100, 1_500, 65_535, 1 << 22] {
            let middle = microseconds(bucket(us));
            let us = us.cast_signed();
            assert!((middle - us).abs() <= us / 7, "{us}: {middle}");
        }
        assert!((1..N_BUCKETS).all(|at| microseconds(at - 1) < microseconds(at)));
        assert_eq!(bucket(u64::MAX), N_BUCKETS - 1);
    }

    #[test]
    fn counts_are_written_together_and_added_up() {
        let mut stage = Stage::new("");
        stage.with(|cx| {
            for n in 0..200 {
                let slow = if n % 50 == 0 { 1_500 } else { 3 };
                count(cx.db, Timestamp(10), &[("identity", 1), ("mail", slow)]).unwrap();
            }
            // A feature that fails is not asked, so it has no cost.
            count(cx.db, Timestamp(10), &[("mail", 3)]).unwrap();
            let written = since(cx.db, Timestamp(0)).unwrap();
            assert_eq!(written.len(), 2, "without those that are not written yet");
            count(cx.db, Timestamp(HOUR_MS), &[("mail", 900_000)]).unwrap();
            let [identity, mail] = &since(cx.db, Timestamp(0)).unwrap()[..] else { panic!() };
            assert_eq!(
                (identity.feature.as_str(), identity.p50_us, identity.p99_us),
                ("identity", 1, 1)
            );
            assert_eq!((mail.p50_us, mail.p99_us), (3, 1_408));
            tick(cx.db, Timestamp(2 * HOUR_MS)).unwrap();
            let [mail] = &since(cx.db, Timestamp(0)).unwrap()[..] else { panic!() };
            assert_eq!(mail.p50_us, 851_968, "the first hour is forgotten");
        });
    }
}
