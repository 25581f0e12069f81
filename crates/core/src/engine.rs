//! One event through all features: wishes, merge, record. The caller holds the transaction.
//!
//! A feature that errors or panics contributes nothing: its savepoint is rolled back, the failure is part of the
//! outcome, and the others still answer.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::db::{Db, DbError};
use crate::event::Event;
use crate::facts::{Facts, Need};
use crate::feature::{Cx, Feature, FeatureError, Migration};
use crate::ids::RequestId;
use crate::merge::{self, StopCycle};
use crate::settings::Settings;
use crate::time::Timestamp;
use crate::verdict::{DeliveryTable, Verdict};
use crate::wish::Wish;

mod cycle;
pub mod once;

/// The engine's own tables.
pub const MIGRATIONS: &[Migration] = &[cycle::MIGRATION, once::MIGRATION, once::SCOPES];

/// Forgets what the engine itself no longer needs.
pub fn tick(db: &mut dyn Db, now: Timestamp) -> Result<(), DbError> {
    cycle::forget(db, now)?;
    once::forget(db, now)
}

/// What the host brings: everything that is not pure.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    pub features: &'a [&'a Feature],
    pub settings: &'a Settings,
    pub facts: &'a Facts,
    pub delivers: DeliveryTable,
    /// A monotonic clock in microseconds, for the cost of each feature.
    pub micros: fn() -> u64,
    pub host: HostKind,
    pub request: RequestId,
    /// When the request arrived, on the clock of `micros`.
    pub begun_us: u64,
}

/// Which process runs the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostKind {
    Daemon,
    /// The hook's own process, because no daemon answered; the word says why.
    InProcess(&'static str),
}

impl HostKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Daemon => "daemon",
            Self::InProcess(_) => "in-process",
        }
    }

    /// Why the daemon did not do it; `None` when it did.
    pub const fn why(self) -> Option<&'static str> {
        match self {
            Self::Daemon => None,
            Self::InProcess(why) => Some(why),
        }
    }
}

/// What came of an event.
#[derive(Debug)]
pub struct Outcome {
    pub wishes: Vec<(&'static str, Wish)>,
    pub verdict: Verdict,
    /// Microseconds that each feature took to consider the event.
    pub costs: Vec<(&'static str, u64)>,
    /// Microseconds from the arrival of the request to its verdict.
    pub spent_us: u64,
    pub failures: Vec<Failure>,
    pub host: HostKind,
    pub request: RequestId,
}

/// A feature that could not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub feature: &'static str,
    pub panicked: bool,
    pub message: String,
}

/// The facts that the features need for this event, each once. A feature that panics needs nothing.
pub fn needs(features: &[&Feature], event: &Event, settings: &Settings) -> Vec<Need> {
    let mut out = Vec::new();
    for gather in features.iter().filter_map(|feature| feature.gather) {
        for need in catch_unwind(|| gather(event, settings)).unwrap_or_default() {
            if !out.contains(&need) {
                out.push(need);
            }
        }
    }
    out
}

/// Runs one event through the features and merges their wishes.
pub fn run(around: &Surroundings<'_>, db: &mut dyn Db, event: &Event) -> Outcome {
    let mut out = Outcome {
        wishes: Vec::new(),
        verdict: Verdict::default(),
        costs: Vec::new(),
        spent_us: 0,
        failures: Vec::new(),
        host: around.host,
        request: around.request,
    };
    for feature in around.features {
        let Some(consider) = feature.consider else { continue };
        let begun = (around.micros)();
        match contained(around, db, event, |cx| consider(cx, event)) {
            Ok(wishes) => out.wishes.extend(wishes.into_iter().map(|wish| (feature.name, wish))),
            Err(failure) => out.failures.push(Failure { feature: feature.name, ..failure }),
        }
        out.costs.push((feature.name, (around.micros)().saturating_sub(begun)));
    }
    let cycle = match cycle::load(db, event) {
        Ok(cycle) => cycle,
        Err(error) => {
            out.failures.push(Failure {
                feature: "engine",
                panicked: false,
                message: error.to_string(),
            });
            StopCycle::default()
        }
    };
    let merged = merge::merge(event, &out.wishes, around.delivers, &cycle);
    out.verdict = merged.verdict;
    if let Err(error) = cycle::save(db, event, &cycle, &merged.told) {
        out.failures.push(Failure {
            feature: "engine",
            panicked: false,
            message: error.to_string(),
        });
    }
    out.spent_us = (around.micros)().saturating_sub(around.begun_us);
    for feature in around.features {
        let Some(record) = feature.record else { continue };
        if let Err(failure) = contained(around, db, event, |cx| record(cx, event, &out)) {
            out.failures.push(Failure { feature: feature.name, ..failure });
        }
    }
    out
}

/// Runs one feature's code in a savepoint, and turns a panic into a failure.
fn contained<T>(
    around: &Surroundings<'_>,
    db: &mut dyn Db,
    event: &Event,
    body: impl FnOnce(&mut Cx<'_>) -> Result<T, FeatureError>,
) -> Result<T, Failure> {
    let fail = |panicked, message| Failure { feature: "", panicked, message };
    let result = db.savepoint(|db| {
        let mut cx = Cx { now: event.at, db, settings: around.settings, facts: around.facts };
        match catch_unwind(AssertUnwindSafe(|| body(&mut cx))) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(ContainedError(false, error.to_string())),
            Err(payload) => Err(ContainedError(true, panic_message(payload.as_ref()))),
        }
    });
    result.map_err(|ContainedError(panicked, message)| fail(panicked, message))
}

struct ContainedError(bool, String);

impl From<DbError> for ContainedError {
    fn from(error: DbError) -> Self {
        Self(false, error.to_string())
    }
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panicked without a message".to_owned())
}
