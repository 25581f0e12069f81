//! The health of the hooks as the journal knows it, for `substrate doctor`. Read-only.

use std::collections::BTreeMap;

use substrate_core::{Activity, Db, DbError, EventKind, Timestamp};

use super::record::LATE;
use super::verbs::percentile;
use super::{ops, sessions};
use crate::identity::book;

/// At most this many of the newest rows are read.
const MAX_ROWS: i64 = 200_000;

/// How the hooks have done since a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    pub n_events: usize,
    pub p50_us: i64,
    pub p99_us: i64,
    /// The latest events.
    pub recent: Recent,
    /// Events that came too late for their callers.
    pub n_late: usize,
    /// Payloads that were not events.
    pub n_malformed: usize,
    /// Events with fields that Substrate does not know.
    pub n_with_unknown_fields: usize,
    /// Events that no client of ours is known to have, by name, and how often each came.
    pub unknown_events: BTreeMap<String, usize>,
    pub failures: Vec<FailedFeature>,
    /// The latest sessions, newest first.
    pub sessions: Vec<SessionHealth>,
}

/// How fast the hooks were lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recent {
    pub n_events: usize,
    pub p99_us: i64,
}

/// The two spans that are counted.
#[derive(Clone, Copy, Debug)]
pub struct Since {
    pub all: Timestamp,
    pub recent: Timestamp,
}

/// A feature that failed to answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailedFeature {
    pub feature: String,
    pub n: usize,
    /// The newest row, and its message.
    pub last_id: i64,
    pub last_at: Timestamp,
    pub message: String,
}

/// What the journal saw of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionHealth {
    pub session: String,
    /// Its agent's name, if it has one.
    pub agent: Option<String>,
    pub cwd: String,
    pub first_at: Timestamp,
    pub last_at: Timestamp,
    pub last_event: String,
    /// Whether its start was seen. `None` if that was too long ago to know.
    pub has_start: Option<bool>,
    /// Events by name, since the requested moment.
    pub events: BTreeMap<String, Seen>,
}

/// How often an event was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub n: usize,
    /// How many were refused, so that no further event had to follow.
    pub n_refused: usize,
}

/// The health since then, with at most `max_sessions` sessions.
pub fn health(db: &mut dyn Db, since: Since, max_sessions: usize) -> Result<Health, DbError> {
    let after = ops::id_before(db, since.all)?;
    let mut counted = HealthCount::default();
    // Newest first, so the first row of a session or of a failing feature is its latest.
    db.query(
        "select id, at_ms, event, session, verdict, spent_us, host, why, failures, n_unknown_fields
         from journal where id > $1 order by id desc limit $2",
        &[after.into(), MAX_ROWS.into()],
        &mut |row| {
            counted.add(
                HealthRow {
                    id: row.int(0)?,
                    at: Timestamp(row.int(1)?),
                    event: row.text(2)?,
                    session: row.opt_text(3)?,
                    is_refused: matches!(row.text(4)?.as_str(), "deny" | "ask" | "block"),
                    spent_us: row.int(5)?,
                    late: row.opt_text(7)?.as_deref() == Some(LATE),
                    failures: row.opt_text(8)?,
                    has_unknown_fields: row.int(9)? > 0,
                },
                since.recent,
                max_sessions,
            );
            Ok(())
        },
    )?;
    let mut health = counted.into_health();
    for session in &mut health.sessions {
        complete(db, session, since.all)?;
        session.agent = book::of_session(db, &session.session)?.map(|(_, name)| name);
    }
    Ok(health)
}

/// Events of our own have names of their own.
fn is_known(event: &str) -> bool {
    let own = ["Waiter", "ClientLeft", "Malformed", Activity::IDLE];
    EventKind::named(event) != EventKind::Unknown
        || own.contains(&event)
        || event.starts_with("Activity")
}

/// The columns of a row that matter here.
struct HealthRow {
    id: i64,
    at: Timestamp,
    event: String,
    session: Option<String>,
    is_refused: bool,
    spent_us: i64,
    late: bool,
    failures: Option<String>,
    has_unknown_fields: bool,
}

#[derive(Default)]
struct HealthCount {
    spent_us: Vec<i64>,
    recent_us: Vec<i64>,
    health: Health,
}

impl HealthCount {
    fn add(&mut self, row: HealthRow, recent: Timestamp, max_sessions: usize) {
        let health = &mut self.health;
        self.spent_us.push(row.spent_us);
        if row.at >= recent {
            self.recent_us.push(row.spent_us);
        }
        health.n_late += usize::from(row.late);
        health.n_malformed += usize::from(row.event == "Malformed");
        health.n_with_unknown_fields += usize::from(row.has_unknown_fields);
        if !is_known(&row.event) {
            *health.unknown_events.entry(row.event.clone()).or_default() += 1;
        }
        if let Some(json) = &row.failures {
            count_failures(&mut health.failures, json, &row);
        }
        let Some(name) = row.session else { return };
        let sessions = &mut health.sessions;
        let place = sessions.iter().position(|known| known.session == name);
        let place = place.or_else(|| {
            (sessions.len() < max_sessions).then(|| {
                sessions.push(SessionHealth {
                    session: name,
                    first_at: row.at,
                    last_at: row.at,
                    last_event: row.event.clone(),
                    ..SessionHealth::default()
                });
                sessions.len() - 1
            })
        });
        if let Some(session) = place.and_then(|place| sessions.get_mut(place)) {
            let seen = session.events.entry(row.event).or_default();
            seen.n += 1;
            seen.n_refused += usize::from(row.is_refused);
        }
    }

    fn into_health(mut self) -> Health {
        self.spent_us.sort_unstable();
        self.recent_us.sort_unstable();
        let recent =
            Recent { n_events: self.recent_us.len(), p99_us: percentile(&self.recent_us, 99) };
        Health {
            n_events: self.spent_us.len(),
            p50_us: percentile(&self.spent_us, 50),
            p99_us: percentile(&self.spent_us, 99),
            recent,
            ..self.health
        }
    }
}

fn count_failures(failures: &mut Vec<FailedFeature>, json: &str, row: &HealthRow) {
    let told: Vec<serde_json::Value> = serde_json::from_str(json).unwrap_or_default();
    for failure in told {
        let feature = failure["feature"].as_str().unwrap_or("unknown");
        match failures.iter_mut().find(|known| known.feature == feature) {
            Some(known) => known.n += 1,
            None => failures.push(FailedFeature {
                feature: feature.to_owned(),
                n: 1,
                last_id: row.id,
                last_at: row.at,
                message: failure["message"].as_str().unwrap_or_default().to_owned(),
            }),
        }
    }
}

/// Adds what the rows since then can't tell: the session's folder, and how it began.
fn complete(db: &mut dyn Db, session: &mut SessionHealth, since: Timestamp) -> Result<(), DbError> {
    let mut first_event = None;
    if let Some(rows) = sessions::rows_of(db, &session.session)? {
        first_event = ops::event(db, rows.first_id)?;
        session.cwd = rows.cwd;
        session.first_at = Timestamp(rows.first_ms);
    }
    let is_start = first_event.as_deref() == Some("SessionStart");
    session.has_start = if is_start || session.events.contains_key("SessionStart") {
        Some(true)
    } else {
        (session.first_at >= since).then_some(false)
    };
    Ok(())
}
