//! Which turn answers a request: a pure function of the script and the conversation (see `model`).
use serde_json::Value;

use super::record::{Recorded, Thread, is_reply, prompts};
use super::script::{Script, Turn};

/// In every summary that we write; `NAME` is the position that it stands for.
const MARK: &str = "scripted summary up to turn ";

/// Where a conversation is in its script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    list: List,
    /// How many turns of that list were played.
    played: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    /// The main thread's own list, or nothing for a subagent.
    Default,
    /// The n-th list that belongs to a prompt.
    Prompt(usize),
}

/// The turn that this request is answered with; `None` when its list has ended.
pub(super) fn turn<'a>(script: &'a Script, request: &Recorded) -> Option<&'a Turn> {
    let lists = lists(script, &request.thread);
    let Position { list, played } = position(lists, request.messages());
    let turns: &[Turn] = match (list, &request.thread) {
        (List::Prompt(n), _) => &lists.get(n)?.1,
        (List::Default, Thread::Main) => &script.main,
        (List::Default, Thread::Subagent(_) | Thread::Side) => &[],
    };
    turns.get(played)
}

/// Whether the client asks for the summary of a compaction; it asks in the conversation itself.
pub(super) fn wants_summary(body: &Value) -> bool {
    let last = body["messages"].as_array().and_then(|messages| messages.last());
    let asks =
        |text: &String| text.contains("create a detailed summary") && text.contains("<summary>");
    last.is_some_and(|message| prompts(message).last().is_some_and(asks))
}

/// The summary, with the position in it: the older messages are about to disappear.
pub(super) fn summary(script: &Script, thread: &Thread, request: &Recorded) -> String {
    let Position { list, played } = position(lists(script, thread), request.messages());
    let list = match list {
        List::Default => 0,
        List::Prompt(n) => n + 1,
    };
    format!("<analysis>scripted</analysis>\n<summary>\n{MARK}{list}.{played}.\n</summary>")
}

type Lists = [(String, Vec<Turn>)];

fn lists<'a>(script: &'a Script, thread: &Thread) -> &'a Lists {
    match thread {
        Thread::Main => &script.prompts,
        Thread::Subagent(_) => &script.subagents,
        Thread::Side => &[],
    }
}

/// Walks the conversation from its end to the nearest anchor: a prompt that has a list, a summary
/// that says how far we were, or the start.
fn position(lists: &Lists, messages: &[Value]) -> Position {
    let mut replies = 0;
    for message in messages.iter().rev() {
        if is_reply(message) {
            replies += 1;
            continue;
        }
        for text in prompts(message).iter().rev() {
            if let Some(n) = lists.iter().position(|(prompt, _)| prompt == text) {
                return Position { list: List::Prompt(n), played: replies };
            }
            if let Some(Position { list, played }) = marked(text) {
                return Position { list, played: played + replies };
            }
        }
    }
    Position { list: List::Default, played: replies }
}

fn marked(text: &str) -> Option<Position> {
    let (_, rest) = text.split_once(MARK)?;
    let mut numbers = rest.split('.').map(str::parse::<usize>);
    let (list, played) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let list = list.checked_sub(1).map_or(List::Default, List::Prompt);
    Some(Position { list, played })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": [{"type": "text", "text": text}]})
    }

    fn reply() -> Value {
        json!({"role": "assistant", "content": [{"type": "text", "text": "same words"}]})
    }

    fn asked(thread: Thread, messages: &[Value]) -> Recorded {
        let body = json!({"messages": messages});
        Recorded { thread, session: None, body, at: Duration::ZERO }
    }

    fn script() -> Script {
        let turns = |name: &str| [0, 1, 2].map(|n| Turn::text(format!("{name}{n}")));
        Script::new(turns("main"))
            .on_prompt("second", turns("second"))
            .subagent("look", turns("look"))
    }

    fn picked(thread: Thread, messages: &[Value]) -> String {
        turn(&script(), &asked(thread, messages)).map_or("ended".into(), |turn| format!("{turn:?}"))
    }

    #[track_caller]
    fn assert_main(messages: &[Value], expected: &str) {
        let found = picked(Thread::Main, messages);
        assert!(found.contains(expected), "expected {expected}, found {found}");
    }

    #[test]
    fn replies_are_counted_not_requests_or_user_messages() {
        assert_main(&[user("hi")], "main0");
        assert_main(&[user("hi"), reply(), user("Stop hook feedback:\nno"), reply()], "main2");
        assert_main(&[user("hi"), reply(), reply(), reply()], "ended");
    }

    #[test]
    fn a_prompt_with_a_list_starts_it() {
        assert_main(&[user("hi"), reply(), user(" second\n")], "second0");
        assert_main(&[user("hi"), reply(), user("second"), reply(), user("note")], "second1");
        assert_main(&[user("<system-reminder>\nsecond</system-reminder>")], "main0");
        let older = json!({"role": "user", "content": "second"});
        assert_main(&[older, reply(), user("more")], "second1");
    }

    #[test]
    fn a_subagent_is_known_by_its_prompt() {
        let thread = || Thread::Subagent("a1".into());
        assert!(picked(thread(), &[user("look"), reply()]).contains("look1"));
        assert_eq!(picked(thread(), &[user("unscripted")]), "ended");
    }

    #[test]
    fn a_summary_carries_the_position_over_a_compaction() {
        let conversation = [user("hi"), reply(), user("second"), reply()];
        let before = asked(Thread::Main, &conversation);
        let summary = user(&format!("continued: {}", summary(&script(), &Thread::Main, &before)));
        assert_main(std::slice::from_ref(&summary), "second1");
        assert_main(&[summary, reply(), user("again")], "second2");
    }

    #[test]
    fn a_request_for_a_summary_is_known_by_its_last_text() {
        let ask = "Your task is to create a detailed summary … inside <summary></summary> tags.";
        let body = |last| json!({"messages": [user("hi"), reply(), last]});
        assert!(wants_summary(&body(user(ask))));
        assert!(!wants_summary(&body(user("create a detailed summary"))));
    }
}
