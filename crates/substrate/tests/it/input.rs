//! Hostile and odd input to the real hook.

use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;
use substrate_testkit::{TestEnv, at_most, bin};

use crate::house::{journal, plain, told};

#[test]
fn no_input_breaks_a_hook() {
    let env = TestEnv::new();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let cases: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"\n".to_vec(),
        b"not json".to_vec(),
        b"{\"session_id\": ".to_vec(),
        b"[1,2,3]".to_vec(),
        b"{\"session_id\":\"\xff\xfe\"}".to_vec(),
        vec![0; 4_096],
        deep.into_bytes(),
        json!({"session_id": "../../etc/passwd", "hook_event_name": "Notification"})
            .to_string()
            .into_bytes(),
        json!({"session_id": 7, "hook_event_name": ["Notification"], "tool_name": {}})
            .to_string()
            .into_bytes(),
        json!({"session_id": "a", "hook_event_name": "BrandNew", "x": 1}).to_string().into_bytes(),
    ];
    let n = cases.len();
    for (at, case) in cases.iter().enumerate() {
        // A call that can't be read can't be judged: the person is asked.
        let said = env.hook("PreToolUse", &case[..]).success();
        assert_eq!(
            said.contains("\"permissionDecision\":\"ask\""),
            (0..=7).contains(&at),
            "{at}: {said}"
        );
    }
    let entries = journal(&env);
    assert_eq!(entries.len(), n, "every one is recorded");
    let words = told(&entries);
    assert_eq!(words.iter().filter(|word| *word == "Malformed").count(), 6, "{words:?}");
    // An event with an unknown name is handled under the name it was registered for.
    assert_eq!(entries[n - 1]["event"], "PreToolUse");
    assert_eq!(entries[n - 1]["n_unknown_fields"], 1);
    env.hook("BrandNew", plain("a", "BrandNew")).success();
    assert_eq!(
        journal(&env)[n]["event"],
        "BrandNew",
        "an unknown event passes, and is counted by its name"
    );
}

#[test]
fn a_very_long_payload_passes() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let content = "x".repeat(8 << 20);
    let payload = json!({
        "session_id": "a", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Write",
        "tool_input": {"file_path": "/tmp/big", "content": content}, "tool_use_id": "t",
    });
    assert_eq!(env.hook("PreToolUse", &payload).success(), "");
    let entries = journal(&env);
    assert_eq!(entries[0]["tool"], "Write");
    assert!(entries[0]["n_bytes"].as_u64().unwrap() > 8 << 20);
    assert!(entries[0]["input"].as_str().unwrap().len() < 5_000, "what is kept is bounded");
}

#[test]
fn a_pipe_that_stays_open_is_not_waited_for() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    for payload in [format!("{}\n", plain("a", "Stop")), String::new()] {
        let mut child = env
            .command(bin("substrate-hook"))
            .args(["claude-code", "Stop"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(payload.as_bytes()).unwrap();
        let begun = Instant::now();
        assert!(child.wait().unwrap().success());
        let took = begun.elapsed();
        assert!(took < at_most(Duration::from_secs(6)), "{took:?}");
        drop(stdin);
    }
    assert_eq!(told(&journal(&env)), ["Stop", "Stop"]);
}

#[test]
fn wrong_arguments_say_how_and_exit_0() {
    let env = TestEnv::new();
    for args in [&[][..], &["claude-code"], &["--help"]] {
        let out =
            env.command(bin("substrate-hook")).args(args).stdin(Stdio::null()).output().unwrap();
        assert!(out.status.success());
        assert!(
            out.stdout.is_empty() && String::from_utf8_lossy(&out.stderr).starts_with("usage: ")
        );
    }
    let out = env
        .command(bin("substrate-hook"))
        .args(["no-such-client", "Stop"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(out.status.success() && out.stdout.is_empty());
    assert_eq!(journal(&env)[0]["client"], "unknown");
}

#[test]
fn only_listed_variables_leave_the_hook() {
    let env = TestEnv::new();
    let vars = [
        ("CLAUDE_PROJECT_DIR", "/p"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "very-secret-value"),
        ("AWS_SECRET", "very-secret-value"),
    ];
    env.substrate(["daemon", "start"]).success();
    env.hook_with("Stop", plain("a", "Stop"), &vars).success();
    env.substrate(["journal"]).success();
    env.substrate(["daemon", "stop"]).success();
    for name in ["subtrate.db", "subtrate.db-wal"] {
        let bytes = crate::house::bytes(&env.state().join(name));
        assert!(!bytes.windows(17).any(|part| part == b"very-secret-value"), "{name}");
    }
}
