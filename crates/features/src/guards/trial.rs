//! `substrate guard test`, `guard explain`, `guard backtest`. None of them records anything.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::text::one_line;
use substrate_core::time::parse_span;
use substrate_core::verb::VerbArgs;
use substrate_core::{
    Access, Audience, Caller, Cx, Detail, Event, EventKind, Local, Output, VerbError, Wish,
};

use crate::guards::policy::{Judgement, said};
use crate::guards::prove::{self, judge_all, outcome, short};
use crate::guards::rule::{Action, Rule};
use crate::guards::rule_set::{self, LoadedRule};
use crate::journal::face;
use crate::shell::Simple;

/// Lines of a file that are tried.
const MAX_LINES: usize = 10_000;

/// Examples that a rule is shown with.
const MAX_EXAMPLES: usize = 3;

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::guards) struct Test {
    /// A file with one command (or one payload in JSON) a line; `-` is standard input
    file: String,
    #[arg(skip)]
    #[serde(default)]
    text: String,
}

impl VerbArgs for Test {
    const PATH: &'static [&'static str] = &["guard", "test"];
    const ABOUT: &'static str =
        "Show what the rules say to each line of a file, without running anything";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.text = local.read(&self.file)?;
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let set = rule_set::of(cx.settings);
        let (mut text, mut lines) = (String::new(), Vec::new());
        for line in self.text.lines().filter(|line| !line.trim().is_empty()).take(MAX_LINES) {
            let event = here(cx.world.dialects(), line, caller);
            let (_, judged) = judge_all(&set, &event);
            let word = word(&judged);
            let rules: Vec<&str> = fired(&judged).map(|entry| entry.rule.name.as_str()).collect();
            let _infallible =
                writeln!(text, "{word:<7} {:<20} {}", rules.join(","), one_line(line, 120));
            lines.push(
                json!({"line": line, "verdict": word, "rules": rules, "failures": failed(&judged)}),
            );
        }
        Ok(Output::new(text, json!({ "lines": lines })))
    }
}

fn here(clients: &prove::Clients, line: &str, caller: &Caller) -> Event {
    if let Some(event) = prove::payload(clients, line) {
        return event;
    }
    let mut event = prove::sample(clients, &Rule::default_for_shell(), line);
    if !caller.cwd.is_empty() {
        event.cwd.clone_from(&caller.cwd);
        event.project.clone_from(if caller.project.is_empty() {
            &caller.cwd
        } else {
            &caller.project
        });
    }
    event
}

fn word(judged: &[(&LoadedRule, Judgement)]) -> &'static str {
    outcome(judged).map_or("allow", Action::name)
}

fn fired<'j>(judged: &'j [(&'j LoadedRule, Judgement)]) -> impl Iterator<Item = &'j LoadedRule> {
    judged.iter().filter(|(_, said)| *said == Judgement::Fires).map(|(entry, _)| *entry)
}

fn failed(judged: &[(&LoadedRule, Judgement)]) -> Vec<String> {
    let why = |(entry, said): &(&LoadedRule, Judgement)| match said {
        Judgement::Fails(why) => Some(format!("{}: {why}", entry.rule.name)),
        Judgement::Passes | Judgement::Fires => None,
    };
    judged.iter().filter_map(why).collect()
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::guards) struct Explain {
    /// The command, in quotes
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

impl VerbArgs for Explain {
    const PATH: &'static [&'static str] = &["guard", "explain"];
    const ABOUT: &'static str =
        "Show how a command is read, which rules look at it, and what they say";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let command = self.command.join(" ");
        let set = rule_set::of(cx.settings);
        let event = here(cx.world.dialects(), &command, caller);
        let (scene, judged) = judge_all(&set, &event);
        let line = &scene.0.line;
        let mut text = String::from("It is read as\n");
        if line.is_broken {
            text.push_str("  (its quoting does not end: a shell would not run the rest either)\n");
        }
        if line.is_cut {
            text.push_str("  (it is too long: only its beginning was read)\n");
        }
        line.commands.iter().for_each(|made| read(&mut text, made));
        let _infallible = writeln!(text, "{} rules look at it", judged.len());
        for entry in fired(&judged) {
            let _infallible =
                writeln!(text, "  {} fires: {}", entry.rule.name, told(&event, entry));
        }
        for why in failed(&judged) {
            let _infallible = writeln!(text, "  {} can't be judged", one_line(&why, 300));
        }
        let word = word(&judged);
        let _infallible = writeln!(text, "Verdict: {word}");
        let commands: Vec<Value> = line.commands.iter().map(as_json).collect();
        let rules: Vec<Value> = fired(&judged)
            .map(|entry| json!({"name": entry.rule.name, "says": told(&event, entry)}))
            .collect();
        let json = json!({"command": command, "commands": commands, "fired": rules, "failures": failed(&judged), "verdict": word});
        Ok(Output::new(text, json))
    }
}

fn read(text: &mut String, made: &Simple) {
    let words: Vec<String> = made.words.iter().map(|word| short(&word.text)).collect();
    let _infallible = write!(text, "  [{}]", words.join("] ["));
    if !made.folder.is_empty() {
        let _infallible = write!(text, " in {}", short(&made.folder));
    }
    if let Some(git) = &made.git {
        let _infallible = write!(text, " (git {})", short(&git.sub));
    }
    if made.has_hidden_args {
        text.push_str(" (and arguments that are not seen here)");
    }
    text.push('\n');
}

fn as_json(made: &Simple) -> Value {
    let words: Vec<&str> = made.words.iter().map(|word| word.text.as_str()).collect();
    json!({"name": made.name(), "words": words, "folder": made.folder, "git": made.git.as_ref().map(|git| &git.sub)})
}

fn told(event: &Event, entry: &LoadedRule) -> String {
    match said(event, entry, true) {
        Wish::Deny { reason, next, .. } => format!("deny: {reason} {next}"),
        Wish::Ask { reason, .. } => format!("ask: {reason}"),
        wish => wish.words().to_owned(),
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::guards) struct Backtest {
    /// How far back, e.g. `24h`, `7d`
    #[arg(long, default_value = "7d")]
    since: String,
}

impl VerbArgs for Backtest {
    const PATH: &'static [&'static str] = &["guard", "backtest"];
    const ABOUT: &'static str =
        "Show what today's rules would have said to the tool calls in the journal";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let span = parse_span(&self.since).ok_or_else(|| {
            VerbError::user(
                format!("`{}` is not a duration", one_line(&self.since, 40)),
                "write it like `15m`, `2h` or `7d`",
            )
        })?;
        let set = rule_set::of(cx.settings);
        let (mut n, mut n_unread) = (0_usize, 0_usize);
        let mut hits: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
        let clients = cx.world.dialects();
        face::calls(cx.db, cx.now.plus_ms(-span), &mut |call| {
            n += 1;
            let Ok(input) = serde_json::from_str::<Value>(&call.input) else {
                n_unread += 1;
                return;
            };
            let event = recorded(clients, call, &input, &caller.project);
            let (_, judged) = judge_all(&set, &event);
            for entry in fired(&judged) {
                let (count, examples) = hits
                    .entry(format!("{} {}", entry.rule.name, entry.rule.action.name()))
                    .or_default();
                *count += 1;
                let shown = event
                    .tool()
                    .and_then(|call| call.command.clone())
                    .unwrap_or_else(|| call.input.clone());
                let shown = one_line(&shown, 100);
                if examples.len() < MAX_EXAMPLES && !examples.contains(&shown) {
                    examples.push(shown);
                }
            }
        })?;
        let mut text = format!("{n} tool calls in the last {}\n", self.since);
        for (rule, (count, examples)) in &hits {
            let _infallible = writeln!(text, "{count:>6} × {rule}");
            for example in examples {
                let _infallible = writeln!(text, "         {example}");
            }
        }
        if hits.is_empty() {
            text.push_str("No rule would have fired.\n");
        }
        let _infallible = writeln!(
            text,
            "The journal keeps inputs without secrets and only their beginning (`journal.max_text`): {n_unread} could not be replayed."
        );
        let rules: Vec<Value> = hits
            .iter()
            .map(|(rule, (count, examples))| json!({"rule": rule.split(' ').next(), "n": count, "examples": examples}))
            .collect();
        Ok(Output::new(
            text,
            json!({"since": self.since, "n": n, "n_unread": n_unread, "rules": rules}),
        ))
    }
}

fn recorded(
    clients: &prove::Clients,
    call: &face::RecordedCall,
    input: &Value,
    project: &str,
) -> Event {
    let mut event = prove::sample(clients, &Rule::default_for_shell(), "");
    event.kind = EventKind::PreToolUse;
    event.detail = Detail::ToolBefore { call: prove::tool_call(clients, &call.tool, input) };
    event.cwd.clone_from(&call.cwd);
    let is_inside = !project.is_empty() && call.cwd.starts_with(project);
    event.project = if is_inside { project.to_owned() } else { call.cwd.clone() };
    if call.actor != "main" {
        event.actor = prove::subagent(call.actor_kind.as_deref().unwrap_or_default());
    }
    event
}
