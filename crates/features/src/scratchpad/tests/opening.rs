//! What a new session and a new subagent are told.

use rstest::rstest;
use substrate_core::facts::{Found, GitQuestion};
use substrate_core::{Detail, Event, EventKind, Need, StartSource};

use super::{ALL, NOON, ON, Story, main, pad, policy, section, sub};

/// Numbered lines.
fn lines(name: &str, n: usize) -> String {
    (1..=n).map(|at| format!("{name} {at}\n")).collect()
}

fn with_log(story: &mut Story) {
    let need = Need::Git { dir: "/repo".to_owned(), what: GitQuestion::Log { n: 5 } };
    story.stage.facts.insert(need, Found::Text("1a2b3c fix it\n4d5e6f begin\n".to_owned()));
}

#[test]
fn a_fresh_session_is_told_where_the_work_stands() {
    let mut story = Story::new(ON);
    with_log(&mut story);
    story.write(&pad("coordinator", "2026-02-06"), "older\n");
    story.write(&pad("coordinator", "2026-02-07"), &lines("c", 30));
    story.write(&pad("ego", "2026-02-05"), &lines("e", 30));
    let started = story.start();
    let told = section(&started.verdict).unwrap();
    let commits = "\n\n[substrate scratchpad] Recent commits:\n  1a2b3c fix it\n  4d5e6f begin";
    assert!(started.verdict.context.unwrap().ends_with(commits));
    let quoted = |name: &str, from: usize| {
        (from..=30).map(|at| format!("> {name} {at}")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        told,
        format!(
            "Where the work stands.\n\nFrom the latest scratchpad of coordinator (2026-02-07):\n{}\n\nFrom the latest scratchpad of ego (2026-02-05):\n{}",
            quoted("c", 6),
            quoted("e", 11),
        )
    );
}

#[rstest]
#[case::startup(StartSource::Startup, true)]
#[case::clear(StartSource::Clear, true)]
#[case::resume(StartSource::Resume, false)]
#[case::compact(StartSource::Compact, false)]
#[case::fork(StartSource::Fork, false)]
#[case::other(StartSource::Other, false)]
fn only_a_fresh_session_is_told(#[case] source: StartSource, #[case] expected: bool) {
    let mut story = Story::new(ON);
    story.write(&pad("coordinator", "2026-02-07"), "c\n");
    let event = Event {
        detail: Detail::SessionStart { source, model: None },
        ..story.event(EventKind::SessionStart, main())
    };
    assert_eq!(section(&story.happen(&event).verdict).is_some(), expected);
}

#[test]
fn without_scratchpads_nothing_is_told() {
    let mut story = Story::new(ON);
    assert_eq!(section(&story.start().verdict), None);
    story.write(&pad("coordinator", "2026-02-07"), " \n");
    assert_eq!(section(&story.start().verdict), None);
    with_log(&mut story);
    let told = section(&story.start().verdict).unwrap();
    assert_eq!(told, "Recent commits:\n  1a2b3c fix it\n  4d5e6f begin");
}

#[test]
fn a_subagent_is_told_date_path_sections_and_how_the_latest_entries_end() {
    let mut story = Story::new(ON);
    story.write(&pad("ego", "2026-02-07"), &lines("e", 5));
    story.write(&pad("coordinator", "2026-02-08"), "only\n");
    let told = section(&story.spawn("a1", "spec-writer")).unwrap();
    assert_eq!(
        told,
        "Today is 2026-02-08. Your scratchpad is .claude/scratchpad/spec-writer/2026-02-08.md. Before you finish, write it (or add to it, if it exists) with these three sections:\n## What I did\n## Cross-agent observations\n## Unresolved\nYou can't finish until they are there.\n\nFrom the latest scratchpad of ego (2026-02-07):\n> e 3\n> e 4\n> e 5\n\nFrom the latest scratchpad of coordinator (2026-02-08):\n> only"
    );
}

#[rstest]
#[case::at_the_root("/repo", Some("/repo"), ".claude/scratchpad/x/2026-02-08.md")]
#[case::in_a_folder("/repo/src", Some("/repo"), "/repo/.claude/scratchpad/x/2026-02-08.md")]
#[case::in_a_tree_of_its_own(
    "/repo/.claude/worktrees/w",
    Some("/repo"),
    "/repo/.claude/scratchpad/x/2026-02-08.md"
)]
#[case::without_a_project("/repo", None, ".claude/scratchpad/x/2026-02-08.md")]
#[case::in_a_folder_without("/repo/src", None, "/repo/.claude/scratchpad/x/2026-02-08.md")]
fn the_path_is_one_that_leads_there(
    #[case] cwd: &str,
    #[case] project: Option<&str>,
    #[case] expected: &str,
) {
    let mut story = Story::new(ON);
    let event = Event {
        cwd: cwd.to_owned(),
        project_dir: project.map(str::to_owned),
        ..story.event(EventKind::SubagentStart, sub("a1", "x"))
    };
    let told = section(&story.happen(&event).verdict).unwrap();
    assert!(told.contains(&format!("Your scratchpad is {expected}. Before")), "{told}");
}

#[rstest]
#[case::explorer(ON, "Explore", false)]
#[case::planner(ON, "Plan", false)]
#[case::compaction(ON, "", false)]
#[case::named_alike(ON, "explore", false)]
#[case::any(ON, "general-purpose", true)]
#[case::coordinator(ON, "coordinator", true)]
#[case::by_settings("[scratchpad]\non = true\nexempt = [\"scout\"]\n", "scout", false)]
#[case::replaced("[scratchpad]\non = true\nexempt = [\"scout\"]\n", "Explore", true)]
#[case::off("", "general-purpose", false)]
#[case::by_profile("profile = \"scratchpad\"\n", "general-purpose", true)]
#[case::by_all("profile = \"all\"\n", "general-purpose", true)]
#[case::another_profile("profile = \"locks\"\n", "general-purpose", false)]
fn a_type_is_asked_or_not(#[case] toml: &str, #[case] kind: &str, #[case] expected: bool) {
    let mut story = Story::new(toml);
    assert_eq!(section(&story.spawn("a1", kind)).is_some(), expected);
    assert_eq!(story.end("a1", kind).is_some(), expected);
}

#[test]
fn misdated_or_unreadable_files_hide_nothing() {
    let mut story = Story::new(ON);
    story.write(&pad("ego", "2026-02-07"), "the latest\n");
    for day in ["2026-02-08", "2099-01-01", "2099-01-02"] {
        story.write(&pad("ego", day), "x\n");
        story.locked.push(format!("/repo/{}", pad("ego", day)));
    }
    let told = section(&story.start().verdict).unwrap();
    assert!(told.contains("ego (2026-02-07):\n> the latest"), "{told}");
}

#[test]
fn nothing_is_looked_up_for_other_events() {
    let (on, off) = (Story::new(ON), Story::new(""));
    let event = |kind, actor| on.event(kind, actor);
    for (event, n) in [
        (event(EventKind::SessionStart, main()), 3),
        (event(EventKind::SubagentStart, sub("a1", "x")), 2),
        (event(EventKind::SubagentStop, sub("a1", "x")), 2),
        (event(EventKind::Stop, main()), 2),
        (event(EventKind::Waiter, main()), 0),
        (event(EventKind::PreToolUse, main()), 0),
        (event(EventKind::SubagentStop, sub("a1", "Plan")), 0),
    ] {
        assert_eq!(policy::gather(&event, &on.settings).len(), n, "{:?}", event.kind);
        assert_eq!(policy::gather(&event, &off.settings), [], "{:?}", event.kind);
    }
}

#[test]
fn the_day_is_the_local_one() {
    let mut story = Story::new(ON);
    story.stage.machine.offset_s = 13 * 3_600;
    assert_eq!(story.stage.now.0, NOON);
    assert!(section(&story.spawn("a1", "x")).unwrap().starts_with("Today is 2026-02-09. "));
    story.write(&pad("x", "2026-02-09"), ALL);
    assert_eq!(story.end("a1", "x"), None);
}
