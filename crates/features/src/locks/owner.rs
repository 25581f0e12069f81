//! Whose lease it is: one actor of one session, in one process of its client.

use substrate_core::{Cx, DbError, Event, VerbError};

use crate::identity::book::{self, Address};

/// The session of the person: no client's session has such an id.
const PERSON: &str = "(person)";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) session: String,
    pub(super) actor: String,
    pub(super) agent: i64,
    /// The subagent's own name for mail; empty for the agent itself.
    pub(super) sub: String,
    /// The client's process, where it is known.
    pub(super) pid: Option<i64>,
    pub(super) began: Option<i64>,
}

impl Owner {
    /// Who acts in an event. Nobody when it is not known. The process is looked up only where it matters.
    pub(super) fn of_event(cx: &Cx<'_>, event: &Event) -> Option<Self> {
        let who = cx.who.as_ref()?;
        Some(Self {
            session: event.session.as_ref()?.as_str().to_owned(),
            actor: event.actor.key().to_owned(),
            agent: who.agent,
            sub: who.sub.clone(),
            pid: None,
            began: None,
        })
    }

    /// The same with the process that its client runs in now.
    pub(super) fn with_process(&self, cx: &mut Cx<'_>) -> Result<Self, DbError> {
        let (pid, began) = book::process(cx.db, &self.session)?.unzip();
        Ok(Self { pid, began, ..self.clone() })
    }

    /// Who calls a command.
    pub(super) fn of_caller(cx: &mut Cx<'_>) -> Result<Self, VerbError> {
        let who = cx.who.clone().ok_or_else(|| {
            VerbError::user(
                "it is not known who you are",
                "`substrate identity current` says more; `--agent NAME` or `--session-id ID` names one",
            )
        })?;
        let (agent, sub) = (who.agent, who.sub.clone());
        if agent == book::USER {
            let (session, actor) = (PERSON.to_owned(), book::MAIN.to_owned());
            return Ok(Self { session, actor, agent, sub, pid: None, began: None });
        }
        let seat = book::seat(cx.db, &who)?;
        let Some((session, actor)) = seat else {
            return Err(VerbError::user(
                format!("{} has no session that could hold a file", who.address()),
                "`substrate agent list` shows who is there",
            ));
        };
        let (pid, began) = book::process(cx.db, &session)?.unzip();
        Ok(Self { session, actor, agent, sub, pid, began })
    }

    /// Somebody who is not known, and so holds nothing.
    pub(super) fn nobody() -> Self {
        let (session, actor, sub) = (String::new(), String::new(), String::new());
        Self { session, actor, agent: 0, sub, pid: None, began: None }
    }

    pub(super) fn is_person(&self) -> bool {
        self.session == PERSON
    }

    /// The same actor, whatever process its client runs in now.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.session == other.session && self.actor == other.actor
    }

    /// Its client runs in another process than it did then: it was started anew between.
    pub(super) fn came_back(&self, cx: &mut Cx<'_>, then: &Self) -> Result<bool, DbError> {
        let now = self.with_process(cx)?;
        let process = |owner: &Self| owner.pid.zip(owner.began);
        Ok(matches!((process(&now), process(then)), (Some(now), Some(then)) if now != then))
    }

    /// Its client's process is known, and no longer there.
    pub(super) fn is_gone(&self, cx: &Cx<'_>) -> bool {
        let Some((pid, began)) = self.pid.zip(self.began) else { return false };
        u32::try_from(pid).ok().and_then(|pid| cx.world.process_began(pid)) != Some(began)
    }

    /// As mail is addressed: `NobleLion/reviewer-1`.
    pub(super) fn address(&self, cx: &mut Cx<'_>) -> Result<String, DbError> {
        let name = book::name_of(cx.db, self.agent)?;
        Ok(Address { agent: self.agent, name, sub: self.sub.clone() }.text())
    }
}
