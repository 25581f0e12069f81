//! Which agent a session gets, and what it is told.

use std::collections::HashSet;

use rstest::rstest;

use super::super::record;
use super::*;

#[rstest]
#[case::compacted(StartSource::Compact)]
#[case::resumed(StartSource::Resume)]
#[case::said_something_new(StartSource::Other)]
fn a_known_session_keeps_its_agent_when_it_is(#[case] source: StartSource) {
    let mut stage = stage();
    let name = begin(&mut stage, "s1");
    end(&mut stage, "s1", "other");
    stage.pass(3 * DAY);
    let event = Event { wanted_agent: Some("Another".to_owned()), ..start(&stage, "s1", source) };
    stage.happen(&event);
    assert_eq!(agent_of(&mut stage, "s1"), name);
}

#[rstest]
#[case::same_process(7, StartSource::Clear, true)]
#[case::another_process(8, StartSource::Clear, false)]
#[case::no_clear(7, StartSource::Startup, false)]
#[case::a_fork(7, StartSource::Fork, false)]
fn after_clear_the_new_session_is_the_old_agent(
    #[case] pid: u32,
    #[case] source: StartSource,
    #[case] is_kept: bool,
) {
    let mut stage = stage();
    let name = begin_in(&mut stage, "s1", 7);
    stage.machine.processes.insert(8, 80);
    end(&mut stage, "s1", "clear");
    let event = Event {
        client_pid: Some(pid),
        wanted_agent: Some(name.clone()).filter(|_| source == StartSource::Fork),
        ..start(&stage, "s2", source)
    };
    stage.happen(&event);
    assert_eq!(agent_of(&mut stage, "s2") == name, is_kept);
}

#[test]
fn a_recycled_pid_is_another_process() {
    let mut stage = stage();
    let name = begin_in(&mut stage, "s1", 7);
    stage.machine.processes.insert(7, 999);
    let event = Event { client_pid: Some(7), ..start(&stage, "s2", StartSource::Clear) };
    stage.happen(&event);
    assert_ne!(agent_of(&mut stage, "s2"), name);
}

#[rstest]
#[case::at_once("clear", 0, true)]
#[case::a_minute_later("clear", MINUTE, true)]
#[case::too_late("clear", MINUTE + 1, false)]
#[case::it_had_left_for_another_reason("other", 0, false)]
fn another_event_may_come_before_the_start_of_a_cleared_session(
    #[case] why: &str,
    #[case] later: i64,
    #[case] is_kept: bool,
) {
    let mut stage = stage();
    let name = begin_in(&mut stage, "s1", 7);
    end(&mut stage, "s1", why);
    stage.pass(later);
    let first = Event { client_pid: Some(7), ..stage.event(EventKind::InstructionsLoaded, "s2") };
    stage.happen(&first);
    assert_eq!(agent_of(&mut stage, "s2") == name, is_kept);
}

#[test]
fn clear_leaves_the_session_that_its_process_resumed_last() {
    let mut stage = stage();
    let first = begin_in(&mut stage, "s1", 7);
    stage.pass(1_000);
    end(&mut stage, "s1", "resume");
    begin_in(&mut stage, "s2", 7);
    stage.pass(1_000);
    end(&mut stage, "s2", "resume");
    let event = Event { client_pid: Some(7), ..start(&stage, "s1", StartSource::Resume) };
    stage.happen(&event);
    end(&mut stage, "s1", "clear");
    let event = Event { client_pid: Some(7), ..start(&stage, "s3", StartSource::Clear) };
    stage.happen(&event);
    assert_eq!(agent_of(&mut stage, "s3"), first);
}

#[test]
fn a_fork_is_a_new_agent_even_when_its_agent_is_free_and_asked_for() {
    let mut stage = stage();
    let name = begin(&mut stage, "s1");
    end(&mut stage, "s1", "other");
    let event =
        Event { wanted_agent: Some(name.clone()), ..start(&stage, "s2", StartSource::Fork) };
    stage.happen(&event);
    assert_ne!(agent_of(&mut stage, "s2"), name);
}

#[rstest]
#[case::new("Builder", "Builder")]
#[case::known_and_free("Free", "Free")]
#[case::in_another_case("fREE", "Free")]
fn a_session_gets_the_agent_it_asks_for(#[case] wanted: &str, #[case] expected: &str) {
    let mut stage = stage();
    begin_as(&mut stage, "s0", "Free");
    end(&mut stage, "s0", "other");
    assert_eq!(begin_as(&mut stage, "s1", wanted), expected);
}

#[rstest]
#[case::the_person("User")]
#[case::the_person_in_capitals("USER")]
#[case::ourselves("substrate")]
#[case::a_path("../../etc/passwd")]
#[case::a_break("Noble\nLion")]
#[case::a_quotation("x' or 1=1 --")]
#[case::a_subagent("Live/reviewer-1")]
#[case::empty("")]
#[case::a_live_agent("Live")]
fn a_session_that_cannot_have_the_agent_it_asks_for_gets_a_new_one(#[case] wanted: &str) {
    let mut stage = stage();
    begin_as(&mut stage, "s0", "Live");
    let name = begin_as(&mut stage, "s1", wanted);
    assert!(super::super::book::is_valid_name(&name), "{name}");
    assert_ne!(name, "Live");
    assert_ne!(name.to_lowercase(), wanted.to_lowercase());
}

/// The state of a session named `Held` when another asks for the name.
#[derive(Clone, Copy, PartialEq)]
enum NameHolder {
    Heard(i64),
    Ended,
    Waits,
    Runs,
    IsGone,
    PidReused,
}

#[rstest]
#[case::heard_just_now(NameHolder::Heard(0), false)]
#[case::heard_half_an_hour_ago(NameHolder::Heard(30 * MINUTE), false)]
#[case::silent_for_longer(NameHolder::Heard(30 * MINUTE + 1), true)]
#[case::ended(NameHolder::Ended, true)]
#[case::waits_for_mail(NameHolder::Waits, false)]
#[case::runs_but_is_silent(NameHolder::Runs, false)]
#[case::its_process_is_gone(NameHolder::IsGone, true)]
#[case::its_pid_was_recycled(NameHolder::PidReused, true)]
fn a_name_is_free_when_its_holder(#[case] holder: NameHolder, #[case] is_free: bool) {
    let mut stage = stage();
    let has_process =
        matches!(holder, NameHolder::Runs | NameHolder::IsGone | NameHolder::PidReused);
    stage.machine.processes.insert(7, 70);
    let event = Event {
        wanted_agent: Some("Held".to_owned()),
        client_pid: has_process.then_some(7),
        ..start(&stage, "s0", StartSource::Startup)
    };
    stage.happen(&event);
    match holder {
        NameHolder::Heard(ms) => stage.pass(ms),
        NameHolder::Ended => end(&mut stage, "s0", "other"),
        NameHolder::Waits => {
            stage.machine.waiting.insert("s0".to_owned());
            stage.pass(DAY);
        }
        NameHolder::Runs => stage.pass(DAY),
        NameHolder::IsGone => {
            stage.machine.processes.remove(&7);
        }
        NameHolder::PidReused => {
            stage.machine.processes.insert(7, 71);
        }
    }
    assert_eq!(begin_as(&mut stage, "s1", "Held") == "Held", is_free);
}

#[rstest]
#[case::prompt(EventKind::UserPromptSubmit)]
#[case::tool(EventKind::PreToolUse)]
#[case::stop(EventKind::Stop)]
#[case::unknown(EventKind::Unknown)]
fn any_event_can_be_the_first_of_a_session(#[case] kind: EventKind) {
    let mut stage = stage();
    let event = stage.event(kind, "s1");
    stage.happen(&event);
    let name = agent_of(&mut stage, "s1");
    let event = stage.event(EventKind::PreToolUse, "s1");
    stage.happen(&event);
    assert_eq!(agent_of(&mut stage, "s1"), name);
}

#[test]
fn no_agent_is_created_without_a_session_or_for_the_compaction_fork() {
    let mut stage = stage();
    let bare = Event { session: None, ..stage.event(EventKind::Malformed, "x") };
    stage.happen(&bare);
    let fork = Event { actor: sub("a1", ""), ..stage.event(EventKind::SubagentStop, "s1") };
    stage.happen(&fork);
    assert_eq!(who(&mut stage, &inside("s1")), None);
    assert!(stage.effects.is_empty());
    assert_eq!(
        stage.call(&outside(), &["agent", "list"], json!({"all": true})).unwrap().json,
        json!([])
    );
}

#[test]
fn three_hundred_sessions_are_three_hundred_agents() {
    let mut stage = stage();
    let names: HashSet<String> =
        (0..300).map(|n| begin(&mut stage, &format!("session-{n}")).to_lowercase()).collect();
    assert_eq!(names.len(), 300);
}

#[test]
fn the_start_exports_the_agent_and_writes_the_identity_file() {
    let mut stage = stage();
    let event = start(&stage, "s1", StartSource::Startup);
    let verdict = stage.happen(&event).verdict;
    let (path, file) = kept(&stage).unwrap();
    let name = agent_of(&mut stage, "s1");
    let exports = [("CLAUDE_SESSION_ID", "s1"), ("AGENT_ID", &name)];
    assert_eq!(verdict.exports, exports.map(|(a, b)| (a.to_owned(), b.to_owned())));
    assert_eq!(verdict.context, None);
    assert_eq!(path, "identities/by-session/s1.json");
    assert_eq!(
        file,
        json!({
            "session_id": "s1", "agent": name, "agent_id": 3, "project": "/repo", "client": "claude-code",
            "created_at": "2027-01-15T08:00:00Z", "updated_at": "2027-01-15T08:00:00Z",
        })
    );
}

#[rstest]
#[case::startup(StartSource::Startup)]
#[case::resume(StartSource::Resume)]
#[case::clear(StartSource::Clear)]
#[case::fork(StartSource::Fork)]
#[case::compact(StartSource::Compact)]
fn every_start_exports(#[case] source: StartSource) {
    let mut stage = stage();
    let event = start(&stage, "s1", source);
    assert_eq!(stage.happen(&event).verdict.exports.len(), 2);
}

#[test]
fn before_a_compaction_the_identity_file_is_written() {
    let mut stage = stage();
    begin_as(&mut stage, "s1", "NobleLion");
    stage.pass(MINUTE);
    let event = stage.event(EventKind::PreCompact, "s1");
    stage.happen(&event);
    let (_, file) = kept(&stage).unwrap();
    assert_eq!(file["created_at"], "2027-01-15T08:00:00Z");
    assert_eq!(file["updated_at"], "2027-01-15T08:01:00Z");
}

#[test]
fn a_session_is_forgotten_after_a_silent_month_but_its_agent_stays() {
    let mut stage = stage();
    begin_as(&mut stage, "old", "Old");
    begin_in(&mut stage, "running", 7);
    begin(&mut stage, "waiting");
    stage.machine.waiting.insert("waiting".to_owned());
    let of_sub =
        Event { actor: sub("a1", "reviewer"), ..stage.event(EventKind::SubagentStart, "old") };
    stage.happen(&of_sub);
    stage.pass(30 * DAY);
    assert!(!stage.with(|cx| record::tick(cx).unwrap()));
    assert!(stage.effects.is_empty());
    stage.pass(1);
    assert!(!stage.with(|cx| record::tick(cx).unwrap()));
    let file = Effect::Forget { path: "identities/by-session/old.json".to_owned() };
    assert_eq!(stage.effects, [file]);
    assert_eq!(who(&mut stage, &inside("old")), None);
    assert!(who(&mut stage, &inside("running")).is_some());
    assert!(who(&mut stage, &inside("waiting")).is_some());
    assert_eq!(begin_as(&mut stage, "new", "Old"), "Old");
}

#[test]
fn old_sessions_are_forgotten_in_small_steps() {
    let mut stage = stage();
    for n in 0..201 {
        begin(&mut stage, &format!("s{n}"));
    }
    stage.pass(31 * DAY);
    assert!(stage.with(|cx| record::tick(cx).unwrap()));
    assert_eq!(stage.effects.len(), 200);
    assert!(!stage.with(|cx| record::tick(cx).unwrap()));
    assert_eq!(stage.effects.len(), 1);
}

#[test]
fn a_session_resumed_while_its_agent_is_live_elsewhere_gets_another_agent() {
    let mut stage = stage();
    let name = begin_in(&mut stage, "c1", 7);
    end(&mut stage, "c1", "clear");
    let cleared = Event { client_pid: Some(7), ..start(&stage, "c2", StartSource::Clear) };
    stage.happen(&cleared);
    assert_eq!(agent_of(&mut stage, "c2"), name, "a cleared session goes on as the same agent");
    stage.machine.processes.insert(8, 80);
    let resumed = |stage: &Stage, pid| Event {
        client_pid: Some(pid),
        ..start(stage, "c1", StartSource::Resume)
    };
    let event = resumed(&stage, 7);
    stage.happen(&event);
    assert_eq!(agent_of(&mut stage, "c1"), name, "no other client is in that process");
    end(&mut stage, "c1", "other");
    let event = resumed(&stage, 8);
    stage.happen(&event);
    assert_ne!(agent_of(&mut stage, "c1"), name, "in another terminal there are two of them");
    assert_eq!(agent_of(&mut stage, "c2"), name);
}
