//! Tries rules on events made from text: examples, lines of a file, entries of the journal.

use serde_json::{Value, json};
use substrate_core::{
    Actor, Detail, Dialect, Event, EventKind, SafeId, Timestamp, ToolCall, ToolClass,
};

use super::cel::budget::{self, Budget};
use super::cel::scene::{ActorWork, Scene};
use super::cel::values::SceneHandle;
use super::policy::{Judgement, judge, judge_each};
use super::rule::{Action, Rule, class_name};
use super::rule_set::{LoadedRule, RuleSet};

/// Where examples happen.
pub(super) const FOLDER: &str = "/home/dev/app";

/// What is tried on a rule that has no examples.
const SAMPLES: &[&str] = &[
    "ls -la",
    "cargo test",
    "git commit -m x",
    "git push",
    "npm install x",
    "rm -rf build",
    "src/main.rs",
    ".env",
    "fix the bug",
    "",
];

/// Every rule must be able to judge a line of this many commands.
const LONG_LINE: usize = 40;

/// How the known clients do things.
pub(super) type Clients = [&'static Dialect];

/// An event that the rule looks at: this text is its command, file or prompt, or a whole JSON payload.
pub(super) fn sample(clients: &Clients, rule: &Rule, text: &str) -> Event {
    if let Some(event) = payload(clients, text) {
        return event;
    }
    let kind = rule.kind();
    let usual = |class: ToolClass| {
        clients.iter().find_map(|dialect| dialect.tool_of(class)).unwrap_or(class_name(class))
    };
    let tool = match (rule.tool.as_str(), class_of(clients, &rule.tool)) {
        ("" | "shell", _) => {
            json!({"tool_name": usual(ToolClass::Shell), "tool_input": {"command": text}})
        }
        ("edit", _) => {
            json!({"tool_name": usual(ToolClass::Edit), "tool_input": {"file_path": text}})
        }
        ("read", _) => {
            json!({"tool_name": usual(ToolClass::Read), "tool_input": {"file_path": text}})
        }
        (name, ToolClass::Shell) => json!({"tool_name": name, "tool_input": {"command": text}}),
        (name, _) => {
            json!({"tool_name": name, "tool_input": {"command": text, "file_path": text, "prompt": text}})
        }
    };
    let mut event = event_of(clients, &tool, kind);
    event.actor = match rule.actor.as_str() {
        "" | "main" => Actor::Main { kind: None },
        "subagent" => subagent("general-purpose"),
        kind => subagent(kind),
    };
    if kind == EventKind::UserPromptSubmit {
        event.detail = Detail::Prompt { text: text.to_owned(), from_person: true };
    }
    event
}

/// An event from a JSON payload with the field names that most clients use.
pub(super) fn payload(clients: &Clients, text: &str) -> Option<Event> {
    let value: Value = serde_json::from_str(text).ok().filter(Value::is_object)?;
    let kind = value["hook_event_name"].as_str().map_or(EventKind::PreToolUse, EventKind::named);
    let mut event = event_of(clients, &value, kind);
    if let Some(kind) = value["agent_type"].as_str() {
        event.actor = subagent(kind);
    }
    if let Some(cwd) = value["cwd"].as_str() {
        event.cwd = cwd.to_owned();
        event.project = cwd.to_owned();
    }
    event.permission_mode = value["permission_mode"].as_str().map(str::to_owned);
    if let Some(prompt) = value["prompt"].as_str() {
        event.detail = Detail::Prompt { text: prompt.to_owned(), from_person: true };
    }
    Some(event)
}

pub(super) fn subagent(kind: &str) -> Actor {
    SafeId::new("a1")
        .map_or(Actor::Main { kind: None }, |id| Actor::Subagent { id, kind: kind.to_owned() })
}

fn event_of(clients: &Clients, value: &Value, kind: EventKind) -> Event {
    let mut event = Event::bare("", kind, Timestamp(0));
    event.cwd = FOLDER.to_owned();
    event.project = FOLDER.to_owned();
    let is_tool = kind.name().contains("Tool");
    if let Some(name) = value["tool_name"].as_str().filter(|_| is_tool) {
        let call = tool_call(clients, name, &value["tool_input"]);
        event.detail = match kind {
            EventKind::PreToolUse => Detail::ToolBefore { call },
            EventKind::PostToolUseFailure => Detail::ToolFailed {
                call,
                error: String::new(),
                interrupted: false,
                duration_ms: None,
            },
            _ => Detail::ToolAfter { call, response: String::new(), duration_ms: None },
        };
    }
    event
}

/// A call by its name and input, as far as they tell what it does.
pub(super) fn tool_call(clients: &Clients, name: &str, input: &Value) -> ToolCall {
    let text = |field: &str| input[field].as_str().map(str::to_owned);
    let files: Vec<String> =
        ["file_path", "notebook_path", "path"].into_iter().filter_map(text).collect();
    let class = class_of(clients, name);
    let command = text("command").filter(|_| class == ToolClass::Shell);
    ToolCall {
        name: name.to_owned(),
        class,
        use_id: None,
        files,
        command,
        input: input.to_string(),
        ..ToolCall::default()
    }
}

/// What a tool does that any client knows.
fn class_of(clients: &Clients, tool: &str) -> ToolClass {
    let known = clients.iter().map(|dialect| dialect.class_of(tool));
    match (tool, known.into_iter().find(|class| *class != ToolClass::Other)) {
        ("shell", _) => ToolClass::Shell,
        (_, found) => found.unwrap_or_default(),
    }
}

/// What each rule says about the event.
pub(super) fn judge_all<'s>(
    set: &'s RuleSet,
    event: &Event,
) -> (SceneHandle, Vec<(&'s LoadedRule, Judgement)>) {
    let (looking, wanted, line) = set.looking_at(event);
    let scene = SceneHandle(std::sync::Arc::new(Scene::new(
        event,
        String::new(),
        ActorWork::default(),
        wanted,
        line,
    )));
    let judged = judge_each(&looking, &scene);
    (scene, judged)
}

/// The strongest action among the rules that fired.
pub(super) fn outcome(judged: &[(&LoadedRule, Judgement)]) -> Option<Action> {
    let fired = |action: Action| {
        judged.iter().any(|(entry, said)| *said == Judgement::Fires && entry.rule.action == action)
    };
    [Action::Deny, Action::Ask, Action::Warn, Action::Inject]
        .into_iter()
        .find(|action| fired(*action))
}

/// What is wrong with a rule, and what could be better.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) problems: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// Proves that a rule can be judged, fires where it must, and does not where it must not.
pub(super) fn prove(clients: &Clients, set: &RuleSet, entry: &LoadedRule) -> Findings {
    let mut out = Findings::default();
    if let Err(problem) = entry.condition() {
        out.problems.push(problem.clone());
        return out;
    }
    let rule = &entry.rule;
    let said = |text: &str| {
        let event = sample(clients, rule, text);
        let (looking, wanted, line) = set.looking_at(&event);
        if !looking.iter().any(|other| std::ptr::eq(*other, entry)) && !entry.is_off {
            return Judgement::Passes;
        }
        let scene =
            Scene::new(&event, String::new(), ActorWork::default(), everything(wanted), line);
        let mut budget = Budget::of(&scene);
        judge(entry, &SceneHandle(std::sync::Arc::new(scene)), &mut budget)
    };
    for (texts, wanted, must, but) in [
        (&rule.matches, Judgement::Fires, "must fire", "does not"),
        (&rule.passes, Judgement::Passes, "must not fire", "does"),
    ] {
        for text in texts {
            match said(text) {
                Judgement::Fails(why) => out.problems.push(format!("at `{}`: {why}", short(text))),
                found if found != wanted => {
                    out.problems.push(format!("it {must} at `{}`, but {but}", short(text)));
                }
                _ => {}
            }
        }
    }
    if rule.matches.is_empty() {
        let tried: Vec<Judgement> = SAMPLES.iter().map(|text| said(text)).collect();
        if let Some(Judgement::Fails(why)) =
            tried.iter().find(|said| matches!(said, Judgement::Fails(_)))
        {
            out.problems.push(why.clone());
        } else if !tried.contains(&Judgement::Fires) {
            out.warnings.push("nothing proves that it can fire; add `matches = [\"…\"]` with a text that it fires at".to_owned());
        }
    }
    let long = "ls -la src && ".repeat(LONG_LINE) + "ls";
    if said(&long) == Judgement::Fails(budget::TOO_LONG.to_owned()) {
        out.problems
            .push(format!("at a line of {LONG_LINE} commands it takes too long: loop over less"));
    }
    if rule.action == Action::Deny {
        for command in rule.next.split('`').skip(1).step_by(2) {
            let (_, judged) = judge_all(set, &sample(clients, &Rule::default_for_shell(), command));
            if outcome(&judged) == Some(Action::Deny) {
                out.problems
                    .push(format!("`next` names `{}`, which is itself refused", short(command)));
            }
        }
    }
    out
}

/// A rule that is switched off is proved too.
fn everything(mut wanted: super::cel::scene::SceneParts) -> super::cel::scene::SceneParts {
    wanted.input = true;
    wanted.line = true;
    wanted.own = true;
    wanted.usage = true;
    wanted
}

pub(super) fn short(text: &str) -> String {
    substrate_core::text::one_line(&text.replace('`', "'"), 80)
}
