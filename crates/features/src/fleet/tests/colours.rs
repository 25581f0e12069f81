//! Which panes are painted, and when they get back what they had.

use super::*;
use substrate_core::{Effect, Look};

/// What the latest event or command paints: the pane, and the status that it shows.
fn painted(stage: &Stage) -> Vec<(String, Option<String>)> {
    let each = stage.effects.iter().filter_map(|effect| match effect {
        Effect::Paint { pane, look } => {
            Some((pane.id.clone(), look.as_ref().map(|look: &Look| look.status.clone())))
        }
        _ => None,
    });
    each.collect()
}

fn as_status(pane: &str, status: &str) -> Vec<(String, Option<String>)> {
    vec![(pane.to_owned(), Some(status.to_owned()))]
}

fn given_back(pane: &str) -> Vec<(String, Option<String>)> {
    vec![(pane.to_owned(), None)]
}

fn on(stage: &mut Stage) {
    call(stage, &["tmux", "on"], json!({"socket": format!("{SOCKET},1,0")})).unwrap();
}

#[test]
fn nothing_is_painted_until_it_is_asked_for() {
    let mut stage = two();
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    assert_eq!(painted(&stage), []);
    on(&mut stage);
    let mut all = painted(&stage);
    all.sort();
    assert_eq!(all, [as_status("%1", "working"), as_status("%2", "done")].concat());
    call(&mut stage, &["tmux", "off"], json!({"socket": SOCKET})).unwrap();
    happens(&mut stage, "lion", EventKind::Stop, stop("ok"));
    assert_eq!(painted(&stage), []);
    let error = call(&mut stage, &["tmux", "on"], json!({})).unwrap_err();
    assert_eq!(error.to_string(), "you are not in tmux");
}

#[test]
fn a_pane_shows_the_strongest_and_only_changes_are_painted() {
    let mut stage = two();
    on(&mut stage);
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    assert_eq!(painted(&stage), as_status("%1", "working"));
    happens(&mut stage, "lion", EventKind::PreToolUse, before("ls"));
    assert_eq!(painted(&stage), []);
    let event = of_sub(&stage, "lion", "c1", EventKind::PermissionRequest, before("rm x"));
    stage.told(&event);
    assert_eq!(painted(&stage), as_status("%1", "attention"));
    happens(&mut stage, "lion", EventKind::Stop, stop("waits"));
    assert_eq!(painted(&stage), as_status("%1", "attention"), "the subagent still asks");
    let event = of_sub(&stage, "lion", "c1", EventKind::SubagentStop, stop("ok"));
    stage.told(&event);
    assert_eq!(painted(&stage), as_status("%1", "done"));
    call(&mut stage, &["fleet", "check"], json!({"pane": "%1", "socket": SOCKET})).unwrap();
    assert_eq!(painted(&stage), as_status("%1", "checked"));
}

#[test]
fn a_pane_is_given_back_when_its_session_ends_or_its_client_dies() {
    let mut stage = two();
    on(&mut stage);
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    happens(
        &mut stage,
        "lion",
        EventKind::SessionEnd,
        Detail::Because { word: "other".to_owned() },
    );
    assert_eq!(painted(&stage), given_back("%1"));
    stage.machine.processes.clear();
    stage.with(|cx| (crate::fleet::FEATURE.tick.unwrap())(cx).unwrap());
    assert_eq!(painted(&stage), given_back("%2"));
    stage.with(|cx| (crate::fleet::FEATURE.tick.unwrap())(cx).unwrap());
    assert_eq!(painted(&stage), [], "once");
}

#[test]
fn a_session_that_moves_to_another_pane_leaves_the_first() {
    let mut stage = two();
    on(&mut stage);
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    let pane = Pane::of(SOCKET, "%7");
    let event = Event { pane, ..of(&stage, "lion", EventKind::Stop, stop("ok")) };
    stage.told(&event);
    assert_eq!(painted(&stage), [given_back("%1"), as_status("%7", "done")].concat());
    // A parked turn does not know its pane, so the pane stays.
    let event = Event { pane: None, ..of(&stage, "lion", EventKind::PreToolUse, before("ls")) };
    stage.told(&event);
    assert_eq!(painted(&stage), as_status("%7", "working"));
}

#[test]
fn rows_of_long_ago_are_forgotten() {
    let mut stage = two();
    happens(
        &mut stage,
        "lion",
        EventKind::SessionEnd,
        Detail::Because { word: "other".to_owned() },
    );
    stage.pass(25 * 60 * MINUTE);
    stage.with(|cx| (crate::fleet::FEATURE.tick.unwrap())(cx).unwrap());
    let rows = stage
        .with(|cx| cx.db.rows("select session from fleet_status", &[], |row| row.text(0)).unwrap());
    assert_eq!(rows, ["otter"], "who is there stays, however long nothing changes");
}
