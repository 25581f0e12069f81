//! What the rules want done about an event.

use std::rc::Rc;

use substrate_core::ids::checksum;
use substrate_core::wish::{Block, Cause, Insists};
use substrate_core::{Cx, DbError, Event, EventKind, FeatureError, Wish};

use super::memory::{self, Call};
use super::rule::{Action, Again, Fails};
use super::scene::Scene;
use super::set::{self, Entry, Set};
use super::vals::Handle;

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    if !cx.settings.on("guards.on") || event.actor.is_compaction_fork() {
        return Ok(Vec::new());
    }
    let set: Rc<Set> = set::of(cx.settings);
    let (looking, wanted, line) = set.looking_at(event);
    if looking.is_empty() {
        return Ok(Vec::new());
    }
    let scene = Handle(Scene::of(cx, event, wanted, line));
    let mut out = Vec::new();
    for entry in looking {
        match judge(entry, &scene) {
            Judged::Passes => {}
            Judged::Fires => out.extend(fires(cx, event, entry)),
            Judged::Fails(why) => {
                cx.troubles.push(format!("rule `{}` ({}): {why}", entry.name(), entry.origin));
                out.extend((entry.rule.fails == Fails::Closed).then(|| closed(event, entry)));
            }
        }
    }
    Ok(out)
}

/// What a rule says about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    Passes,
    Fires,
    /// It can't be said.
    Fails(String),
}

pub(super) fn judge(entry: &Entry, scene: &Handle) -> Judged {
    let holds = match entry.condition() {
        Ok(condition) => condition.holds(scene),
        Err(problem) => Err(problem.clone()),
    };
    match holds {
        Ok(true) => Judged::Fires,
        Ok(false) => Judged::Passes,
        Err(why) => Judged::Fails(why),
    }
}

fn fires(cx: &mut Cx<'_>, event: &Event, entry: &Entry) -> Option<Wish> {
    let rule = &entry.rule;
    let session = event.session.as_ref().map(substrate_core::SafeId::as_str);
    if let Some(session) = session.filter(|_| rule.once) {
        let known = memory::was_said(cx.db, session, &rule.name);
        if noted(cx, known) {
            return None;
        }
        let written = memory::said(cx.db, session, &rule.name, cx.now);
        noted(cx, written);
    }
    if let Some(session) =
        session.filter(|_| rule.action == Action::Deny && rule.again != Again::Deny)
    {
        let digest = digest(event);
        let call = Call { session, actor: event.actor.key(), rule: &rule.name, digest: &digest };
        let known = memory::was_refused(cx.db, call, cx.now);
        if noted(cx, known) {
            return (rule.again == Again::Ask).then(|| ask(entry));
        }
        let written = memory::refused(cx.db, call, cx.now);
        noted(cx, written);
    }
    Some(said(event.kind, entry))
}

/// A database that can't be used just now must not open a door: the rule then speaks as if for the first time.
fn noted<T: Default>(cx: &mut Cx<'_>, result: Result<T, DbError>) -> T {
    result.unwrap_or_else(|error| {
        cx.troubles.push(error.to_string());
        T::default()
    })
}

/// What a rule that fires says, the first time.
pub(super) fn said(kind: EventKind, entry: &Entry) -> Wish {
    let rule = &entry.rule;
    let (reason, mut next) = rule.words();
    match rule.action {
        Action::Ask => ask(entry),
        Action::Warn | Action::Inject => {
            let text = if rule.action == Action::Inject {
                reason
            } else {
                format!("Take care: {reason} [{}] {next}", entry.full_name())
            };
            Wish::Context { text: text.trim().to_owned(), more: None }
        }
        Action::Deny => {
            next.push_str(match rule.again {
                Again::Deny => "",
                Again::Ask => {
                    " If it must be this, send the very same call again: then a person is asked."
                }
                Again::Allow => " If it must be this, send the very same call again.",
            });
            refusal(kind, entry, reason, next)
        }
    }
}

fn ask(entry: &Entry) -> Wish {
    let (reason, next) = entry.rule.words();
    Wish::Ask { rule: entry.full_name(), reason: format!("{reason} {next}").trim().to_owned() }
}

fn refusal(kind: EventKind, entry: &Entry, reason: String, next: String) -> Wish {
    if kind == EventKind::PreToolUse {
        return Wish::Deny { rule: entry.full_name(), reason, next };
    }
    let reason = format!("{reason} [{}] {next}", entry.full_name());
    Wish::Block(Block { cause: Cause::Rule, reason, insists: Insists::WhenNew })
}

/// A rule that was to be on the safe side.
fn closed(event: &Event, entry: &Entry) -> Wish {
    let reason = "This rule can't be judged just now, and is set to refuse then.".to_owned();
    let next = "Do something that it does not look at, and tell your user: `substrate guard check` shows what is wrong with it.";
    refusal(event.kind, entry, reason, next.to_owned())
}

/// The very same call has the same digest.
fn digest(event: &Event) -> String {
    let call = event.tool();
    let what = call.map_or("", |call| call.command.as_deref().unwrap_or(&call.input));
    checksum(&format!("{}\n{what}", event.cwd))
}
