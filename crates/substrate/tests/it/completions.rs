//! What shells offer at a Tab: commands, flags, and the names that only a running daemon knows.

use std::time::Instant;

use rstest::rstest;
use substrate_testkit::{Run, Running, TestEnv, bin, write_file};

use crate::house::{SOON, daemon_pid, plain, signal};

/// Two agents and a message.
fn fleet() -> TestEnv {
    let env = TestEnv::new();
    for (session, agent) in [("s1", "NobleLion"), ("s2", "CalmOtter")] {
        let start = plain(session, "SessionStart");
        let _told = env.hook_with("SessionStart", start, &[("AGENT_ID", agent)]).code(0);
    }
    env.substrate(["send", "User", "Which port?", "--agent", "NobleLion"]).success();
    env
}

fn run(env: &TestEnv, program: &str, args: &[&str]) -> Run {
    let mut command = env.command(program);
    let folder = bin("substrate").parent().unwrap().display().to_string();
    command.args(args).env("PATH", format!("{folder}:/usr/bin:/bin"));
    Running::start(command, Vec::new()).finish(SOON)
}

/// What bash would offer for the last word.
fn offered(env: &TestEnv, words: &[&str]) -> String {
    let script = r#"source <(substrate completions bash) || exit 1
        COMP_WORDS=(substrate "$@"); COMP_CWORD=$#
        _substrate; echo "${COMPREPLY[*]}""#;
    let args = [&["--norc", "--noprofile", "-c", script, "bash"], words].concat();
    run(env, "bash", &args).success().trim_end().to_owned()
}

#[test]
fn bash_knows_commands_flags_agents_and_messages() {
    let env = fleet();
    for (words, expected) in [
        (&["mail", "thr"][..], "thread"),
        (&["send", "--prio"], "--priority"),
        (&["send", "No"], "NobleLion"),
        (&["send", "--to", "=", "ca"], "CalmOtter"),
        (&["inbox", "--agent", "C"], "CalmOtter"),
        (&["read", ""], "1"),
        (&["guard", "test", ""], ""),
    ] {
        assert_eq!(offered(&env, words), expected, "{words:?}");
    }
}

/// A Tab starts no daemon, and waits for none.
#[test]
fn without_a_daemon_names_are_left_out_at_once() {
    let env = fleet();
    let daemon = daemon_pid(&env);
    signal(&env, "-STOP", daemon);
    let begun = Instant::now();
    assert_eq!(env.substrate(["__complete", "send", "N"]).success(), "");
    assert!(begun.elapsed() < SOON / 4, "{:?}", begun.elapsed());
    signal(&env, "-CONT", daemon);
    env.substrate(["daemon", "stop"]).success();
    assert_eq!(env.substrate(["__complete", "send", "N"]).success(), "");
    let said = env.substrate(["__complete", "sen"]).success();
    assert!(said.starts_with("send\t"), "{said}");
    assert_eq!(env.substrate(["daemon", "status"]).status, Some(3), "none was started");
}

#[rstest]
#[case::zsh("zsh", &["-f", "-n"])]
#[case::fish("fish", &["--no-config", "--no-execute"])]
#[case::bash("bash", &["--norc", "-n"])]
fn a_shell_reads_its_script(#[case] shell: &str, #[case] flags: &[&str]) {
    let env = TestEnv::new();
    let script = env.substrate(["completions", shell]).success();
    assert!(script.contains("__complete"), "{script}");
    if !std::path::Path::new("/usr/bin").join(shell).is_file() {
        return println!("{shell} is not installed");
    }
    let file = env.root().join("script");
    write_file(&file, script);
    run(&env, shell, &[flags, &[file.to_str().unwrap()]].concat()).success();
}
