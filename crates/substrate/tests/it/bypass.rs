//! Files that change behind their holder's back: real files, real stamps.

use std::fs::{File, remove_file, rename};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use substrate_testkit::{TestEnv, write_file};

use crate::house::configure;

fn call(env: &TestEnv, session: &str, event: &str, tool: &str, input: &Value) -> String {
    let payload = json!({
        "session_id": session, "cwd": env.project(), "hook_event_name": event, "tool_name": tool,
        "tool_input": input, "tool_use_id": format!("toolu_{tool}"), "tool_response": {}, "duration_ms": 10,
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
    std::thread::sleep(Duration::from_millis(30));
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
    // The stamp from the future keeps no lease. The first Stop tells of the mail.
    for again in [false, true] {
        let stop =
            json!({"session_id": "holder", "hook_event_name": "Stop", "stop_hook_active": again});
        env.hook("Stop", stop).success();
    }
    let list = env.substrate(["locks", "list", "--all"]).success();
    assert_eq!(list, "Nobody holds a file.\n");
}

#[test]
fn what_the_holders_own_command_does_is_nobodys_business() {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    env.substrate(["daemon", "start"]).success();
    edits(&env, "holder", "a.rs");
    before(&env, "holder");
    std::thread::sleep(Duration::from_millis(30));
    write_file(&env.project().join("a.rs"), b"formatted\n");
    before(&env, "other");
    assert_eq!(after(&env, "other"), "");
    let inbox = env.substrate(["inbox", "--session-id", "holder"]).success();
    assert!(!inbox.contains("a.rs"), "{inbox}");
}
