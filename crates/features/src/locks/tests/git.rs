//! Git commands in a tree where others hold files.

use super::*;
use rstest::rstest;

#[rstest]
#[case::stash("git stash", true)]
#[case::stash_of_own("git stash push -- mine.rs", false)]
#[case::stash_of_theirs("git stash push -- src/a.rs", true)]
#[case::folder("git checkout -- src", true)]
#[case::other_folder("git checkout -- docs", false)]
#[case::here("git checkout .", true)]
#[case::from_below("cd src && git restore a.rs", true)]
#[case::from_below_own("cd src && git restore b.rs", false)]
#[case::branch("git checkout main", false)]
#[case::forced("git checkout -f main", true)]
#[case::hard("git add mine.rs && git reset --hard", true)]
#[case::soft("git reset --soft HEAD~1", false)]
#[case::stash_comes_back("git stash pop", false)]
#[case::stash_is_applied("git stash apply", false)]
#[case::clean("git clean -fd", true)]
#[case::elsewhere("git -C /other stash", false)]
#[case::restore_of_own("git restore mine.rs", false)]
#[case::status("git status", false)]
fn a_command_of_git(#[case] command: &str, #[case] is_denied: bool) {
    let mut stage = two();
    edits(&mut stage, LION, "src/a.rs");
    edits(&mut stage, OTTER, "mine.rs");
    let outcome = bash(&mut stage, OTTER, command);
    assert_eq!(denial(&outcome).is_some(), is_denied, "{:?}", outcome.verdict.permission);
}

#[test]
fn the_reason_names_who_holds_what_and_what_to_do_instead() {
    let mut stage = two();
    for file in ["a", "b", "c", "d"] {
        stage.pass(1);
        edits(&mut stage, LION, file);
    }
    let outcome = bash(&mut stage, OTTER, "git stash");
    assert_eq!(
        denial(&outcome).unwrap(),
        "`git stash` would sweep away files that others are editing in this working tree: `d` (NobleLion), \
         `c` (NobleLion), `b` (NobleLion) and 1 more. [locks.git] Name only your own files, \
         `git stash push -- PATH…`, or commit them. `substrate locks` shows who holds what."
    );
    assert_eq!(denial(&bash(&mut stage, LION, "git stash")), None, "the only holder may");
    let subagent = bash(&mut stage, CODER, "git stash");
    assert!(denial(&subagent).is_some(), "a subagent is another actor");
    really_stop(&mut stage, LION);
    assert_eq!(denial(&bash(&mut stage, OTTER, "git stash")), None);
}

#[rstest]
#[case("git reset --hard")]
#[case("git checkout -- src")]
fn many_own_files_do_not_hide_those_of_others(#[case] command: &str) {
    let mut stage = two();
    edits(&mut stage, LION, "src/a.rs");
    stage.pass(SECOND);
    for i in 0..300 {
        edits(&mut stage, OTTER, &format!("src/{i}.rs"));
    }
    let outcome = bash(&mut stage, OTTER, command);
    let reason = denial(&outcome).unwrap();
    assert!(reason.contains("`src/a.rs` (NobleLion). [locks.git]"), "{reason}");
}

#[rstest]
#[case("ask", "ask")]
#[case("off", "allow")]
#[case("deny", "deny")]
fn the_setting_decides_what_happens(#[case] setting: &str, #[case] word: &str) {
    let mut stage = with(&format!("[locks]\ngit = \"{setting}\"\n"));
    edits(&mut stage, LION, "a.rs");
    assert_eq!(bash(&mut stage, OTTER, "git reset --hard").verdict.word(), word);
}

#[test]
fn the_dead_hold_nothing() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    stage.machine.processes.remove(&10);
    assert_eq!(denial(&bash(&mut stage, OTTER, "git stash")), None);
}
