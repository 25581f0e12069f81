//! When a transcript is read, and what comes of its lines.

use substrate_core::dialect::{Dialect, UsageLine};
use substrate_core::facts::Lines;
use substrate_core::ids::checksum;
use substrate_core::redact::clean;
use substrate_core::{
    Cx, DbError, Effect, Event, EventKind, FeatureError, Need, Outcome, SafeId, Timestamp,
};

use super::NAME;
use super::ops::{self, Transcript, UsageRow};
use crate::context;

/// The client writes the last line of a turn within this time after its end.
const SETTLES_MS: i64 = 1_500;

/// Transcripts per step, and bytes of each.
const MAX_FILES: i64 = 8;
const MAX_BYTES: usize = 4 << 20;

/// How long answers are remembered. A session that is opened again later has its own offset.
const KEPT_MS: i64 = 90 * 86_400_000;

/// How long the context of each answer is kept.
pub(super) const CONTEXT_MS: i64 = 7 * 86_400_000;

/// The turn of an actor has ended, so its transcript has grown.
pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    _outcome: &Outcome,
) -> Result<(), FeatureError> {
    use EventKind as K;
    if !matches!(event.kind, K::Stop | K::StopFailure | K::SubagentStop | K::SessionEnd) {
        return Ok(());
    }
    let (Some(path), Some(who), Some(session)) =
        (context::face::transcript(event), &cx.who, &event.session)
    else {
        return Ok(());
    };
    // A path with a secret in it must not be kept, so that transcript is not counted.
    if event.dialect.usage_mark.is_empty() || clean(&path) != path {
        return Ok(());
    }
    let file = Transcript {
        path,
        session: SafeId::as_str(session).to_owned(),
        actor: event.actor.key().to_owned(),
        agent: who.name.clone(),
        sub: who.sub.clone(),
        project: event.project.clone(),
        client: event.client.to_owned(),
        read_to: 0,
    };
    ops::due(cx.db, &file, cx.now.plus_ms(SETTLES_MS), cx.now)?;
    cx.effects.push(Effect::Soon { feature: NAME });
    Ok(())
}

/// Reads what is due. The files are looked at outside the transaction.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    let due = ops::all_due(cx.db, cx.now, MAX_FILES)?;
    let mut is_more = due.len() >= usize::try_from(MAX_FILES).unwrap_or(usize::MAX);
    let dialects = cx.world.dialects();
    for file in &due {
        let Some(dialect) = dialects.iter().find(|dialect| dialect.client == file.client) else {
            ops::read_to(cx.db, &file.path, file.read_to, false)?;
            continue;
        };
        let need = Need::Lines {
            path: file.path.clone(),
            from: u64::try_from(file.read_to).unwrap_or(0),
            with: dialect.usage_mark,
            max: MAX_BYTES,
        };
        // Asked for all of them first, so that one look is enough.
        let _asked = cx.look(need.clone());
        let Some(found) = cx.facts.lines(&need) else {
            if cx.facts.get(&need).is_some() {
                ops::read_to(cx.db, &file.path, file.read_to, false)?;
            }
            continue;
        };
        count(cx, file, dialect, found)?;
        is_more |= found.is_more;
    }
    if !is_more {
        is_more |= ops::ANSWERS.tick(cx, KEPT_MS)?;
        is_more |= ops::FILES.tick(cx, KEPT_MS)?;
        is_more |= ops::CONTEXTS.tick(cx, CONTEXT_MS)?;
    }
    if !is_more && ops::is_any_due(cx.db)? {
        cx.effects.push(Effect::Soon { feature: NAME });
    }
    Ok(is_more)
}

fn count(
    cx: &mut Cx<'_>,
    file: &Transcript,
    dialect: &Dialect,
    found: &Lines,
) -> Result<(), DbError> {
    for line in &found.lines {
        let Some(UsageLine { id, model, at, tokens }) = (dialect.usage)(line) else { continue };
        let at = at.unwrap_or(cx.now);
        if ops::is_new(cx.db, &checksum(&id), at)? {
            let row = UsageRow {
                day: day(at, cx.world.offset_s(at)),
                agent: file.agent.clone(),
                sub: file.sub.clone(),
                project: file.project.clone(),
                model: clean(&model).into_owned(),
                n_answers: 1,
                tokens,
            };
            ops::add(cx.db, &row)?;
            if file.sub.is_empty() {
                ops::add_context(cx.db, &file.agent, at, tokens.given())?;
            }
        }
    }
    let to = i64::try_from(found.next).unwrap_or(i64::MAX);
    ops::read_to(cx.db, &file.path, to, found.is_more)
}

/// The local day of a moment: `2026-02-08`.
pub(super) fn day(at: Timestamp, offset_s: i32) -> String {
    let local = at.plus_ms(i64::from(offset_s) * 1_000);
    jiff::Timestamp::from_millisecond(local.0)
        .map_or_else(|_| String::new(), |at| at.strftime("%Y-%m-%d").to_string())
}
