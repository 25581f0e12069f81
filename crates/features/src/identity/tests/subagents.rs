//! Subagents: their names, and in whose shell a command runs.

use rstest::rstest;

use super::super::record;
use super::*;

/// An event of a subagent. Returns its name afterwards.
fn name_at(stage: &mut Stage, kind: EventKind, session: &str, actor: Actor) -> String {
    let event = Event { actor, ..stage.event(kind, session) };
    stage.happen(&event);
    let id = event.actor.key().to_owned();
    let json = stage.with(|cx| {
        super::super::actors::one(cx.db, &SafeId::new(session).unwrap(), &id).unwrap().unwrap()
    });
    json.name
}

#[test]
fn each_kind_is_counted_within_its_agent() {
    let mut stage = stage();
    begin(&mut stage, "s1");
    begin(&mut stage, "s2");
    let mut name = |session: &str, id: &str, kind: &str| {
        name_at(&mut stage, EventKind::SubagentStart, session, sub(id, kind))
    };
    assert_eq!(name("s1", "a1", "reviewer"), "reviewer-1");
    assert_eq!(name("s1", "a2", "reviewer"), "reviewer-2");
    assert_eq!(name("s1", "a3", "Explore"), "explore-1");
    assert_eq!(name("s1", "a1", "reviewer"), "reviewer-1");
    assert_eq!(name("s2", "a1", "reviewer"), "reviewer-1");
    assert_eq!(name("s1", "a4", "reviewer-1"), "reviewer-1-1");
    assert_eq!(name("s1", "a5", "\u{1b}[31m/../\n"), "31m-1");
    assert_eq!(name("s1", "a6", "//"), "subagent-1");
}

#[test]
fn the_count_goes_on_in_the_agents_next_session() {
    let mut stage = stage();
    begin_as(&mut stage, "s1", "Lead");
    name_at(&mut stage, EventKind::SubagentStart, "s1", sub("a1", "reviewer"));
    end(&mut stage, "s1", "other");
    begin_as(&mut stage, "s2", "Lead");
    let name = name_at(&mut stage, EventKind::PreToolUse, "s2", sub("b1", "reviewer"));
    assert_eq!(name, "reviewer-2");
}

fn is_ended(stage: &mut Stage, address: &str) -> bool {
    let found = stage.with(|cx| crate::identity::book::find(cx.db, address).unwrap());
    matches!(found, crate::identity::book::Lookup::Ended(_))
}

#[test]
fn a_subagent_ends_when_it_is_let_go_and_comes_back_with_its_next_event() {
    let mut stage = stage();
    begin_as(&mut stage, "s1", "Lead");
    for (kind, expected) in [
        (EventKind::SubagentStart, false),
        (EventKind::SubagentStop, true),
        (EventKind::SubagentStop, true),
        (EventKind::PreToolUse, false),
    ] {
        name_at(&mut stage, kind, "s1", sub("a1", "reviewer"));
        assert_eq!(is_ended(&mut stage, "lead/Reviewer-1"), expected, "{kind:?}");
    }
    end(&mut stage, "s1", "other");
    assert!(is_ended(&mut stage, "Lead/reviewer-1"));
}

#[test]
fn a_subagent_that_is_held_has_not_ended() {
    let mut stage = Stage::new("[probe]\nrules = [\"SubagentStop block: hold on\"]");
    begin_as(&mut stage, "s1", "Lead");
    name_at(&mut stage, EventKind::SubagentStop, "s1", sub("a1", "reviewer"));
    assert!(!is_ended(&mut stage, "Lead/reviewer-1"));
}

fn before(stage: &mut Stage, actor: Actor, use_id: &str, command: &str) {
    let detail = Detail::ToolBefore { call: bash(use_id, command) };
    let event = Event { actor, detail, ..stage.event(EventKind::PreToolUse, "s1") };
    stage.happen(&event);
}

fn after(stage: &mut Stage, actor: Actor, use_id: &str, command: &str, goes_on: bool) {
    let call = ToolCall { in_background: goes_on, ..bash(use_id, command) };
    let detail = Detail::ToolAfter { call, response: String::new(), duration_ms: None };
    let event = Event { actor, detail, ..stage.event(EventKind::PostToolUse, "s1") };
    stage.happen(&event);
}

fn runs(command: &str) -> Caller {
    let line = format!("/bin/bash -c source x && eval '{command}' < /dev/null && pwd -P >| /tmp/y");
    Caller { lineage: in_shell(&line), ..inside("s1") }
}

fn main_thread() -> Actor {
    Actor::Main { kind: None }
}

fn reviewer() -> Actor {
    sub("a1", "reviewer")
}

#[test]
fn a_command_in_a_subagents_shell_is_the_subagents() {
    let mut stage = stage();
    begin_as(&mut stage, "s1", "Lead");
    before(&mut stage, reviewer(), "t1", "cd x && substrate inbox");
    let mine = runs("cd x && substrate inbox");
    assert_eq!(who(&mut stage, &mine).unwrap().address(), "Lead/reviewer-1");
    assert_eq!(who(&mut stage, &runs("substrate inbox")).unwrap().address(), "Lead");
    // The name that every shell of the session inherits does not count.
    let inherited = Caller { agent: Some("Lead".to_owned()), ..mine.clone() };
    assert_eq!(who(&mut stage, &inherited).unwrap().address(), "Lead/reviewer-1");
    after(&mut stage, reviewer(), "t1", "cd x && substrate inbox", false);
    assert_eq!(who(&mut stage, &mine).unwrap().address(), "Lead");
}

#[rstest]
#[case::just_ended(0, "Lead/reviewer-1")]
#[case::ten_minutes(10 * MINUTE, "Lead/reviewer-1")]
#[case::later(10 * MINUTE + 1, "Lead")]
fn a_command_in_the_background_outlives_its_call(#[case] ms: i64, #[case] expected: &str) {
    let mut stage = stage();
    begin_as(&mut stage, "s1", "Lead");
    let command = "substrate poll --wait 5m";
    before(&mut stage, reviewer(), "t1", command);
    after(&mut stage, reviewer(), "t1", command, true);
    stage.pass(ms);
    assert_eq!(who(&mut stage, &runs(command)).unwrap().address(), expected);
}

#[test]
fn a_call_without_an_end_counts_as_lost_after_an_hour() {
    let mut stage = stage();
    begin_as(&mut stage, "s1", "Lead");
    before(&mut stage, reviewer(), "t1", "substrate inbox");
    stage.pass(60 * MINUTE);
    assert_eq!(who(&mut stage, &runs("substrate inbox")).unwrap().sub, "reviewer-1");
    stage.pass(1);
    assert_eq!(who(&mut stage, &runs("substrate inbox")).unwrap().sub, "");
}

#[test]
fn a_subagent_that_ended_runs_nothing() {
    let mut stage = stage();
    begin_as(&mut stage, "s1", "Lead");
    before(&mut stage, reviewer(), "t1", "substrate inbox");
    let event = Event { actor: reviewer(), ..stage.event(EventKind::SubagentStop, "s1") };
    stage.happen(&event);
    assert_eq!(who(&mut stage, &runs("substrate inbox")).unwrap().sub, "");
}

#[test]
fn a_call_that_was_refused_runs_nothing() {
    let mut stage = Stage::new("[probe]\nrules = [\"PreToolUse Bash deny: no\"]");
    begin_as(&mut stage, "s1", "Lead");
    before(&mut stage, reviewer(), "t1", "substrate inbox");
    assert_eq!(who(&mut stage, &runs("substrate inbox")).unwrap().sub, "");
}

#[rstest]
#[case::two_subagents(sub("a2", "reviewer"), "Lead/reviewer-1 and Lead/reviewer-2")]
#[case::the_main_thread(main_thread(), "Lead and Lead/reviewer-1")]
fn when_two_actors_run_the_same_command_neither_is_guessed(
    #[case] other: Actor,
    #[case] named: &str,
) {
    let mut stage = stage();
    begin_as(&mut stage, "s1", "Lead");
    before(&mut stage, reviewer(), "t1", "substrate inbox");
    before(&mut stage, other, "t2", "substrate inbox");
    let message = asked(&mut stage, &runs("substrate inbox")).unwrap_err().to_string();
    assert_eq!(
        message,
        format!(
            "{named} are running the same command right now: add `--agent Lead/reviewer-1` (or whichever you are), or a comment such as `# mine` at its end"
        )
    );
    // The way out that the message suggests.
    let named = Caller { agent: Some("Lead/reviewer-1".to_owned()), ..runs("substrate inbox") };
    assert_eq!(who(&mut stage, &named).unwrap().address(), "Lead/reviewer-1");
}

#[test]
fn without_command_lines_the_only_subagent_that_calls_us_is_meant() {
    let mut stage = stage();
    begin_as(&mut stage, "s1", "Lead");
    before(&mut stage, reviewer(), "t1", "substrate inbox");
    before(&mut stage, sub("a2", "reviewer"), "t2", "cargo test");
    assert_eq!(who(&mut stage, &inside("s1")).unwrap().sub, "reviewer-1");
    // Outside the client shells don't matter.
    let person = Caller { inside_client: false, ..inside("s1") };
    assert_eq!(who(&mut stage, &person).unwrap().sub, "");
}

#[test]
fn shell_calls_are_forgotten_after_a_day() {
    let mut stage = stage();
    begin(&mut stage, "s1");
    before(&mut stage, reviewer(), "t1", "ls");
    before(&mut stage, main_thread(), "t2", "ls");
    let n = |stage: &mut Stage| {
        stage.with(|cx| {
            cx.db.first("select count(*) from shell_calls", &[], |row| row.int(0)).unwrap().unwrap()
        })
    };
    assert_eq!(n(&mut stage), 1, "the main thread's calls cost nothing");
    stage.pass(DAY);
    stage.with(|cx| record::tick(cx).unwrap());
    assert_eq!(n(&mut stage), 1);
    stage.pass(1);
    stage.with(|cx| record::tick(cx).unwrap());
    assert_eq!(n(&mut stage), 0);
}
