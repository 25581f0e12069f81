//! What a page asks the reader to type, as steps that a test can take.
//!
//! Commands stand in fenced blocks. In an `sh` block every line is a command that must succeed. A `console` block is a
//! transcript: lines that begin with `$ ` are commands, and the lines below them are what they print. An HTML comment
//! before a block says what a reader can't see:
//!
//! * `<!-- test: session TealGopher -->`: a session begins, and its agent has this name
//! * `<!-- test: TealGopher edits src/lib.rs -->`: something happens; a `text` block behind it shows what the model is told
//! * `<!-- test: as TealGopher -->`: this agent types the commands of the next block
//! * `<!-- test: parse, REASON -->`: the next block is only parsed, because it needs a client, tmux or a terminal
//! * `<!-- test: file PATH -->`: the next block is the text of this file

use std::ops::Range;

/// Languages of blocks that hold no commands.
const OTHER_LANGUAGES: [&str; 5] = ["", "text", "toml", "json", "bash"];

/// Something that a reader does, or that happens meanwhile.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The number of its line, from 0.
    pub(super) at: usize,
    pub(super) action: Action,
    /// The lines of the page that show the output.
    pub(super) shown: Option<Range<usize>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A session begins.
    Session(String),
    /// `agent` does `what`.
    Happens { agent: String, what: String },
    /// A command is typed by a person, or by an agent.
    Run { line: String, by: Option<String> },
    /// A command is parsed and not run.
    Parse(String),
    /// A file gets this text.
    File { path: String, text: String },
}

/// What the comments before a block say about it.
#[derive(Default)]
struct Remarks {
    by: Option<String>,
    is_parsed: bool,
    file: Option<String>,
    /// The event whose words the next `text` block shows, by its place among the steps.
    event: Option<usize>,
}

/// The steps of a page, from top to bottom.
///
/// # Panics
/// If a comment or the language of a block is unknown, or if commands hide in a block of another language.
pub(super) fn steps(page: &str) -> Vec<Step> {
    let lines: Vec<&str> = page.lines().collect();
    let (mut out, mut remarks, mut at) = (Vec::new(), Remarks::default(), 0);
    while at < lines.len() {
        if let Some(remark) = remark(lines[at]) {
            note(&mut remarks, &mut out, at, remark);
        } else if let Some(language) = lines[at].strip_prefix("```") {
            let begin = at + 1;
            let len = lines[begin..].iter().position(|line| *line == "```");
            let end = begin + len.unwrap_or_else(|| panic!("line {begin}: the block never ends"));
            block(&lines, language, begin..end, &std::mem::take(&mut remarks), &mut out);
            at = end;
        } else {
            let text = outside_of_commands(lines[at]);
            out.extend(text.map(|line| Step { at, action: Action::Parse(line), shown: None }));
        }
        at += 1;
    }
    out
}

fn remark(line: &str) -> Option<&str> {
    line.strip_prefix("<!-- test: ")?.strip_suffix(" -->")
}

fn note(remarks: &mut Remarks, out: &mut Vec<Step>, at: usize, remark: &str) {
    match remark.split_once(' ') {
        Some(("session", name)) => {
            let action = Action::Session(name.to_owned());
            out.push(Step { at, action, shown: None });
        }
        Some(("as", name)) => remarks.by = Some(name.to_owned()),
        Some(("parse,", _reason)) => remarks.is_parsed = true,
        Some(("file", path)) => remarks.file = Some(path.to_owned()),
        Some((agent, what)) if agent.starts_with(char::is_uppercase) => {
            let action = Action::Happens { agent: agent.to_owned(), what: what.to_owned() };
            remarks.event = Some(out.len());
            out.push(Step { at, action, shown: None });
        }
        _ => panic!("line {}: `{remark}` is not a remark that the test knows", at + 1),
    }
}

fn block(
    lines: &[&str],
    language: &str,
    inside: Range<usize>,
    remarks: &Remarks,
    out: &mut Vec<Step>,
) {
    let action = |line: &str| match remarks.is_parsed {
        true => Action::Parse(line.to_owned()),
        false => Action::Run { line: line.to_owned(), by: remarks.by.clone() },
    };
    match (language, &remarks.file, remarks.event) {
        ("sh", ..) => {
            let is_command = |at: &usize| !lines[*at].is_empty() && !lines[*at].starts_with('#');
            for at in inside.filter(is_command) {
                out.push(Step { at, action: action(lines[at]), shown: None });
            }
        }
        ("console", ..) => {
            let mut at = inside.start;
            while at < inside.end {
                let typed = lines[at].strip_prefix("$ ");
                let typed = typed.unwrap_or_else(|| panic!("line {}: no command", at + 1));
                let output = lines[at + 1..inside.end].iter();
                let next = at + 1 + output.take_while(|line| !line.starts_with("$ ")).count();
                let shown = (!remarks.is_parsed).then_some(at + 1..next);
                out.push(Step { at, action: action(typed), shown });
                at = next;
            }
        }
        ("text", _, Some(event)) => out[event].shown = Some(inside),
        (_, Some(path), _) => {
            let text = lines[inside.clone()].iter().map(|line| format!("{line}\n")).collect();
            let action = Action::File { path: path.clone(), text };
            out.push(Step { at: inside.start, action, shown: None });
        }
        (language, None, _) => {
            assert!(OTHER_LANGUAGES.contains(&language), "line {}: {language}?", inside.start);
            for line in &lines[inside] {
                let line = line.strip_prefix("$ ").unwrap_or(line);
                assert!(!line.starts_with("substrate "), "`{line}` belongs into an `sh` block");
            }
        }
    }
}

/// Commands in the middle of a sentence: they are parsed, since what they act on is often a placeholder.
fn outside_of_commands(line: &str) -> impl Iterator<Item = String> {
    let spans = line.split('`').skip(1).step_by(2);
    spans.filter(|span| span.starts_with("substrate ")).map(str::to_owned)
}

#[test]
fn a_page_becomes_its_steps() {
    let page = "Try `substrate fleet` and `make`.\n<!-- test: session Ann -->\n```console\n$ substrate one\nout\n$ substrate two\n```\n<!-- test: as Ann -->\n```sh\n# why\nsubstrate three  # four\n```\n<!-- test: Ann stops -->\n```text\nnot yet\n```\n<!-- test: parse, needs tmux -->\n```sh\nsubstrate five\n```\n<!-- test: file a.toml -->\n```toml\na = 1\n```\n";
    let run = |line: &str, by: Option<&str>| Action::Run {
        line: line.to_owned(),
        by: by.map(str::to_owned),
    };
    let expected = [
        (0, Action::Parse("substrate fleet".to_owned()), None),
        (1, Action::Session("Ann".to_owned()), None),
        (3, run("substrate one", None), Some(4..5)),
        (5, run("substrate two", None), Some(6..6)),
        (10, run("substrate three  # four", Some("Ann")), None),
        (12, Action::Happens { agent: "Ann".to_owned(), what: "stops".to_owned() }, Some(14..15)),
        (18, Action::Parse("substrate five".to_owned()), None),
        (22, Action::File { path: "a.toml".to_owned(), text: "a = 1\n".to_owned() }, None),
    ];
    let expected = expected.map(|(at, action, shown)| Step { at, action, shown });
    assert_eq!(steps(page), expected);
}

#[test]
#[should_panic(expected = "belongs into an `sh` block")]
fn a_command_in_a_block_of_another_language_is_found() {
    steps("```\n$ substrate fleet\n```\n");
}
