//! Files that change behind their holder's back: real files, real timestamps.

use std::fs::{File, remove_file, rename};
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use substrate_testkit::{TestEnv, wait_until, write_file};

use crate::house::{SOON, configure};

fn call(env: &TestEnv, session: &str, event: &str, tool: &str, input: &Value) -> String {
    let payload = json!({
        "session_id": session, "cwd": env.project(), "hook_event_name": event, "tool_name": tool,
        "tool_input": input, "tool_use_id": format!("toolu_{tool}"), "tool_response": {},
        // Longer than any test: a hook that comes late on a busy machine changes nothing.
        "duration_ms": 60_000,
    });
    env.hook(event, payload).success()
}

fn edits(env: &TestEnv, session: &str, file: &str) {
    let path = env.project().join(file);
    let input = json!({"file_path": path});
    call(env, session, "PreToolUse", "Edit", &input);
    write_file(&path, b"edited\n");
    call(env, session, "PostToolUse", "Edit", &input);
}

/// Waits until a file written from now on is clearly later than everything recorded before: file times advance in
/// steps, and a timestamp may be 20 ms behind.
fn later(env: &TestEnv) {
    let now = i64::try_from(UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    let probe = env.root().join("probe");
    wait_until(SOON, "a later file", || {
        write_file(&probe, b"x");
        let stat = std::fs::metadata(&probe).unwrap();
        stat.ctime() * 1_000 + stat.ctime_nsec() / 1_000_000 > now + 20
    });
}

fn before(env: &TestEnv, session: &str) {
    call(env, session, "PreToolUse", "Bash", &json!({"command": "make"}));
}

fn after(env: &TestEnv, session: &str) -> String {
    call(env, session, "PostToolUse", "Bash", &json!({"command": "make"}))
}

#[test]
fn whatever_a_command_does_to_a_held_file_is_noticed_once() {
    let env = TestEnv::new();
    configure(&env, "[persist]\nmode = \"off\"\n");
    let at = |file: &str| env.project().join(file);
    std::fs::create_dir(at(".git")).unwrap();
    env.substrate(["daemon", "start"]).success();
    for file in ["removed.rs", "replaced.rs", "touched.rs", "written.rs", "quiet.rs"] {
        edits(&env, "holder", file);
    }
    later(&env);
    before(&env, "other");
    remove_file(at("removed.rs")).unwrap();
    write_file(&at("new"), b"x");
    rename(at("new"), at("replaced.rs")).unwrap();
    let far = SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000);
    File::options().write(true).open(at("touched.rs")).unwrap().set_modified(far).unwrap();
    write_file(&at("written.rs"), b"x");
    let told = after(&env, "other");
    for file in ["replaced.rs", "touched.rs", "written.rs"] {
        assert!(told.contains(&format!("`{file}` is leased by")), "{file}: {told}");
    }
    assert!(told.contains("it was removed or moved while your command ran"), "{told}");
    assert!(!told.contains("quiet.rs"), "{told}");
    assert_eq!(after(&env, "other"), "", "once");
    // The timestamp from the future keeps no lease. The first Stop announces the mail.
    for again in [false, true] {
        let stop =
            json!({"session_id": "holder", "hook_event_name": "Stop", "stop_hook_active": again});
        env.hook("Stop", stop).success();
    }
    let list = env.substrate(["locks", "list", "--all"]).success();
    assert_eq!(list, "No files are held.\n");
}

#[test]
fn what_the_holders_own_command_does_is_not_reported() {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    env.substrate(["daemon", "start"]).success();
    edits(&env, "holder", "a.rs");
    before(&env, "holder");
    later(&env);
    write_file(&env.project().join("a.rs"), b"formatted\n");
    before(&env, "other");
    assert_eq!(after(&env, "other"), "");
    let inbox = env.substrate(["inbox", "--session-id", "holder"]).success();
    assert!(!inbox.contains("a.rs"), "{inbox}");
}

fn runs(env: &TestEnv, session: &str, event: &str, command: &str) -> String {
    call(env, session, event, "Bash", &json!({"command": command}))
}

fn stops(env: &TestEnv, session: &str) {
    for again in [false, true] {
        let stop =
            json!({"session_id": session, "hook_event_name": "Stop", "stop_hook_active": again});
        env.hook("Stop", stop).success();
    }
}

#[test]
fn a_line_that_writes_a_held_file_is_refused_as_an_edit_is() {
    let env = TestEnv::new();
    configure(&env, "[persist]\nmode = \"off\"\n");
    let at = |file: &str| env.project().join(file);
    std::fs::create_dir(at(".git")).unwrap();
    write_file(&at("src/a.rs"), b"first\n");
    std::os::unix::fs::symlink(at("src/a.rs"), at("link.rs")).unwrap();
    // A link after the edit would be a change of the file.
    std::fs::hard_link(at("src/a.rs"), at("hard.rs")).unwrap();
    env.substrate(["daemon", "start"]).success();
    edits(&env, "holder", "src/a.rs");
    let by_edit = call(&env, "other", "PreToolUse", "Edit", &json!({"file_path": at("src/a.rs")}));
    let reason = |answer: &str| -> String {
        let answer: Value = serde_json::from_str(answer).unwrap();
        answer["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap().to_owned()
    };
    // How long ago it was taken may differ.
    let next = |answer: &str| reason(answer).split_once(" [locks] ").unwrap().1.to_owned();
    assert!(next(&by_edit).contains("wait with `substrate locks wait src/a.rs`"), "{by_edit}");
    for line in ["sed -i s/a/b/ src/a.rs", "cd src && echo x > a.rs", "echo x > link.rs"] {
        let said = runs(&env, "other", "PreToolUse", line);
        assert!(said.contains("\"permissionDecision\":\"deny\""), "{line}: {said}");
        assert_eq!(next(&said), next(&by_edit), "{line}");
    }
    let said = runs(&env, "other", "PreToolUse", "echo x | tee hard.rs");
    assert!(reason(&said).starts_with("`hard.rs` is leased by "), "{said}");
    for line in ["cat src/a.rs", "cd src", "cp src/a.rs b.rs", "echo x > b.rs", "sed -n 1p link.rs"]
    {
        assert_eq!(runs(&env, "other", "PreToolUse", line), "", "{line}");
        assert_eq!(runs(&env, "other", "PostToolUse", line), "", "{line}");
    }
    assert_eq!(runs(&env, "holder", "PreToolUse", "sed -i s/a/b/ src/a.rs"), "", "the holder may");
    let said = runs(&env, "holder", "PostToolUse", "sed -i s/a/b/ src/a.rs");
    assert!(said.contains("is waiting for `src/a.rs`, which you hold"), "{said}");
    stops(&env, "holder");
    assert_eq!(runs(&env, "other", "PreToolUse", "sed -i s/a/b/ src/a.rs"), "", "it is free");
}

#[test]
fn a_write_that_a_line_does_not_show_is_told_to_the_one_whose_command_names_the_file() {
    let env = TestEnv::new();
    configure(&env, "[persist]\nmode = \"off\"\n");
    std::fs::create_dir(env.project().join(".git")).unwrap();
    env.substrate(["daemon", "start"]).success();
    edits(&env, "holder", "a.rs");
    runs(&env, "holder", "PreToolUse", "cargo test");
    later(&env);
    assert_eq!(runs(&env, "other", "PreToolUse", "python3 fix.py a.rs"), "", "not plain");
    write_file(&env.project().join("a.rs"), b"fixed\n");
    let told = runs(&env, "other", "PostToolUse", "python3 fix.py a.rs");
    assert!(told.contains("it changed while your command, which names it, was running"), "{told}");
    let inbox = env.substrate(["inbox", "--session-id", "holder"]).success();
    assert!(inbox.contains("a.rs changed while "), "{inbox}");
}
