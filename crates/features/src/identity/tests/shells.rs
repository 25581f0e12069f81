//! Whose shell a command runs in, as tables.

use rstest::rstest;
use substrate_core::dialect::ShellWrapper;

use super::super::shells::ShellCall;
use super::super::shells::{MAX_COMMAND, ShellOwner, among, is_background, mark};

const WRAPPERS: &[ShellWrapper] = &[ShellWrapper { before: "&&eval", after: "&&pwd-P>|" }];

/// A command line as the client builds it.
fn wrapped(command: &str) -> String {
    let quoted = command.replace('\'', "'\"'\"'");
    format!(
        "/bin/bash -c source /home/dev/.claude/shell-snapshots/snapshot-bash-1.sh 2>/dev/null || true && shopt -u extglob 2>/dev/null || true && eval '{quoted}' < /dev/null && pwd -P >| /tmp/claude-1f2e-cwd"
    )
}

fn call(sub: &str, command: &str) -> ShellCall {
    ShellCall { sub: sub.to_owned(), mark: mark(command), is_open: true }
}

fn one(sub: &str) -> ShellOwner {
    ShellOwner::One(sub.to_owned())
}

#[rstest]
#[case::its_own("substrate inbox", "substrate inbox", one("reviewer-1"))]
#[case::quotes(
    "substrate send --to A --body 'it'\"'\"'s done'",
    "substrate send --to A --body 'it'\"'\"'s done'",
    one("reviewer-1")
)]
#[case::several_lines(
    "cd x &&\n  substrate inbox",
    "cd x &&\n  substrate inbox",
    one("reviewer-1")
)]
#[case::main_runs_another("substrate inbox", "ls -l", one(""))]
#[case::main_runs_more("substrate inbox", "substrate inbox --all", one(""))]
#[case::main_speaks_of_it(
    "cargo test",
    "substrate send --to A --body 'please run cargo test'",
    one("")
)]
#[case::nothing_at_all("", "substrate inbox", one(""))]
fn a_command_in_the_clients_wrapper_belongs_to(
    #[case] open: &str,
    #[case] runs: &str,
    #[case] expected: ShellOwner,
) {
    assert_eq!(among(&[call("reviewer-1", open)], &[wrapped(runs)], WRAPPERS), expected);
}

#[test]
fn with_a_pipe_the_client_puts_the_input_inside() {
    let line = wrapped("substrate inbox < /dev/null | head -3").replace("' < /dev/null", "'");
    assert_eq!(among(&[call("a-1", "substrate inbox | head -3")], &[line], WRAPPERS), one("a-1"));
}

#[test]
fn a_script_inside_the_wrapper_belongs_to_its_caller() {
    let lines = ["sh ./check.sh".to_owned(), wrapped("./check.sh --all")];
    let calls = [call("a-1", "./check.sh"), call("b-1", "./check.sh --all")];
    assert_eq!(among(&calls, &lines, WRAPPERS), one("b-1"));
}

#[test]
fn a_command_that_was_too_long_to_keep_is_known_by_its_beginning() {
    let long = format!("substrate send --body '{}'", "x".repeat(6_000));
    assert_eq!(
        among(&[call("a-1", &long[..MAX_COMMAND])], &[wrapped(&long)], WRAPPERS),
        one("a-1")
    );
}

#[rstest]
#[case::another_wrapper("bash -lc 'substrate inbox'", one("a-1"))]
#[case::another_command("bash -lc 'substrate status'", one(""))]
fn without_the_clients_wrapper_the_command_is_looked_for(
    #[case] line: &str,
    #[case] expected: ShellOwner,
) {
    assert_eq!(among(&[call("a-1", "substrate inbox")], &[line.to_owned()], WRAPPERS), expected);
}

#[test]
fn two_actors_with_the_same_command_are_several() {
    let calls = [call("b-1", "substrate inbox"), call("a-1", "substrate  'inbox'")];
    let several = ShellOwner::Several(vec!["a-1".to_owned(), "b-1".to_owned()]);
    assert_eq!(among(&calls, &[wrapped("substrate inbox")], WRAPPERS), several);
    let twice = [call("a-1", "substrate inbox"), call("a-1", "substrate inbox")];
    assert_eq!(among(&twice, &[wrapped("substrate inbox")], WRAPPERS), one("a-1"));
}

#[rstest]
#[case::only_one(&[call("a-1", "substrate inbox"), call("b-1", "ls")], one("a-1"))]
#[case::two(&[call("a-1", "substrate inbox"), call("b-1", "substrate poll")], one(""))]
#[case::none(&[call("a-1", "ls")], one(""))]
#[case::closed(&[ShellCall { is_open: false, ..call("a-1", "substrate poll") }], one(""))]
fn without_command_lines_the_only_open_call_of_ours_counts(
    #[case] calls: &[ShellCall],
    #[case] expected: ShellOwner,
) {
    assert_eq!(among(calls, &[], WRAPPERS), expected);
}

#[rstest]
#[case::foreground("substrate inbox", false)]
#[case::lone_sign("substrate poll & echo", true)]
#[case::at_the_end("substrate poll &", true)]
#[case::and_then("cd x && substrate inbox", false)]
#[case::redirection("substrate inbox 2>&1", false)]
#[case::both_outputs("substrate inbox &> x", false)]
fn a_command_goes_on_after_its_call(#[case] command: &str, #[case] expected: bool) {
    assert_eq!(is_background(command), expected);
}
