//! What other features may ask about efforts.

use substrate_core::{Db, DbError, ToolCall};

use super::ops_windows::{self, Standing};
use super::{calls, ops};
use crate::identity::book::MAIN;

/// The effort that an actor works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Effort {
    pub(crate) id: i64,
    pub(crate) skill: String,
    /// Empty where the skill has none.
    pub(crate) phase: String,
    /// The actor's own tool calls since its last log entry.
    pub(crate) n_calls: i64,
    /// The rules that its skill brings along, as a list in JSON; empty where it has none.
    pub(crate) guards: String,
}

impl Effort {
    /// `brainstorm`, or `brainstorm/explore`.
    pub(crate) fn label(&self) -> String {
        let Self { skill, phase, .. } = self;
        if phase.is_empty() { skill.clone() } else { format!("{skill}/{phase}") }
    }
}

/// The effort of an actor: its agent's, if that works on one in this session. One point select.
pub(crate) fn current(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
) -> Result<Option<Effort>, DbError> {
    let standing = ops_windows::standing(db, session, actor)?;
    Ok(standing.and_then(|standing| {
        let Standing { n_calls, effort, .. } = standing;
        effort.map(|effort| Effort {
            id: effort.id,
            skill: effort.skill,
            phase: effort.phase,
            n_calls,
            guards: effort.guards,
        })
    }))
}

/// Whether an agent has ever worked on an effort.
pub(crate) fn has_any(db: &mut dyn Db, agent: i64) -> Result<bool, DbError> {
    ops::has_any(db, agent)
}

/// Whether a call is a command of ours and nothing else: the way out of an effort is always open.
pub(crate) fn is_ours(call: &ToolCall) -> bool {
    calls::is_ours(call)
}

/// The effort of a session's main thread.
pub(crate) fn of_session(db: &mut dyn Db, session: &str) -> Result<Option<Effort>, DbError> {
    current(db, session, MAIN)
}
