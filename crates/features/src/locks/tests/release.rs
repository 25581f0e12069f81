//! When leases are released.

use substrate_core::{Activity, Dialog};

use super::*;
use crate::locks::release::tick;

#[test]
fn a_turn_that_ends_frees_the_files_of_its_actor_alone() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    edits(&mut stage, CODER, "b.rs");
    stop(&mut stage, LION);
    assert_eq!(woken(&stage), ["/repo/a.rs"]);
    assert_eq!(held(&mut stage), ["b.rs NobleLion/coder-1 held"]);
    stop(&mut stage, CODER);
    assert_eq!(held(&mut stage), [""; 0]);
}

#[test]
fn a_turn_that_is_held_keeps_its_files() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    let letter = json!({"to": ["NobleLion"], "subject": "s", "body": "b", "priority": "normal"});
    stage.call(&person(), &["send"], letter).unwrap();
    assert!(stop(&mut stage, LION).verdict.block.is_some(), "there is mail");
    assert_eq!(held(&mut stage), ["a.rs NobleLion held"]);
    really_stop(&mut stage, LION);
    assert_eq!(held(&mut stage), [""; 0]);
}

#[test]
fn a_turn_that_waits_for_mail_holds_nothing() {
    let mut stage = with("[persist]\nmode = \"poll\"\n");
    edits(&mut stage, LION, "a.rs");
    assert!(stop(&mut stage, LION).verdict.wait.is_some());
    assert_eq!(held(&mut stage), [""; 0]);
}

#[test]
fn the_end_of_a_session_releases_everything() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    edits(&mut stage, CODER, "b.rs");
    edits(&mut stage, OTTER, "c.rs");
    end(&mut stage, LION);
    assert_eq!(held(&mut stage), ["c.rs CalmOtter held"]);
}

#[test]
fn a_tick_releases_what_dead_holders_had_and_nothing_else() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    edits(&mut stage, OTTER, "b.rs");
    stage.machine.processes.remove(&10);
    assert!(!stage.with(|cx| tick(cx).unwrap()));
    assert_eq!(woken(&stage), ["/repo/a.rs"]);
    stage.pass(8 * MINUTE);
    reads(&mut stage, OTTER);
    stage.pass(8 * MINUTE);
    stage.with(|cx| tick(cx).unwrap());
    assert_eq!(held(&mut stage), ["b.rs CalmOtter held"]);
    stage.pass(2 * MINUTE);
    stage.with(|cx| tick(cx).unwrap());
    assert_eq!(woken(&stage), ["/repo/b.rs"]);
    assert_eq!(history(&mut stage, "b.rs"), ["CalmOtter acquired", "CalmOtter expired"]);
    stage.pass(31 * 24 * 60 * MINUTE);
    stage.with(|cx| tick(cx).unwrap());
    assert_eq!(history(&mut stage, "b.rs"), [""; 0]);
}

#[test]
fn many_living_leases_do_not_hide_a_dead_one_from_the_tick() {
    let mut stage = two();
    for i in 0..250 {
        edits(&mut stage, LION, &format!("{i}.rs"));
    }
    stage.pass(SECOND);
    edit(&mut stage, OTTER, "last.rs");
    stage.pass(9 * MINUTE);
    reads(&mut stage, LION);
    stage.pass(2 * MINUTE);
    while stage.with(|cx| tick(cx).unwrap()) {}
    let n_rows = stage.with(|cx| cx.db.first("select count(*) from leases", &[], |row| row.int(0)));
    assert_eq!(n_rows.unwrap(), Some(250));
}

#[test]
fn a_turn_that_a_person_interrupts_frees_the_files_of_its_main_thread() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    edits(&mut stage, CODER, "b.rs");
    stage.pass(SECOND);
    let idle = Activity::Idle { in_background: false };
    for works_on in [Activity::Working, Activity::Asking(Dialog::Permission)] {
        let event = stage.shows("lion", works_on, SECOND);
        stage.happen(&event);
        assert_eq!(held(&mut stage).len(), 2, "{works_on:?}");
    }
    let event = stage.shows("lion", idle, SECOND / 2);
    stage.happen(&event);
    assert_eq!(woken(&stage), ["/repo/a.rs"]);
    assert_eq!(held(&mut stage), ["b.rs NobleLion/coder-1 held"], "a subagent may go on");
    // Between turns nothing is released: a person may have taken it for the agent.
    let acquire = json!({"paths": ["c.rs"]});
    let caller = Caller {
        session: Some("lion".to_owned()),
        inside_client: true,
        project: "/repo".to_owned(),
        cwd: "/repo".to_owned(),
        ..Caller::default()
    };
    let taken = stage.call(&caller, &["locks", "acquire"], acquire);
    assert!(taken.is_ok(), "{taken:?}");
    let event = stage.shows("lion", idle, SECOND / 2);
    assert!(!stage.is_news(&event));
    stage.happen(&event);
    assert_eq!(held(&mut stage).len(), 2);
}

#[test]
fn a_closed_terminal_releases_its_own_leases_only() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    stage.machine.processes.insert(11, 1);
    let second = |stage: &Stage, kind, detail| Event {
        client_pid: Some(11),
        ..event(stage, LION, kind, detail)
    };
    let start = Detail::SessionStart { source: StartSource::Resume, model: None };
    let begun = second(&stage, EventKind::SessionStart, start);
    stage.told(&begun);
    let call = Detail::ToolBefore { call: edit_call("b.rs") };
    let edit = second(&stage, EventKind::PreToolUse, call);
    stage.told(&edit);
    assert_eq!(held(&mut stage).len(), 2);
    let end = Detail::Because { word: "prompt_input_exit".to_owned() };
    let left = second(&stage, EventKind::SessionEnd, end);
    stage.told(&left);
    assert_eq!(woken(&stage), ["/repo/b.rs"]);
    assert_eq!(held(&mut stage), ["a.rs NobleLion held"]);
}
