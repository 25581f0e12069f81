//! `substrate topic …`, `subscribe`, `unsubscribe`, `publish`, `broadcast`

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Local, Output, VerbError};

use super::send::{checked_body, complete, said};
use crate::identity::book;
use crate::identity::holder;
use crate::listing::aligned;
use crate::mail::message::Priority;
use crate::mail::ops::{Letter, Mailbox, topics};
use crate::mail::post::{self, Recipient};
use crate::mail::words;

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::mail) struct TopicCreate {
    /// Its name: letters, digits, `.`, `_` and `-`
    name: String,
    /// What it is about
    #[arg(long, default_value = "")]
    #[serde(default)]
    about: String,
}

impl VerbArgs for TopicCreate {
    const PATH: &'static [&'static str] = &["topic", "create"];
    const ABOUT: &'static str = "Open a topic that agents can follow";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let who = holder::caller(cx, caller)?;
        let name = topic_name(&self.name)?;
        let about = one_line(&self.about, 200);
        if !topics::create(cx.db, &name, &about, who.agent, cx.now)? {
            return Err(VerbError::user(
                format!("there is a topic `{name}` already"),
                format!("`substrate mail subscribe {name}` follows it"),
            ));
        }
        let text =
            format!("The topic `{name}` is open; `substrate mail subscribe {name}` follows it.\n");
        Ok(Output::new(text, json!({"ok": true, "topic": name})))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::mail) struct TopicList {}

impl VerbArgs for TopicList {
    const PATH: &'static [&'static str] = &["topic", "list"];
    const ABOUT: &'static str = "List topics and how many agents follow each";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let topics = topics::list(cx.db)?;
        let (mut text, mut list) = (String::new(), Vec::new());
        for topic in &topics {
            let _infallible = writeln!(
                text,
                "{}\t{}\tfollowing  {}",
                topic.name, topic.n_subscribers, topic.about
            );
            let mut json = json!(topic);
            json["made_by"] = json!(book::name_of(cx.db, topic.made_by)?);
            list.push(json);
        }
        if topics.is_empty() {
            "There are no topics; `substrate mail topic create NAME` opens one.\n"
                .clone_into(&mut text);
        }
        Ok(Output::new(aligned(&text), Value::Array(list)))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::mail) struct Subscribe {
    /// The topic's name; `substrate mail topic list` lists them
    topic: String,
}

impl VerbArgs for Subscribe {
    const PATH: &'static [&'static str] = &["subscribe"];
    const ABOUT: &'static str = "Receive what is published on a topic";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        follow(cx, caller, &self.topic, true)
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::mail) struct Unsubscribe {
    /// The topic's name
    topic: String,
}

impl VerbArgs for Unsubscribe {
    const PATH: &'static [&'static str] = &["unsubscribe"];
    const ABOUT: &'static str = "Stop receiving a topic";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        follow(cx, caller, &self.topic, false)
    }
}

/// Makes the caller follow a topic, or stop following it.
fn follow(cx: &mut Cx<'_>, caller: &Caller, topic: &str, on: bool) -> Result<Output, VerbError> {
    let who = holder::caller(cx, caller)?;
    let topic = existing(cx, topic)?;
    let of = Mailbox { agent: who.agent, sub: &who.sub };
    let (word, field, changed) = if on {
        let is_new = topics::subscribe(cx.db, &topic, of)?;
        (if is_new { "now follows" } else { "already follows" }, "new", is_new)
    } else {
        let was = topics::unsubscribe(cx.db, &topic, of)?;
        (if was { "no longer follows" } else { "did not follow" }, "was", was)
    };
    let text = format!("{} {word} `{topic}`.\n", who.address());
    Ok(Output::new(text, json!({"ok": true, "topic": topic, field: changed})))
}

/// A message to many.
#[derive(Args, Serialize, Deserialize, Debug)]
struct Announcement {
    /// What it is about, in one line
    #[arg(long)]
    subject: String,
    /// The text
    #[arg(long, conflicts_with = "body_file", allow_hyphen_values = true)]
    #[serde(default)]
    body: Option<String>,
    /// The file with the text; `-` is standard input
    #[arg(long)]
    #[serde(default)]
    body_file: Option<String>,
    /// Urgent mail is shown even between two tool calls
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    priority: Priority,
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::mail) struct Publish {
    /// The topic's name; `substrate mail topic list` lists them
    topic: String,
    #[command(flatten)]
    #[serde(flatten)]
    announcement: Announcement,
}

impl VerbArgs for Publish {
    const PATH: &'static [&'static str] = &["publish"];
    const ABOUT: &'static str = "Send a message to all who follow a topic";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        complete(&mut self.announcement.body, &mut self.announcement.body_file, local)
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let who = holder::caller(cx, caller)?;
        let topic = existing(cx, &self.topic)?;
        let mut to: Vec<Recipient> = Vec::new();
        for (agent, sub) in topics::subscribers(cx.db, &topic)? {
            if (agent, &sub) == (who.agent, &who.sub) {
                continue;
            }
            if let Some(one) = post::resolve(cx, agent, &sub)?
                && to.iter().all(|other| other.to != one.to)
            {
                to.push(one);
            }
        }
        let none = format!("No other agent follows `{topic}`, so nothing was sent.\n");
        to_many(cx, caller, &self.announcement, Some(topic), &to, none)
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::mail) struct Broadcast {
    #[command(flatten)]
    #[serde(flatten)]
    announcement: Announcement,
}

impl VerbArgs for Broadcast {
    const PATH: &'static [&'static str] = &["broadcast"];
    const ABOUT: &'static str = "Send a message to every live agent in this project";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        complete(&mut self.announcement.body, &mut self.announcement.body_file, local)
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let who = holder::caller(cx, caller)?;
        if caller.project.is_empty() {
            return Err(VerbError::user(
                "can't tell which project this is",
                "name it with `--project-dir DIR`",
            ));
        }
        let found = book::reachable_in(cx.db, cx.world, cx.now, &caller.project, who.agent)?;
        let to: Vec<Recipient> =
            found.into_iter().map(|to| Recipient { to, was_for: None }).collect();
        let none = "No other agent is live in this project, so nothing was sent.\n".to_owned();
        to_many(cx, caller, &self.announcement, None, &to, none)
    }
}

fn to_many(
    cx: &mut Cx<'_>,
    caller: &Caller,
    announcement: &Announcement,
    topic: Option<String>,
    to: &[Recipient],
    none: String,
) -> Result<Output, VerbError> {
    let who = holder::caller(cx, caller)?;
    let letter = Letter {
        sender: who.agent,
        sender_sub: who.sub,
        subject: post::subject(&announcement.subject)?,
        body: checked_body(announcement.body.as_deref())?,
        priority: announcement.priority,
        topic,
        idem_key: post::key(None, caller, None),
        ..Letter::default()
    };
    if to.is_empty() {
        return Ok(Output::new(none, json!({"ok": true, "id": null, "n": 0, "to": []})));
    }
    let posted = post::post(cx, &letter, to)?;
    let mut out = said(cx, posted, &letter, to)?;
    out.json["n"] = json!(to.len());
    Ok(out)
}

/// The name of a topic, in lower case.
fn topic_name(text: &str) -> Result<String, VerbError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    let name = text.trim().to_ascii_lowercase();
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        return Err(VerbError::user(
            format!("`{}` can't be the name of a topic", words::name(text)),
            "use up to 64 letters, digits, `.`, `_` and `-`",
        ));
    }
    Ok(name)
}

fn existing(cx: &mut Cx<'_>, text: &str) -> Result<String, VerbError> {
    let name = topic_name(text)?;
    if topics::exists(cx.db, &name)? {
        return Ok(name);
    }
    Err(VerbError::user(
        format!("there is no topic `{name}`"),
        "`substrate mail topic list` shows them; `substrate mail topic create NAME` opens one",
    ))
}
