//! Commands that change what somebody else holds.

use super::*;

fn touch(stage: &mut Stage, file: &str) {
    let now = stage.now.0;
    stage.machine.files.insert(file.to_owned(), now);
}

#[test]
fn a_command_that_changed_what_another_holds_is_noticed_once() {
    let mut stage = two();
    edits(&mut stage, LION, "src/a.rs");
    stage.pass(MINUTE);
    bash(&mut stage, OTTER, "sed -i s/a/b/ src/a.rs");
    stage.pass(10);
    touch(&mut stage, "/repo/src/a.rs");
    stage.pass(500);
    let told = bashed(&mut stage, OTTER, "sed -i s/a/b/ src/a.rs", 15).verdict.context.unwrap();
    assert!(
        told.contains("`src/a.rs` is leased by NobleLion, and your command changed it."),
        "{told}"
    );
    assert_eq!(mail(&mut stage, LION), ["CalmOtter changed src/a.rs"]);
    assert_eq!(history(&mut stage, "src/a.rs").last().unwrap(), "CalmOtter bypassed");
    assert_eq!(bashed(&mut stage, OTTER, "ls", 15).verdict.context, None);
    assert_eq!(mail(&mut stage, LION).len(), 1);
}

#[test]
fn nobody_is_blamed_for_what_somebody_else_did() {
    let mut stage = two();
    edit(&mut stage, LION, "a.rs");
    stage.pass(10);
    touch(&mut stage, "/repo/a.rs");
    // While the holder edits, nobody can tell.
    assert_eq!(bashed(&mut stage, OTTER, "ls", 15).verdict.context, None);
    stage.pass(10);
    edited(&mut stage, LION, "a.rs");
    assert_eq!(bashed(&mut stage, OTTER, "ls", 15).verdict.context, None, "the edit itself");
    stage.pass(MINUTE);
    touch(&mut stage, "/repo/a.rs");
    assert_eq!(bashed(&mut stage, LION, "cargo fmt", 15).verdict.context, None, "the holder may");
    assert_eq!(bashed(&mut stage, OTTER, "ls", 15).verdict.context, None, "and that is known");
    stage.pass(MINUTE);
    touch(&mut stage, "/repo/a.rs");
    stage.pass(MINUTE);
    assert_eq!(bashed(&mut stage, OTTER, "ls", 15).verdict.context, None, "long before");
    stage.pass(MINUTE);
    touch(&mut stage, "/repo/a.rs");
    stop(&mut stage, LION);
    assert_eq!(bashed(&mut stage, OTTER, "ls", 15).verdict.context, None, "nobody holds it");
    assert_eq!(mail(&mut stage, LION), [""; 0]);
}

#[test]
fn a_command_that_failed_may_have_changed_a_file_too() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    stage.pass(MINUTE);
    touch(&mut stage, "/repo/a.rs");
    stage.pass(10);
    let detail = Detail::ToolFailed {
        call: bash_call("sed -i s/a/b/ a.rs && false"),
        error: "exit code 1".to_owned(),
        interrupted: false,
        duration_ms: Some(20),
    };
    let event = event(&stage, OTTER, EventKind::PostToolUseFailure, detail);
    assert!(stage.told(&event).verdict.context.unwrap().contains("your command changed it"));
}
