//! Turns, sessions and subagents: each reminder comes once, and then the agent may stop.

use serde_json::json;
use substrate_core::{Caller, StartSource};

use super::*;

#[test]
fn a_subagent_is_told_both_phases_once_and_may_stop() {
    let mut stage = Stage::new(ON);
    let event = sub_stop(&stage, "a1", "reviewer", false);
    assert_eq!(held(&mut stage, &event), ["validate"]);
    let event = sub_stop(&stage, "a1", "reviewer", true);
    assert_eq!(held(&mut stage, &event), ["reflexion"]);
    assert!(held(&mut stage, &event).is_empty(), "it may stop");
    stage.reopen();
    for again in [false, true, false] {
        let event = sub_stop(&stage, "a1", "reviewer", again);
        assert!(held(&mut stage, &event).is_empty(), "nor when it is continued later");
    }
    let event = sub_stop(&stage, "a2", "reviewer", false);
    assert_eq!(held(&mut stage, &event), ["validate"], "another one knows nothing of it");
}

#[test]
fn two_subagents_that_end_at_once_do_not_mix() {
    let mut stage = Stage::new(ON);
    for (again, expected) in [(false, "validate"), (true, "reflexion")] {
        for id in ["a1", "a2", "a3"] {
            let event = sub_stop(&stage, id, "reviewer", again);
            assert_eq!(held(&mut stage, &event), [expected], "{id}");
        }
    }
}

#[test]
fn the_main_thread_is_reminded_once_a_turn() {
    let mut stage = Stage::new(ON);
    for _ in 0..2 {
        let event = stop(&stage, false);
        assert_eq!(held(&mut stage, &event), ["reflect"]);
        let event = stop(&stage, true);
        assert!(held(&mut stage, &event).is_empty());
    }
}

#[test]
fn the_main_thread_can_be_reminded_once_a_session() {
    let mut stage = Stage::new("[reminders]\non = true\nstop = \"session\"\n");
    let event = stop(&stage, false);
    assert_eq!(held(&mut stage, &event), ["reflect"]);
    let event = Event {
        detail: Detail::SessionStart { source: StartSource::Resume, model: None },
        ..stage.event(EventKind::SessionStart, "s1")
    };
    stage.told(&event);
    let event = stop(&stage, false);
    assert!(held(&mut stage, &event).is_empty());
    let other = Event { session: SafeId::new("s2"), ..stop(&stage, false) };
    assert_eq!(held(&mut stage, &other), ["reflect"]);
    let unnamed = Event { session: None, ..stop(&stage, false) };
    assert!(held(&mut stage, &unnamed).is_empty(), "it could not be remembered");
}

#[test]
fn background_tasks_are_waited_for() {
    let mut stage = Stage::new(ON);
    let detail =
        Detail::Stop { again: false, last_message: None, n_background_tasks: 1, transcript: None };
    let event = Event { detail, ..stop(&stage, false) };
    assert!(held(&mut stage, &event).is_empty());
}

#[test]
fn a_reminder_joins_other_blocks_and_is_still_told_once() {
    let mut stage = Stage::new(ON);
    let event = Event {
        detail: Detail::SessionStart { source: StartSource::Startup, model: None },
        ..stage.event(EventKind::SessionStart, "s1")
    };
    stage.told(&event);
    let event = Event {
        kind: EventKind::SubagentStart,
        detail: Detail::Plain,
        ..sub_stop(&stage, "a1", "reviewer", false)
    };
    stage.told(&event);
    let whoami = Caller {
        session: Some("s1".to_owned()),
        inside_client: true,
        cwd: "/repo".to_owned(),
        ..Caller::default()
    };
    let name =
        stage.call(&whoami, &["identity", "current"], json!({})).unwrap().json["agent"].clone();
    let to = format!("{}/reviewer-1", name.as_str().unwrap());
    let letter = json!({"to": [to], "subject": "look left", "body": "b", "priority": "normal"});
    stage.call(&Caller::default(), &["send"], letter).unwrap();
    let event = sub_stop(&stage, "a1", "reviewer", false);
    works(&mut stage, &event);
    let said = stage.told(&event).verdict.block.unwrap();
    assert!(said.contains("look left") && named(&said) == ["validate"], "{said}");
    let event = sub_stop(&stage, "a1", "reviewer", true);
    let said = stage.told(&event).verdict.block.unwrap();
    assert!(!said.contains("look left") && named(&said) == ["reflexion"], "{said}");
    assert!(held(&mut stage, &event).is_empty());
}

#[test]
fn a_reminder_that_was_not_printed_comes_again() {
    let mut stage = Stage::new(ON);
    let event = sub_stop(&stage, "a1", "reviewer", false);
    works(&mut stage, &event);
    let lost = stage.happen(&event);
    assert!(lost.verdict.receipt && named(&lost.verdict.block.unwrap()) == ["validate"]);
    stage.printed(lost.request, false);
    assert_eq!(held(&mut stage, &event), ["validate"]);
    assert_eq!(held(&mut stage, &event), ["reflexion"], "and this time it counts");
}

#[test]
fn an_agent_that_cannot_be_remembered_is_not_held() {
    let mut stage = Stage::new(ON);
    for again in [false, true, true] {
        let event = sub_stop(&stage, "a1", "reviewer", again);
        works(&mut stage, &event);
        let outcome = stage.happen_reading(&event);
        assert_eq!(outcome.verdict.block, None, "it would be told again and again");
    }
    let event = sub_stop(&stage, "a1", "reviewer", false);
    assert_eq!(held(&mut stage, &event), ["validate"], "later it is");
}

#[test]
fn a_phase_without_words_is_skipped() {
    let mut stage = Stage::new(ON);
    file(&mut stage, "validate.md", " \n");
    let event = sub_stop(&stage, "a1", "reviewer", false);
    assert_eq!(held(&mut stage, &event), ["reflexion"]);
    let event = sub_stop(&stage, "a1", "reviewer", true);
    assert!(held(&mut stage, &event).is_empty());
    file(&mut stage, "reflexion.reviewer.md", "");
    let event = sub_stop(&stage, "a2", "reviewer", false);
    assert!(held(&mut stage, &event).is_empty());
    let event = sub_stop(&stage, "a3", "tester", false);
    assert_eq!(held(&mut stage, &event), ["reflexion"]);
    file(&mut stage, "reflect.md", "");
    let event = stop(&stage, false);
    assert!(held(&mut stage, &event).is_empty());
}

#[test]
fn after_thirty_days_it_is_forgotten() {
    let mut stage = Stage::new(ON);
    for again in [false, true] {
        let event = sub_stop(&stage, "a1", "reviewer", again);
        assert_eq!(held(&mut stage, &event).len(), 1);
    }
    stage.pass(30 * 86_400_000 + 1);
    assert!(!stage.with(|cx| policy::tick(cx).unwrap()));
    let event = sub_stop(&stage, "a1", "reviewer", false);
    assert_eq!(held(&mut stage, &event), ["validate"]);
}

#[test]
fn a_turn_without_tools_is_not_reminded() {
    let mut stage = Stage::new(ON);
    let begin = Event {
        detail: Detail::Prompt { text: "what is this?".to_owned(), from_person: true },
        ..stage.event(EventKind::UserPromptSubmit, "s1")
    };
    stage.told(&begin);
    let event = stop(&stage, false);
    assert!(held_idle(&mut stage, &event).is_empty(), "it only answered");
    assert_eq!(held(&mut stage, &event), ["reflect"]);
    assert!(held_idle(&mut stage, &event).is_empty(), "that was the turn before");
    let event = sub_stop(&stage, "a1", "reviewer", false);
    assert!(held_idle(&mut stage, &event).is_empty());
    assert_eq!(held(&mut stage, &event), ["validate"]);
    let event = sub_stop(&stage, "a1", "reviewer", true);
    assert_eq!(held_idle(&mut stage, &event), ["reflexion"], "its second phase needs no more work");
}
