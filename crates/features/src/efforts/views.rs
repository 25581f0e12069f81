//! What efforts tell the views of all features: an agent's context windows, its efforts and what one window left for the
//! next in its story, and efforts that need the user.

use substrate_core::need::UserNeed;
use substrate_core::text::one_line;
use substrate_core::view::{Moment, MomentKind, StoryOf};
use substrate_core::{Cx, FeatureError, NeedKind};

use super::face::need_id;
use super::ops::windows::{self, Window};
use super::ops::{self, Effort, messages};
use super::words;
use crate::charts::{grouped, short};
use crate::identity::book::{self, MAIN};
use crate::identity::presence::{self, Reach};

/// The sessions whose windows are told.
const MAX_SESSIONS: usize = 20;

/// Log entries are counted up to here.
const MAX_ENTRIES: i64 = 500;

pub(super) fn story(cx: &mut Cx<'_>, of: &StoryOf) -> Result<Vec<Moment>, FeatureError> {
    let mut all = Vec::new();
    for session in of.sessions.iter().take(MAX_SESSIONS) {
        all.extend(windows::of_session(cx.db, session)?);
    }
    all.retain(|window| window.actor == MAIN);
    all.sort_by_key(|window| window.id);
    let mut out = Vec::new();
    let mut efforts: Vec<Effort> = Vec::new();
    for (n, window) in (1_usize..).zip(&all) {
        let until_ms = window.ended.map(|at| at.0);
        if !of.covers(window.started.0, until_ms.unwrap_or(i64::MAX)) {
            continue;
        }
        let is_known = |id: i64| efforts.iter().any(|effort| effort.id == id);
        if let Some(id) = window.effort.filter(|id| !is_known(*id)) {
            efforts.extend(ops::one(cx.db, id)?);
        }
        let files = windows::files_of_window(cx.db, window.id, 200)?.len();
        out.push(of_window(n, window, files));
    }
    for effort in &efforts {
        out.push(of_effort(cx, effort)?);
        let number = |id: i64| all.iter().position(|window| window.id == id).map(|at| at + 1);
        out.extend(handover(effort, effort.payload_by.and_then(number)));
    }
    out.sort_by_key(|moment| moment.at_ms);
    let n_over = out.len().saturating_sub(usize::try_from(of.limit).unwrap_or(usize::MAX));
    Ok(out.split_off(n_over))
}

fn of_window(n: usize, window: &Window, n_files: usize) -> Moment {
    let ended = match window.ended_why.as_deref() {
        Some(why) if !why.is_empty() => format!("It ended: {why}."),
        _ => String::new(),
    };
    let used = match window.context_used {
        Some(used) if used > 0 => format!("{} tokens at the end.", short(used)),
        _ => String::new(),
    };
    let files = match n_files {
        0 => String::new(),
        1 => "It read or changed 1 file.".to_owned(),
        n => format!("It read or changed {n} files."),
    };
    let parts = [ended, used, files];
    Moment {
        at_ms: window.started.0,
        until_ms: window.ended.map(|at| at.0),
        kind: MomentKind::Window,
        actor: MAIN.to_owned(),
        title: format!("Window {n}"),
        text: parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "),
        ..Moment::default()
    }
}

fn of_effort(cx: &mut Cx<'_>, effort: &Effort) -> Result<Moment, FeatureError> {
    let said = messages::said(cx.db, effort.id, "log", MAX_ENTRIES)?;
    let log = format!("{}/{}", effort.task.relative, words::log_name(effort));
    let entries = match said.len() {
        1 => "1 entry".to_owned(),
        n => format!("{n} entries"),
    };
    let latest = match said.last() {
        Some(latest) => format!(" The latest: “{}”.", one_line(&latest.body, 300)),
        None => String::new(),
    };
    let phase = match effort.phase.as_str() {
        "" => String::new(),
        phase => format!(", phase {phase}"),
    };
    Ok(Moment {
        at_ms: effort.started.0,
        until_ms: effort.finished.map(|at| at.0),
        kind: MomentKind::Effort,
        actor: MAIN.to_owned(),
        title: format!("Effort {}{phase}", effort.skill),
        text: format!("{entries} in {log}.{latest}"),
        ..Moment::default()
    })
}

/// What a window left for the next one.
fn handover(effort: &Effort, by: Option<usize>) -> Option<Moment> {
    let (payload, at) = (effort.payload.as_ref()?, effort.payload_at?);
    let from = by.map_or_else(String::new, |n| format!(", by window {n}"));
    let told = match effort.payload_told {
        Some(_) => "told to the next one",
        None => "not told yet",
    };
    let n_words = i64::try_from(payload.split_whitespace().count()).unwrap_or(0);
    Some(Moment {
        at_ms: at.0,
        until_ms: effort.payload_told.map(|at| at.0),
        kind: MomentKind::Handover,
        actor: MAIN.to_owned(),
        title: format!("Left for the next window{from}: {} words, {told}", grouped(n_words)),
        text: payload.clone(),
        ..Moment::default()
    })
}

/// Efforts that were used within this time are shown. Older ones are offered to new sessions all the same.
const SHOWN_MS: i64 = 24 * 3_600_000;

/// The most left-behind efforts that are looked at.
const MAX_LEFT: i64 = 50;

/// Efforts that were left behind: not finished, and their agent is not there.
pub(super) fn needs_you(cx: &mut Cx<'_>) -> Result<Vec<UserNeed>, FeatureError> {
    let mut out = Vec::new();
    for effort in ops::left_open(cx.db, cx.now.plus_ms(-SHOWN_MS), MAX_LEFT)? {
        if presence::reach(cx.db, cx.world, cx.now, effort.agent)? != Reach::Offline {
            continue;
        }
        let (id, agent) = (effort.id, book::name_of(cx.db, effort.agent)?);
        let phase = match effort.phase.as_str() {
            "" => String::new(),
            phase => format!(", in phase {phase}"),
        };
        let left = match effort.payload.is_some() && effort.payload_told.is_none() {
            true => " It left a note for the next session.",
            false => "",
        };
        out.push(UserNeed {
            reason: format!("is gone, and left its effort {} unfinished{phase}", effort.skill),
            text: format!(
                "The next session in this project is offered it.{left} `substrate effort show {id}` shows it, `substrate effort finish {id} --agent {agent}` ends it."
            ),
            since_ms: effort.used.0,
            project: effort.project,
            agent,
            ..UserNeed::new(need_id(id), NeedKind::Dead)
        });
    }
    Ok(out)
}
