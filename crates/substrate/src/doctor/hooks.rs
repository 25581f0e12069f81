//! How fast the hooks were, and what went wrong in them, from the journal.

use substrate_core::Timestamp;
use substrate_core::time::{Ago, Took};
use substrate_features::journal::{Health, Since, health};
use substrate_store::Database as Store;

use super::database::{Database, State};
use super::facts::Patient;
use super::finding::{Area, Finding};
use crate::error::AppError;

/// What counts as recent, what as just now, and how many sessions.
const LATELY_MS: i64 = 86_400_000;
const JUST_NOW_MS: i64 = 900_000;
const MAX_SESSIONS: usize = 10;

/// A hook that takes longer is noticeable.
const SLOW_US: i64 = 50_000;

/// A hook is slow itself if it takes this many times longer than starting a program. Otherwise the machine is slow.
const SLOW_SPAWNS: i64 = 20;

/// Fewer abandoned calls are normal: a hook ends with its client, and when a person presses Esc.
const MANY_LATE: usize = 5;

/// With fewer events, a 99th percentile means nothing.
const ENOUGH: usize = 100;

/// Unknown events that a finding names.
const MAX_NAMED: usize = 5;

/// Fewer malformed payloads are experiments.
const MANY_MALFORMED: usize = 10;

#[derive(Clone, Debug)]
pub(crate) enum Journal {
    /// The database does not exist, or can't be queried.
    NotAsked,
    Unreadable(String),
    Read(Health),
}

pub(super) fn look(patient: &Patient<'_>, database: &Database) -> Journal {
    if !matches!(database.state, State::Intact { n_missing_steps: 0 }) {
        return Journal::NotAsked;
    }
    let before = |ms: i64| patient.now.plus_ms(-ms);
    let since = Since { all: before(LATELY_MS), recent: before(JUST_NOW_MS) };
    let read = Store::at(&database.path)
        .read(|db| health(db, since, MAX_SESSIONS).map_err(AppError::from));
    read.map_or_else(|error| Journal::Unreadable(error.message), Journal::Read)
}

pub(super) fn judge(
    journal: &Journal,
    spawn_us: Option<i64>,
    now: Timestamp,
    out: &mut Vec<Finding>,
) {
    match journal {
        Journal::NotAsked => {
            out.push(Area::Hooks.info("journal-not-asked", "there is no journal to ask"));
        }
        Journal::Unreadable(why) => out.push(
            Area::Hooks
                .warning("journal-unreadable", format!("the journal can't be read: {why}"))
                .next("`substrate db check`"),
        ),
        Journal::Read(health) if health.n_events == 0 => out.push(
            Area::Hooks
                .info("hooks-silent", "no hook ran in the last 24 hours")
                .next("start a session of your client, and watch `substrate journal tail`"),
        ),
        Journal::Read(health) => {
            judge_speed(health, spawn_us, out);
            judge_failures(health, now, out);
        }
    }
}

/// Hooks that are slow because the machine is busy are not at fault. So the latest ones are judged against the time
/// that the machine takes for the simplest thing right now. Earlier ones are only reported.
fn judge_speed(health: &Health, spawn_us: Option<i64>, out: &mut Vec<Finding>) {
    let Health { n_events, p50_us, p99_us, n_late, recent, .. } = health;
    let figures = format!(
        "{n_events} events in 24 hours: half within {}, 99 of 100 within {}; {n_late} came too late for their callers",
        Took(*p50_us),
        Took(*p99_us)
    );
    let machine_us = spawn_us.unwrap_or(0).saturating_mul(SLOW_SPAWNS);
    let is_busy = machine_us > SLOW_US;
    let beside = spawn_us.map_or_else(String::new, |us| {
        format!("; starting a program takes {} on this machine now", Took(us))
    });
    let misses = *n_late >= MANY_LATE && n_late * 1_000 > *n_events;
    let is_slow = *n_events >= ENOUGH && *p99_us > SLOW_US;
    let is_slow_now = recent.n_events >= ENOUGH && recent.p99_us > SLOW_US.max(machine_us);
    if misses {
        let told = format!("{figures}{beside}");
        let finding = if is_busy {
            Area::Hooks.info("deadline-missed", told)
        } else {
            Area::Hooks.warning("deadline-missed", told)
        };
        out.push(finding.next(
            "`substrate journal list --since 24h` shows when; was the machine asleep or very busy?",
        ));
    }
    let stats = "`substrate journal stats` shows which events are slow";
    if is_slow_now {
        let told = format!(
            "{figures}; of the last 15 minutes 99 of 100 within {}{beside}",
            Took(recent.p99_us)
        );
        out.push(Area::Hooks.warning("hooks-slow", told).next(stats));
    } else if is_slow {
        let why = if is_busy { ": it is busy" } else { "" };
        let told = format!("slow at times; {figures}{beside}{why}");
        out.push(Area::Hooks.info("hooks-slow", told).next(stats));
    }
    if !misses && !is_slow && !is_slow_now {
        out.push(Area::Hooks.ok("hooks-fast", &figures));
    }
}

fn judge_failures(health: &Health, now: Timestamp, out: &mut Vec<Finding>) {
    for failed in &health.failures {
        let ago = Ago(now.since(failed.last_at));
        let message = format!(
            "`{}` failed {} times in 24 hours, last {ago} ago: {}",
            failed.feature, failed.n, failed.message
        );
        let next = format!("`substrate journal show {}` shows the last one", failed.last_id);
        out.push(Area::Features.warning("feature-failed", message).next(next));
    }
    if health.failures.is_empty() {
        out.push(Area::Features.ok("features-fine", "none failed in the last 24 hours"));
    }
    let n = health.n_malformed;
    if n > 0 {
        let message = format!("{n} payloads in 24 hours were not events");
        let next = "`substrate journal list --event Malformed --since 24h`";
        let many = n >= MANY_MALFORMED && n * 100 > health.n_events;
        let finding = if many {
            Area::Features.warning("malformed", message)
        } else {
            Area::Features.info("malformed", message)
        };
        out.push(finding.next(next));
    }
    if !health.unknown_events.is_empty() {
        let named = health.unknown_events.iter().map(|(name, n)| format!("`{name}` ({n})"));
        let named = named.take(MAX_NAMED).collect::<Vec<_>>().join(", ");
        let message = format!("events in 24 hours that are new to us: {named}");
        out.push(Area::Features.info("unknown-events", message));
    }
    let n = health.n_with_unknown_fields;
    if n > 0 {
        let message = format!(
            "{n} events in 24 hours had fields that are new to us: the client has moved on"
        );
        out.push(Area::Features.info("unknown-fields", message));
    }
}
