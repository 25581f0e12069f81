//! `substrate thread`, `search`, `status`

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::time::Ago;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Output, VerbError, Who};

use super::send::visible;
use crate::identity::holder;
use crate::mail::message::MessageId;
use crate::mail::ops::mailbox;
use crate::mail::ops::{self, Mailbox, Message};
use crate::mail::policy::address;
use crate::mail::render::{self, Part};
use crate::mail::{search, words};

const MAX_FOUND: i64 = 20;
const MAX_IN_THREAD: i64 = 50;

/// Characters of a body in the list of the latest messages.
const LATEST_CHARS: i64 = 2_000;

/// Characters of a body in a thread.
const THREAD_CHARS: i64 = 500;

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::mail) struct Thread {
    /// Any message of the thread, e.g. `42`
    pub(in crate::mail) id: MessageId,
}

impl VerbArgs for Thread {
    const PATH: &'static [&'static str] = &["thread"];
    const ABOUT: &'static str = "Show the latest 50 messages of a thread";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let who = holder::caller(cx, caller)?;
        let thread = visible(cx, self.id, who.agent)?.thread;
        let (mut text, mut list) = (String::new(), Vec::new());
        let mut messages = ops::thread(cx.db, thread, who.agent, MAX_IN_THREAD + 1)?;
        let is_cut = messages.len() > usize::try_from(MAX_IN_THREAD).unwrap_or(0);
        messages.truncate(usize::try_from(MAX_IN_THREAD).unwrap_or(0));
        if let (Some(first), true) = (messages.last(), is_cut) {
            let _infallible = writeln!(
                text,
                "… older ones: `substrate mail search` finds them; this is {} and later\n",
                first.id
            );
        }
        for message in messages.into_iter().rev() {
            let part = Part {
                text: ops::body(cx.db, message.id, 0, THREAD_CHARS)?,
                from: 0,
                n_chars: ops::body_len(cx.db, message.id)?,
            };
            let (line, mut json) = one(cx, &message)?;
            let _infallible = writeln!(text, "{line}\n{}", part.text(message.id));
            json["body"] = json!(part.text);
            json["n_chars"] = json!(part.n_chars);
            list.push(json);
        }
        Ok(Output::new(text, json!({"thread": thread, "messages": list, "is_cut": is_cut})))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::mail) struct Search {
    /// Find messages with all of these words; `buil*` matches `build`
    #[arg(required = true)]
    pub(in crate::mail) words: Vec<String>,
    /// Include the trash
    #[arg(long)]
    #[serde(default)]
    pub(in crate::mail) all: bool,
}

impl VerbArgs for Search {
    const PATH: &'static [&'static str] = &["search"];
    const ABOUT: &'static str = "Find messages that you sent or got, newest first";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let who = holder::caller(cx, caller)?;
        let wanted = search::Words::read(&self.words.join(" ")).ok_or_else(|| {
            VerbError::user(
                "there is no word to look for",
                "write it like `substrate mail search build fail*`",
            )
        })?;
        let found = search::find(cx.db, who.agent, &wanted, self.all, MAX_FOUND)?;
        let (mut text, mut list) = (String::new(), Vec::new());
        for id in found {
            if let Some(message) = ops::visible(cx.db, id, who.agent)? {
                let (line, json) = one(cx, &message)?;
                let _infallible = writeln!(text, "{line}");
                list.push(json);
            }
        }
        if list.is_empty() {
            let more = if self.all { "" } else { " `--all` also looks into the trash." };
            text = format!("Nothing was found.{more}\n");
        }
        Ok(Output::new(text, json!({"messages": list})))
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(in crate::mail) struct Status {
    /// A message that you sent or got; without it, your mailbox and what you sent last
    pub(in crate::mail) id: Option<MessageId>,
}

impl VerbArgs for Status {
    const PATH: &'static [&'static str] = &["status"];
    const ABOUT: &'static str = "Show how far a message has got with each recipient";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let who = holder::caller(cx, caller)?;
        match self.id {
            Some(id) => of_message(cx, &who, id, caller.tz_offset_s),
            None => of_mailbox(cx, &who),
        }
    }
}

fn of_message(
    cx: &mut Cx<'_>,
    who: &Who,
    id: MessageId,
    tz_offset_s: i32,
) -> Result<Output, VerbError> {
    let message = visible(cx, id, who.agent)?;
    let got = mailbox::deliveries(cx.db, message.id)?;
    let (line, mut json) = one(cx, &message)?;
    let mut text = format!("{line}\n");
    let mut list = Vec::new();
    for delivery in &got {
        let to = address(cx, delivery.agent, &delivery.sub)?;
        let state = render::state(delivery);
        let late =
            delivery.deadline_ms.is_some_and(|at| at <= cx.now.0) && delivery.acked_ms.is_none();
        let _infallible = writeln!(
            text,
            "{}: {state}{} - {}",
            words::name(&to),
            if late { ", overdue" } else { "" },
            render::way(delivery, tz_offset_s)
        );
        let mut one = json!(delivery);
        one["to"] = json!(to);
        one["state"] = json!(state);
        one["overdue"] = json!(late);
        list.push(one);
    }
    json["state"] = json!(render::worst(&got));
    json["deliveries"] = json!(list);
    Ok(Output::new(text, json))
}

fn of_mailbox(cx: &mut Cx<'_>, who: &Who) -> Result<Output, VerbError> {
    let of = Mailbox { agent: who.agent, sub: &who.sub };
    let unread = mailbox::n_unread(cx.db, of, cx.now)?;
    let mut text = format!("{}: {}.\n", who.address(), unread.of("unread"));
    let mut list = Vec::new();
    for message in ops::sent(cx.db, of, 10)? {
        let state = render::worst(&mailbox::deliveries(cx.db, message.id)?);
        let (line, mut json) = one(cx, &message)?;
        let _infallible = writeln!(text, "{line}  [{state}]");
        json["state"] = json!(state);
        list.push(json);
    }
    Ok(Output::new(text, json!({"agent": who.address(), "n_unread": unread.0, "sent": list})))
}

/// What came and what was sent, for those who only look: nothing is marked as seen or read.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(in crate::mail) struct Latest {
    /// Show at most this many messages
    #[arg(long, short = 'n', value_parser = clap::value_parser!(i64).range(1..=200))]
    n: Option<i64>,
}

impl VerbArgs for Latest {
    const PATH: &'static [&'static str] = &["mail", "list"];
    const ABOUT: &'static str = "List the latest messages, got and sent, and mark none as read";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let who = holder::caller(cx, caller)?;
        let of = Mailbox { agent: who.agent, sub: &who.sub };
        let limit = self.n.unwrap_or(50).clamp(1, 200);
        let mut found = Vec::new();
        for row in mailbox::kept(cx.db, of, i64::MAX, limit)? {
            let from = address(cx, row.sender, &row.sender_sub)?;
            let is_read = row.read_ms.is_some() || row.acked_ms.is_some();
            let mut json = render::open_json(&row, &from);
            json["to"] = json!([who.address()]);
            json["state"] = json!(if is_read { "read" } else { "unread" });
            found.push((row.id, render::short(&row, &from, cx.now), json));
        }
        for message in ops::sent(cx.db, of, limit)? {
            let state = render::worst(&mailbox::deliveries(cx.db, message.id)?);
            let (line, mut json) = one(cx, &message)?;
            json["state"] = json!(state);
            // What one sent to oneself came back already.
            if found.iter().all(|(id, ..)| *id != message.id) {
                found.push((message.id, format!("{line}  [{state}]"), json));
            }
        }
        found.sort_by_key(|(id, ..)| std::cmp::Reverse(*id));
        found.truncate(usize::try_from(limit).unwrap_or(0));
        let (mut text, mut list) = (String::new(), Vec::new());
        for (id, line, mut json) in found {
            let _infallible = writeln!(text, "{line}");
            json["body"] = json!(ops::body(cx.db, id, 0, LATEST_CHARS)?);
            json["n_chars"] = json!(ops::body_len(cx.db, id)?);
            list.push(json);
        }
        if list.is_empty() {
            "No messages.\n".clone_into(&mut text);
        }
        let n_unread = mailbox::n_unread(cx.db, of, cx.now)?.0;
        Ok(Output::new(text, json!({"n_unread": n_unread, "messages": list})))
    }
}

/// `#42 NobleLion to CalmOtter, 5m ago: "subject"`, and the same for programs.
fn one(cx: &mut Cx<'_>, message: &Message) -> Result<(String, serde_json::Value), VerbError> {
    let got = mailbox::deliveries(cx.db, message.id)?;
    let from = address(cx, message.sender, &message.sender_sub)?;
    let to = render::addresses(cx, &got)?;
    let line = format!(
        "#{} {} to {}, {} ago: \"{}\"",
        message.id,
        words::name(&from),
        render::shortened(&to),
        Ago(cx.now.0 - message.sent_ms),
        words::subject(&message.subject),
    );
    Ok((line, render::message_json(cx, message, &got)?))
}
