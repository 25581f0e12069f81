//! Who acts: the agent behind an event or a command, as the identity feature resolves it.

use crate::event::Event;
use crate::ids::SafeId;
use crate::verb::Caller;

/// An agent, or one of its subagents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// The agent's row.
    pub agent: i64,
    /// Its durable name, e.g. `NobleLion`.
    pub name: String,
    /// A subagent's own name for mail, e.g. `reviewer-1`; empty for the agent itself.
    pub sub: String,
    pub session: Option<SafeId>,
    /// The session's main thread has ended its turn and has sent no event since.
    pub has_stopped: bool,
    /// Another live client process has the same session. Looked up only where a client starts or ends.
    pub is_shared: bool,
}

impl Who {
    /// The name that mail is sent to: `NobleLion`, or `NobleLion/reviewer-1`.
    pub fn address(&self) -> String {
        if self.sub.is_empty() { self.name.clone() } else { format!("{}/{}", self.name, self.sub) }
    }

    /// What a waiter of this agent waits for.
    pub fn wake_key(&self) -> String {
        wake_key(self.agent)
    }
}

/// What the waiters of an agent wait for.
pub fn wake_key(agent: i64) -> String {
    format!("agent {agent}")
}

/// Where a command comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// From a shell of the user's own: no client is above it.
    #[default]
    User,
    /// From inside a client, as its variables say.
    Says,
    /// From below a known client process; the name of its agent.
    Below(Option<String>),
}

/// Whose agent is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Asking<'a> {
    /// For an event. An unknown session gets an agent.
    Event(&'a Event),
    /// For a command. No agent is made.
    Caller(&'a Caller),
}
