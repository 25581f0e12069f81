//! What a new session is told, and which sessions are.

use rstest::rstest;
use substrate_core::facts::{Found, GitQuestion, Tree};
use substrate_core::settings::{Layer, Scope};
use substrate_core::{Actor, Detail, Event, EventKind, Need, SafeId, Settings, StartSource};

use super::{policy, render};
use crate::stage::Stage;

const ON: &str = "[agent-init]\non = true\n";

fn start(stage: &Stage, source: StartSource) -> Event {
    Event {
        project_dir: Some("/repo".to_owned()),
        cwd: "/repo/src".to_owned(),
        detail: Detail::SessionStart { source, model: None },
        ..stage.event(EventKind::SessionStart, "s1")
    }
}

fn tree(entries: &[&str], n_more: usize) -> Tree {
    Tree { entries: entries.iter().map(|&entry| entry.to_owned()).collect(), n_more }
}

/// A stage with a small project.
fn stage(toml: &str) -> Stage {
    let mut stage = Stage::new(toml);
    let git = |what| Need::Git { dir: "/repo".to_owned(), what };
    let need = Need::Tree { root: "/repo".to_owned(), depth: 2, max: 200 };
    stage.facts.insert(need, Found::Tree(tree(&["src/", "src/lib.rs", "README.md"], 0)));
    stage
        .facts
        .insert(git(GitQuestion::Status), Found::Text("## main\n M src/lib.rs\n".to_owned()));
    stage.facts.insert(git(GitQuestion::Log { n: 5 }), Found::Text("1a2b3c first\n".to_owned()));
    stage
}

/// The text of this feature's section.
fn told(stage: &mut Stage, event: &Event) -> Option<String> {
    let context = stage.happen(event).verdict.context?;
    context.split_once("[substrate agent-init] ").map(|(_, text)| text.to_owned())
}

#[test]
fn a_new_session_is_told_structure_status_and_commits() {
    let mut stage = stage(ON);
    let event = start(&stage, StartSource::Startup);
    assert_eq!(
        told(&mut stage, &event).unwrap(),
        "Project structure (depth 2):\n  src/\n    lib.rs\n  README.md\n\nGit status:\n  ## main\n   M src/lib.rs\n\n[substrate agent-init] Recent commits:\n  1a2b3c first"
    );
}

#[rstest]
#[case::startup(StartSource::Startup, true)]
#[case::clear(StartSource::Clear, true)]
#[case::resume(StartSource::Resume, false)]
#[case::fork(StartSource::Fork, false)]
#[case::compact(StartSource::Compact, false)]
#[case::other(StartSource::Other, false)]
fn only_a_new_or_cleared_session_is_told(#[case] source: StartSource, #[case] expected: bool) {
    let mut stage = stage(ON);
    let event = start(&stage, source);
    assert_eq!(told(&mut stage, &event).is_some(), expected);
}

#[rstest]
#[case::by_default("", false)]
#[case::standard("profile = \"standard\"\n", false)]
#[case::locks("profile = \"locks\"\n", true)]
#[case::all("profile = \"all\"\n", true)]
#[case::against_the_profile("profile = \"all\"\n[agent-init]\non = false\n", false)]
fn settings_decide(#[case] toml: &str, #[case] expected: bool) {
    let mut stage = stage(toml);
    let event = start(&stage, StartSource::Startup);
    assert_eq!(told(&mut stage, &event).is_some(), expected);
}

#[test]
fn without_git_there_is_only_the_structure_and_without_anything_nothing() {
    let mut stage = Stage::new(ON);
    let event = start(&stage, StartSource::Startup);
    assert_eq!(told(&mut stage, &event), None);
    let need = Need::Tree { root: "/repo".to_owned(), depth: 2, max: 200 };
    stage.facts.insert(need, Found::Tree(tree(&["a"], 0)));
    assert_eq!(told(&mut stage, &event).unwrap(), "Project structure (depth 2):\n  a");
}

#[test]
fn nothing_is_looked_up_for_other_events() {
    let keys = crate::keys();
    let off = Settings::resolve(&keys, &[]);
    let on = Settings::resolve(&keys, &[&Layer::read(Scope::User, "test", ON, &keys)]);
    let stage = stage(ON);
    let event = start(&stage, StartSource::Startup);
    let sub = Actor::Subagent { id: SafeId::new("a1").unwrap(), kind: "reviewer".to_owned() };
    assert_eq!(policy::gather(&event, &on).len(), 3);
    assert!(policy::gather(&event, &off).is_empty());
    assert!(policy::gather(&Event { kind: EventKind::Waiter, ..event.clone() }, &on).is_empty());
    assert!(policy::gather(&Event { actor: sub, ..event }, &on).is_empty());
}

#[rstest]
#[case::empty(&[], 0, None)]
#[case::more(&["a"], 7, Some("Project structure (depth 2):\n  a\n  … and 7 more"))]
#[case::folder(&["a b/", "a b/c/"], 0, Some("Project structure (depth 2):\n  a b/\n    c/"))]
#[case::forged(&["x\nGit status:\n\u{1b}[31m"], 0, Some("Project structure (depth 2):\n  x Git status: [31m"))]
#[case::heading(&["Git status:"], 0, Some("Project structure (depth 2):\n  Git status:"))]
fn a_tree_reads(#[case] entries: &[&str], #[case] n_more: usize, #[case] expected: Option<&str>) {
    assert_eq!(render::tree(&tree(entries, n_more)).as_deref(), expected);
}

#[test]
fn a_tree_keeps_to_its_characters_and_counts_the_rest() {
    let names: Vec<String> = (0..200).map(|n| format!("{n:03}{}", "ä".repeat(57))).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = render::tree(&tree(&names, 10)).unwrap();
    let n_told = text.lines().count() - 2;
    assert!(text.chars().count() <= 4_000 + 20 && n_told > 50, "{n_told}");
    assert!(text.ends_with(&format!("\n  … and {} more", 210 - n_told)));
}

#[test]
fn what_is_deep_makes_room_for_the_folders_above() {
    let mut names = vec!["a/".to_owned()];
    names.extend((0..100).map(|n| format!("a/{n:03}{}", "x".repeat(57))));
    names.extend(["src/".to_owned(), "z".to_owned()]);
    let text =
        render::tree(&tree(&names.iter().map(String::as_str).collect::<Vec<_>>(), 0)).unwrap();
    let n_told = text.lines().filter(|line| line.ends_with('x')).count();
    assert!(n_told > 40 && text.contains("\n  a/\n    000xxx"), "{text}");
    assert!(text.ends_with(&format!("x\n  src/\n  z\n  … and {} more", 100 - n_told)), "{text}");
}

#[test]
fn thirty_lines_of_the_status_are_told() {
    let text: String = (0..40).map(|n| format!("?? file{n}\n")).collect();
    let told = render::status(&text).unwrap();
    assert_eq!(told.lines().count(), 32);
    assert!(told.ends_with("  ?? file29\n  … and 10 more"), "{told}");
    assert_eq!(render::status(""), None);
}

/// Several features ask for the commits, and the session reads them once.
#[test]
fn commits_are_told_once_for_all_features() {
    for toml in ["profile = \"all\"\n", "[agent-init]\non = true\n[scratchpad]\non = true\n"] {
        let mut stage = stage(toml);
        let event = start(&stage, StartSource::Startup);
        let context = stage.happen(&event).verdict.context.unwrap();
        assert_eq!(context.matches("1a2b3c first").count(), 1, "{context}");
    }
}
