//! The commands, as they are typed.

use clap::Command;
use serde_json::Value;
use substrate_core::facts::Place;
use substrate_core::{Caller, Facts, Local, VerbError};

use super::*;
use crate::reminders::face::ANSWER;
use crate::reminders::source::{REFLECT, VALIDATE};

/// A project with these files.
struct Project(Vec<(&'static str, &'static str)>);

impl Local for Project {
    fn read(&mut self, path: &str) -> Result<String, VerbError> {
        panic!("{path} is read")
    }

    fn place(&mut self, path: &str) -> Place {
        panic!("{path} is looked at")
    }

    fn project_dirs(&mut self) -> Vec<String> {
        vec!["/repo/src".to_owned(), "/repo".to_owned()]
    }

    fn look_up(&mut self, needs: Vec<Need>) -> Facts {
        let mut facts = Facts::default();
        for need in needs {
            let Need::ProjectFile { root, path, .. } = &need else { panic!("{need:?}") };
            let of = |(name, _): &&(&str, &str)| {
                root == "/repo" && *path == format!(".claude/reminders/{name}")
            };
            if let Some((_, text)) = self.0.iter().find(of) {
                facts.insert(need, Found::Text((*text).to_owned()));
            }
        }
        facts
    }
}

fn typed(toml: &str, files: &[(&'static str, &'static str)], line: &[&str]) -> (String, Value) {
    let path =
        if line.first() == Some(&"show") { ["reminders", "show"] } else { ["reminders", "list"] };
    let verb = crate::reminders::FEATURE.verbs.iter().find(|verb| verb.path == path).unwrap();
    let command = (verb.augment)(Command::new(verb.path[1]));
    let line = if line.is_empty() { &["list"][..] } else { line };
    let matches = command.try_get_matches_from(line).unwrap();
    let body = (verb.body)(&matches, &mut Project(files.to_vec())).unwrap();
    let out = Stage::new(toml).call(&Caller::default(), &path, body).unwrap();
    (out.text, out.json)
}

#[rstest]
#[case::own("", &[], &["show", "reflect"], &format!("{REFLECT}\n"))]
#[case::for_a_subagent(ON, &[], &["show", "validate"], &format!("{VALIDATE}\n{ANSWER}\n"))]
#[case::no_type(ON, &[], &["show", "validate", "--agent-type", ""], &format!("{VALIDATE}\n{ANSWER}\n"))]
#[case::type_of_main(ON, &[], &["show", "reflect", "--agent-type", "Explore"], &format!("{REFLECT}\n"))]
#[case::exempt(ON, &[], &["show", "validate", "--agent-type", "Explore"], "")]
#[case::setting("[reminders]\nreflexion = \"x\"\n", &[], &["show", "reflexion"], &format!("x\n{ANSWER}\n"))]
#[case::file(ON, &[("reflect.md", "ours\n")], &["show", "reflect"], "ours\n")]
#[case::of_a_type(ON, &[("validate.md", "all"), ("validate.x.md", "x")], &["show", "validate", "--agent-type", "x"], &format!("x\n{ANSWER}\n"))]
#[case::of_another(ON, &[("validate.md", "all"), ("validate.x.md", "x")], &["show", "validate", "--agent-type", "y"], &format!("all\n{ANSWER}\n"))]
#[case::empty_file(ON, &[("reflexion.md", "")], &["show", "reflexion"], "")]
fn show_prints_what_is_told(
    #[case] toml: &str,
    #[case] files: &[(&'static str, &'static str)],
    #[case] line: &[&str],
    #[case] expected: &str,
) {
    assert_eq!(typed(toml, files, line).0, expected);
}

#[test]
fn the_list_says_what_is_on_and_where_the_words_are() {
    let toml = "[reminders]\non = true\nreflect = \"look\"\n";
    let files = [("validate.md", "check"), ("reflexion.md", "")];
    let (text, json) = typed(toml, &files, &[]);
    assert_eq!(
        text,
        "reflect    on; the words are in your settings (test:3)
validate   on; the words are in `/repo/.claude/reminders/validate.md`
reflexion  off (its file is empty); the words are in `/repo/.claude/reminders/reflexion.md`
`substrate reminders show NAME` prints the words.
"
    );
    let on: Vec<bool> = json["reminders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["on"].as_bool().unwrap())
        .collect();
    assert_eq!(on, [true, true, false]);
}

#[rstest]
#[case::by_default("", [Some("`reminders.on` is false"); 3])]
#[case::on(ON, [None; 3])]
#[case::no_stop("[reminders]\non = true\nstop = \"off\"\n", [Some("`reminders.stop` is off"), None, None])]
#[case::no_subagents("[reminders]\non = true\nsubagents = false\n", [None, Some("`reminders.subagents` is false"), Some("`reminders.subagents` is false")])]
fn the_list_says_why_one_is_off(#[case] toml: &str, #[case] expected: [Option<&str>; 3]) {
    let (text, json) = typed(toml, &[], &[]);
    for (at, expected) in expected.into_iter().enumerate() {
        assert_eq!(json["reminders"][at]["off_because"].as_str(), expected, "{text}");
        assert_eq!(json["reminders"][at]["from"], "Substrate's own");
    }
}
