//! Which rows of the fleet wait for the user: dialogs, questions, failed turns, limits, and clients that are gone in the
//! middle of their work.

use serde_json::json;
use substrate_core::dialect::Limit;
use substrate_core::need::{Action, UserNeed, dialog_id};
use substrate_core::{Cx, DbError, FeatureError, NeedKind};

use super::ops;
use super::status::Status;
use super::view::{self, FleetRow};
use crate::calls;
use crate::efforts;
use crate::identity::holder;
use crate::journal::face::{self, AskedCall};

/// Counting ends here.
const MANY: i64 = 20;

/// What has waited for longer is not counted.
const OLD_MS: i64 = 7 * 86_400_000;

/// How many actors wait for a person, for a line that is printed all the time: one select, and one more for each of them.
pub(crate) fn n_waiting(cx: &mut Cx<'_>) -> Result<i64, DbError> {
    let mut n = 0;
    for (session, actor) in ops::waiting(cx.db, cx.now.plus_ms(-OLD_MS), MANY)? {
        let pulse = holder::pulse(cx.db, cx.world, &session, &actor)?;
        n += i64::from(pulse.is_some_and(|pulse| !pulse.is_over));
    }
    Ok(n)
}

pub(super) fn needs_you(cx: &mut Cx<'_>) -> Result<Vec<UserNeed>, FeatureError> {
    if !cx.settings.on("fleet.on") {
        return Ok(Vec::new());
    }
    let mut out = Vec::new();
    for row in &view::view_once(cx)?.lines {
        let found = match row.status {
            None => gone(cx, row)?,
            Some(Status::Attention) => Some(asks(cx, row)?),
            Some(Status::Error) => Some(failed(row, cx)),
            Some(Status::Working | Status::Checked | Status::Done) => None,
        };
        out.extend(found);
    }
    Ok(out)
}

/// An open dialog, or a finished agent that the settings count as waiting.
fn asks(cx: &mut Cx<'_>, row: &FleetRow) -> Result<UserNeed, DbError> {
    let seen = Action::new("Mark as seen", &["fleet", "check"], json!({"names": [row.address()]}));
    let kept = ops::one(cx.db, &row.seat.session, &row.seat.actor)?;
    if row.seat.has_stopped && !kept.is_some_and(|kept| kept.is_about_a_call()) {
        let id = format!("idle:{}:{}", row.seat.session, row.seat.actor);
        return Ok(UserNeed { actions: vec![seen], ..need(row, id, NeedKind::Idle) });
    }
    let id = dialog_id(&row.seat.session, &row.seat.actor);
    let mut out = UserNeed { actions: vec![seen], ..need(row, id, NeedKind::Permission) };
    let actor = (row.seat.session.as_str(), row.seat.actor.as_str());
    let Some(call) = face::asked(cx.db, actor, row.since)? else { return Ok(out) };
    let (dialects, client) = (cx.world.dialects(), row.seat.client.as_str());
    let tool = call.tool.as_deref().unwrap_or_default();
    out.text = calls::words(dialects, client, tool, &call.input);
    let dialect = dialects.iter().find(|dialect| dialect.client == client);
    let asks = dialect.and_then(|dialect| dialect.question_tool);
    if asks.is_some() && asks == call.tool.as_deref() {
        out.kind = NeedKind::Question;
        out.reason = first_line(&out.text).map_or(out.reason, |line| format!("asks: {line}"));
    } else if let Some(rule) = rule_words(&call) {
        (out.kind, out.reason) = (NeedKind::Guard, rule);
    }
    Ok(out)
}

/// The words of the rule that put the call to the user.
fn rule_words(call: &AskedCall) -> Option<String> {
    let asked = call.answer.as_ref()?.pointer("/permission/ask")?.as_str()?;
    first_line(asked)
}

fn failed(row: &FleetRow, cx: &Cx<'_>) -> UserNeed {
    let session = &row.seat.session;
    let id = format!("failed:{session}:{}", row.seat.actor);
    match row.limit {
        None => need(row, id, NeedKind::Error),
        Some(hit) => {
            let reason = match hit.limit {
                Limit::Rate => hit.words(cx.now),
                Limit::Context => "the context is full".to_owned(),
            };
            UserNeed { reason, text: row.why.clone(), ..need(row, id, NeedKind::Limit) }
        }
    }
}

/// A client that vanished in its turn, or with an effort that is not finished.
fn gone(cx: &mut Cx<'_>, row: &FleetRow) -> Result<Option<UserNeed>, DbError> {
    if row.seat.has_ended {
        return Ok(None);
    }
    let kept = ops::one(cx.db, &row.seat.session, &row.seat.actor)?;
    let was_busy = kept.is_some_and(|kept| kept.status != Status::Done);
    let (id, reason) = match &row.effort {
        // One row with what the efforts know of it.
        Some(effort) => (
            efforts::face::need_id(effort.id),
            format!("its client is gone, and its effort {} is open", effort.label()),
        ),
        None if was_busy => (
            format!("gone:{}:{}", row.seat.session, row.seat.actor),
            "its client is gone in the middle of a turn".to_owned(),
        ),
        None => return Ok(None),
    };
    let text = row.resume.clone().unwrap_or_default();
    Ok(Some(UserNeed { reason, text, ..need(row, id, NeedKind::Dead) }))
}

fn need(row: &FleetRow, id: String, kind: NeedKind) -> UserNeed {
    UserNeed {
        agent: row.address(),
        project: row.seat.project.clone(),
        session: row.seat.session.clone(),
        actor: row.seat.actor.clone(),
        since_ms: row.since.0,
        reason: row.why.clone(),
        pane: row.pane.clone().map(Into::into),
        ..UserNeed::new(id, kind)
    }
}

fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.to_owned())
}
