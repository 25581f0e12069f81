//! The fleet as it is: what the events said, and what is true now.

use std::rc::Rc;

use substrate_core::text::shell_word;
use substrate_core::{Cx, DbError, Pane, Timestamp};

use super::limits::LimitHit;
use super::ops::{self, StatusRow};
use super::status::{INTERRUPTED, READY, Status, TURN_FAILED};
use crate::efforts::face::Effort;
use crate::identity::book;
use crate::identity::presence::{self, Seat};
use crate::journal::face::LatestEvents;
use crate::{efforts, journal, locks, mail};

/// A working agent that is silent this long may hang.
const SILENT_MS: i64 = 10 * 60_000;

/// An agent that goes on after a failed call does so within this time.
const STUCK_MS: i64 = 30_000;

/// How long a client that vanished is shown.
const GONE_MS: i64 = 60 * 60_000;

/// One actor.
#[derive(Clone, Debug)]
pub(super) struct FleetRow {
    pub(super) seat: Seat,
    /// Nothing: its client is gone.
    pub(super) status: Option<Status>,
    pub(super) why: String,
    pub(super) tool: Option<String>,
    /// The entry of the journal about that call.
    pub(super) entry: Option<i64>,
    pub(super) task: String,
    pub(super) since: Timestamp,
    /// How long it has been silent, if that is long for a working agent.
    pub(super) silent_ms: Option<i64>,
    pub(super) n_unread: i64,
    pub(super) n_held: usize,
    pub(super) pane: Option<Pane>,
    /// The limit that ended its turn.
    pub(super) limit: Option<LimitHit>,
    /// What it works on.
    pub(super) effort: Option<Effort>,
    /// The command that opens it again, where its session is closed.
    pub(super) resume: Option<String>,
}

impl FleetRow {
    /// `working`, or `gone`.
    pub(super) fn word(&self) -> &'static str {
        self.status.map_or("gone", Status::name)
    }

    /// The same for people: an agent that has done nothing yet, or whose turn a person stopped, is not `done`.
    pub(super) fn shown(&self) -> &'static str {
        match self.status {
            None if self.seat.has_ended => "closed",
            Some(Status::Done) if self.is_idle() => "idle",
            _ => self.word(),
        }
    }

    /// It waits for a prompt, and has no result to show.
    pub(super) fn is_idle(&self) -> bool {
        self.status == Some(Status::Done)
            && (self.why.starts_with(INTERRUPTED) || READY.contains(&self.why.as_str()))
    }

    /// As mail is addressed.
    pub(super) fn address(&self) -> String {
        let Seat { name, sub, .. } = &self.seat;
        if sub.is_empty() { name.clone() } else { format!("{name}/{sub}") }
    }

    pub(super) fn needs_you(&self) -> bool {
        matches!(self.status, Some(Status::Error | Status::Attention))
    }
}

/// The whole picture.
#[derive(Clone, Debug)]
pub(super) struct View {
    /// Those who need a person first, then by how much there is to see.
    pub(super) lines: Vec<FleetRow>,
    /// Mail to the person.
    pub(super) n_unread: i64,
}

/// All live actors and those that vanished recently; with `all` also those that are long gone.
pub(super) fn view(cx: &mut Cx<'_>, all: bool) -> Result<View, DbError> {
    let mut lines = Vec::new();
    let latest = journal::face::latest(cx)?;
    for seat in presence::roster(cx.db, cx.world, cx.now)? {
        let is_news = !seat.has_ended && cx.now.since(seat.last) <= GONE_MS;
        if seat.is_there || all || is_news {
            lines.push(line(cx, seat, &latest)?);
        }
    }
    // The longest wait first.
    lines.sort_by(|a, b| {
        let key = |line: &FleetRow| (std::cmp::Reverse(line.status), line.since, line.address());
        key(a).cmp(&key(b))
    });
    Ok(View { lines, n_unread: mail::face::n_unread(cx.db, (book::USER, ""), cx.now)? })
}

/// The same for several parts of one answer that only reads: the page, its header and what needs the user.
pub(super) fn view_once(cx: &mut Cx<'_>) -> Result<Rc<View>, DbError> {
    cx.once("fleet", |cx| view(cx, false))
}

/// The actors of one agent that are there, and its last session otherwise.
pub(super) fn of_agent(cx: &mut Cx<'_>, agent: i64) -> Result<Vec<FleetRow>, DbError> {
    let latest = journal::face::latest(cx)?;
    let seats = presence::seats_of(cx.db, cx.world, cx.now, agent)?;
    seats.into_iter().map(|seat| line(cx, seat, &latest)).collect()
}

/// From this many actors on, one whose latest call is long ago is shown without it.
const MANY: usize = 50;

fn line(cx: &mut Cx<'_>, seat: Seat, latest: &LatestEvents) -> Result<FleetRow, DbError> {
    let kept = ops::one(cx.db, &seat.session, &seat.actor)?;
    let status = status(&seat, kept.as_ref(), cx.now);
    let is_working = status == Some(Status::Working);
    let silent = cx.now.since(seat.last);
    let (entry, tool) = match latest.get(&(seat.session.clone(), seat.actor.clone())) {
        _ if !is_working => (None, None),
        Some((entry, tool)) => (tool.as_ref().map(|_| *entry), tool.clone()),
        None if latest.len() >= MANY => (None, None),
        None => (None, journal::face::latest_tool(cx.db, &seat.session, &seat.actor)?),
    };
    let limit = kept.as_ref().and_then(|kept| kept.limit).filter(|_| status.is_some());
    let (why, task, since, pane) = match kept {
        Some(kept) => (kept.why, kept.task, kept.since, kept.pane),
        None => (String::new(), String::new(), seat.last, None),
    };
    let resume = resume(cx, &seat);
    let effort = efforts::face::current(cx.db, &seat.session, &seat.actor)?;
    Ok(FleetRow {
        status,
        why,
        tool,
        entry,
        task,
        since: if status.is_none() { seat.last } else { since },
        silent_ms: (is_working && silent > SILENT_MS).then_some(silent),
        n_unread: mail::face::n_unread(cx.db, (seat.agent, &seat.sub), cx.now)?,
        n_held: locks::leases::n_held(cx, &seat.session, &seat.actor)?,
        pane,
        limit,
        effort,
        resume,
        seat,
    })
}

/// How a person opens a closed session again. The client looks for it in the folder where it ran.
fn resume(cx: &Cx<'_>, seat: &Seat) -> Option<String> {
    if seat.is_there || seat.actor != book::MAIN {
        return None;
    }
    let dialect = cx.world.dialects().iter().find(|dialect| dialect.client == seat.client)?;
    let command = (dialect.resume)(&seat.session);
    Some(match seat.cwd.as_str() {
        "" => command,
        cwd => format!("cd {} && {command}", shell_word(cwd)),
    })
}

/// A client that has exited is "gone", whatever it last reported. Without a row we only know whether the turn has
/// ended.
fn status(seat: &Seat, kept: Option<&StatusRow>, now: Timestamp) -> Option<Status> {
    if !seat.is_there {
        return None;
    }
    // Calls fail all the time (`grep` finds nothing), and the agent knows.
    let goes_on = |kept: &StatusRow| {
        kept.status == Status::Error
            && !kept.why.starts_with(TURN_FAILED)
            && !seat.has_stopped
            && now.since(kept.since) <= STUCK_MS
    };
    Some(match kept {
        Some(kept) if goes_on(kept) => Status::Working,
        Some(kept) => kept.shown(),
        None if seat.has_stopped => Status::Done,
        None => Status::Working,
    })
}
