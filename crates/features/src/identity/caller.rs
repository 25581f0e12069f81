//! Who runs a command. This never creates an agent or a session.
//!
//! Processes decide. A command that runs below a known client belongs to that client's agent or one of its subagents;
//! flags and variables only choose among these. Any other command is the user's, who may act for any agent, unless its
//! variables say that it runs inside a client.

use substrate_core::{Caller, Cx, Db, DbError, FeatureError, SafeId, Standing, Who};

use super::book::{self, Address, Lookup};
use super::processes::{self, ClientAbove};
use super::shells::ShellOwner;
use super::{ops, shells};

pub(super) fn of_caller(cx: &mut Cx<'_>, caller: &Caller) -> Result<Option<Who>, FeatureError> {
    let above = match &caller.lineage {
        Some(lineage) => processes::above(cx.db, lineage)?,
        None => None,
    };
    match (above, &caller.tool_call) {
        (above, Some(call)) => by_tool_call(cx, above.as_ref(), call),
        (Some(above), None) => below(cx, caller, &above),
        (None, None) => by_variables(cx, caller),
    }
}

/// A tool server is one process for all actors of a client, so only the client's id of the call tells them apart: a hook
/// reported it. Without that, it is no agent's, and never the user's.
fn by_tool_call(
    cx: &mut Cx<'_>,
    above: Option<&ClientAbove>,
    call: &str,
) -> Result<Option<Who>, FeatureError> {
    cx.standing = Standing::Says;
    let unknown = |why: &str| {
        Err(FeatureError::Other(format!(
            "can't tell which agent calls this tool, so it acts as none: {why}"
        )))
    };
    let Some(above) = above else {
        return unknown(
            "no hook reported the client that started the server; `substrate hooks install` registers them",
        );
    };
    cx.standing = Standing::Below(own(cx.db, above)?.map(|who| who.name));
    if call.is_empty() {
        return unknown(
            "the client gives its calls no ids; use the `substrate` command in a shell",
        );
    }
    for session in processes::sessions(cx.db, above.client)? {
        let sub = shells::caller_of(cx.db, &session, call, cx.now)?;
        if let (Some(sub), Some(who)) = (sub, by_session(cx.db, &session)?) {
            return Ok(Some(Who { sub, ..who }));
        }
    }
    unknown("no hook reported this call; `substrate doctor` says which hooks are missing")
}

/// The agent of the latest session in a client that has one.
pub(super) fn own(db: &mut dyn Db, above: &ClientAbove) -> Result<Option<Who>, DbError> {
    for session in processes::sessions(db, above.client)? {
        if let Some(who) = by_session(db, &session)? {
            return Ok(Some(who));
        }
    }
    Ok(None)
}

/// A command that runs below a known client.
fn below(
    cx: &mut Cx<'_>,
    caller: &Caller,
    above: &ClientAbove,
) -> Result<Option<Who>, FeatureError> {
    let own = own(cx.db, above)?;
    cx.standing = Standing::Below(own.as_ref().map(|who| who.name.clone()));
    let wanted = wanted(caller);
    let who = match caller.session_id() {
        None => own,
        Some(session) => {
            let is_here = processes::sessions(cx.db, above.client)?.contains(&session);
            match by_session(cx.db, &session)? {
                Some(other) if !is_here => {
                    return Err(refused(own.as_ref(), &other.name, "--session-id"));
                }
                found => found,
            }
        }
    };
    let Some(who) = who else {
        // The session is still unknown, and a command can't choose an agent for it.
        return match wanted.filter(|_| caller.agent_typed) {
            Some(wanted) => Err(refused(None, wanted, "--agent")),
            None => Ok(None),
        };
    };
    let named = match wanted {
        Some(wanted) => by_name(cx, wanted, true)?.filter(|named| named.agent == who.agent),
        None => None,
    };
    if let (Some(wanted), None, true) = (wanted, &named, caller.agent_typed) {
        return Err(refused(Some(&who), wanted, "--agent"));
    }
    as_its_actor(cx, caller, &above.shells, who, named.as_ref()).map(Some)
}

fn refused(own: Option<&Who>, other: &str, flag: &str) -> FeatureError {
    let other = substrate_core::text::one_line(other, 60);
    let inside =
        own.map_or_else(|| "a session".to_owned(), |who| format!("{}'s session", who.name));
    FeatureError::Refused {
        message: format!("this command runs inside {inside} and can't act for {other}"),
        hint: format!(
            "leave out `{flag}`; only the user can act for others, in a terminal outside the client"
        ),
    }
}

/// The session's agent, or the subagent whose shell runs the command. If the shell leaves it open, a name decides.
fn as_its_actor(
    cx: &mut Cx<'_>,
    caller: &Caller,
    shells: &[String],
    who: Who,
    named: Option<&Address>,
) -> Result<Who, FeatureError> {
    let Some(session) = &who.session else { return Ok(who) };
    let named = named.map(|named| named.sub.as_str());
    let runs = shells::actor(cx, session, shells)?;
    match (&runs, named) {
        (ShellOwner::One(sub), Some(named)) if sub.is_empty() || sub == named => {
            Ok(Who { sub: named.to_owned(), ..who })
        }
        (ShellOwner::One(sub), Some(named)) if caller.agent_typed && !named.is_empty() => {
            let is = Who { sub: sub.clone(), ..who.clone() };
            let other = Who { sub: named.to_owned(), ..who }.address();
            Err(FeatureError::Refused {
                message: format!(
                    "this command runs in {}'s shell and can't act for {other}",
                    is.address()
                ),
                hint: "leave out `--agent`".to_owned(),
            })
        }
        (ShellOwner::One(sub), _) => Ok(Who { sub: sub.clone(), ..who }),
        (ShellOwner::Several(subs), Some(named))
            if subs.iter().any(|sub| sub == named) && (caller.agent_typed || !named.is_empty()) =>
        {
            Ok(Who { sub: named.to_owned(), ..who })
        }
        (ShellOwner::Several(subs), _) => Err(FeatureError::Other(ambiguous(&who, subs))),
    }
}

/// The agent that the caller names.
fn wanted(caller: &Caller) -> Option<&str> {
    caller.agent.as_deref().map(str::trim).filter(|agent| !agent.is_empty())
}

/// A command without a known client above it: the user's, unless its variables say that it runs inside a client.
fn by_variables(cx: &mut Cx<'_>, caller: &Caller) -> Result<Option<Who>, FeatureError> {
    cx.standing = if caller.inside_client { Standing::Says } else { Standing::User };
    let session = caller.session_id();
    let of_session = match &session {
        Some(session) => by_session(cx.db, session)?,
        None => None,
    };
    let wanted = wanted(caller);
    // An inherited name says nothing about an unknown session: it may be that of its parent.
    let is_hearsay = caller.inside_client && !caller.agent_typed && of_session.is_none();
    let wanted = wanted.filter(|_| !(is_hearsay && session.is_some()));
    let named = match wanted {
        Some(wanted) => by_name(cx, wanted, caller.inside_client)?,
        None => None,
    };
    let shells = caller.lineage.as_deref().map(processes::detached_shells).unwrap_or_default();
    match (of_session, named) {
        (Some(who), Some(named)) if named.agent == who.agent && !named.sub.is_empty() => {
            Ok(Some(Who { sub: named.sub, ..who }))
        }
        (Some(who), Some(named)) if named.agent != who.agent && !caller.inside_client => {
            // Outside a client a person typed or set the name, so it wins over the session.
            Ok(Some(without_session(named)))
        }
        (Some(who), named) if caller.inside_client && caller.agent_typed && wanted.is_some() => {
            match named {
                Some(named) if named.agent == who.agent => {
                    as_its_actor(cx, caller, &shells, who, None).map(Some)
                }
                _ => Err(refused(Some(&who), wanted.unwrap_or_default(), "--agent")),
            }
        }
        (Some(who), _) if caller.inside_client => {
            as_its_actor(cx, caller, &shells, who, None).map(Some)
        }
        (Some(who), _) => Ok(Some(who)),
        (None, Some(named)) => Ok(Some(without_session(named))),
        // An unknown name or session is a mistake. It must not make the caller the person.
        (None, None) if !caller.inside_client && session.is_none() && wanted.is_none() => {
            let name = book::name_of(cx.db, book::USER)?;
            Ok(Some(without_session(Address::of_agent(book::USER, name))))
        }
        (None, None) => Ok(None),
    }
}

fn by_session(db: &mut dyn Db, session: &SafeId) -> Result<Option<Who>, DbError> {
    Ok(ops::session(db, session)?.map(|known| Who {
        agent: known.agent,
        name: known.name,
        sub: String::new(),
        session: Some(session.clone()),
        has_stopped: known.has_stopped,
        is_shared: false,
    }))
}

/// The agent or subagent of that name. Substrate is never a caller, and inside a client the person isn't either.
fn by_name(cx: &mut Cx<'_>, name: &str, inside_client: bool) -> Result<Option<Address>, DbError> {
    let address = match book::find(cx.db, name)? {
        Lookup::Found(address) | Lookup::Ended(address) => address,
        Lookup::Unknown { .. } => return Ok(None),
    };
    let is_refused = address.agent == book::SUBSTRATE
        || address.machine.is_some()
        || (inside_client && address.agent == book::USER);
    Ok((!is_refused).then_some(address))
}

fn without_session(address: Address) -> Who {
    let Address { agent, name, sub, .. } = address;
    Who { agent, name, sub, session: None, has_stopped: false, is_shared: false }
}

fn ambiguous(who: &Who, subs: &[String]) -> String {
    let addresses: Vec<String> =
        subs.iter().map(|sub| Who { sub: sub.clone(), ..who.clone() }.address()).collect();
    let named = addresses.iter().find(|address| address.contains('/'));
    format!(
        "{} are running the same command right now: add `--agent {}` (or whichever you are), or a comment such as `# mine` at its end",
        addresses.join(" and "),
        named.unwrap_or(&who.name),
    )
}
