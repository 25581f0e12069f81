//! `hook --explain` for people: at most one screen.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use substrate_core::text::one_line;
use substrate_core::time::Took;

/// How many of each are shown. All of them together take 24 lines.
const MAX_CONTEXT: usize = 6;
const MAX_WISHES: usize = 8;
const MAX_FAILED: usize = 2;
const MAX_COSTS: usize = 3;

/// The longest line, without its label.
const WIDTH: usize = 140;

/// Fields with a line of their own. The others come from features.
const TOLD: &[&str] = &[
    "allow",
    "event",
    "verdict",
    "reason",
    "context",
    "notice",
    "waits",
    "undeliverable",
    "spentUs",
    "features",
    "firedRules",
];

pub(super) fn text(told: &Map<String, Value>) -> String {
    let word = |name: &str| told.get(name).and_then(Value::as_str);
    let mut lines = vec![format!(
        "{}: {}",
        word("event").unwrap_or("?"),
        meaning(word("verdict").unwrap_or_default())
    )];
    let mut add = |label: &str, text: &str| lines.push(line(label, text));
    if let Some(reason) = word("reason") {
        add("reason", reason);
    }
    if let Some(context) = word("context") {
        let all: Vec<&str> = context.lines().filter(|line| !line.trim().is_empty()).collect();
        for (n, one) in all.iter().take(MAX_CONTEXT).enumerate() {
            add(if n == 0 { "context" } else { "" }, one);
        }
        if all.len() > MAX_CONTEXT {
            add("", &format!("… and {} more lines", all.len() - MAX_CONTEXT));
        }
    }
    if let Some(notice) = word("notice") {
        add("notice", notice);
    }
    let features = told.get("features").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let wishes: Vec<String> = features.iter().flat_map(wishes).collect();
    for (n, wish) in wishes.iter().take(MAX_WISHES).enumerate() {
        add(if n == 0 { "wishes" } else { "" }, wish);
    }
    match wishes.len() {
        0 => add("wishes", "no feature wants anything"),
        n if n > MAX_WISHES => add("", &format!("… and {} more", n - MAX_WISHES)),
        _ => {}
    }
    let failed = features.iter().filter_map(|one| Some((one, one["failed"].as_str()?)));
    for (one, why) in failed.take(MAX_FAILED) {
        add("failed", &format!("{}: {why}", name(one)));
    }
    if let Some(rules) = told.get("firedRules").and_then(Value::as_array)
        && !rules.is_empty()
    {
        let rule = |rule: &Value| format!("{} ({})", plain(&rule["rule"]), plain(&rule["action"]));
        add("rules", &rules.iter().map(rule).collect::<Vec<_>>().join(", "));
    }
    let known = told.iter().filter(|(name, value)| !TOLD.contains(&name.as_str()) && says(value));
    let known: Vec<String> =
        known.map(|(name, value)| format!("{name} {}", plain(value))).collect();
    if !known.is_empty() {
        add("known", &known.join(", "));
    }
    add("took", &costs(told.get("spentUs"), features));
    lines.push("`--format json` shows all of it.".to_owned());
    lines.join("\n") + "\n"
}

fn line(label: &str, text: &str) -> String {
    format!("  {label:<9}{}", one_line(text, WIDTH)).trim_end().to_owned()
}

fn meaning(verdict: &str) -> &str {
    match verdict {
        "deny" => "refused",
        "ask" => "the user is asked",
        "block" => "held: it may not stop yet",
        "context" => "goes on, and the model is told something",
        "notice" => "goes on, and the user is told something",
        "export" => "goes on, and later commands get variables",
        "wait" => "waits for mail before it is answered",
        _ => "goes on; nothing is said",
    }
}

/// One line for each wish of a feature.
fn wishes(feature: &Value) -> Vec<String> {
    let told = |wish: &Value| {
        let mut out = format!("{} {}", name(feature), plain(&wish["wish"]));
        match wish["fate"].as_str() {
            None | Some("whole") => {}
            Some(fate) => {
                let _infallible = write!(out, " ({fate})");
            }
        }
        if let Some(words) = wish["words"].as_str().filter(|words| !words.is_empty()) {
            let _infallible = write!(out, ": {words}");
        }
        out
    };
    feature["wishes"].as_array().into_iter().flatten().map(told).collect()
}

/// The total, and what took longest.
fn costs(spent: Option<&Value>, features: &[Value]) -> String {
    let us = |value: &Value| value.as_i64().unwrap_or_default();
    let mut all: Vec<(&str, i64)> =
        features.iter().map(|one| (name(one), us(&one["costUs"]))).collect();
    all.sort_by_key(|(_, us)| -us);
    let most = all.iter().take(MAX_COSTS).map(|(name, us)| format!("{name} {}", Took(*us)));
    let most: Vec<String> = most.collect();
    format!("{} ({})", Took(spent.map_or(0, us)), most.join(", "))
}

fn name(feature: &Value) -> &str {
    feature["feature"].as_str().unwrap_or("?")
}

/// Whether a field says anything.
fn says(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(" "),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(value: Value) -> String {
        let Value::Object(fields) = value else { panic!("an object") };
        text(&fields)
    }

    #[test]
    fn a_refusal_reads_like_this() {
        let features = json!([
            {"feature": "mail", "costUs": 40, "wishes": [], "failed": null},
            {"feature": "guards", "costUs": 1_200, "failed": null, "wishes": [
                {"wish": "deny", "words": "git clean deletes files", "fate": "whole"},
                {"wish": "notice", "words": "", "fate": "dropped"},
            ]},
        ]);
        let told = told(json!({
            "allow": false, "event": "PreToolUse", "verdict": "deny", "reason": "git clean\ndeletes files",
            "context": null, "notice": null, "waits": false, "undeliverable": [], "spentUs": 1_300,
            "features": features, "firedRules": [{"rule": "git.clean", "action": "deny"}],
            "effortId": null, "agentStatus": "working",
        }));
        assert_eq!(
            told,
            "PreToolUse: refused
  reason   git clean deletes files
  wishes   guards deny: git clean deletes files
           guards notice (dropped)
  rules    git.clean (deny)
  known    agentStatus working
  took     1.3ms (guards 1.2ms, mail 40µs)
`--format json` shows all of it.
"
        );
    }

    #[test]
    fn however_much_there_is_it_fits_a_screen() {
        let long = "many words \u{1b}[31m and\nlines\n".repeat(500);
        let wish = json!({"wish": "context", "words": long, "fate": "cut"});
        let feature =
            json!({"feature": "mail", "costUs": 1, "wishes": vec![wish; 30], "failed": long});
        let mut fields = json!({
            "event": "Stop", "verdict": "block", "reason": long, "context": long, "notice": long,
            "spentUs": 1, "features": vec![feature; 20],
            "firedRules": vec![json!({"rule": "a.b", "action": "deny"}); 300],
        });
        for n in 0..100 {
            fields[format!("field{n}")] = json!(long);
        }
        let told = told(fields);
        assert!(told.lines().count() <= 25, "{told}");
        assert!(told.lines().all(|line| line.chars().count() <= WIDTH + 12), "{told}");
        assert!(!told.contains('\u{1b}'));
    }
}
