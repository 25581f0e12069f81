//! When scratchpads are checked, and what follows from it.

use substrate_core::facts::{Daily, Room};
use substrate_core::wish::{Cause, Insists};
use substrate_core::{
    Actor, Cx, Detail, Event, EventKind, Fate, FeatureError, Need, Outcome, SafeId, Settings,
    StartSource, Timestamp, Wish, WishKind, Wished,
};

use super::day::{self, Days};
use super::judge::{self, Finding, Lookup};
use super::ops::{self, Delegates, Worker};
use super::whereabouts::{self, COORDINATOR, EGO};
use super::words;
use crate::commits;
use crate::identity::book::MAIN;

const DAY_MS: i64 = 86_400_000;

/// How long the agents of a session are remembered.
const KEPT_MS: i64 = 30 * DAY_MS;

/// What an event calls for. A folder is the scratchpad folder of the subagent's type.
enum Occasion {
    /// A session begins. A fresh one is told where the work stands.
    Opens { is_fresh: bool },
    /// A subagent begins.
    Spawns { folder: String },
    /// A subagent wants to end.
    Ends { folder: String },
    /// The session wants to end its turn.
    Closes,
}

pub(super) fn gather(event: &Event, settings: &Settings) -> Vec<Need> {
    let tails =
        || [COORDINATOR, EGO].into_iter().filter_map(|who| whereabouts::to_tell(event, who));
    match occasion(event, settings) {
        Some(Occasion::Opens { is_fresh: true }) => {
            let dir = whereabouts::project(event).or(whereabouts::cwd(event));
            tails().chain(dir.map(commits::need)).collect()
        }
        Some(Occasion::Spawns { .. }) => tails().collect(),
        Some(Occasion::Ends { folder }) => to_end(event, &folder),
        Some(Occasion::Closes) => to_end(event, COORDINATOR),
        Some(Occasion::Opens { is_fresh: false }) | None => Vec::new(),
    }
}

fn to_end(event: &Event, folder: &str) -> Vec<Need> {
    let mut needs = whereabouts::to_judge(event, folder);
    needs.extend(whereabouts::to_write(event, folder));
    needs
}

/// Only the database knows which subagents' scratchpads to look for at the end.
pub(super) fn looks(event: &Event, settings: &Settings) -> bool {
    matches!(occasion(event, settings), Some(Occasion::Closes))
}

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    Ok(match occasion(event, cx.settings) {
        Some(Occasion::Opens { is_fresh: true }) => opening(cx, event),
        // An agent in plan mode writes nothing.
        Some(Occasion::Spawns { folder }) if !event.is_planning => {
            vec![spawned(cx, event, &folder)]
        }
        Some(Occasion::Ends { folder }) => ends(cx, event, &folder)?.into_iter().collect(),
        Some(Occasion::Closes) => closes(cx, event)?,
        Some(Occasion::Opens { is_fresh: false } | Occasion::Spawns { .. }) | None => Vec::new(),
    })
}

/// Remembers the agents of a session. Only their work calls for the coordinator's entry.
pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    outcome: &Outcome,
) -> Result<(), FeatureError> {
    let Some(occasion) = occasion(event, cx.settings) else { return Ok(()) };
    let Some(session) = &event.session else { return Ok(()) };
    let root = whereabouts::root(event, cx.facts).unwrap_or_default().to_owned();
    let worker = |folder| Worker { folder, root, started: cx.now };
    match (occasion, &event.actor) {
        (Occasion::Opens { .. }, _) => {
            let main = worker(COORDINATOR.to_owned());
            ops::begin_main(cx.db, session, &main)?;
        }
        (Occasion::Spawns { folder }, Actor::Subagent { id, .. }) => {
            let sub = worker(folder);
            ops::begin(cx.db, session, id.as_str(), &sub)?;
        }
        (Occasion::Closes, _) => {
            let is_told =
                |it: &Wished| it.wish.kind() == WishKind::Notice && it.fate == Fate::Whole;
            if outcome.of(super::FEATURE.name).any(is_told) {
                ops::heard(cx.db, session)?;
            }
        }
        _ => {}
    }
    Ok(())
}

pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    ops::WORKERS.tick(cx, KEPT_MS)
}

fn occasion(event: &Event, settings: &Settings) -> Option<Occasion> {
    let is_main = matches!(event.actor, Actor::Main { .. });
    match (event.kind, &event.detail) {
        (EventKind::SessionStart, Detail::SessionStart { source, .. })
            if is_main && settings.on("scratchpad.on") =>
        {
            let is_fresh = matches!(source, StartSource::Startup | StartSource::Clear);
            Some(Occasion::Opens { is_fresh })
        }
        (EventKind::SubagentStart, _) if settings.on("scratchpad.on") => {
            folder(event, settings).map(|folder| Occasion::Spawns { folder })
        }
        (EventKind::SubagentStop, _) if settings.on("scratchpad.on") && !event.is_planning => {
            folder(event, settings).map(|folder| Occasion::Ends { folder })
        }
        // A session with background tasks only waits for them; another Stop comes when they are done.
        (EventKind::Stop, Detail::Stop { n_background_tasks: 0, .. })
            if is_main && settings.on("scratchpad.on") && !event.is_planning =>
        {
            Some(Occasion::Closes)
        }
        _ => None,
    }
}

/// The folder of the subagent's type; `None` for a type that writes no scratchpad.
fn folder(event: &Event, settings: &Settings) -> Option<String> {
    let kind = event.actor.kind().filter(|kind| !kind.is_empty())?;
    let is_exempt =
        settings.texts("scratchpad.exempt").iter().any(|exempt| exempt.eq_ignore_ascii_case(kind));
    (!is_exempt).then(|| whereabouts::folder_of(kind))
}

/// The latest scratchpad of the coordinator or the ego.
fn latest<'a>(cx: &Cx<'a>, event: &Event, who: &str) -> Option<&'a Daily> {
    cx.facts.daily(&whereabouts::to_tell(event, who)?)
}

fn opening(cx: &Cx<'_>, event: &Event) -> Vec<Wish> {
    let (coordinator, ego) = (latest(cx, event, COORDINATOR), latest(cx, event, EGO));
    let text = words::opening(coordinator, ego);
    let entries = text.map(|text| Wish::context(text, Some("substrate scratchpad".to_owned())));
    let dir = whereabouts::project(event).or(whereabouts::cwd(event));
    let commits = dir.and_then(|dir| commits::wish(cx.facts, dir));
    entries.into_iter().chain(commits).collect()
}

fn spawned(cx: &Cx<'_>, event: &Event, folder: &str) -> Wish {
    let today = day::here(cx.world, cx.now);
    let path = whereabouts::told(event, whereabouts::root(event, cx.facts), folder, &today);
    let (ego, coordinator) = (latest(cx, event, EGO), latest(cx, event, COORDINATOR));
    let text = words::spawned(&today, &path, ego, coordinator);
    Wish::context(text, Some("substrate scratchpad".to_owned()))
}

/// Checks a subagent's scratchpad of today, or of any day since it started.
fn ends(cx: &mut Cx<'_>, event: &Event, folder: &str) -> Result<Option<Wish>, FeatureError> {
    let today = day::here(cx.world, cx.now);
    let known = match (&event.session, &event.actor) {
        (Some(session), Actor::Subagent { id, .. }) => {
            ops::worker(cx.db, session.as_str(), id.as_str())?
        }
        _ => None,
    };
    let started = known.as_ref().map(|worker| worker.started);
    let start = day::here(cx.world, started.unwrap_or(cx.now));
    let days = Days::new(start, today.clone(), started);
    let needs = whereabouts::to_judge(event, folder);
    let looked: Vec<Option<&Daily>> = needs.iter().map(|need| cx.facts.daily(need)).collect();
    let wish = match judge::complete(Lookup { at: &looked, days: &days }) {
        Finding::Good => {
            if let (Some(session), Some(_)) = (&event.session, &known) {
                ops::wrote(cx.db, session, event.actor.key())?;
            }
            return Ok(None);
        }
        Finding::Absent => {
            let path = whereabouts::told(event, root(event, &looked), folder, &today);
            hold(cx, event, folder, &path, words::incomplete(&path, None))
        }
        Finding::Lacking { folder: at, day, lack } => {
            let here = looked.iter().flatten().find(|found| found.folder == at);
            let root = here.and_then(|found| whereabouts::root_of(found));
            let path = whereabouts::told(event, root, folder, day);
            hold(cx, event, folder, &path, words::incomplete(&path, Some(&lack)))
        }
        Finding::Unknown(why) => Wish::Notice { text: words::unknown(&why) },
    };
    // The client shows a subagent's notice to no one. The main thread's next stop shows it.
    if let (Wish::Notice { text }, Some(session), Some(_)) = (&wish, &event.session, &known) {
        ops::note_unheard(cx.db, session, event.actor.key(), text)?;
    }
    Ok(Some(wish))
}

/// Holds the actor, unless it is known that it can't write the file.
fn hold(cx: &Cx<'_>, event: &Event, folder: &str, path: &str, reason: String) -> Wish {
    let mut rooms = whereabouts::to_write(event, folder).into_iter();
    if rooms.all(|need| cx.facts.room(&need) == Some(Room::Nowhere)) {
        return Wish::Notice { text: words::no_room(path) };
    }
    Wish::block(Cause::Scratchpad, reason, Insists::WhileItLasts)
}

/// Checks the coordinator's entry of a session that delegated, and passes on its subagents' notices.
fn closes(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    let Some(session) = &event.session else { return Ok(Vec::new()) };
    let kinds = ops::delegates(cx.db, session)?;
    let unheard = kinds.iter().filter(|kind| !kind.unheard.is_empty());
    let unheard = unheard.map(|kind| words::unheard(&kind.folder, &kind.unheard));
    let mut wishes: Vec<Wish> = unheard.map(|text| Wish::Notice { text }).collect();
    wishes.extend(uncoordinated(cx, event, session, &kinds)?);
    Ok(wishes)
}

fn uncoordinated(
    cx: &mut Cx<'_>,
    event: &Event,
    session: &SafeId,
    kinds: &[Delegates],
) -> Result<Option<Wish>, FeatureError> {
    if kinds.is_empty() {
        return Ok(None);
    }
    let needs = whereabouts::to_judge(event, COORDINATOR);
    let looked: Vec<Option<&Daily>> = needs.iter().map(|need| cx.facts.daily(need)).collect();
    let today = day::here(cx.world, cx.now);
    let wrote = kinds.iter().filter(|kind| has_written(cx, &looked, kind, &today));
    let Some(last) = wrote.map(|kind| kind.last).max() else { return Ok(None) };
    let since = accountable_since(cx, session, last)?;
    let days = Days::new(day::here(cx.world, since), today.clone(), Some(since));
    let lack = match judge::written(Lookup { at: &looked, days: &days }) {
        Finding::Good => return Ok(None),
        Finding::Absent => None,
        Finding::Lacking { lack, .. } => Some(lack),
        Finding::Unknown(why) => return Ok(Some(Wish::Notice { text: words::unknown(&why) })),
    };
    let path = whereabouts::told(event, root(event, &looked), COORDINATOR, &today);
    let last_counts = event.attended == Some(false);
    let reason = words::uncoordinated(&path, lack.as_ref(), last_counts);
    Ok(Some(hold(cx, event, COORDINATOR, &path, reason)))
}

/// The sign of delegation: a scratchpad of one of the session's subagents, there when it ended or now.
fn has_written(cx: &Cx<'_>, looked: &[Option<&Daily>], kind: &Delegates, today: &str) -> bool {
    let start = day::here(cx.world, kind.first);
    let roots = looked.iter().flatten().filter_map(|found| whereabouts::root_of(found));
    kind.wrote
        || roots.into_iter().any(|root| {
            [today, &start].into_iter().any(|day| {
                let path = format!("{root}/{}/{}/{day}.md", whereabouts::BASE, kind.folder);
                cx.changed(&path).is_some_and(|found| found.itself.is_some())
            })
        })
}

/// Since when an entry counts: since the latest delegation, or since the session began if that was yesterday or today.
/// So midnight makes no difference, and a session that lives for weeks is asked again.
fn accountable_since(
    cx: &mut Cx<'_>,
    session: &SafeId,
    last: Timestamp,
) -> Result<Timestamp, FeatureError> {
    let began = ops::worker(cx.db, session.as_str(), MAIN)?.map_or(last, |main| main.started);
    let yesterday = day::here(cx.world, cx.now.plus_ms(-DAY_MS));
    let is_recent = day::here(cx.world, began) >= yesterday;
    Ok(if is_recent { last.min(began) } else { last })
}

/// The project root that scratchpads are below.
fn root<'a>(event: &'a Event, looked: &[Option<&'a Daily>]) -> Option<&'a str> {
    let found = || looked.iter().flatten().find_map(|found| whereabouts::root_of(found));
    whereabouts::project(event).or_else(found)
}
