//! The client's tools in our own terms.
//!
//! The names are the client's; a tool that is not listed is `Other`, and of such a tool we claim to know nothing.

use serde_json::Value;
use substrate_core::{Question, ToolCall, ToolClass};

use super::{DIALECT, todos};
use crate::wire::{Payload, Raw, ToolInput};

/// The tool with which an agent asks its user something.
pub(super) const QUESTION: &str = "AskUserQuestion";

/// The tools that we know.
pub(super) const ALL: &[(&str, ToolClass)] = &[
    ("Bash", ToolClass::Shell),
    ("Edit", ToolClass::Edit),
    ("Write", ToolClass::Edit),
    ("MultiEdit", ToolClass::Edit),
    ("NotebookEdit", ToolClass::Edit),
    ("Read", ToolClass::Read),
    ("Glob", ToolClass::Read),
    ("Grep", ToolClass::Read),
    ("LS", ToolClass::Read),
    ("NotebookRead", ToolClass::Read),
    // The same tool: `Task` is what it was called before there was a task list.
    ("Agent", ToolClass::Agent),
    ("Task", ToolClass::Agent),
    ("Skill", ToolClass::Skill),
    (TODO_LIST, ToolClass::Todo),
    ("TaskCreate", ToolClass::Todo),
    ("TaskUpdate", ToolClass::Todo),
    ("TaskList", ToolClass::Todo),
    ("TaskGet", ToolClass::Todo),
];

/// The tool that replaces the whole to-do list.
const TODO_LIST: &str = "TodoWrite";

/// How the answer of a shell call begins to say that the command still runs.
const STILL_RUNS: &str = "\"backgroundTaskId\":\"";

/// The call that a payload is about; `None` where it names no tool.
pub(super) fn call(payload: &Payload<'_>) -> Option<ToolCall> {
    let name = payload.tool_name.some_text()?;
    let class = DIALECT.class_of(&name);
    let json = payload.tool_input.object().unwrap_or("{}");
    let input = match class {
        ToolClass::Edit | ToolClass::Read | ToolClass::Shell | ToolClass::Skill => {
            ToolInput::read(json, &[]).unwrap_or_default()
        }
        // Nothing that we look for: their inputs (a prompt, a list) are not read again.
        ToolClass::Agent | ToolClass::Todo | ToolClass::Other => ToolInput::default(),
    };
    Some(ToolCall {
        class,
        use_id: payload.tool_use_id.some_text(),
        files: files(class, &input),
        command: match class {
            ToolClass::Shell => input.command.some_text(),
            _ => None,
        },
        in_background: class == ToolClass::Shell && in_background(payload, &input),
        skill: match class {
            ToolClass::Skill => input.skill.text().map(|it| it.trim_start_matches('/').to_owned()),
            _ => None,
        },
        is_search: matches!(name.as_str(), "Glob" | "Grep" | "LS"),
        questions: if name == QUESTION { questions(json).unwrap_or_default() } else { Vec::new() },
        todos: if name == TODO_LIST { todos::in_input(json) } else { None },
        input: json.to_owned(),
        name,
    })
}

/// A call that the journal kept, by its tool and its input. An input that was cut still begins with what matters.
pub(super) fn recorded(name: &str, input: &str) -> Option<ToolCall> {
    let tool = Value::from(name).to_string();
    let json = format!("{{\"tool_name\":{tool},\"tool_input\":{input}}}");
    if serde_json::from_str::<serde::de::IgnoredAny>(&json).is_ok() {
        return call(&Payload::read(&json, &[])?);
    }
    let class = DIALECT.class_of(name);
    let begins = |field: &str| {
        let (_, rest) = input.split_once(&format!("\"{field}\":"))?;
        serde_json::Deserializer::from_str(rest).into_iter::<String>().next()?.ok()
    };
    let files = ["file_path", "notebook_path"].iter().filter_map(|field| begins(field)).collect();
    (class == ToolClass::Edit).then(|| ToolCall {
        class,
        files,
        name: name.to_owned(),
        input: input.to_owned(),
        ..ToolCall::default()
    })
}

/// A call that is over says itself whether its command goes on: the client moves one that takes too long there.
fn in_background(payload: &Payload<'_>, input: &ToolInput<'_>) -> bool {
    match payload.tool_response.json() {
        Some(response) => response.contains(STILL_RUNS),
        None => input.run_in_background.is_true(),
    }
}

/// What a user was asked, and what they answered: `{"questions":[{"question":…}],"answers":{question: answer}}`.
fn questions(input: &str) -> Option<Vec<Question>> {
    let input: Value = serde_json::from_str(input).ok()?;
    let all = input["questions"].as_array()?.iter().map(|asked| {
        let text = asked["question"].as_str().unwrap_or_default().to_owned();
        let answer = match &input["answers"][&text] {
            Value::String(answer) => Some(answer.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        };
        let options = asked["options"].as_array().into_iter().flatten();
        let options = options.filter_map(|option| Some(option["label"].as_str()?.to_owned()));
        Question {
            text,
            answer,
            options: options.collect(),
            takes_several: asked["multiSelect"].as_bool().unwrap_or(false),
        }
    });
    Some(all.collect())
}

fn files(class: ToolClass, input: &ToolInput<'_>) -> Vec<String> {
    let named: &[Raw<'_>] = match class {
        ToolClass::Edit => &[input.file_path, input.notebook_path],
        // Searches name the folder where they look, and only if it is not the current one.
        ToolClass::Read => &[input.file_path, input.notebook_path, input.path],
        ToolClass::Shell
        | ToolClass::Agent
        | ToolClass::Todo
        | ToolClass::Skill
        | ToolClass::Other => &[],
    };
    named.iter().filter_map(|raw| raw.some_text()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn called(name: &str, input: &str) -> ToolCall {
        let json = format!(r#"{{"tool_name":"{name}","tool_input":{input},"tool_use_id":"t1"}}"#);
        let payload = Payload::read(&json, &[]).unwrap();
        call(&payload).unwrap()
    }

    #[rstest]
    #[case::whole("Bash", r#"{"command":"ls -l"}"#, Some(("ls -l", "")))]
    #[case::cut_edit("Edit", r#"{"file_path":"/a.rs","old_string":"x… (cut)"#, Some(("", "/a.rs")))]
    #[case::cut_command("Bash", r#"{"command":"ls… (cut)"#, None)]
    #[case::not_json("Bash", "ls", None)]
    fn a_recorded_call_is_read(
        #[case] name: &str,
        #[case] input: &str,
        #[case] expected: Option<(&str, &str)>,
    ) {
        let found = recorded(name, input);
        let found = found.map(|call| (call.command.unwrap_or_default(), call.files.join(" ")));
        assert_eq!(found, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[rstest]
    #[case("Edit", r#"{"file_path":"/a b.rs","old_string":"x"}"#, ToolClass::Edit, &["/a b.rs"], None)]
    #[case("Write", r#"{"file_path":"a\\b.rs","content":""}"#, ToolClass::Edit, &["a\\b.rs"], None)]
    #[case("MultiEdit", r#"{"file_path":"/a","edits":[]}"#, ToolClass::Edit, &["/a"], None)]
    #[case("NotebookEdit", r#"{"notebook_path":"/n.ipynb"}"#, ToolClass::Edit, &["/n.ipynb"], None)]
    #[case("Read", r#"{"file_path":"/a"}"#, ToolClass::Read, &["/a"], None)]
    #[case("NotebookRead", r#"{"notebook_path":"/n"}"#, ToolClass::Read, &["/n"], None)]
    #[case("Grep", r#"{"pattern":"x","path":"src"}"#, ToolClass::Read, &["src"], None)]
    #[case("Glob", r#"{"pattern":"*"}"#, ToolClass::Read, &[], None)]
    #[case("LS", r#"{"path":"/"}"#, ToolClass::Read, &["/"], None)]
    #[case("Bash", r#"{"command":"ls\n-l","path":"x"}"#, ToolClass::Shell, &[], Some("ls\n-l"))]
    #[case::half_a_pair("Bash", r#"{"command":"rm x \ud83d"}"#, ToolClass::Shell, &[], Some("rm x \u{fffd}\u{fffd}\u{fffd}"))]
    #[case::no_text("Bash", r#"{"command":["ls"]}"#, ToolClass::Shell, &[], None)]
    #[case("Task", r#"{"prompt":"x"}"#, ToolClass::Agent, &[], None)]
    #[case("Agent", "{}", ToolClass::Agent, &[], None)]
    #[case("TodoWrite", "{}", ToolClass::Todo, &[], None)]
    #[case("TaskCreate", "{}", ToolClass::Todo, &[], None)]
    #[case("TaskUpdate", "{}", ToolClass::Todo, &[], None)]
    #[case("TaskList", "{}", ToolClass::Todo, &[], None)]
    #[case("TaskGet", "{}", ToolClass::Todo, &[], None)]
    #[case("Skill", r#"{"skill":"fix","args":"the door"}"#, ToolClass::Skill, &[], None)]
    #[case("mcp__fs__write", r#"{"path":"/a","command":"ls"}"#, ToolClass::Other, &[], None)]
    #[case::case_counts("bash", r#"{"command":"ls"}"#, ToolClass::Other, &[], None)]
    fn a_call_of(
        #[case] name: &str,
        #[case] input: &str,
        #[case] class: ToolClass,
        #[case] files: &[&str],
        #[case] command: Option<&str>,
    ) {
        let call = called(name, input);
        assert_eq!(call.class, class);
        assert_eq!(call.files, files);
        assert_eq!(call.command.as_deref(), command);
        assert_eq!(call.use_id.as_deref(), Some("t1"));
        assert_eq!(call.input, input, "the input passes untouched");
    }

    #[rstest]
    #[case::before(r#""tool_input":{"command":"x","run_in_background":true}"#, true)]
    #[case::not(r#""tool_input":{"command":"x","run_in_background":false}"#, false)]
    #[case::odd(r#""tool_input":{"command":"x","run_in_background":"yes"}"#, false)]
    #[case::after(
        r#""tool_input":{"command":"x"},"tool_response":{"stdout":"","backgroundTaskId":"b1"}"#,
        true
    )]
    #[case::over(
        r#""tool_input":{"command":"x","run_in_background":true},"tool_response":{"stdout":""}"#,
        false
    )]
    fn a_command_goes_on_in_the_background(#[case] fields: &str, #[case] expected: bool) {
        let json = format!(r#"{{"tool_name":"Bash",{fields}}}"#);
        let payload = Payload::read(&json, &[]).unwrap();
        assert_eq!(call(&payload).unwrap().in_background, expected);
    }

    #[test]
    fn a_skill_is_named_without_its_slash() {
        assert_eq!(called("Skill", r#"{"skill":"/fix"}"#).skill.as_deref(), Some("fix"));
        assert_eq!(called("Skill", r#"{"skill":7}"#).skill, None);
        assert_eq!(called("Bash", r#"{"skill":"fix"}"#).skill, None);
    }

    #[test]
    fn questions_come_with_their_answers() {
        let input = r#"{"questions":[{"question":"Which?"},{"question":"Why?"},{}],"answers":{"Which?":"Alpha","":[1]}}"#;
        let asked = |text: &str, answer: Option<&str>| Question {
            text: text.to_owned(),
            answer: answer.map(str::to_owned),
            ..Question::default()
        };
        assert_eq!(
            called(QUESTION, input).questions,
            [asked("Which?", Some("Alpha")), asked("Why?", None), asked("", Some("[1]"))]
        );
        assert_eq!(called("Bash", input).questions, []);
        assert_eq!(called(QUESTION, "{}").questions, []);
    }

    #[test]
    fn a_question_offers_its_answers() {
        let input = r#"{"questions":[{"question":"Which?","multiSelect":true,"options":[{"label":"Alpha"},{},{"label":"Beta"}]}]}"#;
        let [question] = &called(QUESTION, input).questions[..] else { panic!("one question") };
        assert_eq!(question.options, ["Alpha", "Beta"]);
        assert!(question.takes_several);
    }

    #[rstest]
    #[case("\"ls\"")]
    #[case("null")]
    #[case("[1]")]
    fn an_input_that_is_no_object_counts_as_empty(#[case] input: &str) {
        assert_eq!(called("Bash", input).input, "{}");
    }
}
