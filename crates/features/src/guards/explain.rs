//! Which rules fired at an event, for `hook --explain`.

use serde_json::{Value, json};
use substrate_core::{Cx, DbError, Event, FeatureError};

use super::ops::{self, Call};
use super::policy::{self, Judged};
use super::rule::{self, Action, Again};
use super::rule_set::Entry;

/// The event was just considered, so what the rules remember of it has its very time.
pub(super) fn explain(cx: &mut Cx<'_>, event: &Event) -> Result<Value, FeatureError> {
    if !rule::is_looked_at(event.kind) {
        return Ok(json!({}));
    }
    let mut fired = Vec::new();
    let mut failed: Result<(), DbError> = Ok(());
    if cx.settings.on("guards.on") && !event.actor.is_compaction_fork() {
        policy::look(cx, event, |cx, entry, judged| {
            if judged != Judged::Fires {
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

/// What a rule whose condition holds did; `None`: it said in an earlier event what it says once.
fn did(cx: &mut Cx<'_>, event: &Event, entry: &Entry) -> Result<Option<&'static str>, DbError> {
    let rule = &entry.rule;
    let key = entry.key();
    let Some(session) = event.session.as_ref().map(substrate_core::SafeId::as_str) else {
        return Ok(Some(rule.action.name()));
    };
    if rule.once && ops::said_at(cx.db, session, &key)?.is_some_and(|at| at < cx.now) {
        return Ok(None);
    }
    if rule.action == Action::Deny && rule.again != Again::Deny {
        let digest = policy::digest(event);
        let call = Call { session, actor: event.actor.key(), rule: &key, digest: &digest };
        if ops::refused_at(cx.db, call, cx.now)?.is_some_and(|at| at < cx.now) {
            return Ok(Some(if rule.again == Again::Ask { "ask" } else { "allow" }));
        }
    }
    Ok(Some(rule.action.name()))
}
