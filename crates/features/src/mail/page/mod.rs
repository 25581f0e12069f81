//! The page of mail: what came to you and what you sent, one thread with the ledger of every delivery, and a form to
//! write. It shows what `substrate thread` and `substrate status` return.

use askama::Template;
use serde_json::Value;
use substrate_core::page::Badge;
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs as _;
use substrate_core::{Cx, DbError, Page, PageBody, PageRequest, Timestamp, VerbError, Who, html};

use super::message::MessageId;
use super::ops::{self, Mailbox, mailbox};
use super::policy::address;
use super::verbs::look::{Status, Thread};
use crate::identity::book::{self, Lookup};
use crate::identity::holder;
use crate::page::{Since, body, clock, in_query};

/// How many threads the list shows.
const MAX_LISTED: i64 = 60;

/// The steps of a delivery, in order, with the field that says when each was taken.
const STEPS: [(&str, &str); 7] = [
    ("queued", "queued_ms"),
    ("at the hub", "at_hub_ms"),
    ("at the machine", "at_machine_ms"),
    ("injected", "injected_ms"),
    ("seen", "seen_ms"),
    ("read", "read_ms"),
    ("acked", "acked_ms"),
];

pub(super) const PAGES: &[Page] = &[
    Page { path: "/mail", title: "Mail", nav: Some(20), badge: Some(BADGE), render },
    Page { path: "/mail/{id}", title: "Mail", nav: None, badge: None, render },
];

const BADGE: Badge = Badge { word: "unread", count: n_unread };

fn n_unread(cx: &mut Cx<'_>) -> Result<i64, DbError> {
    super::face::n_unread(cx.db, (book::USER, ""), cx.now)
}

#[derive(Template)]
#[template(path = "mail/page/mail.html")]
struct MailPage {
    n_unread: i64,
    /// An agent, if it is not the user's own mail, and what links say of that.
    whose: String,
    more: String,
    is_sent: bool,
    listed: Vec<ListedMail>,
    thread: Option<ThreadView>,
    may_act: bool,
    compose: String,
    to: String,
}

struct ListedMail {
    id: i64,
    who: String,
    subject: String,
    note: String,
    since: String,
    is_here: bool,
}

struct ThreadView {
    subject: String,
    id: i64,
    messages: Vec<MessageView>,
    /// The newest message, to answer.
    last: i64,
    reply: String,
    ack: String,
}

struct MessageView {
    id: i64,
    from: String,
    to: String,
    at: String,
    text: String,
    cut: Option<i64>,
    ways: Vec<Way>,
}

/// The ledger of one delivery.
struct Way {
    to: String,
    is_overdue: bool,
    steps: Vec<Step>,
}

struct Step {
    word: &'static str,
    class: &'static str,
    icon: &'static str,
    at: String,
}

/// The user's own mail; with `as`, the mail of an agent, to look at.
fn render(cx: &mut Cx<'_>, request: &PageRequest) -> Result<PageBody, VerbError> {
    let of_agent = request.field("as").map(str::to_owned);
    let mut request = request.clone();
    if let Some(name) = &of_agent {
        let (Lookup::Found(of) | Lookup::Ended(of)) = book::find(cx.db, name)? else {
            return Err(VerbError::user(
                format!("no agent is called `{}`", one_line(name, 60)),
                "`substrate agent list` shows them",
            ));
        };
        request.may_act = false;
        cx.who = Some(Who {
            agent: of.agent,
            name: of.name,
            sub: of.sub,
            session: None,
            has_stopped: false,
            is_shared: false,
        });
    }
    let request = &request;
    let who = holder::caller(cx, &request.caller)?;
    let of = Mailbox { agent: who.agent, sub: &who.sub };
    let is_sent = request.field("box") == Some("sent");
    let wanted = request.segments.first().and_then(|id| id.parse::<i64>().ok());
    let mut listed = if is_sent { sent(cx, request, of)? } else { got(cx, request, of)? };
    let shown = wanted.or(listed.first().map(|row| row.id));
    for row in &mut listed {
        row.is_here = Some(row.id) == shown;
    }
    let thread = match shown {
        Some(id) => Some(thread(cx, request, id)?),
        None => None,
    };
    let page = MailPage {
        n_unread: super::face::n_unread(cx.db, (who.agent, &who.sub), cx.now)?,
        whose: of_agent.clone().unwrap_or_default(),
        more: of_agent.map_or_else(String::new, |name| format!("&as={}", in_query(&name))),
        is_sent,
        listed,
        thread,
        may_act: request.may_act,
        compose: request.hidden("send", &format!("compose {}", request.caller.request)),
        to: request.field("to").unwrap_or_default().to_owned(),
    };
    body("Mail", &page)
}

fn since(cx: &Cx<'_>, request: &PageRequest, at_ms: i64) -> Since {
    Since { at: Timestamp(at_ms), now: cx.now, tz_offset_s: request.caller.tz_offset_s }
}

fn got(
    cx: &mut Cx<'_>,
    request: &PageRequest,
    of: Mailbox<'_>,
) -> Result<Vec<ListedMail>, DbError> {
    let mut out = Vec::new();
    for row in mailbox::kept(cx.db, of, i64::MAX, MAX_LISTED)? {
        let mut note =
            if row.read_ms.is_some() || row.acked_ms.is_some() { "read" } else { "unread" }
                .to_owned();
        if row.deadline_ms.is_some_and(|at| at <= cx.now.0) && row.acked_ms.is_none() {
            note.push_str(" · its deadline has passed");
        }
        out.push(ListedMail {
            id: row.id,
            who: address(cx, row.sender, &row.sender_sub)?,
            subject: row.subject,
            note,
            since: since(cx, request, row.sent_ms).html(),
            is_here: false,
        });
    }
    Ok(out)
}

fn sent(
    cx: &mut Cx<'_>,
    request: &PageRequest,
    of: Mailbox<'_>,
) -> Result<Vec<ListedMail>, DbError> {
    let mut out = Vec::new();
    for message in ops::sent(cx.db, of, MAX_LISTED)? {
        let deliveries = mailbox::deliveries(cx.db, message.id)?;
        let to = super::render::addresses(cx, &deliveries)?;
        out.push(ListedMail {
            id: message.id,
            who: super::render::shortened(&to),
            subject: message.subject,
            note: super::render::worst(&deliveries).to_owned(),
            since: since(cx, request, message.sent_ms).html(),
            is_here: false,
        });
    }
    Ok(out)
}

fn thread(cx: &mut Cx<'_>, request: &PageRequest, id: i64) -> Result<ThreadView, VerbError> {
    let found = Thread { id: MessageId(id) }.run(cx, &request.caller)?.json;
    let mut messages = Vec::new();
    for message in found["messages"].as_array().into_iter().flatten() {
        let id = message["id"].as_i64().unwrap_or(0);
        let status = Status { id: Some(MessageId(id)) }.run(cx, &request.caller)?.json;
        messages.push(one(cx, request, message, &status));
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let last = messages.last().map_or(id, |message| message.id);
    Ok(ThreadView {
        subject: text(&found["messages"][0]["subject"]),
        id: found["thread"].as_i64().unwrap_or(id),
        reply: request.hidden("reply", &format!("reply {last} {}", request.caller.request)),
        ack: request.hidden("ack", &format!("ack {last}")),
        last,
        messages,
    })
}

fn one(cx: &Cx<'_>, request: &PageRequest, message: &Value, status: &Value) -> MessageView {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let names = message["to"].as_array().into_iter().flatten().map(text);
    let shown = text(&message["body"]);
    let n_chars = message["n_chars"].as_i64().unwrap_or(0);
    let n_shown = i64::try_from(shown.chars().count()).unwrap_or(0);
    let ways = status["deliveries"].as_array().into_iter().flatten();
    MessageView {
        id: message["id"].as_i64().unwrap_or(0),
        from: text(&message["from"]),
        to: names.collect::<Vec<_>>().join(", "),
        at: since(cx, request, message["sent_ms"].as_i64().unwrap_or(0)).html(),
        text: html::shown(&shown),
        cut: (n_chars > n_shown).then_some(n_chars - n_shown),
        ways: ways.map(|way| ledger(way, request.caller.tz_offset_s)).collect(),
    }
}

/// A step that was taken, one that is late, and those that are still to come.
fn ledger(way: &Value, tz_offset_s: i32) -> Way {
    let is_overdue = way["overdue"] == true;
    // Only a delivery to another machine passes a hub.
    let is_far = way["to"].as_str().is_some_and(|to| to.contains('@'));
    let steps: Vec<(&'static str, &str)> =
        STEPS.into_iter().filter(|(_, field)| is_far || !field.starts_with("at_")).collect();
    let last = steps.iter().rposition(|(_, field)| way[*field].is_i64()).unwrap_or(0);
    let step = |(n, (word, field)): (usize, &(&'static str, &str))| {
        let at = way[*field].as_i64();
        let (class, icon) = match at {
            Some(_) => ("is", "done"),
            // A later step says that this one was taken too.
            None if n < last => ("is", "todo"),
            None if is_overdue && n == last + 1 => ("late", "attention"),
            None => ("todo", "todo"),
        };
        let at = at.map(|at| clock(Timestamp(at), tz_offset_s)).unwrap_or_default();
        Step { word, class, icon, at }
    };
    Way {
        to: way["to"].as_str().unwrap_or_default().to_owned(),
        is_overdue,
        steps: steps.iter().enumerate().map(step).collect(),
    }
}
