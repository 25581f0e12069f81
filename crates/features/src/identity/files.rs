//! The files that mirror who a session is, so that a hook can name itself when the database can't be asked.

use serde_json::json;
use substrate_core::{Cx, DbError, Effect, SafeId, Timestamp};

use super::ops::{self, Kept};

/// Writes the session's file again.
pub(super) fn keep(cx: &mut Cx<'_>, session: &SafeId) -> Result<(), DbError> {
    if let Some(kept) = ops::kept(cx.db, session)? {
        let effect = effect(&kept, cx.now);
        cx.effects.push(effect);
    }
    Ok(())
}

/// Writes the files of all sessions of an agent again.
pub(super) fn keep_all(cx: &mut Cx<'_>, agent: i64) -> Result<(), DbError> {
    for kept in ops::kept_of_agent(cx.db, agent)? {
        let effect = effect(&kept, cx.now);
        cx.effects.push(effect);
    }
    Ok(())
}

/// Forgets a session with its file.
pub(super) fn forget(cx: &mut Cx<'_>, session: &str) -> Result<(), DbError> {
    ops::forget(cx.db, session)?;
    cx.effects.push(Effect::Forget { path: path(session) });
    Ok(())
}

/// Below the state home. Sessions are safe ids, so this stays where it belongs.
pub(super) fn path(session: &str) -> String {
    format!("identities/by-session/{session}.json")
}

fn effect(kept: &Kept, now: Timestamp) -> Effect {
    let json = json!({
        "session_id": kept.session,
        "agent": kept.name,
        "agent_id": kept.agent,
        "project": kept.project,
        "client": kept.client,
        "created_at": rfc3339(kept.started),
        "updated_at": rfc3339(now),
    });
    Effect::Keep { path: path(&kept.session), text: format!("{json:#}\n") }
}

/// The time as everybody reads it, in UTC.
pub(super) fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| at.0.to_string(), |time| time.to_string())
}
