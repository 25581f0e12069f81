//! The effort that a session is meant to work on: `substrate run --effort ID` says so in its surroundings.

use substrate_core::{Cx, DbError, Event, Who};

use super::ops;
use crate::identity::book;
use crate::identity::reach::{Reach, reach};

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
    if effort.agent != who.agent && reach(cx.db, cx.world, cx.now, effort.agent)? != Reach::Offline
    {
        let owner = book::name_of(cx.db, effort.agent)?;
        return Ok(not(format!("{owner} is there and works on effort {id}")));
    }
    ops::used(cx.db, id, who.agent, cx.now)?;
    Ok(Wanted { effort: Some(id), why_not: None })
}
