//! One event through all features: wishes, merge, record. The caller holds the transaction.
//!
//! A feature that errors or panics contributes nothing. Its savepoint is rolled back, the failure is part of the
//! outcome, and the others still answer.

use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use contain::Contained;
use processed::Scope;
use serde_json::{Map, Value};

use crate::db::{Db, DbError};
use crate::effect::Effect;
use crate::event::{Event, EventKind};
use crate::facts::{Facts, Need};
use crate::feature::{Cx, Feature, FeatureError, Migration};
use crate::ids::RequestId;
use crate::merge::{self, StopCycle, Told};
use crate::settings::Settings;
use crate::time::Timestamp;
use crate::verb::Caller;
use crate::verdict::{DeliveryTable, Verdict};
use crate::who::{Asking, Who};
use crate::wish::{Fate, Part, Receipt, Wish, Wished};
use crate::world::World;

mod contain;
mod cycle;
pub mod processed;

/// The engine's own tables.
pub const MIGRATIONS: &[Migration] = &[
    cycle::MIGRATION,
    processed::ANSWERS,
    processed::SCOPE_SEEN,
    cycle::HELD,
    processed::MIGRATION,
];

/// Forgets what the engine itself no longer needs.
pub fn tick(db: &mut dyn Db, now: Timestamp) -> Result<(), DbError> {
    cycle::forget(db, now)
}

/// Everything impure, which the host brings.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    pub features: &'a [&'a Feature],
    pub settings: &'a Settings,
    pub facts: &'a Facts,
    pub world: &'a dyn World,
    pub delivers: DeliveryTable,
    /// What the host itself wishes, before all features.
    pub wishes: &'a [Wish],
    /// A monotonic clock in microseconds, for the cost of each feature.
    pub micros: fn() -> u64,
    /// Its caller has gone: the event is only recorded.
    pub is_late: bool,
    pub request: RequestId,
    /// Which registration brought the event. `None`: it is not processed for one, so nothing stands for it.
    pub scope: Option<Scope>,
    /// When the request arrived, on the clock of `micros`.
    pub begun_us: u64,
    /// Whether the host can still look facts up, and have the event considered again.
    pub may_look: bool,
    /// What went wrong before the event came here; recorded.
    pub troubles: &'a [String],
}

/// What came of an event.
#[derive(Debug)]
pub struct Outcome {
    pub wishes: Vec<Wished>,
    pub verdict: Verdict,
    /// Microseconds that each feature took to consider the event.
    pub costs: Vec<(&'static str, u64)>,
    /// Microseconds from the arrival of the request to its verdict.
    pub spent_us: u64,
    pub failures: Vec<Failure>,
    /// Its caller had gone.
    pub is_late: bool,
    pub request: RequestId,
    pub scope: Option<Scope>,
    /// A feature's record names the request and its scope.
    pub is_stood_for: bool,
    /// What happens after the commit.
    pub effects: Vec<Effect>,
    /// Facts to look up first. If there are any, nothing was written and the rest of this value does not count.
    pub look: Vec<Need>,
}

impl Outcome {
    /// What the host brings, before any feature was asked.
    fn begun(around: &Surroundings<'_>) -> Self {
        Self {
            wishes: of_host(around),
            verdict: Verdict::default(),
            costs: Vec::new(),
            spent_us: 0,
            failures: around.troubles.iter().map(|trouble| Failure::of_host(trouble)).collect(),
            is_late: around.is_late,
            request: around.request,
            scope: around.scope,
            is_stood_for: false,
            effects: Vec::new(),
            look: Vec::new(),
        }
    }

    /// What that feature wished, and what became of it.
    pub fn of<'a>(&'a self, feature: &'a str) -> impl Iterator<Item = &'a Wished> {
        self.wishes.iter().filter(move |wished| wished.feature == feature)
    }

    /// The parts of that feature's words that are in the answer.
    pub fn told<'a>(&'a self, feature: &'a str) -> impl Iterator<Item = &'a Part> {
        self.of(feature).flat_map(Wished::told)
    }
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

/// Runs one event through the features and merges their wishes. If a feature asks for a fact that has not been looked
/// up yet, everything is rolled back.
pub fn run(around: &Surroundings<'_>, db: &mut dyn Db, event: &Event) -> Outcome {
    let looks =
        |feature: &&Feature| feature.looks.is_some_and(|looks| looks(event, around.settings));
    if !around.may_look || !around.features.iter().any(looks) {
        return considered(around, db, event, false);
    }
    let undo = |db: &mut dyn Db| {
        db.execute("rollback to event_step", &[])?;
        db.execute("release event_step", &[])
    };
    let saved = db.execute("savepoint event_step", &[]).is_ok();
    let mut out = considered(around, db, event, saved);
    let ended = match out.look.is_empty() {
        true if saved => db.execute("release event_step", &[]),
        true => Ok(0),
        false => undo(db),
    };
    if let Err(error) = ended {
        out.failures.push(Failure::of_engine(&error));
    }
    out
}

fn considered(
    around: &Surroundings<'_>,
    db: &mut dyn Db,
    event: &Event,
    may_look: bool,
) -> Outcome {
    let mut out = Outcome::begun(around);
    let mut cycle = cycle::load(db, event).unwrap_or_else(|error| {
        out.failures.push(Failure::of_engine(&error));
        StopCycle { is_lost: true, ..StopCycle::default() }
    });
    let mut who = None;
    let (mut event, left) = (event, OnceCell::new());
    out.costs.reserve_exact(around.features.len());
    let mut begun = (around.micros)();
    steps(around, db, event, &mut who, cycle.n_in_row, |steps| {
        for feature in around.features {
            if let Some(identify) = feature.identify {
                match steps.run(|cx| identify(cx, Asking::Event(event))) {
                    Ok(found) => {
                        steps.cx.who = found;
                        out.effects.append(&mut steps.cx.effects);
                    }
                    Err(failure) => out.failures.push(Failure { feature: feature.name, ..failure }),
                }
                // Its session goes on, so for all other features it has not ended.
                let is_shared = steps.cx.who.as_ref().is_some_and(|who| who.is_shared);
                if event.kind == EventKind::SessionEnd && is_shared {
                    event = left.get_or_init(|| left_by_one(event));
                }
            }
            let Some(consider) = feature.consider else { continue };
            match steps.run(|cx| consider(cx, event)) {
                Ok(wishes) => {
                    let Cx { effects, troubles, missing, .. } = &mut steps.cx;
                    out.look.extend(missing.get_mut().drain(..).filter(|_| may_look));
                    out.failures.extend(troubles.drain(..).map(|it| Failure::trouble(feature, it)));
                    out.wishes.extend(wishes.into_iter().map(|wish| feature.wished(wish)));
                    out.effects.append(effects);
                }
                Err(failure) => out.failures.push(Failure { feature: feature.name, ..failure }),
            }
            let now = (around.micros)();
            out.costs.push((feature.name, now.saturating_sub(begun)));
            begun = now;
        }
    });
    if !out.look.is_empty() {
        return out;
    }
    let told = answer(around, event, &cycle, &mut out);
    // A parked caller has not been answered, so the counts of its turn stay as they are.
    if out.verdict.wait.is_none()
        && let Err(error) = cycle::save(db, event, &cycle, &told)
    {
        out.failures.push(Failure::of_engine(&error));
        // The blocks were not recorded, so drop those that last. Otherwise they could block this actor forever.
        cycle.is_lost = true;
        answer(around, event, &cycle, &mut out);
    }
    out.spent_us = (around.micros)().saturating_sub(around.begun_us);
    steps(around, db, event, &mut who, cycle.n_in_row, |steps| {
        for feature in around.features {
            let Some(record) = feature.record else { continue };
            match steps.run(|cx| record(cx, event, &out)) {
                Ok(()) => {
                    let Cx { effects, troubles, stands_for_request, .. } = &mut steps.cx;
                    out.is_stood_for |= std::mem::take(stands_for_request);
                    out.failures.extend(troubles.drain(..).map(|it| Failure::trouble(feature, it)));
                    out.effects.append(effects);
                }
                Err(failure) => {
                    out.failures.push(Failure { feature: feature.name, ..failure });
                    let instead = feature
                        .if_unrecorded
                        .and_then(|instead| steps.run(|cx| Ok(instead(cx, event))).ok().flatten());
                    if withdraw(&mut out, feature.name, instead) {
                        answer(around, event, &cycle, &mut out);
                    }
                }
            }
        }
    });
    out
}

/// The end of one of several clients of a session.
fn left_by_one(event: &Event) -> Event {
    let kind = EventKind::ClientLeft;
    Event { kind, name: kind.name().to_owned(), ..event.clone() }
}

/// Whether what a client showed changes anything for a feature. Nothing is written: the host asks readers.
pub fn is_news(
    features: &[&Feature],
    cx: &mut Cx<'_>,
    event: &Event,
) -> Result<bool, FeatureError> {
    for feature in features {
        if let Some(identify) = feature.identify {
            cx.who = identify(cx, Asking::Event(event))?;
        }
        if let Some(is_news) = feature.is_news
            && cx.who.is_some()
            && is_news(cx, event)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What the host itself has to say.
fn of_host(around: &Surroundings<'_>) -> Vec<Wished> {
    around.wishes.iter().map(|wish| Wished::new("host", wish.clone().defused())).collect()
}

/// Merges the wishes. What was in an earlier answer to the event, and is not in this one, is withdrawn.
fn answer(
    around: &Surroundings<'_>,
    event: &Event,
    cycle: &StopCycle,
    out: &mut Outcome,
) -> Vec<Told> {
    let merged = merge::merge(event, &out.wishes, around.delivers, cycle);
    for (wished, fate) in out.wishes.iter_mut().zip(merged.fates) {
        let is_gone = wished.fate.is_told() && !fate.is_told();
        wished.fate = if is_gone { Fate::Withdrawn } else { fate };
    }
    out.verdict = merged.verdict;
    merged.told
}

/// A feature that wants a receipt but could not record its words must not say them: it would repeat them forever.
/// `true` if the answer changed.
fn withdraw(out: &mut Outcome, feature: &'static str, instead: Option<Wish>) -> bool {
    if instead.is_none() && !out.of(feature).any(|wished| wished.wish == Wish::Receipt) {
        return false;
    }
    for wished in out.wishes.iter_mut().filter(|wished| wished.feature == feature) {
        if wished.fate != Fate::NotDeliverable {
            wished.fate = Fate::Withdrawn;
        }
    }
    out.wishes.extend(instead.map(|wish| Wished::new(feature, wish.defused())));
    true
}

/// Tells the features whether the answer to a request reached the client. If that fails, the answer counts as not
/// printed and its messages are shown again.
pub fn printed(
    features: &[&Feature],
    cx: &mut Cx<'_>,
    request: RequestId,
    reached: bool,
) -> Result<(), FeatureError> {
    for printed in features.iter().filter_map(|feature| feature.printed) {
        printed(cx, Receipt { request, reached })?;
    }
    Ok(())
}

/// Whose command it is.
pub fn identify(
    features: &[&Feature],
    cx: &mut Cx<'_>,
    caller: &Caller,
) -> Result<Option<Who>, FeatureError> {
    for identify in features.iter().filter_map(|feature| feature.identify) {
        if let Some(who) = identify(cx, Asking::Caller(caller))? {
            return Ok(Some(who));
        }
    }
    Ok(None)
}

/// What the features know about an event that was just considered, as one object. A failing feature adds nothing.
pub fn explain(around: &Surroundings<'_>, db: &mut dyn Db, event: &Event) -> Map<String, Value> {
    let mut out = Map::new();
    steps(around, db, event, &mut None, 0, |steps| {
        for feature in around.features {
            if let Some(identify) = feature.identify {
                steps.cx.who = steps.run(|cx| identify(cx, Asking::Event(event))).ok().flatten();
            }
            let Some(explain) = feature.explain else { continue };
            if let Ok(Value::Object(said)) = steps.run(|cx| explain(cx, event)) {
                out.extend(said);
            }
        }
    });
    out
}

impl Failure {
    fn of_engine(error: &DbError) -> Self {
        Self { feature: "engine", ..Self::of_error(error) }
    }

    fn of_host(trouble: &str) -> Self {
        let message = trouble.to_owned();
        Self { feature: "engine", panicked: false, message }
    }

    /// The caller says whose it is.
    fn of_error(error: &impl ToString) -> Self {
        Self { feature: "", panicked: false, message: error.to_string() }
    }

    /// The feature could answer all the same.
    const fn trouble(feature: &Feature, message: String) -> Self {
        Self { feature: feature.name, panicked: false, message }
    }

    fn of_panic(payload: &(dyn Any + Send)) -> Self {
        Self { feature: "", panicked: true, message: panic_message(payload) }
    }
}

/// The features' code, one after the other. They share one context, because making one for each costs more than most of them.
struct Steps<'a> {
    cx: Cx<'a>,
    writes: &'a Cell<bool>,
}

impl Steps<'_> {
    /// Runs one feature's code and turns a panic into a failure. Its writes and effects stay only if it succeeds.
    fn run<T>(
        &mut self,
        body: impl FnOnce(&mut Cx<'_>) -> Result<T, FeatureError>,
    ) -> Result<T, Failure> {
        self.cx.missing.get_mut().clear();
        let result = match catch_unwind(AssertUnwindSafe(|| body(&mut self.cx))) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Failure::of_error(&error)),
            Err(payload) => Err(Failure::of_panic(payload.as_ref())),
        };
        let ended = contain::end(self.cx.db, self.writes, result.is_ok());
        let result = ended.map_err(|error| Failure::of_error(&error)).and(result);
        if result.is_err() {
            self.cx.effects.clear();
            self.cx.troubles.clear();
            self.cx.stands_for_request = false;
        }
        result
    }
}

/// Runs `body` with a context for the features. `who` is what they know at its beginning, and at its end.
fn steps(
    around: &Surroundings<'_>,
    db: &mut dyn Db,
    event: &Event,
    who: &mut Option<Who>,
    n_held: u32,
    body: impl FnOnce(&mut Steps<'_>),
) {
    let writes = Cell::new(false);
    let mut part = Contained::new(db, &writes);
    let Surroundings { facts, world, .. } = *around;
    let new = Cx::new(event.at, &mut part, around.settings);
    let mut steps =
        Steps { cx: Cx { facts, world, who: who.take(), n_held, ..new }, writes: &writes };
    body(&mut steps);
    *who = steps.cx.who.take();
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panicked without a message".to_owned())
}
