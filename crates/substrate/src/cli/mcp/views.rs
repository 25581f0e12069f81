//! What a client can show beside the tools: resources to read, and prompts that a person starts.

use rmcp::model::{Prompt, PromptArgument, Resource, ResourceTemplate};
use serde_json::{Map, Value};

/// A resource, and the command that prints it.
const RESOURCES: &[(&str, &str, &str, &[&str])] = &[
    (
        "substrate://inbox",
        "inbox",
        "Your unread mail; nothing is marked read",
        &["inbox", "--peek"],
    ),
    ("substrate://locks", "locks", "Who holds which files", &["locks", "list"]),
    ("substrate://fleet", "fleet", "What each agent is doing", &["fleet", "list"]),
];

const THREAD: &str = "substrate://thread/";

pub(super) fn resources() -> Vec<Resource> {
    let one = |(uri, name, about, _): &(&str, &str, &str, _)| {
        Resource::new(*uri, *name).with_description(*about).with_mime_type("text/plain")
    };
    RESOURCES.iter().map(one).collect()
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{THREAD}{{id}}"), "thread")
            .with_description("The thread of a message")
            .with_mime_type("text/plain"),
    ]
}

/// The command line that prints a resource. `None`: there is no such resource.
pub(super) fn resource(uri: &str) -> Option<Vec<String>> {
    let line = |words: &[&str]| {
        ["substrate"].iter().chain(words).map(|word| (*word).to_owned()).collect::<Vec<_>>()
    };
    if let Some((.., words)) = RESOURCES.iter().find(|(known, ..)| *known == uri) {
        return Some(line(words));
    }
    let id = uri.strip_prefix(THREAD)?;
    let is_number = !id.is_empty() && id.len() < 19 && id.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| line(&["mail", "thread", "--", id]))
}

pub(super) fn prompts() -> Vec<Prompt> {
    let to = PromptArgument::new("to").with_description("The agent that goes on (default: User)");
    vec![
        Prompt::new("standup", Some("Who did what, who waits, and what is next"), None),
        Prompt::new("handoff", Some("Hand your work over to another agent"), Some(vec![to])),
    ]
}

/// A prompt: its text, and the command lines whose output it quotes.
pub(super) struct PromptText {
    pub(super) text: String,
    pub(super) quotes: &'static [&'static [&'static str]],
}

/// What a prompt asks for. `None`: there is no such prompt.
pub(super) fn prompt(name: &str, arguments: &Map<String, Value>) -> Option<PromptText> {
    match name {
        "standup" => Some(PromptText {
            text: STANDUP.to_owned(),
            quotes: &[
                &["substrate", "fleet", "list"],
                &["substrate", "work", "list"],
                &["substrate", "locks", "list"],
            ],
        }),
        "handoff" => {
            let to = arguments.get("to").and_then(Value::as_str).map_or("User", str::trim);
            let to = substrate_core::text::one_line(if to.is_empty() { "User" } else { to }, 120);
            Some(PromptText { text: HANDOFF.replace("{to}", &to), quotes: &[] })
        }
        _ => None,
    }
}

const STANDUP: &str = "Give a short standup for this project: what each agent has done, what it does now, who waits for whom or for the user, and which work is next. Use at most one line per agent. Read your own mail with the `inbox` tool (`do: unread`) first. What Substrate knows is below.";

const HANDOFF: &str = "Hand your work over to {to}. First read your mail with the `inbox` tool (`do: unread`). Then send one message to {to} with the `send` tool: the goal, what is done, what is not done, the next step, the files that matter, and what you learned that the code does not say. Return work items that you will not finish with the `work` tool (`do: release`). Release the files that you hold with the `locks` tool (`do: release`). Say when all of that is done.";

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("substrate://inbox", Some("substrate inbox --peek"))]
    #[case("substrate://thread/42", Some("substrate mail thread -- 42"))]
    #[case("substrate://thread/", None)]
    #[case("substrate://thread/--all", None)]
    #[case("substrate://thread/4%202", None)]
    #[case("substrate://secrets", None)]
    #[case("file:///etc/passwd", None)]
    fn a_resource_is_a_command(#[case] uri: &str, #[case] expected: Option<&str>) {
        assert_eq!(resource(uri).map(|line| line.join(" ")).as_deref(), expected);
    }

    #[test]
    fn a_handoff_names_the_agent_in_one_line() {
        let to = |given: Value| {
            let Value::Object(given) = given else { panic!("an object") };
            prompt("handoff", &given).unwrap().text
        };
        assert!(to(json!({})).contains("one message to User with"));
        assert!(to(json!({"to": "NobleLion\\n\\nIgnore this"})).lines().count() == 1);
        assert!(prompt("no-such", &Map::new()).is_none());
    }
}
