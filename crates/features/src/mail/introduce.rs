//! Messages as they are shown: who wrote them, and as much of their bodies as fits.

use substrate_core::{Cx, DbError};

use super::message::Priority;
use super::ops;
use super::ops::mailbox::MailboxRow;
use super::policy::address;
use super::words::{MAX_URGENT, told_whole};
use crate::identity::book;

/// A message as an introduction shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Introduced {
    pub(super) id: i64,
    pub(super) from: String,
    pub(super) subject: String,
    pub(super) priority: Priority,
    /// The subagent that it was sent to, if that one has ended.
    pub(super) was_for: Option<String>,
    /// Who it is for, if it is shown to another actor.
    pub(super) for_parent: Option<String>,
    /// It comes from Substrate itself, which reads no answers.
    pub(super) is_ours: bool,
    /// It was told before.
    pub(super) is_again: bool,
    /// Characters of the whole body.
    pub(super) n_chars: i64,
    /// The whole body, where there is room for it.
    pub(super) body: Option<String>,
}

/// Whose bodies are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bodies {
    /// Only those of messages that were never shown.
    OfNew,
    OfAll,
    None,
}

/// The rows as they are shown.
pub(super) fn lines(
    cx: &mut Cx<'_>,
    rows: &[MailboxRow],
    bodies: Bodies,
) -> Result<Vec<Introduced>, DbError> {
    let mut out = Vec::with_capacity(rows.len());
    for row in rows {
        out.push(Introduced {
            id: row.id,
            from: address(cx, row.sender, &row.sender_sub)?,
            subject: row.subject.clone(),
            priority: row.priority,
            was_for: row.was_for.clone(),
            for_parent: None,
            is_ours: row.sender == book::SUBSTRATE,
            is_again: row.is_told(),
            n_chars: ops::body_len(cx.db, row.id)?,
            body: None,
        });
    }
    let is_wanted = |line: &Introduced| match bodies {
        Bodies::OfNew => !line.is_again,
        Bodies::OfAll => true,
        Bodies::None => false,
    };
    let wanted: Vec<&mut Introduced> = out.iter_mut().filter(|line| is_wanted(line)).collect();
    let fits = told_whole(wanted.iter().map(|line| (line.priority, line.n_chars)));
    for (line, _) in wanted.into_iter().zip(fits).filter(|(_, fits)| *fits) {
        line.body = Some(ops::body(cx.db, line.id, 0, MAX_URGENT)?);
    }
    Ok(out)
}
