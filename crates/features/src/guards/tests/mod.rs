//! The built-in rules on a table of commands, and stories of rules on a real database with all features.

mod own;
mod own_files;
mod pack;
mod thrift;
mod verbs;
mod work;

use serde_json::{Value, json};
use substrate_core::verdict::Permission;
use substrate_core::{
    Actor, Caller, Detail, Event, EventKind, Outcome, Output, SafeId, ToolCall, ToolClass,
    VerbError,
};

use crate::stage::Stage;

const MINUTE: i64 = 60_000;

/// An actor: a session, and the subagent in it.
#[derive(Clone, Copy, Debug)]
struct One(&'static str, Option<&'static str>);

const LION: One = One("lion", None);
const OTTER: One = One("otter", None);
const CODER: One = One("lion", Some("coder"));

fn tool(stage: &Stage, who: One, name: &str, class: ToolClass, input: &Value) -> Event {
    let actor = match who.1 {
        None => Actor::Main { kind: None },
        Some(kind) => Actor::Subagent { id: SafeId::new("c1").unwrap(), kind: kind.to_owned() },
    };
    let call = ToolCall {
        name: name.to_owned(),
        class,
        use_id: None,
        files: input["file_path"].as_str().map(str::to_owned).into_iter().collect(),
        command: input["command"].as_str().map(str::to_owned),
        input: input.to_string(),
        ..ToolCall::default()
    };
    Event {
        actor,
        detail: Detail::ToolBefore { call },
        ..stage.event(EventKind::PreToolUse, who.0)
    }
}

fn bash_event(stage: &Stage, who: One, command: &str) -> Event {
    tool(stage, who, "Bash", ToolClass::Shell, &json!({ "command": command }))
}

fn bash(stage: &mut Stage, who: One, command: &str) -> Outcome {
    let event = bash_event(stage, who, command);
    stage.told(&event)
}

/// `deny …`, `ask …`, `say …`, or nothing.
fn answer(outcome: &Outcome) -> String {
    match (&outcome.verdict.permission, &outcome.verdict.context, &outcome.verdict.block) {
        (Some(Permission::Deny { reason }), ..) => format!("deny {reason}"),
        (Some(Permission::Ask { reason }), ..) => format!("ask {reason}"),
        (None, _, Some(reason)) => format!("block {reason}"),
        (None, Some(text), None) => format!("say {text}"),
        (Some(Permission::Allow { .. }), ..) => "allow".to_owned(),
        (None, None, None) => String::new(),
    }
}

fn verb(stage: &mut Stage, name: &str, body: Value) -> Result<Output, VerbError> {
    let caller =
        Caller { cwd: "/repo".to_owned(), project: "/repo".to_owned(), ..Caller::default() };
    stage.call(&caller, &["guard", name], body)
}

fn problem(result: Result<Output, VerbError>) -> String {
    match result {
        Err(VerbError::User { message, hint }) => format!("{message}\n{hint}"),
        other => panic!("{other:?}"),
    }
}
