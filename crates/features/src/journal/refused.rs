//! `substrate journal refused`: every refusal and block, its rule, what the model was told, and what came of it.

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::text::one_line;
use substrate_core::time::Ago;
use substrate_core::verb::VerbArgs;
use substrate_core::{
    Access, Audience, Caller, Cx, DbError, EventKind, Output, Timestamp, VerbError,
};

use super::ops::{self, JournalRow};
use super::render;
use crate::calls;
use crate::guards::face::{RuleNote, rule_behind, rule_of};
use crate::identity::book;
use crate::page::folder;

/// How far the next events of an actor are looked for, and how many are told.
const NEXT_WITHIN: i64 = 500;
const MAX_NEXT: i64 = 2;

/// Refusals that are counted by rule.
const MAX_COUNTED: i64 = 500;

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Refused {
    /// The most entries to list
    #[arg(long, short = 'n', default_value_t = 20, value_parser = clap::value_parser!(i64).range(1..=500))]
    limit: i64,
    /// Only entries before this one
    #[arg(long, value_name = "ID")]
    #[serde(default)]
    before: Option<i64>,
    /// Only what was refused (deny), put to you (ask) or held (block)
    #[arg(long, value_parser = ["deny", "ask", "block"])]
    #[serde(default)]
    verdict: Option<String>,
}

/// One refusal, hold or question.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Refusal {
    pub(super) id: i64,
    pub(super) at_ms: i64,
    pub(super) agent: Option<String>,
    pub(super) actor: String,
    pub(super) project: String,
    pub(super) event: String,
    pub(super) tool: Option<String>,
    pub(super) input: Option<String>,
    /// The command or the file that it was about.
    pub(super) call: String,
    /// `deny`, `ask` or `block`.
    pub(super) verdict: String,
    /// The features that wanted it.
    pub(super) by: Vec<String>,
    /// The rule, where a rule was the reason.
    pub(super) rule: Option<RuleNote>,
    /// What the model was told.
    pub(super) told: String,
    /// What the actor did next: the first two things.
    pub(super) next: Vec<Next>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Next {
    pub(super) id: i64,
    pub(super) at_ms: i64,
    pub(super) event: String,
    pub(super) tool: Option<String>,
    pub(super) call: String,
    /// In a few words: `tried the same again`.
    pub(super) what: &'static str,
}

impl VerbArgs for Refused {
    const PATH: &'static [&'static str] = &["journal", "refused"];
    const ABOUT: &'static str =
        "List what was refused, held or asked about, by which rule, and what the agent did next";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let before = self.before.unwrap_or(i64::MAX);
        let verdict = self.verdict.as_deref().unwrap_or_default();
        let found = refusals(cx, before, self.limit.clamp(1, 500), verdict)?;
        let mut text = String::new();
        for one in &found {
            let _infallible = writeln!(
                text,
                "{:>6}  {:>4} ago  {:<5}  {}  {} {}\n        {}",
                one.id,
                Ago(cx.now.0 - one.at_ms).to_string(),
                one.verdict,
                one.agent.as_deref().unwrap_or("-"),
                one.tool.as_deref().unwrap_or(&one.event),
                one_line(&one.call, 60),
                one_line(&one.told, 120),
            );
        }
        if found.is_empty() {
            text = "Nothing was refused.\n".to_owned();
        }
        Ok(Output::new(text, json!({ "refused": found })))
    }
}

/// The newest refusals before an entry.
pub(super) fn refusals(
    cx: &mut Cx<'_>,
    before: i64,
    limit: i64,
    verdict: &str,
) -> Result<Vec<Refusal>, DbError> {
    let mut out = Vec::new();
    for row in ops::refused(cx.db, before, limit, verdict)? {
        out.push(refusal(cx, row)?);
    }
    Ok(out)
}

fn refusal(cx: &mut Cx<'_>, row: JournalRow) -> Result<Refusal, DbError> {
    let agent = match &row.session {
        Some(session) => book::address_in(cx.db, session, &row.actor)?,
        None => None,
    };
    let followed = match &row.session {
        Some(session) => {
            let up_to = row.id + NEXT_WITHIN;
            ops::next_of(cx.db, (session, &row.actor), row.id, up_to, MAX_NEXT)?
        }
        None => Vec::new(),
    };
    let told = row.answer_words().unwrap_or_default();
    let by = wanted_by(row.wishes.as_ref());
    let is_rule = by.iter().any(|feature| feature == "guards");
    let rule = if is_rule { rule_behind(cx, &told, &row.cwd)? } else { None };
    let call = call(cx, &row);
    let next = followed.iter().map(|later| next(cx, &row, later)).collect();
    Ok(Refusal {
        id: row.id,
        at_ms: row.at_ms,
        agent,
        told,
        project: folder(&row.cwd).to_owned(),
        actor: row.actor,
        event: row.event,
        tool: row.tool,
        input: row.input,
        call,
        verdict: row.verdict,
        by,
        rule,
        next,
    })
}

fn call(cx: &Cx<'_>, row: &JournalRow) -> String {
    let input = row.input.as_deref().unwrap_or_default();
    match &row.tool {
        Some(tool) => calls::words(cx.world.dialects(), &row.client, tool, input),
        None => input.to_owned(),
    }
}

/// The features whose wish it was.
fn wanted_by(wishes: Option<&Value>) -> Vec<String> {
    let wishes = wishes.and_then(Value::as_array).into_iter().flatten();
    let mut by: Vec<String> = wishes
        .filter(|wish| matches!(wish["wish"].as_str(), Some("deny" | "ask" | "block")))
        .filter_map(|wish| wish["feature"].as_str().map(str::to_owned))
        .collect();
    by.dedup();
    by
}

fn next(cx: &Cx<'_>, refused: &JournalRow, later: &JournalRow) -> Next {
    let is_same = later.tool == refused.tool && later.input == refused.input;
    let what = match EventKind::named(&later.event) {
        EventKind::PreToolUse if is_same && later.verdict == "deny" => {
            "tried the same, and was refused again"
        }
        EventKind::PreToolUse if is_same => "tried the same again",
        EventKind::PreToolUse if later.verdict == "deny" => "tried something else, and was refused",
        EventKind::PreToolUse if refused.tool == later.tool => "did it another way",
        EventKind::PreToolUse => "went on with something else",
        EventKind::UserPromptSubmit => "was prompted by you",
        EventKind::SessionEnd => "its session ended",
        _ => "ended its turn",
    };
    Next {
        id: later.id,
        at_ms: later.at_ms,
        call: call(cx, later),
        event: later.event.clone(),
        tool: later.tool.clone(),
        what,
    }
}

/// How often each rule or feature refused since then, the most frequent first: name, refused or held, put to the user.
pub(super) fn by_rule(
    cx: &mut Cx<'_>,
    since: Timestamp,
) -> Result<Vec<(String, usize, usize)>, DbError> {
    let after = ops::id_before(cx.db, since)?;
    let (mut out, settings): (Vec<(String, usize, usize)>, _) = (Vec::new(), cx.settings);
    ops::refused_since(cx.db, after, MAX_COUNTED, &mut |verdict, wishes, answer| {
        let by = wanted_by(wishes.as_ref());
        let told = answer.as_ref().and_then(render::words_of).unwrap_or_default();
        let rule = by.iter().any(|feature| feature == "guards").then(|| rule_of(settings, &told));
        let name = match rule.flatten() {
            Some(rule) => rule.name,
            None => by.first().cloned().unwrap_or_else(|| "other".to_owned()),
        };
        let asked = usize::from(verdict == "ask");
        match out.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, n, n_asked)) => (*n, *n_asked) = (*n + 1 - asked, *n_asked + asked),
            None => out.push((name, 1 - asked, asked)),
        }
    })?;
    out.sort_by_key(|(_, n, n_asked)| std::cmp::Reverse(n + n_asked));
    Ok(out)
}
