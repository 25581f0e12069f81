//! The effort that a session is meant to work on (`substrate run --effort ID` says so in its surroundings), and who may have
//! one at all. Everything here is decided in the transaction of the event or command, so of two who want one effort only the
//! first gets it.

use substrate_core::{Cx, DbError, Event, Who};

use super::ops::{self, Effort};
use super::{ops_pending, words};
use crate::identity::book;
pub(super) use crate::identity::holder::may_take as is_free;
use crate::mail;

/// What became of the wish.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// The effort, which is the agent's own from now on.
    pub(super) effort: Option<i64>,
    /// Why it can't be, for the agent.
    pub(super) why_not: Option<String>,
}

/// The rule is that of `effort resume`: an effort is taken over only from an agent that is gone. A client inside a client
/// inherits the variable, and its parent is there.
pub(super) fn find(cx: &mut Cx<'_>, event: &Event, who: &Who) -> Result<Wanted, DbError> {
    let Some(id) = event.wanted_effort else { return Ok(Wanted::default()) };
    let not = |why: String| Wanted { effort: None, why_not: Some(why) };
    let Some(effort) = ops::one(cx.db, id)? else {
        return Ok(not(format!("there is no effort {id}")));
    };
    if effort.finished.is_some() {
        return Ok(not(format!("effort {id} is finished")));
    }
    if effort.project != event.project {
        return Ok(not(format!("effort {id} belongs to another project")));
    }
    if !is_free(cx, effort.agent, who.agent)? {
        let owner = book::name_of(cx.db, effort.agent)?;
        return Ok(not(format!("{owner} is there and works on effort {id}")));
    }
    take(cx, &effort, who)?;
    Ok(Wanted { effort: Some(id), why_not: None })
}

/// The effort is this agent's from now on. The one that had it learns that, should it come back, and what it left is told
/// again.
pub(super) fn take(cx: &mut Cx<'_>, effort: &Effort, who: &Who) -> Result<(), DbError> {
    ops::used(cx.db, effort.id, who.agent, cx.now)?;
    if effort.agent == who.agent {
        return Ok(());
    }
    ops_pending::tell_again(cx.db, effort.id)?;
    let (subject, body) = words::taken(effort, &who.name);
    mail::face::note(cx, (effort.agent, ""), &subject, body, Some(format!("effort {}", effort.id)))
}
