//! The commands, as agents and people run them.

use super::*;
use rstest::rstest;

#[test]
fn an_effort_begins_with_a_task_a_log_and_a_phase() {
    let mut stage = two();
    let found = json!({
        "config": {"phases": ["explore"], "preload": ["/repo/a.md"], "warn_at": 2, "block_at": 3, "folder": "/s"},
        "templates": {"PLAN": "# The plan\n"},
    });
    let body = json!({"skill": "demo:fix-it", "mode": "careful", "title": "Doors", "found": found});
    let out = must(&mut stage, LION, "start", body);
    assert!(out.text.starts_with("Effort 1 has begun.\nYou are working on effort 1: skill `demo:fix-it`, mode `careful`, phase `explore`."), "{}", out.text);
    assert_eq!(
        written(&stage),
        [
            "/repo/tasks/2027-01-15-demo-fix-it/1_DEMO_FIX_IT_LOG.md: # demo:fix-it · Doors\n\n",
            "/repo/tasks/2027-01-15-demo-fix-it/1_DEMO_FIX_IT_PLAN.md: # The plan\n",
        ]
    );
    let effort = &out.json["effort"];
    assert_eq!((&effort["lifecycle"], &effort["ordinal"]), (&json!("active"), &json!(1)));
    assert_eq!(effort["artifacts"].as_array().unwrap().len(), 2);
    assert!(tool(&mut stage, LION).verdict.context.unwrap().contains("`/repo/a.md`"));
    tool(&mut stage, LION);
    assert!(denial(&tool(&mut stage, LION)).is_some(), "the skill's own limit");
}

#[test]
fn a_log_entry_is_written_with_its_time_its_author_and_its_phase() {
    let mut stage = two();
    brainstorm(&mut stage);
    let secret = format!("sk-{}-{}", "ant", "abcdefgh".repeat(4));
    let out = log(&mut stage, LION, &format!("found\u{1b}[31m it\nwith {secret}"));
    assert_eq!(out.text, "Logged in `tasks/login/1_BRAINSTORM_LOG.md`.\n");
    let file = written(&stage).remove(0);
    assert!(file.starts_with("/repo/tasks/login/1_BRAINSTORM_LOG.md: ## 2027-01-15 08:00:00 UTC · NobleLion · explore\n\nfound[31m it\nwith "), "{file}");
    assert!(!file.contains(&secret), "{file}");
    log(&mut stage, LION, "-- begins with a dash");
    assert!(
        error(run(&mut stage, LION, "log", json!({"text": "  "}))).contains("there is no text")
    );
    assert!(
        error(run(&mut stage, LION, "log", json!({"text": "x".repeat(70_000)}))).contains("KB")
    );
}

#[test]
fn ordinals_count_the_efforts_of_a_task() {
    let mut stage = two();
    brainstorm(&mut stage);
    let body = json!({"skill": "implement", "task": "tasks/login"});
    let second = must(&mut stage, LION, "start", body);
    assert_eq!(second.json["effort"]["ordinal"], 2);
    assert!(
        second.text.contains("Effort 1 stays open: `substrate effort resume 1`"),
        "{}",
        second.text
    );
    assert!(second.text.contains("No such skill was found"), "{}", second.text);
    assert_eq!(said(&prompt(&mut stage, LION)).matches("effort 2 (implement)").count(), 1);
    must(&mut stage, LION, "resume", json!({"id": 1}));
    assert!(said(&prompt(&mut stage, LION)).contains("effort 1 (brainstorm"));
    must(&mut stage, LION, "finish", json!({}));
    assert_eq!(said(&prompt(&mut stage, LION)), "", "nothing is counted any more");
    let told = said(&start(&mut stage, LION, StartSource::Clear));
    assert!(told.contains("effort 2"), "what is not finished goes on: {told}");
}

#[test]
fn phases_go_forward_or_to_the_one_named() {
    let mut stage = two();
    brainstorm(&mut stage);
    assert_eq!(
        must(&mut stage, LION, "phase", json!({})).text,
        "Effort 1: phase `choose` (was `explore`).\n"
    );
    assert!(
        error(run(&mut stage, LION, "phase", json!({})))
            .contains("no phase after `choose`\nthe phases of brainstorm are explore, choose")
    );
    assert!(
        error(run(&mut stage, LION, "phase", json!({"phase": "dance"})))
            .contains("no phase `dance`")
    );
    must(&mut stage, LION, "phase", json!({"phase": "explore"}));
    must(&mut stage, LION, "start", json!({"skill": "free"}));
    assert!(error(run(&mut stage, LION, "phase", json!({}))).contains("name one"));
    assert_eq!(
        must(&mut stage, LION, "phase", json!({"phase": "any"})).text,
        "Effort 2: phase `any`.\n"
    );
}

#[rstest]
#[case::dots("a/../../b", "can't be a task's folder")]
#[case::git(".git/x", "can't be a task's folder")]
#[case::deep("a/b/c/d/e/f/g/h/i", "can't be a task's folder")]
#[case::breaks("a\nb", "can't be a task's folder")]
fn a_task_is_a_plain_folder_of_the_project(#[case] task: &str, #[case] expected: &str) {
    let mut stage = two();
    let told = error(run(&mut stage, LION, "start", json!({"skill": "fix", "task": task})));
    assert!(told.contains(expected), "{told}");
    assert!(stage.effects.is_empty());
}

#[rstest]
#[case("")]
#[case("../x")]
#[case("a b")]
#[case("-x")]
#[case("a\nb")]
fn a_skill_has_a_plain_name(#[case] skill: &str) {
    let mut stage = two();
    let told = error(run(&mut stage, LION, "start", json!({"skill": skill})));
    assert!(told.contains("can't be the name of a skill"), "{told}");
}

#[test]
fn an_effort_belongs_to_its_agent() {
    let mut stage = two();
    brainstorm(&mut stage);
    for (verb, body) in [
        ("log", json!({"text": "x", "effort": 1})),
        ("phase", json!({"effort": 1})),
        ("finish", json!({"id": 1})),
        ("dehydrate", json!({"text": "x", "effort": 1})),
    ] {
        let told = error(run(&mut stage, OTTER, verb, body));
        assert!(told.contains("effort 1 is NobleLion's"), "{verb}: {told}");
    }
    assert!(
        error(run(&mut stage, OTTER, "log", json!({"text": "x"})))
            .contains("CalmOtter has no effort")
    );
    assert!(
        error(run(&mut stage, OTTER, "resume", json!({"id": 1}))).contains("NobleLion is running")
    );
    assert!(
        error(run(&mut stage, OTTER, "show", json!({"id": 7}))).contains("there is no effort 7")
    );
    must(&mut stage, OTTER, "inject", json!({"text": "a hint", "effort": 1}));
    assert!(said(&done(&mut stage, LION)).contains("from CalmOtter"));
}

#[test]
fn a_subagent_logs_but_neither_begins_nor_ends() {
    let mut stage = two();
    brainstorm(&mut stage);
    happen(&mut stage, SCOUT, EventKind::SubagentStart, Detail::Plain);
    log(&mut stage, SCOUT, "x");
    assert!(written(&stage)[0].contains("· NobleLion/scout-1 ·"), "{:?}", written(&stage));
    assert!(
        error(run(&mut stage, SCOUT, "start", json!({"skill": "fix"})))
            .contains("not to one of its subagents")
    );
    assert!(
        error(run(&mut stage, SCOUT, "resume", json!({}))).contains("not to one of its subagents")
    );
    assert!(error(run(&mut stage, SCOUT, "finish", json!({}))).contains("not its subagent's"));
    assert!(
        error(run(&mut stage, SCOUT, "dehydrate", json!({"text": "x"})))
            .contains("you are its subagent")
    );
}

#[test]
fn an_effort_of_an_agent_that_is_gone_can_be_resumed() {
    let mut stage = two();
    brainstorm(&mut stage);
    must(&mut stage, LION, "dehydrate", json!({"text": "the lion's state"}));
    happen(&mut stage, LION, EventKind::SessionEnd, Detail::Because { word: "other".to_owned() });
    stage.machine.processes.remove(&10);
    stage.pass(3_600 * SECOND);
    tool(&mut stage, OTTER);
    must(&mut stage, OTTER, "resume", json!({"id": 1}));
    let told = said(&done(&mut stage, OTTER));
    assert!(told.contains("> the lion's state"), "{told}");
    tool(&mut stage, OTTER);
    assert_eq!(n_calls(&mut stage, OTTER), 1);
    // When the lion comes back, the effort is the otter's, and the lion is not counted.
    stage.machine.processes.insert(10, 2);
    assert_eq!(said(&start(&mut stage, LION, StartSource::Resume)), "");
    tool(&mut stage, LION);
    assert_eq!(n_calls(&mut stage, LION), 0);
}

#[test]
fn a_finished_effort_stays_finished() {
    let mut stage = two();
    brainstorm(&mut stage);
    must(&mut stage, LION, "inject", json!({"text": "too late"}));
    must(&mut stage, LION, "finish", json!({}));
    for (verb, body) in [
        ("finish", json!({"id": 1})),
        ("resume", json!({"id": 1})),
        ("log", json!({"text": "x", "effort": 1})),
    ] {
        let told = error(run(&mut stage, LION, verb, body));
        assert!(told.contains("effort 1 was finished 0s ago\n`substrate effort start brainstorm --task tasks/login`"), "{told}");
    }
    assert!(
        error(run(&mut stage, OTTER, "inject", json!({"text": "x", "effort": 1})))
            .contains("so no agent would be told")
    );
    assert_eq!(said(&done(&mut stage, LION)), "");
}

#[test]
fn a_person_looks_injects_and_finishes() {
    let mut stage = two();
    brainstorm(&mut stage);
    let call = |stage: &mut Stage, path: &[&str], body: Value| stage.call(&person(), path, body);
    let shown = call(&mut stage, &["effort", "show"], json!({"id": 1})).unwrap();
    assert!(shown.text.contains("skill `brainstorm`"), "{}", shown.text);
    let listed = call(&mut stage, &["effort", "list"], json!({})).unwrap();
    assert!(
        listed.text.contains("brainstorm/explore") && listed.text.contains("NobleLion"),
        "{}",
        listed.text
    );
    let own = call(&mut stage, &["effort", "show"], json!({}));
    assert!(error(own).contains("User has no effort"));
    let begun = call(&mut stage, &["effort", "start"], json!({"skill": "fix"}));
    assert!(error(begun).contains("you are the person"));
    call(&mut stage, &["effort", "finish"], json!({"id": 1})).unwrap();
    assert!(
        call(&mut stage, &["effort", "list"], json!({})).unwrap().text.contains("No efforts here")
    );
    assert!(
        call(&mut stage, &["effort", "list"], json!({"all": true}))
            .unwrap()
            .text
            .contains("finished")
    );
}

#[test]
fn tasks_have_titles_and_are_active_while_an_effort_is() {
    let mut stage = two();
    brainstorm(&mut stage);
    let call = |stage: &mut Stage, path: &[&str], body: Value| stage.call(&person(), path, body);
    let body = json!({"dir": "tasks/login/", "title": "Log in", "keywords": "auth, ,keys"});
    let set = call(&mut stage, &["task", "set"], body).unwrap();
    assert_eq!(set.json["keywords"], json!(["auth", "keys"]));
    let listed = call(&mut stage, &["task", "list"], json!({})).unwrap();
    assert!(
        listed.text.contains("active") && listed.text.contains("Log in  [auth, keys]"),
        "{}",
        listed.text
    );
    must(&mut stage, LION, "finish", json!({}));
    let shown = call(&mut stage, &["task", "show"], json!({"dir": "./tasks/login"})).unwrap();
    assert_eq!((&shown.json["state"], &shown.json["title"]), (&json!("dormant"), &json!("Log in")));
    assert_eq!(shown.json["efforts"][0]["lifecycle"], "finished");
    let body = json!({"dir": "tasks/login", "keywords": ""});
    let set = call(&mut stage, &["task", "set"], body).unwrap();
    assert_eq!((&set.json["keywords"], &set.json["title"]), (&json!([]), &json!("Log in")));
    assert!(
        error(call(&mut stage, &["task", "show"], json!({"dir": "nowhere"})))
            .contains("there is no task `nowhere`")
    );
}

#[test]
fn sessions_are_listed_with_their_windows() {
    let mut stage = two();
    brainstorm(&mut stage);
    happen(&mut stage, SCOUT, EventKind::SubagentStart, Detail::Plain);
    let listed = stage.call(&person(), &["session", "list"], json!({})).unwrap();
    assert_eq!(listed.json["windows"].as_array().unwrap().len(), 3);
    assert!(listed.text.contains("s1 (scout)  NobleLion  effort 1"), "{}", listed.text);
    happen(&mut stage, OTTER, EventKind::SessionEnd, Detail::Plain);
    let listed = stage.call(&person(), &["session", "list"], json!({})).unwrap();
    assert_eq!(listed.json["windows"].as_array().unwrap().len(), 2);
    let shown = stage.call(&person(), &["session", "show"], json!({"session": "otter"})).unwrap();
    assert!(shown.text.contains("ended 0s ago (end)"), "{}", shown.text);
    assert!(
        error(stage.call(&person(), &["session", "show"], json!({}))).contains("which session")
    );
    assert!(
        error(stage.call(&person(), &["session", "show"], json!({"session": "x"})))
            .contains("no window")
    );
}

#[rstest]
#[case::keyword("auth", true)]
#[case::whatever_the_case("AUTH", true)]
#[case::two("keys, auth", true)]
#[case::title("log in", true)]
#[case::folder("tasks/log", true)]
#[case::part("aut", true)]
#[case::one_of_two("auth windows", false)]
#[case::other("windows", false)]
#[case::nothing("", true)]
fn a_task_is_found_by(#[case] words: &str, #[case] expected: bool) {
    let mut stage = two();
    brainstorm(&mut stage);
    let body = json!({"dir": "tasks/login", "title": "Log in", "keywords": "auth, keys"});
    stage.call(&person(), &["task", "set"], body).unwrap();
    let found = stage.call(&person(), &["task", "list"], json!({"find": words})).unwrap();
    assert_eq!(found.json["tasks"].as_array().unwrap().len(), usize::from(expected));
    assert_eq!(found.text.starts_with("No task has `"), !expected, "{}", found.text);
}

#[test]
fn a_session_shows_the_files_of_each_window() {
    let mut stage = two();
    brainstorm(&mut stage);
    let read =
        |path: &str| ToolCall { files: vec![path.to_owned()], ..call("Read", ToolClass::Read) };
    after(&mut stage, LION, read("/repo/a.rs"));
    stage.pass(SECOND);
    after(&mut stage, LION, read("/repo/b.rs"));
    start(&mut stage, LION, StartSource::Clear);
    let shown = stage.call(&caller(LION), &["session", "show"], json!({})).unwrap();
    assert!(shown.text.contains("read or changed: /repo/b.rs, /repo/a.rs\n"), "{}", shown.text);
    let windows = shown.json["windows"].as_array().unwrap().clone();
    assert_eq!(windows[0]["loaded_files"], json!(["/repo/b.rs", "/repo/a.rs"]));
    assert_eq!(windows[1]["loaded_files"], json!([]));
}
