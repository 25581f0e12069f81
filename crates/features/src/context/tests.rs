//! Which source counts, what the status line shows, and what is told after a compaction.

use rstest::rstest;
use serde_json::{Value, json};
use substrate_core::facts::Found;
use substrate_core::{
    Caller, Detail, Event, EventKind, Need, Output, StartSource, ToolCall, ToolClass, VerbError,
};

use super::{face, policy};
use crate::stage::Stage;

const ON: &str = "[efforts]\non = true\n";

fn call() -> ToolCall {
    ToolCall {
        name: "Edit".to_owned(),
        class: ToolClass::Edit,
        use_id: None,
        files: vec!["a.rs".to_owned()],
        command: None,
        input: "{}".to_owned(),
        ..ToolCall::default()
    }
}

fn before(stage: &Stage) -> Event {
    let detail = Detail::ToolBefore { call: call() };
    let transcript = Some("/t/s1.jsonl".to_owned());
    Event { detail, transcript, ..stage.event(EventKind::PreToolUse, "s1") }
}

fn start(stage: &Stage, source: StartSource, model: Option<&str>) -> Event {
    let detail = Detail::SessionStart { source, model: model.map(str::to_owned) };
    Event {
        detail,
        wanted_agent: Some("NobleLion".to_owned()),
        ..stage.event(EventKind::SessionStart, "s1")
    }
}

/// The transcript ends with an answer of that size, so many seconds ago.
fn answered(stage: &mut Stage, used: i64, s_ago: i64) {
    let at = jiff::Timestamp::from_millisecond(stage.now.plus_ms(-s_ago * 1_000).0).unwrap();
    let line = json!({"type": "assistant", "timestamp": at.to_string(), "message": {"usage": {"input_tokens": used}}});
    let need = Need::Tail { path: "/t/s1.jsonl".to_owned(), max: policy::MAX_TAIL };
    stage.facts.insert(need, Found::Text(line.to_string()));
}

fn usage(stage: &mut Stage) -> Option<(i64, i64)> {
    let event = before(stage);
    stage.with(|cx| face::usage(cx, &event).unwrap()).map(|usage| (usage.used, usage.size))
}

/// A command in the session's own shell.
fn inside() -> Caller {
    Caller {
        session: Some("s1".to_owned()),
        inside_client: true,
        cwd: "/repo".to_owned(),
        project: "/repo".to_owned(),
        ..Caller::default()
    }
}

fn statusline(stage: &mut Stage, input: &Value) -> Result<Output, VerbError> {
    stage.call(&Caller::default(), &["statusline"], json!({"status": input}))
}

fn status(used: i64, size: i64) -> Value {
    json!({"session": "s1", "model": "claude-opus-5-5", "used": used, "size": size})
}

#[test]
fn the_newer_source_counts() {
    let mut stage = Stage::new(ON);
    assert_eq!(usage(&mut stage), None);
    answered(&mut stage, 50_000, 5);
    assert_eq!(usage(&mut stage), Some((50_000, 200_000)));
    statusline(&mut stage, &status(60_000, 300_000)).unwrap();
    assert_eq!(usage(&mut stage), Some((60_000, 300_000)));
    stage.pass(10_000);
    answered(&mut stage, 70_000, 5);
    assert_eq!(usage(&mut stage), Some((70_000, 300_000)), "the size is still the client's word");
}

#[test]
fn a_models_name_tells_the_size_and_a_new_window_is_empty() {
    let mut stage = Stage::new(ON);
    let event = start(&stage, StartSource::Startup, Some("claude-sonnet-4-6[1m]"));
    stage.happen(&event);
    answered(&mut stage, 50_000, 0);
    assert_eq!(usage(&mut stage), Some((50_000, 1_000_000)));
    statusline(&mut stage, &status(160_000, 200_000)).unwrap();
    assert_eq!(usage(&mut stage), Some((160_000, 200_000)));
    let event = start(&stage, StartSource::Compact, None);
    stage.happen(&event);
    stage.facts = substrate_core::Facts::default();
    assert_eq!(usage(&mut stage), None, "what was in the window before counts no more");
    let detail = Detail::ModelSwitch { from: None, to: Some("x[1m]".to_owned()) };
    let event = Event { detail, ..stage.event(EventKind::PostModelSwitch, "s1") };
    stage.happen(&event);
    answered(&mut stage, 1_000, 0);
    assert_eq!(usage(&mut stage), Some((1_000, 1_000_000)));
}

#[test]
fn the_status_line_names_agent_effort_usage_and_mail() {
    let mut stage = Stage::new(ON);
    assert_eq!(statusline(&mut stage, &status(78_100, 200_000)).unwrap().text, "39 %\n");
    let event = start(&stage, StartSource::Startup, None);
    stage.happen(&event);
    let caller = inside();
    let found = json!({"config": {"phases": ["explore"]}});
    stage.call(&caller, &["effort", "start"], json!({"skill": "fix", "found": found})).unwrap();
    let mail = json!({"to": "NobleLion", "subject": "hi", "body": "x"});
    stage.call(&Caller::default(), &["send"], mail).unwrap();
    let line = statusline(&mut stage, &status(78_100, 200_000)).unwrap();
    assert_eq!(line.text, "NobleLion · fix/explore · 39 % · 1 mail\n");
    assert_eq!((&line.json["percent"], &line.json["unread"]), (&json!(39), &json!(1)));
    let early = json!({"session": "s1", "model": "", "used": null, "size": null});
    assert_eq!(statusline(&mut stage, &early).unwrap().text, "NobleLion · fix/explore · 1 mail\n");
    let mut paid = status(78_100, 200_000);
    paid["micro_usd"] = json!(202_350);
    assert!(statusline(&mut stage, &paid).unwrap().text.ends_with("39 % · 1 mail · $0.20\n"));
    for odd in [json!(null), json!([]), json!({"session": 7})] {
        assert!(matches!(statusline(&mut stage, &odd), Err(VerbError::User { .. })));
    }
}

#[test]
fn the_status_line_counts_what_is_held_and_who_waits_and_follows_its_template() {
    let mut stage = begun();
    stage.call(&inside(), &["locks", "acquire"], json!({"paths": ["a.rs"]})).unwrap();
    let line = statusline(&mut stage, &status(78_100, 200_000)).unwrap();
    assert_eq!(line.text, "NobleLion · 39 % · 1 held\n");
    let mail = json!({"to": "User", "subject": "Which port?", "body": "x"});
    stage.call(&inside(), &["send"], mail).unwrap();
    let line = statusline(&mut stage, &status(78_100, 200_000)).unwrap();
    assert_eq!(line.text, "NobleLion · 39 % · 1 held · 1 waiting for you\n");
    assert_eq!((&line.json["holds"], &line.json["needs"]), (&json!(1), &json!(1)));
    stage
        .set(&format!("{ON}\n[statusline]\ntemplate = \"{{agent}}[ m{{unread}}][ n{{needs}}]\"\n"));
    assert_eq!(statusline(&mut stage, &status(78_100, 200_000)).unwrap().text, "NobleLion n1\n");
}

/// The sections of the answer to a compaction.
fn compacted(stage: &mut Stage) -> String {
    let compact = start(stage, StartSource::Compact, None);
    stage.happen(&compact).verdict.context.unwrap_or_default()
}

fn begun() -> Stage {
    let mut stage = Stage::new(ON);
    let event = start(&stage, StartSource::Startup, None);
    stage.happen(&event);
    stage
}

const WHO: &str = "[substrate context] You are NobleLion (Substrate agent in repo). The compaction changed neither your name, nor your mail, nor your session: see `substrate agent whoami`.";

#[test]
fn after_a_compaction_an_agent_is_told_once_what_it_holds() {
    let mut stage = begun();
    let event = before(&stage);
    stage.happen(&event);
    let held = "You hold 1 file lease: `a.rs`. It ends with your turn; `substrate locks` shows it.";
    assert_eq!(compacted(&mut stage), format!("{WHO} {held}"), "and nothing else, and not twice");
    // The lease has expired, though its row may still exist.
    stage.pass(2 * 3_600_000);
    assert_eq!(compacted(&mut stage), WHO);
    let clear = start(&stage, StartSource::Clear, None);
    assert_eq!(stage.happen(&clear).verdict.context, None);
}

#[test]
fn an_agent_that_never_had_anything_is_told_nothing_and_its_summary_says_nothing() {
    let mut stage = begun();
    let summary = Event {
        detail: Detail::Because { word: "auto".to_owned() },
        ..stage.event(EventKind::PreCompact, "s1")
    };
    assert_eq!(stage.happen(&summary).verdict.context, None);
    assert_eq!(compacted(&mut stage), "");
    let mail = json!({"to": "NobleLion", "subject": "hi", "body": "x"});
    stage.call(&Caller::default(), &["send"], mail).unwrap();
    let told = stage.happen(&summary).verdict.context.unwrap();
    assert!(
        told.contains("this agent is NobleLion") && told.contains("`substrate inbox`"),
        "{told}"
    );
    assert!(compacted(&mut stage).starts_with(WHO));
}

#[test]
fn an_agent_that_had_an_effort_or_a_lease_is_told_who_it_is() {
    let mut stage = begun();
    let caller = inside();
    stage.call(&caller, &["effort", "start"], json!({"skill": "fix"})).unwrap();
    stage.call(&caller, &["effort", "finish"], json!({})).unwrap();
    assert_eq!(compacted(&mut stage), WHO);
    let mut stage = begun();
    let event = before(&stage);
    stage.happen(&event);
    stage.call(&caller, &["locks", "release"], json!({"all": true})).unwrap();
    assert_eq!(compacted(&mut stage), WHO);
}

#[rstest]
#[case::plain("/home/dev/app", " in app")]
#[case::a_git_folder("/home/dev/app/.git", " in app")]
#[case::hostile("/home/dev/x\n# Do this\u{1b}[31m", " in x # Do this [31m")]
#[case::unknown("", "")]
fn one_line_says_where_it_is(#[case] project: &str, #[case] place: &str) {
    let mut stage = begun();
    let mail = json!({"to": "NobleLion", "subject": "hi", "body": "x"});
    stage.call(&Caller::default(), &["send"], mail).unwrap();
    let event = Event {
        project: project.to_owned(),
        cwd: project.to_owned(),
        ..start(&stage, StartSource::Compact, None)
    };
    let told = stage.happen(&event).verdict.context.unwrap();
    assert!(told.contains(&format!("You are NobleLion (Substrate agent{place}). The")), "{told}");
}

#[test]
fn nothing_is_looked_up_for_other_events() {
    let keys = crate::keys();
    let settings = |toml: &str| {
        let layer = substrate_core::settings::Layer::read(
            substrate_core::settings::Scope::User,
            "t",
            toml,
            &keys,
        );
        substrate_core::Settings::resolve(&keys, &[&layer])
    };
    let stage = Stage::new("");
    let event = before(&stage);
    assert!(policy::gather(&event, &settings("")).is_empty());
    let tail = |path: &str| vec![Need::Tail { path: path.to_owned(), max: policy::MAX_TAIL }];
    assert_eq!(policy::gather(&event, &settings(ON)), tail("/t/s1.jsonl"));
    let sub = substrate_core::Actor::Subagent {
        id: substrate_core::SafeId::new("a1").unwrap(),
        kind: "x".to_owned(),
    };
    let of_sub = Event { actor: sub, ..event.clone() };
    assert_eq!(policy::gather(&of_sub, &settings(ON)), tail("/t/s1/subagents/agent-a1.jsonl"));
    let other = Event { kind: EventKind::PostToolUse, ..event };
    assert!(policy::gather(&other, &settings(ON)).is_empty());
}
