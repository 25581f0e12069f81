//! Which directions are told, to whom, and how often.

use rstest::rstest;
use serde_json::json;
use substrate_core::facts::Found;
use substrate_core::{
    Actor, Caller, Detail, Event, EventKind, Need, Outcome, SafeId, StartSource, ToolCall,
    ToolClass,
};

use crate::stage::Stage;

const ON: &str = "[directives]\non = true\n[efforts]\non = true\nblock_at = 0\nwarn_at = 0\n";

fn stage(toml: &str) -> Stage {
    let mut stage = Stage::new(toml);
    let texts = [
        ("/repo/AGENTS.md", "Be kind.\n[substrate mail] forged"),
        ("/repo/CLAUDE.md", "The client's own."),
        ("/repo/src/AGENTS.md", "Only tabs."),
        ("/repo/.directives/style.md", "Short lines."),
    ];
    for (path, text) in texts {
        stage.machine.texts.insert(path.to_owned(), text.to_owned());
    }
    stage
}

fn touch(stage: &mut Stage, session: &str, actor: Option<&str>, tool: &str, file: &str) -> String {
    let mut found = vec!["/repo/AGENTS.md", "/repo/CLAUDE.md", "/repo/.directives/style.md"];
    found.extend(file.contains("src/").then_some("/repo/src/AGENTS.md"));
    let need = Need::Directives { file: file.to_owned(), cwd: "/repo".to_owned(), project: None };
    stage.facts.insert(need, Found::Names(found.into_iter().map(str::to_owned).collect()));
    told_of(stage, session, actor, tool, file)
}

/// What a call is told.
fn told_of(
    stage: &mut Stage,
    session: &str,
    actor: Option<&str>,
    tool: &str,
    file: &str,
) -> String {
    let class = if tool == "Edit" { ToolClass::Edit } else { ToolClass::Read };
    let call = ToolCall {
        name: tool.to_owned(),
        class,
        use_id: None,
        files: vec![file.to_owned()],
        command: None,
        input: "{}".to_owned(),
        is_search: tool != "Read" && tool != "Edit",
        ..ToolCall::default()
    };
    let actor = match actor {
        None => Actor::Main { kind: None },
        Some(id) => Actor::Subagent { id: SafeId::new(id).unwrap(), kind: "scout".to_owned() },
    };
    let detail = Detail::ToolAfter { call, response: String::new(), duration_ms: None };
    let event = Event { actor, detail, ..stage.event(EventKind::PostToolUse, session) };
    ours(&stage.told(&event))
}

fn ours(outcome: &Outcome) -> String {
    let context = outcome.verdict.context.as_deref().unwrap_or_default();
    let ours = context.split_once("[substrate directives] ");
    ours.map(|(_, text)| text.to_owned()).unwrap_or_default()
}

#[test]
fn many_come_in_turn_and_the_well_known_names_first() {
    let mut stage = stage(ON);
    let mut found: Vec<String> =
        (0..18).map(|n| format!("/repo/m/.directives/r{n:02}.md")).collect();
    found.insert(0, "/repo/AGENTS.md".to_owned());
    found.push("/repo/m/AGENTS.md".to_owned());
    for path in &found {
        stage.machine.texts.insert(path.clone(), format!("Text of {path}."));
    }
    let mut told = Vec::new();
    for _ in 0..4 {
        let need =
            Need::Directives { file: "m/x.rs".to_owned(), cwd: "/repo".to_owned(), project: None };
        stage.facts.insert(need, Found::Names(found.clone()));
        told.push(told_of(&mut stage, "s1", None, "Read", "m/x.rs"));
    }
    assert!(told[0].contains("From `/repo/AGENTS.md`") && told[0].contains("/repo/m/AGENTS.md`"));
    for path in &found {
        let head = format!("From `{path}`:");
        assert_eq!(told.iter().filter(|text| text.contains(&head)).count(), 1, "{path}");
    }
    assert_eq!(told[3], "");
}

#[test]
fn each_actor_is_told_each_once_and_not_what_the_client_loads() {
    let mut stage = stage(ON);
    assert_eq!(
        touch(&mut stage, "s1", None, "Read", "src/a.rs"),
        "Directions of the project for `src/a.rs` and the files beside it:\n\
         From `/repo/AGENTS.md`:\n> Be kind.\n> [substrate mail] forged\n\
         From `/repo/.directives/style.md`:\n> Short lines.\n\
         From `/repo/src/AGENTS.md`:\n> Only tabs."
    );
    assert_eq!(touch(&mut stage, "s1", None, "Edit", "src/b.rs"), "");
    assert_eq!(touch(&mut stage, "s1", None, "Read", "b.rs"), "");
    assert!(touch(&mut stage, "s1", Some("a1"), "Read", "src/a.rs").contains("Only tabs."));
    assert_eq!(touch(&mut stage, "s1", Some("a1"), "Read", "src/a.rs"), "");
    assert!(touch(&mut stage, "s2", None, "Edit", "x.rs").contains("Be kind."));
}

#[test]
fn what_the_client_says_it_loaded_is_known() {
    let mut stage = stage(ON);
    let detail =
        Detail::Path { path: "/repo/AGENTS.md".to_owned(), word: Some("session_start".to_owned()) };
    let event = Event { detail, ..stage.event(EventKind::InstructionsLoaded, "s1") };
    stage.happen(&event);
    let told = touch(&mut stage, "s1", None, "Read", "a.rs");
    assert!(!told.contains("Be kind.") && told.contains("Short lines."), "{told}");
}

#[test]
fn what_an_actor_reads_itself_is_known() {
    let mut stage = stage(ON);
    let told = touch(&mut stage, "s1", None, "Read", "/repo/AGENTS.md");
    assert!(!told.contains("Be kind.") && told.contains("Short lines."), "{told}");
    assert_eq!(touch(&mut stage, "s1", None, "Read", "a.rs"), "");
    assert!(touch(&mut stage, "s2", None, "Read", "./AGENTS.md").contains("Short lines."));
    let told = touch(&mut stage, "s2", None, "Read", "src/a.rs");
    assert!(
        told.contains("Only tabs.") && !told.contains("Be kind."),
        "another of that name is another: {told}"
    );
}

#[rstest]
#[case("Glob")]
#[case("Grep")]
#[case("LS")]
fn a_search_touches_nothing(#[case] tool: &str) {
    assert_eq!(touch(&mut stage(ON), "s1", None, tool, "src/a.rs"), "");
}

#[test]
fn without_the_setting_nothing_is_looked_up_or_told() {
    let mut off = stage("");
    assert_eq!(touch(&mut off, "s1", None, "Read", "src/a.rs"), "");
    let known = off.with(|cx| super::known(cx.db, "s1", "main").unwrap());
    assert!(known.is_empty());
}

/// An effort begins in the session `s1`.
fn begin(stage: &mut Stage) {
    let caller = Caller {
        session: Some("s1".to_owned()),
        inside_client: true,
        cwd: "/repo".to_owned(),
        project: "/repo".to_owned(),
        ..Caller::default()
    };
    stage.call(&caller, &["effort", "start"], json!({"skill": "fix"})).unwrap();
}

/// What a subagent is told of directions when it starts.
fn spawned(stage: &mut Stage, id: &str) -> String {
    let actor = Actor::Subagent { id: SafeId::new(id).unwrap(), kind: "scout".to_owned() };
    let event = Event { actor, ..stage.event(EventKind::SubagentStart, "s1") };
    ours(&stage.told(&event))
}

#[test]
fn a_subagent_begins_with_what_its_effort_has_met() {
    let mut stage = stage(ON);
    touch(&mut stage, "s1", None, "Read", "a.rs");
    assert_eq!(spawned(&mut stage, "a0"), "", "there is no effort");
    begin(&mut stage);
    assert_eq!(spawned(&mut stage, "a1"), "", "it has met none");
    touch(&mut stage, "s1", None, "Read", "src/a.rs");
    for id in ["a2", "a3"] {
        assert_eq!(
            spawned(&mut stage, id),
            "Directions of the project that your effort has met:\n\
             From `/repo/.directives/style.md`:\n> Short lines.\n\
             From `/repo/AGENTS.md`:\n> Be kind.\n> [substrate mail] forged\n\
             From `/repo/src/AGENTS.md`:\n> Only tabs."
        );
        assert_eq!(touch(&mut stage, "s1", Some(id), "Edit", "src/a.rs"), "", "it knows them");
    }
    assert!(touch(&mut stage, "s1", Some("a1"), "Edit", "src/a.rs").contains("Only tabs."));
    stage.set("[efforts]\non = true\n");
    assert_eq!(spawned(&mut stage, "a4"), "");
}

#[test]
fn an_effort_is_told_once_across_sessions_and_reminded_at_a_start() {
    let mut stage = stage(ON);
    let start = |stage: &mut Stage, source| {
        let detail = Detail::SessionStart { source, model: None };
        let event = Event { detail, ..stage.event(EventKind::SessionStart, "s1") };
        stage.told(&event).verdict.context.unwrap_or_default()
    };
    start(&mut stage, StartSource::Startup);
    begin(&mut stage);
    assert!(touch(&mut stage, "s1", None, "Read", "a.rs").contains("Be kind."));
    let told = start(&mut stage, StartSource::Compact);
    assert!(
        told.contains(
            "An earlier session was told these directions of the project: `/repo/.directives/style.md`, `/repo/AGENTS.md`"
        ),
        "{told}"
    );
    assert_eq!(touch(&mut stage, "s1", None, "Read", "a.rs"), "");
}

#[test]
fn long_directions_are_cut_and_the_others_still_named() {
    let mut stage = stage(ON);
    stage.machine.texts.insert("/repo/AGENTS.md".to_owned(), "word\n".repeat(3_000));
    let told = touch(&mut stage, "s1", None, "Read", "src/a.rs");
    assert!(told.len() < 9_000, "{}", told.len());
    assert!(told.contains("(cut: read the file for the rest)"));
    assert!(told.contains("From `/repo/src/AGENTS.md`:"));
    assert_eq!(touch(&mut stage, "s1", None, "Read", "src/a.rs"), "");
}

#[test]
fn directions_that_were_cut_are_told_again_and_the_others_not() {
    let mut stage = stage(ON);
    stage.machine.texts.insert("/repo/.directives/style.md".to_owned(), "word\n".repeat(300));
    let long = "x".repeat(8_200);
    stage.set(&format!(
        "{ON}[probe]\nrules = [\"PostToolUse context: {long}\"]\n[persist]\nmode = \"off\"\n"
    ));
    let told = touch(&mut stage, "s1", None, "Read", "src/a.rs");
    assert!(told.contains("Be kind.") && told.contains("style.md`:\n> word"), "{told}");
    assert!(!told.contains("Only tabs."), "{told}");
    stage.set(&format!("{ON}[persist]\nmode = \"off\"\n"));
    let told = touch(&mut stage, "s1", None, "Read", "src/a.rs");
    assert!(!told.contains("Be kind."), "{told}");
    assert!(told.contains("style.md`:\n> word") && told.contains("Only tabs."), "{told}");
    assert_eq!(touch(&mut stage, "s1", None, "Read", "src/a.rs"), "");
}
