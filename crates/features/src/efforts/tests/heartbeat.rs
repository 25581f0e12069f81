//! Tool calls between log entries, and a context that fills up.

use super::*;
use crate::efforts::heartbeat::{
    CantLog, LateActor, LateAnswer, MAX_DENIALS, MAX_TRIES, is_ours, judge,
};
use rstest::rstest;
use substrate_core::Need;
use substrate_core::facts::Found;

#[test]
fn the_tenth_call_without_an_entry_is_refused_and_an_entry_opens_the_way() {
    let mut stage = two();
    brainstorm(&mut stage);
    for n in 1..=9 {
        let outcome = tool(&mut stage, LION);
        assert_eq!(denial(&outcome), None, "call {n}");
        assert_eq!(said(&outcome).contains("without a log entry"), n == 7, "call {n}");
    }
    let refused = tool(&mut stage, LION);
    let words = denial(&refused).unwrap();
    assert!(words.contains("tool call 10 of effort 1 (brainstorm)"), "{words}");
    assert!(words.contains("[heartbeat]") && words.contains("`substrate effort log"), "{words}");
    assert_eq!(n_calls(&mut stage, LION), 9, "what did not happen is not counted");
    assert_eq!(denial(&before(&mut stage, LION, shell("substrate effort log \"found it\""))), None);
    log(&mut stage, LION, "found it");
    assert_eq!(n_calls(&mut stage, LION), 0);
    assert_eq!(denial(&tool(&mut stage, LION)), None);
    assert_eq!(n_calls(&mut stage, LION), 1);
}

#[test]
fn an_agent_is_never_counted_for_anothers_effort() {
    let mut stage = two();
    brainstorm(&mut stage);
    for _ in 0..20 {
        let outcome = tool(&mut stage, OTTER);
        assert!(denial(&outcome).is_none() && said(&outcome).is_empty());
    }
    assert_eq!(n_calls(&mut stage, OTTER), 0);
    assert_eq!(n_calls(&mut stage, LION), 0);
}

#[test]
fn without_the_setting_nothing_happens_and_a_command_says_so() {
    let mut stage = with("");
    let told = error(run(&mut stage, LION, "start", json!({"skill": "fix"})));
    assert!(told.contains("switched off") && told.contains("efforts.on = true"), "{told}");
    tool(&mut stage, LION);
    assert!(windows(&mut stage, LION).is_empty());
}

#[test]
fn subagents_count_for_themselves_and_never_end_their_parent() {
    let mut stage = two();
    brainstorm(&mut stage);
    tool(&mut stage, LION);
    for who in [SCOUT, TESTER] {
        let told = happen(&mut stage, who, EventKind::SubagentStart, Detail::Plain);
        assert!(said(&told).contains("You are helping with effort 1"), "{}", said(&told));
    }
    for _ in 0..9 {
        assert_eq!(denial(&tool(&mut stage, SCOUT)), None);
    }
    assert!(denial(&tool(&mut stage, SCOUT)).is_some());
    assert_eq!(denial(&tool(&mut stage, TESTER)), None);
    assert_eq!((n_calls(&mut stage, LION), n_calls(&mut stage, TESTER)), (1, 1));
    log(&mut stage, SCOUT, "the scout's own entry");
    assert_eq!((n_calls(&mut stage, LION), n_calls(&mut stage, SCOUT)), (1, 0));
    let stop =
        Detail::Stop { again: false, last_message: None, n_background_tasks: 0, transcript: None };
    happen(&mut stage, SCOUT, EventKind::SubagentStop, stop);
    let scout = windows(&mut stage, SCOUT).remove(0);
    assert_eq!(scout["ended_why"], "stop");
    let main = windows(&mut stage, LION).remove(0);
    assert_eq!((&main["ended_ms"], &scout["parent"]), (&Value::Null, &main["id"]));
    assert_eq!(scout["effort"], 1);
}

#[test]
fn an_actor_that_cannot_log_is_let_go_after_a_few_refusals() {
    let mut stage = two();
    brainstorm(&mut stage);
    happen(&mut stage, SCOUT, EventKind::SubagentStart, Detail::Plain);
    let refusals = |stage: &mut Stage| {
        let mut one = || {
            stage.pass(2 * SECOND);
            denial(&tool(stage, SCOUT)).is_some()
        };
        (0..30).filter(|_| one()).count()
    };
    assert_eq!(refusals(&mut stage), 5);
    log(&mut stage, SCOUT, "now I can");
    assert_eq!(refusals(&mut stage), 5, "an entry resets the count");
}

#[test]
fn parallel_calls_are_refused_together_and_count_once() {
    let mut stage = two();
    brainstorm(&mut stage);
    for _ in 0..9 {
        tool(&mut stage, LION);
    }
    for message in 1..=5 {
        for n in 0..6 {
            assert!(denial(&tool(&mut stage, LION)).is_some(), "call {n} of message {message}");
            stage.pass(100);
        }
        stage.pass(2 * SECOND);
    }
    assert_eq!(
        denial(&tool(&mut stage, LION)),
        None,
        "an agent that never logs is let go all the same"
    );
}

const LATE: LateActor =
    LateActor { has_shell: false, is_refused: false, n_tried: 0, n_denied: 0, is_beside: false };
const COUNTED: LateAnswer = LateAnswer::Refuse { is_counted: true };

#[rstest]
#[case::the_first_time(LATE, COUNTED)]
#[case::with_a_shell(LateActor { has_shell: true, ..LATE }, COUNTED)]
#[case::beside_another(LateActor { is_beside: true, ..LATE }, LateAnswer::Refuse { is_counted: false })]
#[case::almost(LateActor { n_denied: MAX_DENIALS - 1, ..LATE }, COUNTED)]
#[case::without_a_shell(LateActor { n_denied: MAX_DENIALS, ..LATE }, LateAnswer::LetGo(CantLog::NoShell))]
#[case::with_one_for_ever(LateActor { n_denied: 1_000, has_shell: true, ..LATE }, COUNTED)]
#[case::the_last_of_one_message(LateActor { n_denied: MAX_DENIALS, is_beside: true, ..LATE }, LateAnswer::Refuse { is_counted: false })]
#[case::not_permitted(LateActor { is_refused: true, has_shell: true, ..LATE }, LateAnswer::LetGo(CantLog::NotPermitted))]
#[case::tried(LateActor { n_tried: MAX_TRIES - 1, has_shell: true, ..LATE }, COUNTED)]
#[case::tried_in_vain(LateActor { n_tried: MAX_TRIES, has_shell: true, ..LATE }, LateAnswer::LetGo(CantLog::InVain))]
#[case::refused_beside_another(LateActor { is_refused: true, is_beside: true, ..LATE }, LateAnswer::LetGo(CantLog::NotPermitted))]
fn a_late_actor_is_refused_or_let_go(#[case] late: LateActor, #[case] expected: LateAnswer) {
    assert_eq!(judge(&late), expected);
}

#[test]
fn an_actor_with_a_shell_is_refused_until_it_logs() {
    let mut stage = two();
    brainstorm(&mut stage);
    happen(&mut stage, SCOUT, EventKind::SubagentStart, Detail::Plain);
    for who in [LION, SCOUT] {
        before(&mut stage, who, shell("ls"));
        for _ in 0..8 {
            tool(&mut stage, who);
        }
        for n in 0..40 {
            stage.pass(2 * SECOND);
            assert!(denial(&tool(&mut stage, who)).is_some(), "{who:?}: {n}");
        }
        log(&mut stage, who, "found it");
        assert_eq!(denial(&tool(&mut stage, who)), None);
    }
    // An actor with a shell still has it in its next window.
    start(&mut stage, LION, StartSource::Compact);
    let refused = |stage: &mut Stage| {
        stage.pass(2 * SECOND);
        denial(&tool(stage, LION)).is_some()
    };
    assert_eq!((0..40).filter(|_| refused(&mut stage)).count(), 31);
}

/// The notes about actors that were let go.
fn let_go(stage: &mut Stage) -> Vec<String> {
    let shown = must(stage, LION, "show", json!({"messages": true})).json;
    let all = shown["messages"].as_array().unwrap().iter();
    let is_it = |one: &&Value| one["kind"] == "let go";
    all.filter(is_it).map(|one| one["body"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn letting_an_actor_go_is_noted_once_and_a_person_is_told() {
    let mut stage = two();
    brainstorm(&mut stage);
    happen(&mut stage, SCOUT, EventKind::SubagentStart, Detail::Plain);
    let mut notices = Vec::new();
    for _ in 0..30 {
        stage.pass(2 * SECOND);
        notices.extend(tool(&mut stage, SCOUT).verdict.notice);
    }
    let words = "NobleLion/scout-1 goes on with effort 1 (brainstorm) without a log entry: it has used no shell.";
    assert_eq!(
        (notices.as_slice(), let_go(&mut stage).as_slice()),
        (&[words.to_owned()][..], &[words.to_owned()][..])
    );
}

#[test]
fn an_actor_whose_log_command_always_fails_is_let_go() {
    let mut stage = two();
    brainstorm(&mut stage);
    for _ in 0..9 {
        before(&mut stage, LION, shell("ls"));
    }
    for n in 0..3 {
        stage.pass(2 * SECOND);
        assert!(denial(&tool(&mut stage, LION)).is_some(), "{n}");
        // The command fails, or a rule of the client refuses it, so nothing is logged.
        assert_eq!(denial(&before(&mut stage, LION, shell("substrate effort log 'x'"))), None);
    }
    stage.pass(2 * SECOND);
    assert_eq!(denial(&tool(&mut stage, LION)), None);
    assert!(let_go(&mut stage)[0].ends_with("nothing was logged."));
    prompt(&mut stage, LION);
    stage.pass(2 * SECOND);
    assert!(denial(&tool(&mut stage, LION)).is_some(), "a person is there again");
}

#[rstest]
#[case::of_a_skill(ON, json!({"config": {"block_at": 1}}))]
#[case::of_the_settings("[efforts]\non = true\nblock_at = 1\n", json!({}))]
fn at_least_every_other_call_is_let_through(#[case] settings: &str, #[case] found: Value) {
    let mut stage = with(settings);
    let body = json!({"skill": "fix", "task": "tasks/x", "found": found});
    must(&mut stage, LION, "start", body);
    for n in 0..3 {
        assert_eq!(denial(&tool(&mut stage, LION)), None, "{n}");
        assert!(denial(&tool(&mut stage, LION)).is_some(), "{n}");
        log(&mut stage, LION, "x");
    }
}

#[rstest]
#[case::dialog(EventKind::PermissionRequest)]
#[case::automatic(EventKind::PermissionDenied)]
fn a_refusal_is_not_repeated_when_its_way_out_was_refused(#[case] kind: EventKind) {
    let mut stage = two();
    brainstorm(&mut stage);
    let ask = |stage: &mut Stage, command: &str| {
        let call = shell(command);
        let detail = match kind {
            EventKind::PermissionRequest => Detail::ToolBefore { call },
            _ => Detail::ToolFailed {
                call,
                error: "no".to_owned(),
                interrupted: false,
                duration_ms: None,
            },
        };
        happen(stage, LION, kind, detail);
    };
    for _ in 0..9 {
        tool(&mut stage, LION);
    }
    ask(&mut stage, "rm -r build");
    ask(&mut stage, "substrate inbox");
    assert!(denial(&tool(&mut stage, LION)).is_some(), "another command's dialog changes nothing");
    ask(&mut stage, "substrate effort log 'x'");
    for _ in 0..5 {
        assert_eq!(denial(&tool(&mut stage, LION)), None);
    }
    prompt(&mut stage, LION);
    assert!(denial(&tool(&mut stage, LION)).is_some(), "a person is there again");
    log(&mut stage, LION, "x");
    assert_eq!(denial(&tool(&mut stage, LION)), None);
}

#[rstest]
#[case("substrate effort log \"it's done; really\"", true)]
#[case("substrate effort log 'x' && substrate inbox", true)]
#[case("cd sub && /usr/local/bin/substrate effort show", true)]
#[case("AGENT_ID=x substrate effort log x", true)]
#[case("substrate effort dehydrate --body-file - <<'END'\ngoal; rm -r x\nEND", true)]
#[case("echo hi | substrate effort log --body-file -", true)]
#[case("substrate effort log \"never closed", true)]
#[case("substrate effort log x; rm -r build", false)]
#[case("substrate effort log x > /dev/null 2>&1", true)]
#[case("substrate effort log run", true)]
#[case("substrate effort show > show.txt", false)]
#[case("cat x > y; substrate effort show", false)]
#[case("echo hi >> src.rs; substrate effort show", false)]
#[case("substrate run -- make deploy", false)]
#[case("substrate --agent NobleLion run --persist -- make deploy", false)]
#[case("cat() { make deploy; }; cat; substrate effort show", false)]
#[case("rm -r build # substrate effort log", false)]
#[case("echo substrate effort log", false)]
#[case("substrate-other effort log", false)]
#[case("ls", false)]
#[case("", false)]
fn our_own_commands_pass(#[case] command: &str, #[case] expected: bool) {
    assert_eq!(is_ours(&shell(command)), expected);
}

#[rstest]
#[case::never("[efforts]\non = true\nwarn_at = 0\nblock_at = 0\n", 40, 0, 0)]
#[case::early("[efforts]\non = true\nwarn_at = 2\nblock_at = 4\n", 4, 1, 1)]
fn settings_decide_when_a_call_is_refused(
    #[case] toml: &str,
    #[case] n: usize,
    #[case] n_warned: usize,
    #[case] n_refused: usize,
) {
    let mut stage = with(toml);
    brainstorm(&mut stage);
    let outcomes: Vec<Outcome> = (0..n).map(|_| tool(&mut stage, LION)).collect();
    assert_eq!(outcomes.iter().filter(|one| denial(one).is_some()).count(), n_refused);
    assert_eq!(outcomes.iter().filter(|one| !said(one).is_empty()).count(), n_warned);
}

/// A tool call after an answer of that size.
fn tool_at(stage: &mut Stage, who: One, used: i64) -> Outcome {
    let event = event(
        stage,
        who,
        EventKind::PreToolUse,
        Detail::ToolBefore { call: call("Glob", ToolClass::Read) },
    );
    let path = match who.1 {
        None => event.transcript.clone().unwrap(),
        Some(id) => format!("/t/lion/subagents/agent-{id}.jsonl"),
    };
    let line = json!({"type": "assistant", "message": {"usage": {"input_tokens": used}}});
    stage.facts.insert(Need::Tail { path, max: 64 << 10 }, Found::Text(format!("{line}\n")));
    stage.told(&event)
}

#[test]
fn a_full_context_is_reported_once_per_level_and_window() {
    let mut stage = with("[efforts]\non = true\nblock_at = 0\nwarn_at = 0\n");
    brainstorm(&mut stage);
    let told = |stage: &mut Stage, used: i64| said(&tool_at(stage, LION, used));
    assert_eq!(told(&mut stage, 132_000), "");
    let first = told(&mut stage, 133_000);
    assert!(
        first.contains("80 % of where")
            && first.contains("substrate effort dehydrate --body-file -"),
        "{first}"
    );
    assert_eq!(told(&mut stage, 140_000), "");
    let last = told(&mut stage, 150_000);
    assert!(last.starts_with("Overflow: your context is at 90 %"), "{last}");
    assert_eq!(told(&mut stage, 160_000), "");
    assert_eq!(windows(&mut stage, LION)[0]["context_used"], 160_000);
    start(&mut stage, LION, StartSource::Compact);
    assert!(
        told(&mut stage, 150_000).starts_with("Overflow"),
        "a new window is warned again, at the highest level"
    );
    assert_eq!(said(&tool_at(&mut stage, SCOUT, 160_000)), "", "a subagent leaves its answer");
}
