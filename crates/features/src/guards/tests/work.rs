//! Rules that see what an actor works on, and rules that come with a skill.

use super::*;
use substrate_core::facts::Found;
use substrate_core::{Need, StartSource};

const SEES: &str = r#"
[efforts]
on = true
block_at = 0
warn_at = 0

[[guards.rules]]
name = "plan-first"
when = 'effort == "fix" && phase == "plan" && runs("make")'
action = "deny"
reason = "There is no plan yet."
next = "Write it."

[[guards.rules]]
name = "log-now"
tool = "shell"
when = 'effort != "" && counters.calls_since_log == 3'
action = "warn"
reason = "Three calls."

[[guards.rules]]
name = "nearly-full"
tool = "shell"
when = 'context_percent >= 90'
action = "inject"
reason = "Nearly full."
"#;

const ON: &str = "[efforts]\non = true\n";

/// The agent of a session, which works on an effort of the skill `fix` with these rules.
fn at_work(settings: &str, guards: &Value) -> Stage {
    let mut stage = Stage::new(settings);
    for (who, name) in [(LION, "NobleLion"), (OTTER, "CalmOtter")] {
        let detail = Detail::SessionStart { source: StartSource::Startup, model: None };
        let event = Event {
            detail,
            wanted_agent: Some(name.to_owned()),
            ..stage.event(EventKind::SessionStart, who.0)
        };
        stage.told(&event);
    }
    let found = json!({"config": {"phases": ["plan", "mend"], "guards": guards}});
    effort(&mut stage, "start", json!({"skill": "fix", "task": "tasks/door", "found": found}));
    stage
}

fn caller() -> Caller {
    Caller {
        session: Some("lion".to_owned()),
        inside_client: true,
        cwd: "/repo".to_owned(),
        project: "/repo".to_owned(),
        ..Caller::default()
    }
}

fn effort(stage: &mut Stage, verb: &str, body: Value) {
    stage.call(&caller(), &["effort", verb], body).unwrap();
}

/// What rules say.
fn said(outcome: &Outcome) -> String {
    let answer = answer(outcome);
    if answer.contains("[guards.") || answer.contains("[substrate guards]") {
        answer
    } else {
        String::new()
    }
}

#[test]
fn a_rule_sees_the_effort_its_phase_and_its_counters() {
    let mut stage = at_work(SEES, &json!([]));
    assert!(said(&bash(&mut stage, LION, "make")).starts_with("deny There is no plan yet."));
    assert_eq!(said(&bash(&mut stage, OTTER, "make")), "", "an agent without an effort");
    assert!(
        said(&bash(&mut stage, CODER, "make")).starts_with("deny"),
        "its subagents work on it too"
    );
    effort(&mut stage, "phase", json!({"phase": "mend"}));
    assert_eq!(said(&bash(&mut stage, LION, "make")), "");
    let third = said(&bash(&mut stage, LION, "ls"));
    assert!(third.contains("Three calls. [guards.log-now]"), "{third}");
    assert_eq!(said(&bash(&mut stage, LION, "ls")), "");
    effort(&mut stage, "finish", json!({}));
    assert_eq!(said(&bash(&mut stage, LION, "make")), "");
}

#[test]
fn a_rule_sees_how_full_the_context_is_with_or_without_efforts() {
    for on in [SEES.to_owned(), SEES.replacen("on = true", "on = false", 1)] {
        let mut stage = Stage::new(&on);
        let full = |stage: &mut Stage, used: i64| {
            let line = json!({"type": "assistant", "message": {"usage": {"input_tokens": used}}});
            let event = Event {
                transcript: Some("/t/lion.jsonl".to_owned()),
                ..bash_event(stage, LION, "ls")
            };
            let needs = super::super::policy::gather(&event, stage.settings());
            assert!(matches!(&needs[..], [Need::Tail { .. }]), "{needs:?}");
            for need in needs {
                stage.facts.insert(need, Found::Text(line.to_string()));
            }
            said(&stage.told(&event))
        };
        assert_eq!(full(&mut stage, 140_000), "");
        assert!(full(&mut stage, 160_000).contains("Nearly full."));
    }
    let stage = Stage::new("");
    let event = bash_event(&stage, LION, "ls");
    assert!(super::super::policy::gather(&event, stage.settings()).is_empty(), "no rule asks");
}

fn of_skill() -> Value {
    json!([
        {"name": "no-push", "when": "runs(\"git\", \"push\")", "action": "deny", "reason": "Not in this skill.", "next": "Leave it."},
        {"name": "once", "tool": "shell", "when": "command == 'ls'", "action": "warn", "reason": "Look around.", "once": true, "priority": 3},
        {"name": "rm-vital", "when": "runs(\"cargo\", \"publish\")", "action": "deny", "reason": "Another of that name.", "next": "Ask."},
    ])
}

#[test]
fn a_skills_own_rules_count_for_agents_that_work_by_it() {
    let mut stage = at_work(ON, &of_skill());
    assert_eq!(
        said(&bash(&mut stage, LION, "git push")),
        "deny A rule of skill `fix` says: “Not in this skill.” [guards.no-push, a rule of skill `fix`] It says: “Leave it.”"
    );
    assert!(said(&bash(&mut stage, CODER, "git push")).contains("“Not in this skill.”"));
    assert_eq!(said(&bash(&mut stage, OTTER, "git push")), "");
    assert!(said(&bash(&mut stage, LION, "cargo publish")).contains("Another of that name."));
    assert!(said(&bash(&mut stage, LION, "rm -rf /")).starts_with("deny This would delete"));
    let first = said(&bash(&mut stage, LION, "ls"));
    assert!(first.contains("“Look around.” [guards.once, a rule of skill `fix`]"), "{first}");
    assert_eq!(said(&bash(&mut stage, LION, "ls")), "", "once");
    let list = stage.call(&caller(), &["guard", "list"], json!({})).unwrap().text;
    assert!(list.contains("no-push") && list.contains("skill"), "{list}");
    let others = verb(&mut stage, "list", json!({})).unwrap().text;
    assert!(!others.contains("no-push"), "{others}");
    effort(&mut stage, "finish", json!({}));
    assert_eq!(said(&bash(&mut stage, LION, "git push")), "");
}

#[test]
fn whatever_a_skill_wrote_the_agent_goes_on_and_the_others_still_speak() {
    let mut guards = of_skill();
    let odd = [
        json!(7),
        json!({"name": "half"}),
        json!({"name": "bad", "when": "no_such", "action": "deny", "reason": "x", "next": "y"}),
    ];
    guards.as_array_mut().unwrap().extend(odd);
    let mut stage = at_work(ON, &guards);
    let event = bash_event(&stage, LION, "git push");
    let outcome = stage.happen_failing(&event);
    assert!(said(&outcome).contains("“Not in this skill.”"), "{outcome:?}");
    let told: Vec<&str> = outcome.failures.iter().map(|failure| failure.message.as_str()).collect();
    assert!(told.len() == 1 && told[0].contains("rule `bad` (skill `fix`)"), "{told:?}");
    let list = stage.call(&caller(), &["guard", "list"], json!({})).unwrap().text;
    assert_eq!(list.matches("not a rule: skill `fix`").count(), 2, "{list}");
    let check = problem(stage.call(&caller(), &["guard", "check"], json!({})));
    assert!(check.contains("skill `fix`: rule `bad`"), "{check}");
}

#[test]
fn a_skill_that_refuses_everything_leaves_the_way_out_open() {
    let all = json!([{"name": "all", "when": "true", "action": "deny", "reason": "No.", "next": "Nothing."}]);
    let mut stage = at_work(ON, &all);
    assert!(said(&bash(&mut stage, LION, "ls")).contains("“No.”"));
    assert_eq!(said(&bash(&mut stage, LION, "substrate effort finish")), "");
    assert!(said(&bash(&mut stage, LION, "substrate effort finish; ls")).contains("“No.”"));
}

#[test]
fn nothing_of_it_where_efforts_are_off() {
    let mut stage = at_work(ON, &of_skill());
    stage.set("");
    assert_eq!(said(&bash(&mut stage, LION, "git push")), "");
}
