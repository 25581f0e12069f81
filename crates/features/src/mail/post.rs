//! Sending: all or nothing, once per key, to recipients that are known to exist.

use substrate_core::size::Bytes;
use substrate_core::text::one_line;
use substrate_core::time::parse_span;
use substrate_core::{Caller, Cx, DbError, Timestamp, VerbError};

use super::ops::{self, Letter, Mailbox};
use super::{far, search, words};
use crate::identity::book::{self, Address, Lookup};
use crate::team::face::{self as team, FarLookup};

pub(super) const MAX_SUBJECT: usize = 200;
const MAX_BODY: usize = 1 << 20;
const MAX_RECIPIENTS: usize = 64;

/// Whom a message goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recipient {
    pub(super) to: Address,
    /// The subagent that was meant, if that one has ended.
    pub(super) was_for: Option<String>,
}

impl Recipient {
    pub(super) fn of_agent(agent: i64, name: String) -> Self {
        Self { to: Address::of_agent(agent, name), was_for: None }
    }
}

/// A message that is on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    pub(super) id: i64,
    /// It was sent before, under the same key.
    pub(super) repeated: bool,
}

/// Writes a message and its deliveries, and wakes those who wait for it.
pub(super) fn post(cx: &mut Cx<'_>, letter: &Letter, to: &[Recipient]) -> Result<Posted, DbError> {
    if let Some(key) = &letter.idem_key
        && let Some(id) = ops::sent_as(cx.db, letter.sender, key)?
    {
        return Ok(Posted { id, repeated: true });
    }
    let id = ops::insert(cx.db, letter, cx.now)?;
    let mut agents = vec![letter.sender];
    for Recipient { to, was_for } in to {
        let mailbox = Mailbox { agent: to.agent, sub: &to.sub };
        ops::deliver(cx.db, id, mailbox, was_for.as_deref(), letter, cx.now)?;
        if let Some(key) = &letter.replace_key {
            ops::replace_earlier(cx.db, id, letter.sender, key, mailbox)?;
        }
        if let Some(machine) = &to.machine {
            far::queue(cx, id, to, machine, letter)?;
        }
        agents.push(to.agent);
    }
    search::add(cx.db, id, &agents, &letter.subject, &letter.body)?;
    for one in to.iter().filter(|one| one.to.machine.is_none()) {
        cx.wake(one.to.agent);
    }
    Ok(Posted { id, repeated: false })
}

/// The agents of a list of names, each once, or an error that says which are missing.
pub(super) fn recipients(cx: &mut Cx<'_>, names: &[String]) -> Result<Vec<Recipient>, VerbError> {
    let mut out: Vec<Recipient> = Vec::new();
    for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        let to = find(cx, name)?;
        if out.iter().all(|other| other.to != to) {
            out.push(Recipient { to, was_for: None });
        }
        if out.len() > MAX_RECIPIENTS {
            return Err(VerbError::user(
                format!("a message goes to {MAX_RECIPIENTS} recipients at most"),
                "`substrate mail publish` reaches all who follow a topic",
            ));
        }
    }
    if out.is_empty() {
        return Err(VerbError::user(
            "no recipient is named",
            "write `--to NobleLion`, or several: `--to A,B`",
        ));
    }
    Ok(out)
}

fn find(cx: &mut Cx<'_>, text: &str) -> Result<Address, VerbError> {
    let said = words::name(text);
    match book::find(cx.db, text)? {
        Lookup::Found(to) if to.agent == book::SUBSTRATE => Err(VerbError::user(
            "Substrate itself reads no mail",
            "`substrate agent list` shows who does",
        )),
        Lookup::Found(to) => Ok(to),
        Lookup::Ended(gone) => Err(VerbError::user(
            format!("the subagent `{said}` has ended"),
            format!("write to its agent: `--to {}`", gone.name),
        )),
        Lookup::Unknown { nearest } => match team::address(cx, text)? {
            FarLookup::Found(to) => Ok(to),
            FarLookup::Several(names) => Err(VerbError::user(
                format!("several machines have an agent `{said}`"),
                format!("write `{}`", names.join("` or `")),
            )),
            FarLookup::NoMachine(machine) => Err(VerbError::user(
                format!("no machine of the team is called `{}`", words::name(&machine)),
                "`substrate team members` shows them",
            )),
            FarLookup::Unknown if nearest.is_empty() => Err(VerbError::user(
                format!("no agent is called `{said}`"),
                "`substrate agent list --all` shows who is there",
            )),
            FarLookup::Unknown => Err(VerbError::user(
                format!("no agent is called `{said}`"),
                format!("did you mean `{}`?", nearest.join("` or `")),
            )),
        },
    }
}

/// A former participant: itself, or its agent if it was a subagent that has ended. `None` if deleted.
pub(super) fn resolve(
    cx: &mut Cx<'_>,
    agent: i64,
    sub: &str,
) -> Result<Option<Recipient>, DbError> {
    let name = book::name_of(cx.db, agent)?;
    if !sub.is_empty()
        && let Lookup::Found(to) = book::find(cx.db, &format!("{name}/{sub}"))?
    {
        return Ok(Some(Recipient { to, was_for: None }));
    }
    Ok(match book::find(cx.db, &name)? {
        Lookup::Found(to) if to.agent == agent => {
            let was_for = (!sub.is_empty()).then(|| sub.to_owned());
            Some(Recipient { to, was_for })
        }
        _ => None,
    })
}

/// A subject as it is kept: one line, not empty.
pub(super) fn subject(text: &str) -> Result<String, VerbError> {
    let plain = one_line(text, 10 * MAX_SUBJECT);
    let n_chars = plain.chars().count();
    match n_chars {
        0 => Err(VerbError::user("the subject is empty", "say in a few words what it is about")),
        1..=MAX_SUBJECT => Ok(plain),
        _ => Err(VerbError::user(
            format!("the subject has more than {MAX_SUBJECT} characters"),
            "put the rest into the body",
        )),
    }
}

/// A body as it is stored, without zero bytes, which end a text in many places.
pub(super) fn body(text: &str) -> Result<String, VerbError> {
    if text.len() > MAX_BODY {
        return Err(VerbError::user(
            format!("the body is longer than {}", Bytes::of(MAX_BODY)),
            "send the path of a file instead",
        ));
    }
    Ok(text.replace('\0', ""))
}

/// A moment to come: `2h` from now, or as RFC 3339 has it.
pub(super) fn moment(text: &str, now: Timestamp) -> Result<Timestamp, VerbError> {
    let at = match parse_span(text.trim()) {
        Some(span) => Some(now.plus_ms(span)),
        None => {
            text.trim().parse::<jiff::Timestamp>().ok().map(|at| Timestamp(at.as_millisecond()))
        }
    };
    let said = words::name(text);
    let at = at.ok_or_else(|| {
        VerbError::user(
            format!("`{said}` is not a time"),
            "write it like `30m`, `2h` or `2030-01-31T18:00:00Z`",
        )
    })?;
    if at <= now {
        return Err(VerbError::user(format!("`{said}` has passed"), "name a time in the future"));
    }
    Ok(at)
}

/// The key that makes a request count once: the given one, or the request's own id.
pub(super) fn key(given: Option<&str>, caller: &Caller, line: Option<usize>) -> Option<String> {
    if let Some(given) = given.filter(|given| !given.is_empty()) {
        return Some(format!("{}{given}", ops::GIVEN_KEY));
    }
    let request = (!caller.request.is_empty()).then_some(&caller.request)?;
    Some(line.map_or_else(|| format!("request {request}"), |n| format!("request {request} {n}")))
}
