//! `substrate run`: the terminal, signals and codes pass through, and a client is restarted when the engine says so.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::json;
use substrate_testkit::{Running, TestEnv, bin, wait_until, write_file};

use crate::house::{SOON, bytes, configure, signal};
use crate::pane::Pane;

/// What the hooks tell a fresh client.
const GO_ON: &str = "Continue effort 1 where that one left it";

/// No daemon, for tests that don't need it.
const ALONE: &str = "[daemon]\nautostart = false\n";

const RESTART: &str = "[context]\non_auto_compact = \"restart\"\n[efforts]\non = true\n";

/// Starts a process in a session of its own, and writes its pid to `other`.
const OTHER: &str =
    "setsid sh -c 'echo $$ > other; exec sleep 600' & while [ ! -s other ]; do sleep 0.01; done";

/// `substrate run FLAGS… -- sh -c SCRIPT`, in pipes.
fn run(env: &TestEnv, flags: &[&str], script: &str) -> Command {
    let mut command = env.command(bin("substrate"));
    command.arg("run").args(flags).args(["--", "/bin/sh", "-c", script]);
    command
}

/// Continues the job. The shell names it. The shell's own line editor gets what is typed before that.
fn to_the_front(pane: &Pane<'_>) {
    pane.line("clear; fg; echo after:$?");
    pane.wait("substrate run -- ");
}

fn text(path: &Path) -> String {
    String::from_utf8(bytes(path)).unwrap()
}

fn wait_for_text(path: &Path, expected: &str) {
    wait_until(SOON, &format!("{expected:?} in {}", path.display()), || {
        text(path).contains(expected)
    });
}

#[rstest]
#[case::well("cat; echo \"$0\" oops >&2", 0)]
#[case::a_code("exit 3", 3)]
#[case::the_largest_code("exit 255", 255)]
#[case::a_signal("kill -KILL $$", 137)]
fn codes_and_streams_pass_through(#[case] script: &str, #[case] code: i32) {
    let env = TestEnv::new();
    configure(&env, ALONE);
    let run = Running::start(run(&env, &[], script), b"some input".to_vec()).finish(SOON);
    let run = run.code(code);
    if code == 0 {
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("some input", "/bin/sh oops\n"));
    } else {
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    }
}

#[test]
fn a_program_that_is_not_there_is_said_and_has_the_code_of_shells() {
    let env = TestEnv::new();
    configure(&env, ALONE);
    let missing = env.substrate(["run", "--", "no-such-client", "-p"]).code(127);
    assert!(missing.stderr.contains("`no-such-client` could not be started"), "{missing}");
    write_file(&env.project().join("plain"), b"no program");
    let _no_program = env.substrate(["run", "--", "./plain"]).code(126);
    let usage = env.substrate(["run", "claude"]).code(2);
    assert!(usage.stderr.contains("-- <COMMAND>..."), "{usage}");
    let odd = env.substrate(["run", "--effort", "a b", "--", "true"]).code(1);
    assert!(odd.stderr.contains("substrate effort list"), "{odd}");
}

#[test]
fn the_client_is_told_who_it_is() {
    let env = TestEnv::new();
    configure(&env, &format!("{ALONE}[efforts]\non = true\n"));
    let start = json!({"session_id": "s1", "source": "startup", "cwd": env.project()});
    env.hook("SessionStart", start).success();
    let vars = [("CLAUDE_SESSION_ID", "s1"), ("CLAUDECODE", "1")];
    let effort = |args: &[&str]| env.substrate_with([&["effort"], args].concat(), &vars).success();
    effort(&["start", "fix"]);
    let script = "echo $AGENT_ID $SUBSTRATE_EFFORT $SUBSTRATE_PERSIST $TERM";
    let flags = ["--agent", "NobleLion", "--effort", "1", "--persist"];
    let told = Running::start(run(&env, &flags, script), Vec::new()).finish(SOON).success();
    assert_eq!(told, "NobleLion 1 poll xterm-256color\n");

    // The impossible is refused, and nothing is started.
    effort(&["finish"]);
    for (flags, why) in [
        (["--effort", "1"], "effort 1 is finished"),
        (["--effort", "999"], "there is no effort 999"),
        (["--effort", "nonsense"], "`nonsense` is not an effort"),
        (["--agent", "No Body!"], "`No Body!` can't be an agent's name"),
    ] {
        let run = Running::start(run(&env, &flags, "echo started"), Vec::new()).finish(SOON);
        let run = run.code(1);
        assert!(run.stderr.contains(why) && run.stdout.is_empty(), "{run}");
    }
}

#[test]
fn a_client_that_does_not_hear_is_killed_when_its_supervisor_shall_end() {
    let env = TestEnv::new();
    configure(&env, ALONE);
    let script = "trap '' TERM; echo ready > ready; while :; do sleep 0.1; done";
    let running = Running::start(run(&env, &[], script), Vec::new());
    wait_for_text(&env.project().join("ready"), "ready");
    let begun = Instant::now();
    signal(&env, "-TERM", running.pid());
    running.finish(SOON * 2).code(137);
    assert!(begun.elapsed() >= Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[rstest]
#[case::terminate("-TERM")]
#[case::hang_up("-HUP")]
#[case::interrupt("-INT")]
fn a_signal_is_passed_on_to_the_client_alone(#[case] name: &str) {
    let env = TestEnv::new();
    configure(&env, ALONE);
    let word = &name[1..];
    let script = format!(
        "{OTHER}; trap 'echo heard {word}; exit 7' {word}; echo ready > ready; sleep 600 & wait"
    );
    // Even a supervisor that persists ends when it is told to.
    let running = Running::start(run(&env, &["--persist"], &script), Vec::new());
    wait_for_text(&env.project().join("ready"), "ready");
    signal(&env, name, running.pid());
    let run = running.finish(SOON).code(7);
    assert_eq!(run.stdout, format!("heard {word}\n"));
    let other: u32 = text(&env.project().join("other")).trim().parse().unwrap();
    signal(&env, "-KILL", other);
}

#[test]
fn a_failure_is_tried_again_only_where_it_shall_persist() {
    let env = TestEnv::new();
    configure(&env, ALONE);
    let script = "echo x >> tries; [ $(wc -l < tries) -ge 3 ] || exit 9";
    let once = Running::start(run(&env, &[], script), Vec::new()).finish(SOON).code(9);
    assert_eq!(once.stderr, "");
    let run = Running::start(run(&env, &["--persist"], script), Vec::new()).finish(SOON).code(0);
    let said = "substrate run: the client ended with code 9; restarting it in 1 s (failure 1 of 5, Ctrl+C ends this).\n";
    assert_eq!(run.stderr, said);
    assert_eq!(text(&env.project().join("tries")).lines().count(), 3);
}

#[test]
fn the_terminal_is_the_clients_own_as_if_it_ran_alone() {
    let env = TestEnv::new();
    configure(&env, ALONE);
    let pane = Pane::start(&env);
    pane.line("stty -a > before; substrate run -- sh -c 'trap \"echo; echo int-heard\" INT; trap \"stty size\" WINCH; echo began; while [ ! -e go ]; do sleep 0.1; done; echo over; exit 4'; echo code:$?");
    pane.wait("began");
    pane.keys("C-c");
    pane.wait("int-heard");
    pane.resize("100", "40");
    pane.wait("40 100");
    write_file(&env.project().join("go"), b"");
    pane.wait("over");
    pane.wait("code:4");
}

#[test]
fn the_client_can_be_stopped_and_goes_on_in_the_foreground_and_in_the_background() {
    let env = TestEnv::new();
    configure(&env, ALONE);
    let pane = Pane::start(&env);
    pane.line("substrate run -- sh -c 'echo began; read x; echo got:$x; while [ ! -e go ]; do sleep 0.1; done; echo done > done; read y; echo then:$y; exit 5'; echo code:$?");
    pane.wait("began");
    pane.keys("C-z");
    pane.wait("[1]+  Stopped");
    pane.line("echo shell-lives");
    pane.wait("shell-lives");
    to_the_front(&pane);
    pane.line("hello");
    pane.wait("got:hello");
    pane.keys("C-z");
    pane.line("echo again-here");
    pane.wait("again-here");
    pane.line("bg");
    write_file(&env.project().join("go"), b"");
    wait_for_text(&env.project().join("done"), "done");
    pane.line("echo still-here");
    pane.wait("still-here");
    // It reads from the background, and so waits for the terminal.
    wait_until(SOON, "a stopped job", || {
        pane.line("clear; jobs -s");
        pane.wait("$ ");
        pane.screen().contains("]+  Stopped")
    });
    to_the_front(&pane);
    pane.line("bye");
    pane.wait("then:bye");
    pane.wait("after:5");
}

#[test]
fn a_client_that_stops_itself_goes_on_with_the_job() {
    let env = TestEnv::new();
    configure(&env, ALONE);
    let pane = Pane::start(&env);
    pane.line("substrate run -- sh -c 'kill -STOP $$; read x; echo got:$x'");
    pane.wait("[1]+  Stopped");
    to_the_front(&pane);
    pane.line("hello");
    pane.wait("got:hello");
}

#[test]
fn in_a_pipeline_the_terminal_stays_where_it_is_and_signals_are_passed_on() {
    let env = TestEnv::new();
    configure(&env, ALONE);
    let pane = Pane::start(&env);
    pane.line("substrate run -- sh -c 'echo $$ > pid; trap \"echo yes > heard; exit 6\" INT; echo began; while :; do sleep 0.1; [ ! -e go ] || echo again; done' | cat");
    pane.wait("began");
    pane.keys("C-z");
    pane.wait("[1]+  Stopped");
    let stat = format!("/proc/{}/stat", text(&env.project().join("pid")).trim());
    wait_until(SOON, "a client that is stopped as well", || {
        text(Path::new(&stat)).rsplit_once(')').unwrap().1.starts_with(" T ")
    });
    write_file(&env.project().join("go"), b"");
    to_the_front(&pane);
    pane.wait("again");
    std::fs::remove_file(env.project().join("go")).unwrap();
    pane.keys("C-c");
    wait_for_text(&env.project().join("heard"), "yes");
    pane.wait("$ ");
    assert_eq!(pane.state("pane_current_command"), "bash", "nothing of it is left");
}

#[test]
fn a_client_that_is_killed_leaves_a_terminal_as_it_was() {
    let env = TestEnv::new();
    configure(&env, ALONE);
    let pane = Pane::start(&env);
    pane.line("stty -a > before; substrate run -- sh -c 'stty raw -echo; printf \"\\033[?1049h\\033[?1000h\\033[?2004h\\033[?25l\"; kill -9 $$'; echo code:$?; stty -a > after");
    pane.wait("code:137");
    wait_for_text(&env.project().join("after"), "speed");
    assert_eq!(text(&env.project().join("after")), text(&env.project().join("before")));
    let states =
        ["alternate_on", "mouse_standard_flag", "cursor_flag"].map(|name| pane.state(name));
    assert_eq!(states, ["0", "0", "1"], "{}", pane.screen());
    pane.line("echo typed");
    pane.wait("typed");
}

/// An invented client that reports its life as the real one does. It writes its command line and its agent to `calls`,
/// and what it is told at its start to `told`. At its first `n_full` starts its context is full. `effort` begins one.
fn fake_client(env: &TestEnv, n_full: usize, before: &str, after: &str) {
    let script = format!(
        r#"#!/bin/sh
export CLAUDE_PID=$$ CLAUDECODE=1
n=$(cat calls 2>/dev/null | wc -l)
hook() {{ printf '{{"session_id":"s%s","hook_event_name":"%s"%s}}' "$n" "$1" "$2" | setsid -w substrate-hook claude-code "$1"; }}
effort() {{ [ "$n" -gt 0 ] || CLAUDE_SESSION_ID=s$n CLAUDE_CODE_SESSION_ID=s$n substrate effort start fix > /dev/null; }}
hook SessionStart ',"source":"startup"' >> told
agent=$(CLAUDE_SESSION_ID=s$n CLAUDE_CODE_SESSION_ID=s$n substrate agent whoami --format json | grep -o '"address": "[^"]*"')
echo "$agent|$*" >> calls
[ "$n" -lt {n_full} ] || exit 0
{before}
hook PreCompact ',"trigger":"auto"' 2> blocked; echo $? >> blocked
{after}
sleep 600 & wait
"#
    );
    let path = env.project().join("claude");
    write_file(&path, script.as_bytes());
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path, mode).unwrap();
}

fn supervised(env: &TestEnv, args: &[&str]) -> Command {
    below(env, &["./claude"], args)
}

/// `substrate run -- LINE… ARGS…`
fn below(env: &TestEnv, line: &[&str], args: &[&str]) -> Command {
    let mut command = env.command(bin("substrate"));
    command.args(["run", "--"]).args(line).args(args);
    command
}

/// The agent and the arguments of each client that was started.
fn calls(env: &TestEnv) -> Vec<(String, String)> {
    let calls = text(&env.project().join("calls"));
    let of = |line: &str| line.split_once('|').map(|(a, b)| (a.to_owned(), b.to_owned()));
    calls.lines().map(|line| of(line).unwrap()).collect()
}

fn n_told(env: &TestEnv) -> usize {
    text(&env.project().join("told")).matches(GO_ON).count()
}

#[rstest]
#[case::with_a_daemon("", &[])]
#[case::without(ALONE, &[])]
#[case::of_which_another_takes_over("", &["daemon", "restart"])]
#[case::that_the_user_stops("", &["daemon", "stop"])]
fn a_full_context_is_exchanged_for_a_fresh_one(#[case] settings: &str, #[case] meanwhile: &[&str]) {
    let env = TestEnv::new();
    configure(&env, &format!("{settings}{RESTART}"));
    let wait = "echo > ready; while [ ! -e go ]; do sleep 0.01; done";
    fake_client(&env, 1, &format!("effort; {OTHER}; {wait}"), "");
    let args = ["--continue", "--model", "opus", "do it"];
    let run = Running::start(supervised(&env, &args), Vec::new());
    wait_until(SOON, "the client", || env.project().join("ready").exists());
    if !meanwhile.is_empty() {
        env.substrate(meanwhile).code(0);
    }
    write_file(&env.project().join("go"), b"");
    let run = run.finish(SOON).code(0);
    let calls = calls(&env);
    let (agent, first) = &calls[0];
    assert!(agent.starts_with("\"address\": \""), "{calls:?}");
    assert_eq!(first, "--continue --model opus do it");
    assert_eq!(calls[1..], [(agent.clone(), "--model opus".to_owned())]);
    assert_eq!(n_told(&env), 1, "{}", text(&env.project().join("told")));
    let name = agent.split('"').nth(3).unwrap();
    let said = format!(
        "substrate run: the context was full; restarting the client as {name} with a fresh context.\n"
    );
    assert_eq!(run.stderr, said);
    let blocked = text(&env.project().join("blocked"));
    assert!(blocked.starts_with("Not compacted: "), "{blocked}");
    // What the client had started elsewhere goes on.
    let other: u32 = text(&env.project().join("other")).trim().parse().unwrap();
    signal(&env, "-KILL", other);
    assert_eq!(env.substrate(["supervise"]).success(), "No client runs under `substrate run`.\n");
}

/// The client is the wrapper's child, or has replaced it. A client that takes its time to end is waited for: beside it
/// the next one would be another agent.
#[rstest]
#[case::env(&["env", "FOO=1", "./claude"], "--model opus")]
#[case::a_shell(&["sh", "-c", "./claude \"$@\"; exit $?", "sh"], "--continue --model opus do it")]
#[case::a_shell_that_takes_a_program(&["sh", "-c", "\"$@\"; exit $?", "sh", "./claude"], "--model opus")]
#[case::a_session_of_its_own(&["setsid", "-w", "./claude"], "--model opus")]
fn below_a_wrapper_too(#[case] line: &[&str], #[case] fresh: &str) {
    let env = TestEnv::new();
    configure(&env, RESTART);
    fake_client(&env, 1, "effort; trap 'kill $!; sleep 1; exit 0' TERM", "");
    let args = ["--continue", "--model", "opus", "do it"];
    let run = Running::start(below(&env, line, &args), Vec::new()).finish(SOON * 2).code(0);
    let calls = calls(&env);
    assert_eq!(calls.len(), 2, "{run}");
    assert_eq!(calls[0].1, "--continue --model opus do it");
    assert_eq!(calls[1], (calls[0].0.clone(), fresh.to_owned()), "the same agent");
    assert_eq!(n_told(&env), 1, "{}", text(&env.project().join("told")));
    assert!(run.stderr.contains("restarting the client as "), "{run}");
}

#[test]
fn without_anything_to_restart_from_it_compacts() {
    let env = TestEnv::new();
    configure(&env, "profile = \"engine\"\n");
    fake_client(&env, 1, "", "exit 0");
    Running::start(supervised(&env, &[]), Vec::new()).finish(SOON).success();
    assert_eq!(text(&env.project().join("blocked")), "0\n");
    assert_eq!(calls(&env).len(), 1);
}

#[test]
fn a_client_that_ends_by_itself_before_we_can_is_started_again_all_the_same() {
    let env = TestEnv::new();
    configure(&env, RESTART);
    fake_client(&env, 1, "effort", "exit 1");
    let run = Running::start(supervised(&env, &[]), Vec::new()).finish(SOON).code(0);
    assert_eq!(run.stderr.lines().count(), 1, "{run}");
    assert_eq!(text(&env.project().join("calls")).lines().count(), 2);
}

#[test]
fn a_client_that_does_not_end_is_killed_after_a_while() {
    let env = TestEnv::new();
    configure(&env, RESTART);
    fake_client(&env, 1, "effort; trap '' TERM", "");
    let begun = Instant::now();
    Running::start(supervised(&env, &[]), Vec::new()).finish(SOON * 2).success();
    assert!(begun.elapsed() >= Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(text(&env.project().join("calls")).lines().count(), 2);
}

#[test]
fn a_context_that_is_always_full_is_given_up() {
    let env = TestEnv::new();
    configure(&env, RESTART);
    fake_client(&env, 100, "effort", "");
    let args = ["-p", "do it", "--resume", "1234"];
    let run = Running::start(supervised(&env, &args), Vec::new()).finish(SOON * 2).code(143);
    let calls: Vec<_> = calls(&env).into_iter().map(|(_, args)| args).collect();
    let fresh = "-p do it";
    assert_eq!(
        calls,
        ["-p do it --resume 1234", fresh, fresh, fresh],
        "print mode needs its prompt"
    );
    assert_eq!(run.stderr.matches("restarting the client").count(), 3, "{run}");
    assert_eq!(n_told(&env), 3, "each of them once");
    assert!(run.stderr.contains("set context.on_auto_compact = \"compact\""), "{run}");
}

#[test]
fn without_the_setting_or_the_supervisor_it_compacts() {
    let env = TestEnv::new();
    configure(&env, "[efforts]\non = true\n");
    fake_client(&env, 1, "effort", "exit 0");
    Running::start(supervised(&env, &[]), Vec::new()).finish(SOON).success();
    assert_eq!(text(&env.project().join("blocked")).lines().last(), Some("0"));
    configure(&env, RESTART);
    std::fs::remove_file(env.project().join("calls")).unwrap();
    Running::start(env.command(env.project().join("claude")), Vec::new()).finish(SOON).success();
    assert_eq!(text(&env.project().join("blocked")).lines().last(), Some("0"));
}
