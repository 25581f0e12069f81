//! Writes one row per event, and removes old rows.

use std::borrow::Cow;

use serde_json::{Value, json};
use substrate_core::engine::processed::Scope;
use substrate_core::redact::{clean, names_dotenv, redacted};
use substrate_core::verdict::Permission;
use substrate_core::{Cx, Detail, Event, EventKind, Fate, FeatureError, Outcome, Verdict, Wished};

use super::ops::{self, NewRow};
use super::{feature_costs, project_logs, search, sessions};

/// Why an event was only recorded: its caller was gone.
pub(super) const LATE: &str = "late";

pub(super) fn record(
    cx: &mut Cx<'_>,
    event: &Event,
    outcome: &Outcome,
) -> Result<(), FeatureError> {
    // A waiter that found nothing is not worth a row. The Stop beside it has one.
    if event.kind == EventKind::Waiter && outcome.verdict.is_silent() && outcome.failures.is_empty()
    {
        return Ok(());
    }
    let max = usize::try_from(cx.settings.int("journal.max_text")).unwrap_or(4_096);
    let (input, output) = texts(event);
    let is_dotenv = input.is_some_and(names_dotenv);
    let tool = event.tool();
    let entry = NewRow {
        at: event.at,
        request: outcome.request,
        client: event.client,
        event: &event.name,
        session: event.session.as_ref().map(substrate_core::SafeId::as_str),
        actor: event.actor.key(),
        actor_kind: event.actor.kind(),
        tool: tool.map(|call| call.name.as_str()),
        tool_use: tool.and_then(|call| call.use_id.as_deref()),
        cwd: &event.cwd,
        input: input.and_then(|text| kept(text, max, is_dotenv)),
        output: output.and_then(|text| kept(text, max, is_dotenv)),
        verdict: outcome.verdict.word(),
        answer: answer(&outcome.verdict).map(|answer| clean(&answer).into_owned()),
        wishes: some_json(outcome.wishes.iter().map(|wished| told(wished, max)).collect()),
        undeliverable: some_json(
            outcome
                .wishes
                .iter()
                .filter(|wished| wished.fate == Fate::NotDeliverable)
                .map(|wished| json!([wished.feature, wished.wish.kind().name()]))
                .collect(),
        ),
        failures: some_json(
            outcome
                .failures
                .iter()
                .map(|failure| json!({"feature": failure.feature, "panicked": failure.panicked, "message": clean(&failure.message)}))
                .collect(),
        ),
        costs: costs(&outcome.costs),
        spent_us: i64::try_from(outcome.spent_us).unwrap_or(i64::MAX),
        why: outcome.is_late.then_some(LATE),
        n_bytes: i64::try_from(event.n_bytes).unwrap_or(i64::MAX),
        n_unknown_fields: i64::try_from(event.n_unknown_fields).unwrap_or(i64::MAX),
        scope: stood_for(outcome),
    };
    project_logs::record(cx, event, outcome)?;
    feature_costs::count(cx.db, event.at, &outcome.costs)?;
    ops::append(cx.db, &entry)?;
    cx.stands_for_request = entry.scope.is_some();
    Ok(())
}

/// The scope, if the row stands for its request: the client is told nothing, now or later.
fn stood_for(outcome: &Outcome) -> Option<Scope> {
    outcome.scope.filter(|_| outcome.verdict.is_silent() && outcome.verdict.wait.is_none())
}

/// A text as it is stored, if it says anything.
fn kept(text: &str, max: usize, is_dotenv: bool) -> Option<Cow<'_, str>> {
    (!text.is_empty()).then(|| redacted(text, max, is_dotenv))
}

/// What a feature must cost to be named in a row. The others are only counted.
const TELLING_US: u64 = 1_000;

/// `[["identity",120],["mail",30]]`: the features that took long, in microseconds.
fn costs(costs: &[(&'static str, u64)]) -> Option<String> {
    let mut out = String::new();
    for (feature, us) in costs.iter().filter(|(_, us)| *us >= TELLING_US) {
        out.push_str(if out.is_empty() { "[[\"" } else { ",[\"" });
        out.push_str(feature);
        out.push_str("\",");
        push_number(&mut out, *us);
        out.push(']');
    }
    (!out.is_empty()).then(|| out + "]")
}

fn push_number(out: &mut String, mut number: u64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend(digits[at..].iter().map(|digit| char::from(*digit)));
}

/// The event's input and output texts.
fn texts(event: &Event) -> (Option<&str>, Option<&str>) {
    match &event.detail {
        Detail::Plain
        | Detail::ToolBatch { .. }
        | Detail::Waiter { .. }
        | Detail::Activity { .. } => (None, None),
        Detail::SessionStart { model, .. } => (None, model.as_deref()),
        Detail::Because { word } => (Some(word), None),
        Detail::Prompt { text, .. } | Detail::Expansion { text, .. } => (Some(text), None),
        Detail::ToolBefore { call } => (Some(&call.input), None),
        Detail::ToolAfter { call, response, .. } => (Some(&call.input), Some(response)),
        Detail::ToolFailed { call, error, .. } => (Some(&call.input), Some(error)),
        Detail::Stop { last_message, .. } => (None, last_message.as_deref()),
        Detail::StopFailure { error, last_message } => (Some(error), last_message.as_deref()),
        Detail::Notification { kind, message } => (Some(kind), Some(message)),
        Detail::Task { id, subject, .. } => (Some(id), Some(subject)),
        Detail::Teammate { name, team } => (Some(name), team.as_deref()),
        Detail::ModelSwitch { from, to } => (from.as_deref(), to.as_deref()),
        Detail::Path { path, word } => (Some(path), word.as_deref()),
        Detail::Malformed { error, excerpt } => (Some(excerpt), Some(error)),
    }
}

fn told(Wished { feature, wish, fate }: &Wished, max: usize) -> Value {
    let text = redacted(wish.words(), max, false);
    json!({"feature": feature, "wish": wish.kind().name(), "text": text, "fate": fate.name()})
}

/// What the client was told, if anything.
fn answer(verdict: &Verdict) -> Option<String> {
    if verdict.is_silent() {
        return None;
    }
    let permission = verdict.permission.as_ref().map(|permission| match permission {
        Permission::Deny { reason } => json!({"deny": reason}),
        Permission::Ask { reason } => json!({"ask": reason}),
        Permission::Allow { choices } => {
            let choices = choices.iter().map(|(question, chosen)| json!([question, chosen]));
            json!({"allow": choices.collect::<Vec<_>>()})
        }
    });
    let exports: Vec<&str> = verdict.exports.iter().map(|(name, _)| name.as_str()).collect();
    let all = json!({
        "permission": permission, "block": verdict.block, "context": verdict.context,
        "notice": verdict.notice, "exports": exports,
    });
    let said: serde_json::Map<String, Value> = match all {
        Value::Object(map) => {
            map.into_iter().filter(|(_, value)| !value.is_null() && *value != json!([])).collect()
        }
        _ => serde_json::Map::new(),
    };
    Some(Value::Object(said).to_string())
}

fn some_json(list: Vec<Value>) -> Option<String> {
    (!list.is_empty()).then(|| Value::Array(list).to_string())
}

/// How many rows one tick removes.
const BATCH: i64 = 2_000;

/// Removes rows by age, then by size, a few at a time so that no hook waits. Returns whether more may be left.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    sessions::sum_up(cx.db)?;
    let oldest_kept = cx.now.plus_ms(-cx.settings.int("journal.max_age"));
    let too_old = ops::id_before(cx.db, oldest_kept)?;
    let mut removed = ops::remove_up_to(cx.db, too_old, BATCH)?;
    if removed == 0 && cx.db.size_bytes()? > cx.settings.int("journal.max_size") {
        removed = ops::remove_up_to(cx.db, i64::MAX, BATCH)?;
    }
    project_logs::forget(cx.db, oldest_kept)?;
    feature_costs::tick(cx.db, oldest_kept)?;
    let indexed = search::index(cx.db)?;
    Ok(removed > 0 || indexed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_json_without_what_cost_little() {
        assert_eq!(costs(&[("identity", 0), ("mail", TELLING_US - 1)]), None);
        let text = costs(&[("identity", 1_000), ("mail", 0), ("locks", u64::MAX), ("work", 1_001)]);
        let expected = json!([["identity", 1_000], ["locks", u64::MAX], ["work", 1_001]]);
        assert_eq!(serde_json::from_str::<Value>(&text.unwrap()).unwrap(), expected);
    }
}
