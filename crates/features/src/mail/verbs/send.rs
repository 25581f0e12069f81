//! `substrate send`, `substrate reply`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::text;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Effect, Local, Output, VerbError};

use crate::identity::holder;
use crate::identity::presence::{Reach, reach};
use crate::mail::message::{MessageId, Priority, names};
use crate::mail::ops::mailbox::{self, Mark};
use crate::mail::ops::{self, Letter, Mailbox};
use crate::mail::post::{self, Posted, Recipient};
use crate::mail::{far, words};
use crate::team::face as team;

/// How many characters of a text become its subject.
const SHORT_SUBJECT: usize = 80;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default, deny_unknown_fields)]
pub(in crate::mail) struct Send {
    /// The same as `--to`
    #[arg(value_name = "NAME")]
    #[serde(skip)]
    name: Option<String>,
    /// The same as `--body`
    #[arg(value_name = "TEXT", conflicts_with_all = ["body", "body_file"], allow_hyphen_values = true)]
    #[serde(skip)]
    text: Option<String>,
    /// Who gets it: one name, or several with commas; `User` is the person
    #[arg(long, value_delimiter = ',', required_unless_present_any = ["name", "jsonl"], conflicts_with = "name")]
    #[serde(deserialize_with = "names")]
    to: Vec<String>,
    /// What it is about, in one line (default: the beginning of the text)
    #[arg(long, required_unless_present_any = ["text", "body", "body_file", "jsonl"])]
    subject: Option<String>,
    /// The text
    #[arg(long, conflicts_with = "body_file", allow_hyphen_values = true)]
    body: Option<String>,
    /// The file with the text; `-` is standard input
    #[arg(long)]
    body_file: Option<String>,
    /// Urgent mail is shown even between two tool calls
    #[arg(long, value_enum, default_value_t)]
    priority: Priority,
    /// When it must be acknowledged: `2h`, or a time such as `2030-01-31T18:00:00Z`
    #[arg(long)]
    deadline: Option<String>,
    /// Continue the thread of this message
    #[arg(long)]
    thread: Option<MessageId>,
    /// Replace your earlier messages with this key that are still unseen
    #[arg(long)]
    #[serde(alias = "replace-key")]
    replace_key: Option<String>,
    /// Send a message with this key only once
    #[arg(long)]
    #[serde(alias = "idempotency-key")]
    idempotency_key: Option<String>,
    /// Send one message per line of this file (`-` is standard input), each a JSON object with these fields
    #[arg(long, conflicts_with_all = ["name", "text", "to", "subject", "body", "body_file"])]
    jsonl: Option<String>,
    #[arg(skip)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<Value>,
}

impl VerbArgs for Send {
    const PATH: &'static [&'static str] = &["send"];
    const ABOUT: &'static str = "Send a message to agents or to the user";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        if let Some(names) = self.name.take() {
            self.to = names.split(',').map(str::to_owned).collect();
        }
        self.body = self.body.take().or(self.text.take());
        complete(&mut self.body, &mut self.body_file, local)?;
        if self.subject.is_none() {
            let first = self.body.as_deref().and_then(|body| body.trim().lines().next());
            self.subject = first.map(|line| text::one_line(line, SHORT_SUBJECT));
        }
        Ok(())
    }

    fn streams(body: &Value) -> Option<String> {
        body.get("jsonl")?.as_str().map(str::to_owned)
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        if self.lines.is_empty() {
            return self.send(cx, caller, None);
        }
        let mut answers = Vec::new();
        for (n, line) in self.lines.into_iter().enumerate() {
            answers.push(match one_line(cx, caller, n, line) {
                Ok(output) => output.json,
                Err(VerbError::User { message, hint }) => {
                    json!({"ok": false, "error": message, "hint": hint})
                }
                Err(error @ (VerbError::Db(_) | VerbError::Unsure { .. })) => return Err(error),
            });
        }
        let n_sent = answers.iter().filter(|answer| answer["ok"] == json!(true)).count();
        Ok(Output::new(format!("{n_sent} of {} sent.\n", answers.len()), Value::Array(answers)))
    }
}

/// One of many lines, in a savepoint. An error undoes that line alone.
fn one_line(cx: &mut Cx<'_>, caller: &Caller, n: usize, line: Value) -> Result<Output, VerbError> {
    let one: Send = serde_json::from_value(line)
        .map_err(|error| VerbError::user(format!("the line does not fit: {error}"), ""))?;
    let (now, settings, facts, world) = (cx.now, cx.settings, cx.facts, cx.world);
    let who = cx.who.clone();
    let (output, effects) = cx.db.savepoint(|db| {
        let mut inner = Cx { facts, world, who, ..Cx::new(now, db, settings) };
        let output = one.send(&mut inner, caller, Some(n))?;
        Ok::<(Output, Vec<Effect>), VerbError>((output, inner.effects))
    })?;
    for effect in effects {
        if !cx.effects.contains(&effect) {
            cx.effects.push(effect);
        }
    }
    Ok(output)
}

impl Send {
    fn send(
        self,
        cx: &mut Cx<'_>,
        caller: &Caller,
        line: Option<usize>,
    ) -> Result<Output, VerbError> {
        let who = holder::caller(cx, caller)?;
        let to = post::recipients(cx, &self.to)?;
        let deadline =
            self.deadline.as_deref().map(|text| post::moment(text, cx.now)).transpose()?;
        let thread = match self.thread {
            Some(id) => Some(visible(cx, id, who.agent)?.thread),
            None => None,
        };
        let letter = Letter {
            sender: who.agent,
            sender_sub: who.sub,
            subject: post::subject(self.subject.as_deref().unwrap_or(""))?,
            body: checked_body(self.body.as_deref())?,
            priority: self.priority,
            deadline_ms: deadline.map(|at| at.0),
            thread,
            replace_key: self.replace_key.filter(|key| !key.is_empty()),
            idem_key: post::key(self.idempotency_key.as_deref(), caller, line),
            ..Letter::default()
        };
        far::check_size(&letter, &to)?;
        let posted = post::post(cx, &letter, &to)?;
        said(cx, posted, &letter, &to)
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::mail) struct Reply {
    /// The message that is answered, e.g. `42`
    id: MessageId,
    /// The same as `--body`
    #[arg(value_name = "TEXT", conflicts_with_all = ["body", "body_file"], allow_hyphen_values = true)]
    #[serde(skip)]
    text: Option<String>,
    /// The text
    #[arg(long, conflicts_with = "body_file", allow_hyphen_values = true)]
    body: Option<String>,
    /// The file with the text; `-` is standard input
    #[arg(long)]
    #[serde(default)]
    body_file: Option<String>,
    /// Also to all others who got the message
    #[arg(long)]
    #[serde(default)]
    all: bool,
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    priority: Priority,
}

impl VerbArgs for Reply {
    const PATH: &'static [&'static str] = &["reply"];
    const ABOUT: &'static str = "Reply to a message in its thread";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.body = self.body.take().or(self.text.take());
        complete(&mut self.body, &mut self.body_file, local)
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let who = holder::caller(cx, caller)?;
        let message = visible(cx, self.id, who.agent)?;
        let is_own = message.sender == who.agent && message.sender_sub == who.sub;
        // A reply to one's own message goes to its recipients.
        let mut people = Vec::new();
        if !is_own {
            people.push((message.sender, message.sender_sub.clone()));
        }
        if self.all || is_own {
            let got = mailbox::deliveries(cx.db, message.id)?;
            people.extend(got.into_iter().map(|one| (one.agent, one.sub)));
            if people.iter().any(|(agent, sub)| (*agent, sub) != (who.agent, &who.sub)) {
                people.retain(|(agent, sub)| (*agent, sub) != (who.agent, &who.sub));
            }
        }
        let mut to: Vec<Recipient> = Vec::new();
        for (agent, sub) in people {
            if let Some(one) = post::resolve(cx, agent, &sub)?
                && to.iter().all(|other| other.to != one.to)
                && one.to.agent != crate::identity::book::SUBSTRATE
            {
                to.push(one);
            }
        }
        if to.is_empty() {
            return Err(VerbError::user(
                format!("{} takes no replies", self.id),
                "write to an agent with `substrate send --to NAME`",
            ));
        }
        let subject = if message.subject.get(..3).is_some_and(|re| re.eq_ignore_ascii_case("re:")) {
            message.subject.clone()
        } else {
            let whole = format!("Re: {}", message.subject);
            text::one_line(&whole, post::MAX_SUBJECT - 1)
        };
        let letter = Letter {
            sender: who.agent,
            sender_sub: who.sub.clone(),
            subject,
            body: checked_body(self.body.as_deref())?,
            priority: self.priority,
            thread: Some(message.thread),
            reply_to: Some(message.id),
            idem_key: post::key(None, caller, None),
            ..Letter::default()
        };
        far::check_size(&letter, &to)?;
        let posted = post::post(cx, &letter, &to)?;
        let mailbox = Mailbox { agent: who.agent, sub: &who.sub };
        mailbox::mark(cx.db, mailbox, message.id, Mark::Read("reply"), cx.now)?;
        said(cx, posted, &letter, &to)
    }
}

/// What the sender reads: who gets it, and when.
pub(in crate::mail) fn said(
    cx: &mut Cx<'_>,
    posted: Posted,
    letter: &Letter,
    to: &[Recipient],
) -> Result<Output, VerbError> {
    let is_urgent = letter.priority == Priority::Urgent;
    let (mut words, mut people) = (Vec::new(), Vec::new());
    for one in to {
        // A subagent that has not ended is at work, whatever its agent does.
        let reach = match (&one.to.machine, one.to.sub.as_str()) {
            (Some(machine), _) => team::reach(cx, machine)?,
            (None, "") => reach(cx.db, cx.world, cx.now, one.to.agent)?.words(is_urgent).to_owned(),
            (None, _) => Reach::Working.words(is_urgent).to_owned(),
        };
        words.push(format!("{} ({reach})", words::name(&one.to.text())));
        people.push(json!({"to": one.to.text(), "was_for": one.was_for, "reach": reach}));
    }
    let n_more = words.len().saturating_sub(8);
    words.truncate(8);
    let more = if n_more > 0 { format!(" and {n_more} more") } else { String::new() };
    let text = if posted.repeated {
        format!("Already sent as #{}.\n", posted.id)
    } else {
        format!("Sent #{} to {}{more}.\n", posted.id, words.join(", "))
    };
    let json = json!({"ok": true, "id": posted.id, "repeated": posted.repeated, "to": people});
    Ok(Output::new(text, json))
}

/// One of the caller's own messages. The error is the same whether the message belongs to others or does not exist.
pub(in crate::mail) fn visible(
    cx: &mut Cx<'_>,
    id: MessageId,
    agent: i64,
) -> Result<ops::Message, VerbError> {
    ops::visible(cx.db, id.0, agent)?.ok_or_else(|| not_there(id))
}

pub(in crate::mail) fn not_there(id: MessageId) -> VerbError {
    VerbError::user(
        format!("there is no message {id} in your mailbox"),
        "`substrate inbox --all` lists what is there",
    )
}

pub(in crate::mail) fn checked_body(given: Option<&str>) -> Result<String, VerbError> {
    let given = given.ok_or_else(|| {
        VerbError::user("there is no text", "add `--body TEXT` or `--body-file FILE`")
    })?;
    if given.trim().is_empty() {
        return Err(VerbError::user("the text is empty", "say something: `--body TEXT`"));
    }
    post::body(given)
}

/// The text of a file instead of its name.
pub(in crate::mail) fn complete(
    body: &mut Option<String>,
    file: &mut Option<String>,
    local: &mut dyn Local,
) -> Result<(), VerbError> {
    if let Some(path) = file.take() {
        *body = Some(local.read(&path)?);
    }
    Ok(())
}
