//! A verdict in the words that several clients share.
//!
//! Invariant: stdout is one JSON object, or the bare text that the event takes, or nothing; and nothing is said on a
//! channel that the row of the event does not have, even if the verdict holds it. No key is ever written that says
//! nothing: there are clients that drop an answer with a key that they don't know, and let the call pass.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use substrate_core::verdict::Permission;
use substrate_core::{Event, Verdict};

use crate::channels::{BlockBy, Channels, ContextBy, PermissionBy};
use crate::{Answer, Exports};

/// The exit code that stops what was about to happen.
const BLOCKED: u8 = 2;

/// Ends our words where a client reports them as a prompt.
pub(crate) const MARK: &str = "(Substrate wrote this, not a person.)";

/// Whether a prompt is what a hook of ours made the client go on with.
pub(crate) fn is_ours(prompt: &str) -> bool {
    prompt.trim_end().ends_with(MARK)
}

/// The answer at an event with these channels.
pub(crate) fn say(event: &Event, verdict: &Verdict, row: Channels) -> Answer {
    let context = filled(verdict.context.as_ref());
    let block = filled(verdict.block.as_ref());
    let mut answer = Answer { exports: exports(event, row, &verdict.exports), ..Answer::default() };
    if let (BlockBy::Exit, Some(reason)) = (row.block, block) {
        // What does not happen needs no context either.
        reason.clone_into(&mut answer.stderr);
        answer.exit = BLOCKED;
        return answer;
    }
    if let (ContextBy::Stdout, Some(text)) = (row.context, context) {
        text.clone_into(&mut answer.stdout);
        return answer;
    }
    let (decision, reason) = decision(row, verdict.permission.as_ref(), block).unzip();
    let said = Said {
        decision,
        reason,
        additional_context: context.filter(|_| row.context == ContextBy::Top),
        system_message: filled(verdict.notice.as_ref()).filter(|_| row.notice),
        hook_specific_output: particulars(event, row, verdict.permission.as_ref(), context),
    };
    if !said.is_nothing() {
        // Strings under fixed keys can't fail to be written; if they did, silence would be the answer.
        answer.stdout = serde_json::to_string(&said).unwrap_or_default();
    }
    answer
}

/// What the client reads from stdout.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Said<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<Particulars<'a>>,
}

impl Said<'_> {
    fn is_nothing(&self) -> bool {
        self.decision.is_none()
            && self.additional_context.is_none()
            && self.system_message.is_none()
            && self.hook_specific_output.is_none()
    }
}

/// What stands at the top of an answer that keeps something from happening, and why.
fn decision<'a>(
    row: Channels,
    permission: Option<&'a Permission>,
    block: Option<&'a str>,
) -> Option<(&'static str, Cow<'a, str>)> {
    match (row.permission, permission, row.block, block) {
        (PermissionBy::TopDenial, Some(Permission::Deny { reason }), ..) => {
            Some(("deny", reason.into()))
        }
        (_, _, BlockBy::Json, Some(reason)) => Some(("block", reason.into())),
        (_, _, BlockBy::MarkedJson, Some(reason)) => {
            Some(("block", format!("{reason}\n\n{MARK}").into()))
        }
        _ => None,
    }
}

/// What belongs to one kind of event.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Particulars<'a> {
    /// The client ignores the whole output if this is not the event's own name.
    hook_event_name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Decision<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Decision<'a> {
    behavior: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_input: Option<Value>,
}

fn particulars<'a>(
    event: &Event,
    row: Channels,
    permission: Option<&'a Permission>,
    context: Option<&'a str>,
) -> Option<Particulars<'a>> {
    let name = row.name.unwrap_or(event.kind.name());
    let mut out = Particulars { hook_event_name: name, ..Particulars::default() };
    match (row.permission, permission) {
        (
            PermissionBy::ToolDecision | PermissionBy::ToolDenial,
            Some(Permission::Deny { reason }),
        ) => {
            out.permission_decision = Some("deny");
            out.permission_decision_reason = Some(reason);
        }
        (PermissionBy::ToolDecision, Some(Permission::Ask { reason })) => {
            out.permission_decision = Some("ask");
            out.permission_decision_reason = Some(reason);
        }
        (
            PermissionBy::RequestDecision | PermissionBy::RequestDenial,
            Some(Permission::Deny { reason }),
        ) => {
            let message = Some(reason.as_str());
            out.decision = Some(Decision { behavior: "deny", message, updated_input: None });
        }
        (PermissionBy::RequestDecision, Some(Permission::Allow { choices })) => {
            let updated_input = with_answers(event, choices);
            out.decision = Some(Decision { behavior: "allow", message: None, updated_input });
        }
        (PermissionBy::RequestDecision, Some(Permission::Ask { .. }) | None)
        | (PermissionBy::ToolDecision, Some(Permission::Allow { .. }) | None)
        | (
            PermissionBy::ToolDenial | PermissionBy::RequestDenial,
            Some(Permission::Ask { .. } | Permission::Allow { .. }) | None,
        )
        | (PermissionBy::Nothing | PermissionBy::TopDenial, _) => {}
    }
    out.additional_context = context.filter(|_| row.context == ContextBy::Json);
    let says_something = out.permission_decision.is_some()
        || out.decision.is_some()
        || out.additional_context.is_some();
    says_something.then_some(out)
}

/// The input of a question, completed by the user's answers. The client takes them only together with the rest of it.
fn with_answers(event: &Event, choices: &[(String, String)]) -> Option<Value> {
    if choices.is_empty() {
        return None;
    }
    let mut input: Value = serde_json::from_str(&event.tool()?.input).ok()?;
    let answers =
        choices.iter().map(|(question, chosen)| (question.clone(), chosen.clone().into()));
    input.as_object_mut()?.insert("answers".to_owned(), Value::Object(answers.collect()));
    Some(input)
}

/// The exports as lines of a shell script. The client runs that file before each command of the session, so a name or
/// a value that could be more than an assignment is left out.
fn exports(event: &Event, row: Channels, exports: &[(String, String)]) -> Option<Exports> {
    let file = event.env_file.as_ref().filter(|_| row.exports)?;
    let text: String = exports
        .iter()
        .filter(|(name, value)| is_variable(name) && !value.contains(char::is_control))
        .map(|(name, value)| format!("export {name}='{}'\n", value.replace('\'', r"'\''")))
        .collect();
    (!text.is_empty()).then(|| Exports { file: file.clone(), text })
}

/// `[A-Za-z_][A-Za-z0-9_]*`
fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn filled(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.trim().is_empty())
}
