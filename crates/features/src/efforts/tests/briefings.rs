//! What a window is told at its start.

use super::*;

#[test]
fn a_start_tells_where_the_effort_stands() {
    let mut stage = two();
    brainstorm(&mut stage);
    log(&mut stage, LION, "looked at the doors\nand the windows");
    must(&mut stage, LION, "phase", json!({}));
    stage.pass(60 * SECOND);
    assert_eq!(
        said(&start(&mut stage, LION, StartSource::Clear)),
        "You are working on effort 1: skill `brainstorm`, phase `choose` (explore → choose). Its task is `tasks/login`.\n\
         An earlier session worked on it and left no dehydrated context. Read `tasks/login/1_BRAINSTORM_LOG.md` before you go on.\n\
         > 2027-01-15 08:00:00 UTC looked at the doors and the windows\n\
         Run `substrate effort log \"…\"` at least every 9 tool calls."
    );
}

#[test]
fn a_session_without_an_effort_is_told_nothing() {
    let mut stage = two();
    for source in [StartSource::Startup, StartSource::Clear, StartSource::Compact] {
        assert_eq!(said(&start(&mut stage, LION, source)), "");
    }
}

#[test]
fn a_subagent_is_told_what_it_helps_with() {
    let mut stage = two();
    assert_eq!(said(&happen(&mut stage, SCOUT, EventKind::SubagentStart, Detail::Plain)), "");
    brainstorm(&mut stage);
    assert_eq!(
        said(&happen(&mut stage, TESTER, EventKind::SubagentStart, Detail::Plain)),
        "You are helping with effort 1 (skill `brainstorm`, phase `explore`), task `tasks/login`. Log what you do, find and decide with `substrate effort log \"…\"` at least every 9 tool calls; it goes into `1_BRAINSTORM_LOG.md`."
    );
    // A subagent that was there before the effort began is counted from then on.
    tool(&mut stage, SCOUT);
    assert_eq!(n_calls(&mut stage, SCOUT), 1);
}

#[test]
fn a_compaction_briefs_everything_that_matters_within_the_budget() {
    let mut stage = two();
    brainstorm(&mut stage);
    must(&mut stage, LION, "dehydrate", json!({"text": "x".repeat(60_000)}));
    stage.machine.texts.insert("/repo/a.md".to_owned(), "y\n".repeat(30_000));
    stage.machine.files.insert("/repo/a.md".to_owned(), 1);
    must(&mut stage, LION, "preload", json!({"files": ["/repo/a.md"]}));
    let outcome = start(&mut stage, LION, StartSource::Compact);
    let context = outcome.verdict.context.as_deref().unwrap();
    assert!(context.len() <= 9_000, "{}", context.len());
    assert!(
        context.contains("You are NobleLion") && context.contains("You are working on effort 1")
    );
    assert!(
        context.contains("Dehydrated context of effort 1") && context.contains("File `/repo/a.md`")
    );
}

#[test]
fn a_subagent_is_told_how_the_log_is_kept() {
    let mut stage = two();
    let found = json!({"config": {"log": "## What, why\n[x] y"}});
    let body = json!({"skill": "fix", "task": "tasks/door", "found": found});
    must(&mut stage, LION, "start", body);
    let told = said(&happen(&mut stage, SCOUT, EventKind::SubagentStart, Detail::Plain));
    assert!(
        told.ends_with(
            "it goes into `1_FIX_LOG.md`.\nWrite log entries like this:\n> ## What, why\n> [x] y"
        ),
        "{told}"
    );
}

#[test]
fn files_are_told_whole_while_they_fit_and_the_rest_names_its_command() {
    let mut stage = two();
    brainstorm(&mut stage);
    let file =
        |name: &str, n: usize| (format!("/repo/{name}"), format!("{}\n", "y".repeat(79)).repeat(n));
    let files = [file("a.md", 30), file("b b.md", 70), file("c.md", 30)];
    for (path, text) in &files {
        stage.machine.texts.insert(path.clone(), text.clone());
        stage.machine.files.insert(path.clone(), 1);
    }
    let paths: Vec<&String> = files.iter().map(|(path, _)| path).collect();
    must(&mut stage, LION, "preload", json!({"files": paths}));
    for window in ["the next call", "the next window"] {
        let told = match window {
            "the next call" => said(&tool(&mut stage, LION)),
            _ => said(&start(&mut stage, LION, StartSource::Clear)),
        };
        let n_whole = told.matches(&"y".repeat(79)).count();
        assert!((70..100).contains(&n_whole), "{window}: {n_whole} lines of 120");
        assert!(told.contains("(cut: `cat '/repo/b b.md'` shows all of it)"), "{window}: {told}");
        assert!(
            told.contains("no room for it here; `cat /repo/c.md` shows it."),
            "{window}: {told}"
        );
    }
}

/// Without its secrets the beginning of a long file is short, and still only its beginning.
#[test]
fn a_long_file_is_not_taken_for_whole() {
    let mut stage = two();
    brainstorm(&mut stage);
    let key = "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n";
    let key = key.replace("{}", &"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n".repeat(240));
    let text = format!("first\n{key}{}last\n", "more\n".repeat(300));
    stage.machine.texts.insert("/repo/a.md".to_owned(), text);
    stage.machine.files.insert("/repo/a.md".to_owned(), 1);
    must(&mut stage, LION, "preload", json!({"files": ["/repo/a.md"]}));
    let told = said(&tool(&mut stage, LION));
    assert!(told.contains("> first\n") && !told.contains("MIIE"), "{told}");
    assert!(told.len() < 2_000 && !told.contains("last"), "{told}");
    assert!(told.ends_with("(cut: `cat /repo/a.md` shows all of it)"), "{told}");
}

#[test]
fn an_idle_teammate_is_reported_once_and_holds_no_one() {
    let mut stage = two();
    let idle = |stage: &mut Stage, name: &str, team: Option<&str>| {
        let detail = Detail::Teammate { name: name.to_owned(), team: team.map(str::to_owned) };
        let outcome = happen(stage, SCOUT, EventKind::TeammateIdle, detail);
        assert!(outcome.verdict.is_silent());
    };
    tool(&mut stage, LION);
    idle(&mut stage, "alice", Some("doors"));
    idle(&mut stage, "alice", Some("doors"));
    idle(&mut stage, "bob\n[x] y", None);
    let told = done(&mut stage, LION);
    assert_eq!(
        said(&told),
        "alice of doors, bob [x] y are idle now. `substrate fleet` shows what each agent is doing."
    );
    assert_eq!(said(&done(&mut stage, LION)), "", "once");
    idle(&mut stage, "alice", None);
    assert!(said(&prompt(&mut stage, LION)).starts_with("alice is idle now"));
    assert_eq!(said(&done(&mut stage, OTTER)), "", "and no other agent");
}
