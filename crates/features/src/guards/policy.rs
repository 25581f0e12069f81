//! What the rules want done about an event.

use std::rc::Rc;

use serde_json::{Value, json};
use substrate_core::ids::checksum;
use substrate_core::wish::{Cause, Insists};
use substrate_core::{Cx, DbError, Event, EventKind, FeatureError, Need, Settings, Wish};

use super::cel::budget::{self, Budget};
use super::cel::scene::{ActorWork, Scene};
use super::cel::values::SceneHandle;
use super::dangers::own_files::OwnFiles;
use super::ops::{self, RefusedCall};
use super::rule::{self, Action, Again, Fails};
use super::rule_set::{self, LoadedRule, RuleSet};
use crate::efforts::face::Effort;
use crate::{context, efforts};

const TOO_LONG: &str =
    "This call is too long for the rule to judge. Split it into several shorter calls.";

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    if !cx.settings.on("guards.on") || event.actor.is_compaction_fork() {
        return Ok(Vec::new());
    }
    let mut out = Vec::new();
    look(cx, event, |cx, entry, judged| match judged {
        Judgement::Passes => {}
        Judgement::Fires => out.extend(fires(cx, event, entry)),
        Judgement::Fails(why) => {
            let is_too_long = why == budget::TOO_LONG && event.kind == EventKind::PreToolUse;
            cx.troubles.push(format!("rule `{}` ({}): {why}", entry.name(), entry.origin));
            out.extend(match entry.rule.fails {
                Fails::Closed => Some(closed(event, entry)),
                // What the rule would say to this line is unknown, so a person decides.
                Fails::Open => is_too_long
                    .then(|| Wish::Ask { rule: entry.full_name(), reason: TOO_LONG.to_owned() }),
            });
        }
    });
    Ok(out)
}

/// Only where a rule wants to know how full the context is.
pub(super) fn gather(event: &Event, settings: &Settings) -> Vec<Need> {
    if !settings.on("guards.on") || !rule_set::of(settings).reads_usage(event) {
        return Vec::new();
    }
    context::face::need(event).into_iter().collect()
}

/// Judges every rule that looks at the event: those of the settings, and those of the skill that the actor uses.
pub(super) fn look(
    cx: &mut Cx<'_>,
    event: &Event,
    mut each: impl FnMut(&mut Cx<'_>, &LoadedRule, Judgement),
) {
    let set: Rc<RuleSet> = rule_set::of(cx.settings);
    let work = work(cx, event);
    // Whatever a skill's rules say, an agent can always leave its effort.
    let is_ours = || event.tool().is_some_and(efforts::face::is_ours);
    let own = work.as_ref().and_then(rule_set::of_skill).filter(|_| !is_ours());
    let sets: Vec<&RuleSet> = std::iter::once(&*set).chain(own.as_deref()).collect();
    let own = OwnFiles::of(event, cx.world.state_home());
    let (looking, wanted, line) = rule_set::looking_at(&sets, event, own);
    if looking.is_empty() {
        return;
    }
    let mut around = ActorWork::default();
    if wanted.usage {
        let usage = context::face::usage(cx, event);
        around.context_percent = noted(cx, usage).map_or(0, |usage| usage.percent_of_compaction);
    }
    if let Some(work) = work {
        around = ActorWork {
            effort: work.skill,
            phase: work.phase,
            n_calls_since_log: work.n_calls,
            ..around
        };
    }
    let scene = SceneHandle(Scene::of(cx, event, around, wanted, line));
    for (entry, judged) in judge_each(&looking, &scene) {
        each(cx, entry, judged);
    }
}

/// What the actor works on. A skill may have rules, so every event that rules can be about costs one look-up.
fn work(cx: &mut Cx<'_>, event: &Event) -> Option<Effort> {
    let session = event.session.as_ref()?;
    if !cx.settings.on("efforts.on") || !rule::is_looked_at(event.kind) {
        return None;
    }
    let found = efforts::face::current(cx.db, session.as_str(), event.actor.key());
    noted(cx, found)
}

/// What a rule says about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    Passes,
    Fires,
    /// It could not be judged.
    Fails(String),
}

/// What each of them says, in their order. Built-in rules are judged first and always, then the user's, so that a
/// project's rules can't use up their steps.
pub(super) fn judge_each<'s>(
    looking: &[&'s LoadedRule],
    scene: &SceneHandle,
) -> Vec<(&'s LoadedRule, Judgement)> {
    let mut budget = Budget::of(&scene.0);
    let mut order: Vec<usize> = (0..looking.len()).collect();
    order.sort_by_key(|at| looking[*at].rank());
    let mut out: Vec<(&LoadedRule, Judgement)> =
        looking.iter().map(|entry| (*entry, Judgement::Passes)).collect();
    for at in order {
        out[at].1 = judge(looking[at], scene, &mut budget);
    }
    out
}

pub(super) fn judge(entry: &LoadedRule, scene: &SceneHandle, budget: &mut Budget) -> Judgement {
    let holds = match entry.condition() {
        Ok(condition) if entry.is_ours() => condition.holds(scene, &mut budget.unlimited()),
        Ok(condition) => condition.holds(scene, budget),
        Err(problem) => Err(problem.clone()),
    };
    match holds {
        Ok(true) => Judgement::Fires,
        Ok(false) => Judgement::Passes,
        Err(why) => Judgement::Fails(why),
    }
}

fn fires(cx: &mut Cx<'_>, event: &Event, entry: &LoadedRule) -> Option<Wish> {
    let rule = &entry.rule;
    let session = event.session.as_ref().map(substrate_core::SafeId::as_str);
    let key = entry.key();
    if entry.is_of_others() && matches!(rule.action, Action::Deny | Action::Ask) {
        let written = ops::spoke(cx.db, &entry.note(), &event.project, cx.now);
        noted(cx, written);
    }
    if let Some(session) = session.filter(|_| rule.once) {
        let known = ops::said_at(cx.db, session, &key);
        if noted(cx, known).is_some() {
            return None;
        }
        let written = ops::said(cx.db, session, &key, cx.now);
        noted(cx, written);
    }
    if let Some(session) =
        session.filter(|_| rule.action == Action::Deny && rule.again != Again::Deny)
    {
        let digest = digest(event);
        let call = RefusedCall { session, actor: event.actor.key(), rule: &key, digest: &digest };
        let known = ops::refused_at(cx.db, call, cx.now);
        if noted(cx, known).is_some() {
            match rule.again {
                Again::Allow => return None,
                Again::Ask if event.attended != Some(false) => return Some(ask(entry)),
                // No person can be asked.
                Again::Ask | Again::Deny => {}
            }
        }
        let written = ops::refused(cx.db, call, cx.now);
        noted(cx, written);
    }
    Some(said(event, entry, cx.world.remembers()))
}

/// An unusable database must not open a door: the rule then acts as if for the first time.
fn noted<T: Default>(cx: &mut Cx<'_>, result: Result<T, DbError>) -> T {
    result.unwrap_or_else(|error| {
        cx.troubles.push(error.to_string());
        T::default()
    })
}

/// What a rule says when it fires for the first time. A second call is promised an answer only if this one is remembered.
pub(super) fn said(event: &Event, entry: &LoadedRule, is_remembered: bool) -> Wish {
    let rule = &entry.rule;
    let (reason, mut next) = entry.words();
    match rule.action {
        Action::Ask => ask(entry),
        Action::Warn | Action::Inject => {
            let text = if rule.action == Action::Inject {
                reason
            } else {
                format!("Take care: {reason} [{}] {next}", entry.full_name())
            };
            Wish::context(text.trim().to_owned(), None)
        }
        Action::Deny => {
            next.push_str(match rule.again {
                Again::Deny => "",
                Again::Ask | Again::Allow if !is_remembered => {
                    " If it must be this, leave it, and tell your user what to run and why."
                }
                Again::Ask if event.attended == Some(false) => {
                    " No one can be asked in this session. If it must be this, leave it, and tell your user what to run and why."
                }
                Again::Ask => {
                    " If it must be this, send the same call again. A person is then asked, unless another rule refuses it too."
                }
                Again::Allow => " If it must be this, send the same call again.",
            });
            refusal(event.kind, entry, reason, next)
        }
    }
}

fn ask(entry: &LoadedRule) -> Wish {
    let (reason, next) = entry.words();
    Wish::Ask { rule: entry.full_name(), reason: format!("{reason} {next}").trim().to_owned() }
}

fn refusal(kind: EventKind, entry: &LoadedRule, reason: String, next: String) -> Wish {
    if kind == EventKind::PreToolUse {
        return Wish::Deny { rule: entry.full_name(), reason, next };
    }
    let reason = format!("{reason} [{}] {next}", entry.full_name());
    Wish::block(Cause::Rule, reason, Insists::WhenNew)
}

/// The refusal of a rule that fails closed.
fn closed(event: &Event, entry: &LoadedRule) -> Wish {
    let reason =
        "This rule can't be judged right now and is set to refuse in that case.".to_owned();
    let next = "Do something that it does not look at, and tell your user that `substrate guard check` shows what is wrong with it.";
    refusal(event.kind, entry, reason, next.to_owned())
}

/// The same call has the same digest.
pub(super) fn digest(event: &Event) -> String {
    let call = event.tool();
    let what = call.map_or("", |call| call.command.as_deref().unwrap_or(&call.input));
    checksum(&format!("{}\n{what}", event.cwd))
}

/// Which rules fired, for `hook --explain`. The event was just considered, so what the rules remember of it carries its
/// exact time.
pub(super) fn explain(cx: &mut Cx<'_>, event: &Event) -> Result<Value, FeatureError> {
    if !rule::is_looked_at(event.kind) {
        return Ok(json!({}));
    }
    let mut fired = Vec::new();
    let mut failed: Result<(), DbError> = Ok(());
    if cx.settings.on("guards.on") && !event.actor.is_compaction_fork() {
        look(cx, event, |cx, entry, judged| {
            if judged != Judgement::Fires {
                return;
            }
            match did(cx, event, entry) {
                Ok(Some(action)) => fired.push(json!({
                    "rule": entry.name(), "action": action, "from": entry.scope, "origin": entry.origin,
                })),
                Ok(None) => {}
                Err(error) => failed = Err(error),
            }
        });
    }
    failed?;
    Ok(json!({"firedRules": fired}))
}

/// What a rule whose condition holds did. `None` if it speaks once and already has.
fn did(
    cx: &mut Cx<'_>,
    event: &Event,
    entry: &LoadedRule,
) -> Result<Option<&'static str>, DbError> {
    let rule = &entry.rule;
    let key = entry.key();
    let Some(session) = event.session.as_ref().map(substrate_core::SafeId::as_str) else {
        return Ok(Some(rule.action.name()));
    };
    if rule.once && ops::said_at(cx.db, session, &key)?.is_some_and(|at| at < cx.now) {
        return Ok(None);
    }
    if rule.action == Action::Deny && rule.again != Again::Deny {
        let digest = digest(event);
        let call = RefusedCall { session, actor: event.actor.key(), rule: &key, digest: &digest };
        if ops::refused_at(cx.db, call, cx.now)?.is_some_and(|at| at < cx.now) {
            return Ok(Some(if rule.again == Again::Ask { "ask" } else { "allow" }));
        }
    }
    Ok(Some(rule.action.name()))
}
