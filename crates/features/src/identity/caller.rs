//! Whose command it is. Nothing is made here.
//!
//! Inside a client the session decides: its shells inherit `AGENT_ID` from wherever the client was started, so that a
//! name of another agent proves nothing. Outside, whoever has a name acts under it, and whoever has none is the person.

use substrate_core::{Caller, Cx, DbError, FeatureError, SafeId, Who};

use super::book::{self, Address, Lookup};
use super::{ops, shells};

pub(super) fn of_caller(cx: &mut Cx<'_>, caller: &Caller) -> Result<Option<Who>, FeatureError> {
    let session = caller.session_id();
    let of_session = match &session {
        Some(session) => by_session(cx, session)?,
        None => None,
    };
    let wanted = caller.agent.as_deref().map(str::trim).filter(|agent| !agent.is_empty());
    // An inherited name says nothing of a session that we don't know: it may be its parent's.
    let is_hearsay = caller.inside_client && !caller.agent_typed && of_session.is_none();
    let wanted = wanted.filter(|_| !(is_hearsay && session.is_some()));
    let named = match wanted {
        Some(wanted) => by_name(cx, wanted, caller.inside_client)?,
        None => None,
    };
    match (of_session, named) {
        (Some(who), Some(named)) if named.agent == who.agent && !named.sub.is_empty() => {
            Ok(Some(Who { sub: named.sub, ..who }))
        }
        (Some(who), Some(named)) if named.agent != who.agent && !caller.inside_client => {
            // Outside a client a name was typed, or set by a person: it wins over the session.
            Ok(Some(without_session(named)))
        }
        (Some(who), named) if caller.inside_client && caller.agent_typed && wanted.is_some() => {
            match named {
                Some(named) if named.agent == who.agent => Ok(Some(as_its_actor(cx, caller, who)?)),
                _ => Err(FeatureError::Other(format!(
                    "you are {}, and act for nobody else: leave `--agent` out",
                    who.name
                ))),
            }
        }
        (Some(who), _) if caller.inside_client => Ok(Some(as_its_actor(cx, caller, who)?)),
        (Some(who), _) => Ok(Some(who)),
        (None, Some(named)) => Ok(Some(without_session(named))),
        // A name or a session that nobody has is a mistake, and no reason to act as the person.
        (None, None) if !caller.inside_client && session.is_none() && wanted.is_none() => {
            let name = book::name_of(cx.db, book::USER)?;
            Ok(Some(without_session(Address { agent: book::USER, name, sub: String::new() })))
        }
        (None, None) => Ok(None),
    }
}

fn by_session(cx: &mut Cx<'_>, session: &SafeId) -> Result<Option<Who>, DbError> {
    Ok(ops::session(cx.db, session)?.map(|known| Who {
        agent: known.agent,
        name: known.name,
        sub: String::new(),
        session: Some(session.clone()),
        has_stopped: known.has_stopped,
        is_shared: false,
    }))
}

/// The agent or subagent of that name. Inside a client nobody is the person, and nobody ever is Substrate itself.
fn by_name(cx: &mut Cx<'_>, name: &str, inside_client: bool) -> Result<Option<Address>, DbError> {
    let address = match book::find(cx.db, name)? {
        Lookup::Found(address) | Lookup::Ended(address) => address,
        Lookup::Unknown { .. } => return Ok(None),
    };
    let is_refused =
        address.agent == book::SUBSTRATE || (inside_client && address.agent == book::USER);
    Ok((!is_refused).then_some(address))
}

fn without_session(address: Address) -> Who {
    let Address { agent, name, sub } = address;
    Who { agent, name, sub, session: None, has_stopped: false, is_shared: false }
}

/// The session's agent, or that one of its subagents whose shell runs the command.
fn as_its_actor(cx: &mut Cx<'_>, caller: &Caller, who: Who) -> Result<Who, FeatureError> {
    let Some(session) = &who.session else { return Ok(who) };
    match shells::actor(cx, session, &caller.shells)? {
        shells::Runs::One(sub) => Ok(Who { sub, ..who }),
        shells::Runs::Several(subs) => Err(FeatureError::Other(ambiguous(&who, &subs))),
    }
}

fn ambiguous(who: &Who, subs: &[String]) -> String {
    let addresses: Vec<String> =
        subs.iter().map(|sub| Who { sub: sub.clone(), ..who.clone() }.address()).collect();
    let named = addresses.iter().find(|address| address.contains('/'));
    format!(
        "{} run this very command right now: add `--agent {}` (or whichever you are), or a comment such as `# mine` at its end",
        addresses.join(" and "),
        named.unwrap_or(&who.name),
    )
}
