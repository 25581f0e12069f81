//! The words that a window begins with.

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
        "You work on effort 1: skill `brainstorm`, phase `choose` (explore → choose). Its task is `tasks/login`.\n\
         An earlier session worked on it and left no dehydrated context: read `tasks/login/1_BRAINSTORM_LOG.md` before you go on.\n\
         > 2027-01-15 08:00:00 UTC looked at the doors and the windows\n\
         Write `substrate effort log \"…\"` at least every 9 tool calls."
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
        "You help with effort 1 (skill `brainstorm`, phase `explore`), task `tasks/login`. Note what you do, find and decide with `substrate effort log \"…\"` at least every 9 tool calls; it goes into `1_BRAINSTORM_LOG.md`."
    );
    // A subagent that was there before the effort began is counted from then on.
    tool(&mut stage, SCOUT);
    assert_eq!(n_calls(&mut stage, SCOUT), 1);
}

#[test]
fn compaction_briefs_all_that_matters_within_the_budget() {
    let mut stage = two();
    brainstorm(&mut stage);
    must(&mut stage, LION, "dehydrate", json!({"text": "x".repeat(60_000)}));
    stage.machine.texts.insert("/repo/a.md".to_owned(), "y\n".repeat(30_000));
    stage.machine.files.insert("/repo/a.md".to_owned(), 1);
    must(&mut stage, LION, "preload", json!({"files": ["/repo/a.md"]}));
    let outcome = start(&mut stage, LION, StartSource::Compact);
    let context = outcome.verdict.context.as_deref().unwrap();
    assert!(context.len() <= 9_000, "{}", context.len());
    assert!(context.contains("You are NobleLion") && context.contains("You work on effort 1"));
    assert!(
        context.contains("Dehydrated context of effort 1") && context.contains("File `/repo/a.md`")
    );
}
