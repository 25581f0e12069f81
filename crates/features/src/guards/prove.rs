//! Events made from text, to try rules on: examples, lines of a file, entries of the journal.

use serde_json::{Value, json};
use substrate_core::{
    Actor, Detail, Dialect, Event, EventKind, SafeId, Timestamp, ToolCall, ToolClass,
};

use super::budget::Budget;
use super::policy::{Judged, judge, judge_each};
use super::rule::{Action, Rule, class_name};
use super::scene::{Around, Scene};
use super::set::{Entry, Set};
use super::vals::Handle;

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

/// How the clients that we know do things.
pub(super) type Clients = [&'static Dialect];

/// An event that the rule looks at, about that text: a command, a file or a prompt; or a payload in JSON.
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

/// An event from a payload in JSON, by the names that most clients use.
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
pub(super) fn judge_all<'s>(set: &'s Set, event: &Event) -> (Handle, Vec<(&'s Entry, Judged)>) {
    let (looking, wanted, line) = set.looking_at(event);
    let scene = Handle(std::sync::Arc::new(Scene::new(
        event,
        String::new(),
        Around::default(),
        wanted,
        line,
    )));
    let judged = judge_each(&looking, &scene);
    (scene, judged)
}

/// The one word for what comes of it.
pub(super) fn outcome(judged: &[(&Entry, Judged)]) -> Option<Action> {
    let fired = |action: Action| {
        judged.iter().any(|(entry, said)| *said == Judged::Fires && entry.rule.action == action)
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
pub(super) fn prove(clients: &Clients, set: &Set, entry: &Entry) -> Findings {
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
            return Judged::Passes;
        }
        let scene = Scene::new(&event, String::new(), Around::default(), everything(wanted), line);
        let mut budget = Budget::of(&scene);
        judge(entry, &Handle(std::sync::Arc::new(scene)), &mut budget)
    };
    for (texts, wanted, what) in [
        (&rule.matches, Judged::Fires, "must fire"),
        (&rule.passes, Judged::Passes, "must not fire"),
    ] {
        for text in texts {
            match said(text) {
                Judged::Fails(why) => out.problems.push(format!("at `{}`: {why}", short(text))),
                found if found != wanted => {
                    out.problems
                        .push(format!("it {what} at `{}`, and does otherwise", short(text)));
                }
                _ => {}
            }
        }
    }
    if rule.matches.is_empty() {
        let tried: Vec<Judged> = SAMPLES.iter().map(|text| said(text)).collect();
        if let Some(Judged::Fails(why)) = tried.iter().find(|said| matches!(said, Judged::Fails(_)))
        {
            out.problems.push(why.clone());
        } else if !tried.contains(&Judged::Fires) {
            out.warnings.push("nothing proves that it can fire: add `matches = [\"…\"]` with a text at which it does".to_owned());
        }
    }
    if rule.action == Action::Deny {
        for command in rule.next.split('`').skip(1).step_by(2) {
            let (_, judged) = judge_all(set, &sample(clients, &Rule::default_for_shell(), command));
            if outcome(&judged) == Some(Action::Deny) {
                out.problems
                    .push(format!("`next` names `{}`, which is refused itself", short(command)));
            }
        }
    }
    out
}

/// A rule that is switched off is proved all the same.
fn everything(mut wanted: super::scene::Wanted) -> super::scene::Wanted {
    wanted.input = true;
    wanted.line = true;
    wanted.own = true;
    wanted.usage = true;
    wanted
}

pub(super) fn short(text: &str) -> String {
    substrate_core::text::one_line(&text.replace('`', "'"), 80)
}
