//! `substrate guard list`, `guard check`

use std::fmt::Write as _;
use std::rc::Rc;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, DbError, Output, VerbError};

use crate::efforts;
use crate::guards::prove;
use crate::guards::rule::{Again, Fails, Rule};
use crate::guards::rule_set::{self, LoadedRule, RuleSet};
use crate::identity::book;
use crate::journal::face;
use crate::listing::aligned;

const DAY_MS: i64 = 86_400_000;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
pub(in crate::guards) struct List {}

impl VerbArgs for List {
    const PATH: &'static [&'static str] = &["guard", "list"];
    const ABOUT: &'static str = "List the rules in force and their recent failures";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let sets = sets(cx)?;
        let is_on = cx.settings.on("guards.on");
        let mut text = "rule\taction\tstate\tlooks at\tfrom\treason\n".to_owned();
        let mut rules = Vec::new();
        for entry in sets.iter().flat_map(|set| &set.entries) {
            let state = state(entry, is_on);
            let _infallible = writeln!(
                text,
                "{}\t{}\t{state}\t{}\t{}\t{}",
                one_line(&entry.rule.name, 40),
                action(&entry.rule),
                looks_at(&entry.rule),
                entry.pack.unwrap_or(entry.scope),
                one_line(&entry.rule.reason, 100),
            );
            rules.push(json!({
                "name": entry.rule.name, "action": entry.rule.action.name(), "state": state, "event": entry.rule.event,
                "tool": entry.rule.tool, "actor": entry.rule.actor, "once": entry.rule.once, "priority": entry.rule.priority,
                "scope": entry.scope, "pack": entry.pack, "origin": entry.origin, "when": entry.rule.when, "reason": entry.rule.reason,
                "next": entry.rule.next, "problem": entry.condition().err(),
            }));
        }
        let unreadable: Vec<_> = sets.iter().flat_map(|set| &set.problems).collect();
        for (origin, problem) in &unreadable {
            let _infallible =
                writeln!(text, "not a rule: {}: {}", one_line(origin, 200), one_line(problem, 200));
        }
        let troubles = face::failures(cx.db, "guards", cx.now.plus_ms(-DAY_MS))?;
        for (message, n) in &troubles {
            let _infallible =
                writeln!(text, "failed {n}× since yesterday: {}", one_line(message, 300));
        }
        if !is_on {
            text.push_str("All rules are off: `guards.on` is false.\n");
        }
        let json =
            json!({"on": is_on, "rules": rules, "problems": unreadable, "failures": troubles});
        Ok(Output::new(aligned(&text), json))
    }
}

/// The rules of the settings, and those of the skill that the caller works by.
fn sets(cx: &mut Cx<'_>) -> Result<Vec<Rc<RuleSet>>, DbError> {
    let mut out = vec![rule_set::of(cx.settings)];
    let seat = match cx.who.clone() {
        Some(who) if cx.settings.on("efforts.on") => book::seat(cx.db, &who)?,
        _ => None,
    };
    if let Some((session, actor)) = seat {
        let work = efforts::face::current(cx.db, &session, &actor)?;
        out.extend(work.as_ref().and_then(rule_set::of_skill));
    }
    Ok(out)
}

fn state(entry: &LoadedRule, is_on: bool) -> &'static str {
    match entry.condition() {
        Err(_) => "broken",
        Ok(_) if entry.is_off || !is_on => "off",
        Ok(_) => "on",
    }
}

fn action(rule: &Rule) -> String {
    match rule.again {
        Again::Deny => rule.action.name().to_owned(),
        Again::Ask => format!("{}→ask", rule.action.name()),
        Again::Allow => format!("{}→ok", rule.action.name()),
    }
}

fn looks_at(rule: &Rule) -> String {
    let mut out = rule.event.clone();
    for (value, before) in [(&rule.tool, " "), (&rule.actor, " of ")] {
        if !value.is_empty() {
            let _infallible = write!(out, "{before}{}", one_line(value, 30));
        }
    }
    if rule.once {
        out.push_str(" once");
    }
    if rule.fails == Fails::Closed {
        out.push_str(" (fails closed)");
    }
    out
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
pub(in crate::guards) struct Check {}

impl VerbArgs for Check {
    const PATH: &'static [&'static str] = &["guard", "check"];
    const ABOUT: &'static str =
        "Check that every rule compiles, fires at its examples, and names a next step that passes";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let sets = sets(cx)?;
        let mut problems: Vec<String> = Vec::new();
        let mut warnings: Vec<String> = Vec::new();
        let named = |origin: &str, name: &str, what: &str| {
            format!(
                "{}: rule `{}`: {}",
                one_line(origin, 200),
                one_line(name, 64),
                one_line(what, 400)
            )
        };
        for (origin, problem) in sets.iter().flat_map(|set| &set.problems) {
            problems.push(format!("{}: {}", one_line(origin, 200), one_line(problem, 400)));
        }
        let all = sets.iter().flat_map(|set| set.entries.iter().map(move |entry| (set, entry)));
        for (set, entry) in all {
            let found = prove::prove(cx.world.dialects(), set, entry);
            let name = &entry.rule.name;
            problems.extend(found.problems.iter().map(|what| named(&entry.origin, name, what)));
            warnings.extend(found.warnings.iter().map(|what| named(&entry.origin, name, what)));
        }
        if !problems.is_empty() {
            let n = problems.len();
            problems.extend(warnings);
            return Err(VerbError::user(
                format!(
                    "{n} problem{} with the rules:\n  {}",
                    if n == 1 { "" } else { "s" },
                    problems.join("\n  ")
                ),
                "fix them in the files named above; a rule that can't be read does nothing, unless it has `fails = \"closed\"`",
            ));
        }
        let mut text: String =
            warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
        let n: usize = sets.iter().map(|set| set.entries.len()).sum();
        let _infallible =
            writeln!(text, "{n} rules: each can be read, and does at its examples what they say");
        Ok(Output::new(text, json!({"n": n, "warnings": warnings})))
    }
}
