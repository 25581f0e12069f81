//! What the journal knows about the health of the hooks, for `substrate doctor`. It only looks.

use std::collections::BTreeMap;

use substrate_core::{Db, DbError, Timestamp};

use super::ops;
use super::record::LATE;
use super::verbs::percentile;
use crate::identity::book;

/// So many of the newest rows are looked at, at the most.
const MAX_ROWS: i64 = 200_000;

/// The hooks since a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    pub n_events: usize,
    pub p50_us: i64,
    pub p99_us: i64,
    /// The latest events.
    pub recent: Recent,
    /// Events that were processed without the daemon.
    pub n_late: usize,
    /// Payloads that were no event.
    pub n_malformed: usize,
    /// Events with fields that are new to us.
    pub n_with_unknown_fields: usize,
    pub failures: Vec<FailedFeature>,
    /// The latest sessions, newest first.
    pub sessions: Vec<SessionHealth>,
}

/// How fast the hooks were just now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recent {
    pub n_events: usize,
    pub p99_us: i64,
}

/// Since when.
#[derive(Clone, Copy, Debug)]
pub struct Since {
    pub all: Timestamp,
    pub recent: Timestamp,
}

/// A feature that could not answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailedFeature {
    pub feature: String,
    pub n: usize,
    /// The newest entry, and what it says.
    pub last_id: i64,
    pub last_at: Timestamp,
    pub message: String,
}

/// What was seen of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionHealth {
    pub session: String,
    /// The name of its agent, if it has one.
    pub agent: Option<String>,
    pub cwd: String,
    pub first_at: Timestamp,
    pub last_at: Timestamp,
    pub last_event: String,
    /// Whether its beginning was seen. `None`: that was too long ago to know.
    pub has_start: Option<bool>,
    /// By name; since the moment that was asked for.
    pub events: BTreeMap<String, Seen>,
}

/// How often an event was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub n: usize,
    /// Those of them that were refused, so that nothing had to follow.
    pub n_refused: usize,
}

/// The hooks since then, and at most `max_sessions` sessions.
pub fn health(db: &mut dyn Db, since: Since, max_sessions: usize) -> Result<Health, DbError> {
    let after = ops::id_before(db, since.all)?;
    let mut counted = Counted::default();
    // Newest first: the first row of a session or a failing feature is its last.
    db.query(
        "select id, at_ms, event, session, verdict, spent_us, host, why, failures, n_unknown_fields
         from journal where id > $1 order by id desc limit $2",
        &[after.into(), MAX_ROWS.into()],
        &mut |row| {
            counted.add(
                Line {
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

/// One row, as far as it matters here.
struct Line {
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
struct Counted {
    spent_us: Vec<i64>,
    recent_us: Vec<i64>,
    health: Health,
}

impl Counted {
    fn add(&mut self, line: Line, recent: Timestamp, max_sessions: usize) {
        let health = &mut self.health;
        self.spent_us.push(line.spent_us);
        if line.at >= recent {
            self.recent_us.push(line.spent_us);
        }
        health.n_late += usize::from(line.late);
        health.n_malformed += usize::from(line.event == "Malformed");
        health.n_with_unknown_fields += usize::from(line.has_unknown_fields);
        if let Some(json) = &line.failures {
            count_failures(&mut health.failures, json, &line);
        }
        let Some(name) = line.session else { return };
        let sessions = &mut health.sessions;
        let place = sessions.iter().position(|known| known.session == name);
        let place = place.or_else(|| {
            (sessions.len() < max_sessions).then(|| {
                sessions.push(SessionHealth {
                    session: name,
                    first_at: line.at,
                    last_at: line.at,
                    last_event: line.event.clone(),
                    ..SessionHealth::default()
                });
                sessions.len() - 1
            })
        });
        if let Some(session) = place.and_then(|place| sessions.get_mut(place)) {
            let seen = session.events.entry(line.event).or_default();
            seen.n += 1;
            seen.n_refused += usize::from(line.is_refused);
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

fn count_failures(failures: &mut Vec<FailedFeature>, json: &str, line: &Line) {
    let told: Vec<serde_json::Value> = serde_json::from_str(json).unwrap_or_default();
    for failure in told {
        let feature = failure["feature"].as_str().unwrap_or("unknown");
        match failures.iter_mut().find(|known| known.feature == feature) {
            Some(known) => known.n += 1,
            None => failures.push(FailedFeature {
                feature: feature.to_owned(),
                n: 1,
                last_id: line.id,
                last_at: line.at,
                message: failure["message"].as_str().unwrap_or_default().to_owned(),
            }),
        }
    }
}

/// Adds what the rows since the moment can't tell: where the session is, and how it began.
fn complete(db: &mut dyn Db, session: &mut SessionHealth, since: Timestamp) -> Result<(), DbError> {
    let known = db.first(
        "select known.cwd, known.first_ms, first.event
         from journal_session known left join journal first on first.id = known.first_id
         where known.session = $1",
        &[session.session.as_str().into()],
        |row| Ok((row.text(0)?, row.int(1)?, row.opt_text(2)?)),
    )?;
    let mut first_event = None;
    if let Some((cwd, first_ms, event)) = known {
        session.cwd = cwd;
        session.first_at = Timestamp(first_ms);
        first_event = event;
    }
    let is_start = first_event.as_deref() == Some("SessionStart");
    session.has_start = if is_start || session.events.contains_key("SessionStart") {
        Some(true)
    } else {
        (session.first_at >= since).then_some(false)
    };
    Ok(())
}
