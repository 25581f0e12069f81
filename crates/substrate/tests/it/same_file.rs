//! One file, several names: hard links, renamed folders, replaced files. Real files, real inodes.

use std::fs::{hard_link, remove_file, rename};

use serde_json::json;
use substrate_testkit::{TestEnv, write_file};

use crate::house::configure;

fn two() -> TestEnv {
    let env = TestEnv::new();
    configure(&env, "[persist]\nmode = \"off\"\n");
    std::fs::create_dir(env.project().join(".git")).unwrap();
    env.substrate(["daemon", "start"]).success();
    for session in ["a", "b"] {
        let start = json!({
            "session_id": session, "cwd": env.project(), "hook_event_name": "SessionStart",
            "source": "startup",
        });
        let _briefing = env.hook("SessionStart", start).success();
    }
    env
}

fn hook(env: &TestEnv, session: &str, event: &str, file: &str) -> String {
    let payload = json!({
        "session_id": session, "cwd": env.project(), "hook_event_name": event, "tool_name": "Write",
        "tool_input": {"file_path": env.project().join(file), "content": "x"},
        "tool_response": {}, "tool_use_id": "toolu_1",
    });
    env.hook(event, payload).success()
}

/// What an editor does between the two hooks.
#[derive(Clone, Copy)]
enum Editor {
    Writes,
    /// Writes a new file, and renames it over the old one.
    Replaces,
}

/// What refuses an edit, if anything. Otherwise the edit happens.
fn refused(env: &TestEnv, session: &str, file: &str, editor: Editor) -> Option<String> {
    let said = hook(env, session, "PreToolUse", file);
    if said.contains("\"deny\"") {
        return Some(said);
    }
    let path = env.project().join(file);
    match editor {
        Editor::Writes => write_file(&path, session),
        Editor::Replaces => {
            let beside = path.with_extension("tmp");
            write_file(&beside, session);
            rename(beside, path).unwrap();
        }
    }
    let said = hook(env, session, "PostToolUse", file);
    assert!(!said.contains("leased by"), "{said}");
    None
}

fn edits(env: &TestEnv, session: &str, file: &str) -> bool {
    refused(env, session, file, Editor::Writes).is_none()
}

#[test]
fn a_hard_link_is_the_file_itself() {
    let env = two();
    let at = |file: &str| env.project().join(file);
    // Another agent has just looked for it, and found nothing.
    hook(&env, "b", "PostToolUse", "link.rs");
    env.substrate(["locks", "release", "link.rs", "--session-id", "b"]).success();
    assert!(edits(&env, "a", "x.rs"), "a new file: it has a number only now");
    hard_link(at("x.rs"), at("link.rs")).unwrap();
    let said = refused(&env, "b", "link.rs", Editor::Writes).unwrap();
    assert!(said.contains("`link.rs` is leased by") && said.contains("as `x.rs`"), "{said}");
    let check = env.substrate(["locks", "check", "link.rs"]).code(1);
    assert!(check.stderr.contains("held by others"), "{check}");
    let shown = env.substrate(["locks", "show", "link.rs"]).success();
    assert!(shown.starts_with("x.rs  "), "{shown}");
    assert!(edits(&env, "a", "link.rs"), "who holds it is never refused");
    assert!(edits(&env, "a", "x.rs") && !edits(&env, "b", "x.rs"));
    env.substrate(["locks", "release", "--all", "--session-id", "a"]).success();
    assert!(edits(&env, "b", "link.rs") && !edits(&env, "a", "x.rs"));
}

#[test]
fn who_waits_for_another_name_is_told_when_the_file_is_free() {
    let env = two();
    assert!(edits(&env, "a", "x.rs"));
    hard_link(env.project().join("x.rs"), env.project().join("link.rs")).unwrap();
    let mut wait = env.command(substrate_testkit::bin("substrate"));
    wait.args(["locks", "wait", "link.rs", "--timeout", "15s", "--session-id", "b"]);
    let wait = substrate_testkit::Running::start(wait, Vec::new());
    let is_told = || hook(&env, "a", "PostToolUse", "x.rs").contains("is waiting for `x.rs`");
    substrate_testkit::wait_until(crate::house::SOON, "a note that another agent waits", is_told);
    let released = env.substrate(["locks", "release", "link.rs", "--session-id", "a"]).success();
    assert_eq!(released, "Released 1 file.\n");
    let said = wait.finish(crate::house::SOON).success();
    assert!(said.contains("`link.rs` is free"), "{said}");
}

#[test]
fn a_renamed_folder_frees_nothing() {
    let env = two();
    let at = |file: &str| env.project().join(file);
    assert!(edits(&env, "a", "src/x.rs"));
    rename(at("src"), at("lib")).unwrap();
    let said = refused(&env, "b", "lib/x.rs", Editor::Writes).unwrap();
    assert!(said.contains("as `src/x.rs`"), "{said}");
    assert!(!edits(&env, "b", "src/x.rs"), "its path is held as before");
    let payload = json!({
        "session_id": "b", "cwd": env.project(), "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "rm lib/x.rs"}, "tool_use_id": "toolu_2",
    });
    let said = env.hook("PreToolUse", payload).success();
    assert!(said.contains("would sweep away"), "{said}");
    assert!(edits(&env, "a", "lib/x.rs"));
    let stop = json!({"session_id": "a", "hook_event_name": "Stop", "stop_hook_active": true});
    env.hook("Stop", stop).success();
}

#[test]
fn who_replaces_a_file_holds_the_new_one_and_not_the_old() {
    let env = two();
    let at = |file: &str| env.project().join(file);
    write_file(&at("x.rs"), "old");
    hard_link(at("x.rs"), at("old.rs")).unwrap();
    assert!(refused(&env, "a", "x.rs", Editor::Replaces).is_none());
    assert!(edits(&env, "b", "old.rs"), "it is another file by now");
    hard_link(at("x.rs"), at("new.rs")).unwrap();
    assert!(!edits(&env, "b", "new.rs"));
    assert!(!edits(&env, "b", "x.rs"));
}

#[test]
fn a_number_that_is_given_again_is_another_file() {
    let env = two();
    let at = |file: &str| env.project().join(file);
    assert!(edits(&env, "a", "x.rs"));
    remove_file(at("x.rs")).unwrap();
    for n in 0..5 {
        let file = format!("{n}.rs");
        assert!(edits(&env, "b", &file) && edits(&env, "b", &file), "{file}");
    }
}
