//! Held files that change while another actor's command runs.

use super::*;

fn touch(stage: &mut Stage, file: &str) {
    let now = stage.now.0;
    stage.machine.files.insert(file.to_owned(), now);
}

/// Runs a command for a second while the file changes. Returns what its agent is told.
fn changes(stage: &mut Stage, who: One, file: &str) -> Option<String> {
    bash(stage, who, "sed -i s/a/b/ it");
    stage.pass(500);
    touch(stage, file);
    stage.pass(500);
    bashed(stage, who, "sed -i s/a/b/ it", SECOND).verdict.context
}

/// Runs a harmless command. Returns what its agent is told.
fn looks(stage: &mut Stage, who: One) -> Option<String> {
    bashed(stage, who, "ls", 15).verdict.context
}

#[test]
fn a_command_that_changed_what_another_holds_is_noticed_once() {
    let mut stage = two();
    edits(&mut stage, LION, "src/a.rs");
    stage.pass(MINUTE);
    let told = changes(&mut stage, OTTER, "/repo/src/a.rs").unwrap();
    assert!(
        told.contains(
            "`src/a.rs` is leased by NobleLion, and it changed while your command ran. If that was you, read it \
             again and tell them: `substrate send --to NobleLion --subject src/a.rs --body \"…\"`."
        ),
        "{told}"
    );
    assert_eq!(mail(&mut stage, LION), ["src/a.rs changed while CalmOtter ran a command"]);
    assert_eq!(history(&mut stage, "src/a.rs").last().unwrap(), "CalmOtter bypassed");
    assert_eq!(looks(&mut stage, OTTER), None);
    assert_eq!(mail(&mut stage, LION).len(), 1);
}

#[test]
fn changes_by_the_holder_itself_are_not_reported() {
    let mut stage = two();
    edit(&mut stage, LION, "a.rs");
    stage.pass(10);
    touch(&mut stage, "/repo/a.rs");
    // While the holder is editing, the author is unclear.
    assert_eq!(looks(&mut stage, OTTER), None);
    stage.pass(10);
    edited(&mut stage, LION, "a.rs");
    assert_eq!(looks(&mut stage, OTTER), None, "the edit itself");
    stage.pass(MINUTE);
    edit(&mut stage, LION, "a.rs");
    stage.pass(100);
    touch(&mut stage, "/repo/a.rs");
    stage.pass(100);
    assert_eq!(looks(&mut stage, OTTER), None, "the next edit, which is not over");
    edited(&mut stage, LION, "a.rs");
    stage.pass(MINUTE);
    bash(&mut stage, LION, "cargo fmt && sleep 30");
    stage.pass(100);
    touch(&mut stage, "/repo/a.rs");
    stage.pass(100);
    assert_eq!(looks(&mut stage, OTTER), None, "its command, which is not over");
    bashed(&mut stage, LION, "cargo fmt && sleep 30", 200);
    stage.pass(MINUTE);
    assert_eq!(changes(&mut stage, LION, "/repo/a.rs"), None, "its command");
    assert_eq!(looks(&mut stage, OTTER), None, "and that is known");
    stage.pass(MINUTE);
    touch(&mut stage, "/repo/a.rs");
    stage.pass(MINUTE);
    assert_eq!(looks(&mut stage, OTTER), None, "long before");
    stage.pass(MINUTE);
    touch(&mut stage, "/repo/a.rs");
    stop(&mut stage, LION);
    assert_eq!(looks(&mut stage, OTTER), None, "no one holds it");
    assert_eq!(mail(&mut stage, LION), [""; 0]);
}

#[test]
fn a_command_in_another_working_tree_is_not_asked() {
    let mut stage = two();
    edits(&mut stage, LION, "/repo/a.rs");
    edits(&mut stage, LION, "/other/a.rs");
    stage.pass(MINUTE);
    touch(&mut stage, "/repo/a.rs");
    let detail = |command: &str| Detail::ToolAfter {
        call: bash_call(command),
        response: String::new(),
        duration_ms: Some(50),
    };
    let cwd = "/other/src".to_owned();
    let here = event(&stage, OTTER, EventKind::PostToolUse, detail("ls"));
    let there = Event { cwd, ..here.clone() };
    assert_eq!(stage.told(&there).verdict.context, None);
    assert!(stage.told(&here).verdict.context.unwrap().contains("`a.rs` is leased by NobleLion"));
    touch(&mut stage, "/other/a.rs");
    let context = stage.told(&there).verdict.context.unwrap();
    assert!(context.contains("`a.rs` is leased by NobleLion"), "the tree it is in: {context}");
}

#[test]
fn a_file_that_is_gone_is_noticed_once_and_again_when_it_comes_back() {
    let mut stage = two();
    touch(&mut stage, "/repo/src/a.rs");
    edits(&mut stage, LION, "src/a.rs");
    edits(&mut stage, LION, "src/not-there-yet.rs");
    stage.pass(MINUTE);
    stage.machine.files.remove("/repo/src/a.rs");
    touch(&mut stage, "/repo");
    let told = bashed(&mut stage, OTTER, "rm -r src", 15).verdict.context.unwrap();
    assert!(
        told.contains("`src/a.rs` is leased by NobleLion, and it was removed or moved"),
        "{told}"
    );
    assert!(!told.contains("not-there-yet"), "{told}");
    assert_eq!(mail(&mut stage, LION), ["src/a.rs disappeared while CalmOtter ran a command"]);
    assert_eq!(looks(&mut stage, OTTER), None);
    stage.pass(MINUTE);
    assert!(changes(&mut stage, OTTER, "/repo/src/a.rs").unwrap().contains("it changed while"));
    // Long ago, by an unknown author.
    stage.machine.files.remove("/repo/src/a.rs");
    stage.pass(MINUTE);
    assert_eq!(looks(&mut stage, OTTER), None);
}

#[test]
fn a_time_stamp_from_the_future_hides_no_change() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    stage.pass(MINUTE);
    let far = stage.now.0 + 1_000_000 * MINUTE;
    stage.machine.files.insert("/repo/a.rs".to_owned(), far);
    assert!(looks(&mut stage, OTTER).is_some());
    assert_eq!(looks(&mut stage, OTTER), None, "once");
    stage.pass(MINUTE);
    assert!(changes(&mut stage, OTTER, "/repo/a.rs").is_some(), "what comes after is seen");
    stage.machine.files.insert("/repo/a.rs".to_owned(), far);
    looks(&mut stage, LION);
    really_stop(&mut stage, LION);
    assert_eq!(held(&mut stage), [""; 0]);
}

#[test]
fn many_own_files_do_not_hide_another() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    for i in 0..300 {
        edits(&mut stage, OTTER, &format!("{i}.rs"));
    }
    stage.pass(MINUTE);
    assert!(changes(&mut stage, OTTER, "/repo/a.rs").is_some());
}

#[test]
fn a_subagent_works_on_the_files_of_the_parent_that_waits_for_it() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    agent(&mut stage, LION);
    stage.pass(MINUTE);
    assert_eq!(changes(&mut stage, CODER, "/repo/a.rs"), None);
    assert_eq!(mail(&mut stage, LION), [""; 0]);
    stage.pass(MINUTE);
    assert!(changes(&mut stage, OTTER, "/repo/a.rs").is_some(), "to wait is no work");
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
    assert!(stage.told(&event).verdict.context.unwrap().contains("it changed while your command"));
}

/// The holder and another actor run commands while the file changes. Returns what the other is told.
fn both(stage: &mut Stage, holders: &str, others: &str) -> Option<String> {
    bash(stage, LION, holders);
    bash(stage, OTTER, others);
    stage.pass(500);
    touch(stage, "/repo/src/a.rs");
    stage.pass(500);
    let told = bashed(stage, OTTER, others, SECOND).verdict.context;
    bashed(stage, LION, holders, SECOND);
    told
}

#[rstest::rstest]
#[case::names_it("cargo test", "python3 fix.py src/a.rs", true)]
#[case::names_it_from_its_folder("cargo test", "cd src && ./fix a.rs", true)]
#[case::names_it_in_a_program("sleep 9", "python3 -c \"open('src/a.rs', 'w')\"", true)]
#[case::both_name_it("rustfmt src/a.rs", "python3 fix.py src/a.rs", false)]
#[case::neither_names_it("cargo fmt", "make", false)]
#[case::only_the_holder_names_it("rustfmt src/a.rs", "make", false)]
#[case::names_another("cargo fmt", "python3 fix.py lib/a.rs", false)]
#[case::only_reads_it("cargo fmt", "cat src/a.rs | head", false)]
fn while_the_holder_is_at_work_only_a_command_that_names_the_file_is_told(
    #[case] holders: &str,
    #[case] others: &str,
    #[case] is_told: bool,
) {
    let mut stage = two();
    edits(&mut stage, LION, "src/a.rs");
    stage.pass(MINUTE);
    let told = both(&mut stage, holders, others);
    assert_eq!(told.is_some(), is_told, "{told:?}");
    assert_eq!(mail(&mut stage, LION).len(), usize::from(is_told));
    if let Some(told) = told {
        assert!(
            told.contains(
                "`src/a.rs` is leased by NobleLion, and it changed while your command, which names it, was running. \
                 Read it again before you go on, and tell them: "
            ),
            "{told}"
        );
    }
}

#[test]
fn the_holder_reads_why_the_other_is_suspected() {
    let mut stage = two();
    edits(&mut stage, LION, "src/a.rs");
    stage.pass(MINUTE);
    both(&mut stage, "cargo test", "python3 fix.py src/a.rs");
    let out = stage.call(&caller(LION), &["inbox"], json!({"peek": true})).unwrap();
    let inbox = out.json.to_string();
    assert!(inbox.contains("changed while CalmOtter ran a command that names it"), "{inbox}");
}

#[test]
fn of_two_commands_the_one_that_names_the_file_is_told() {
    let mut stage = two();
    edits(&mut stage, LION, "src/a.rs");
    stage.pass(MINUTE);
    let coder = One("otter", Some("c2"));
    bash(&mut stage, OTTER, "make");
    bash(&mut stage, coder, "python3 fix.py src/a.rs");
    stage.pass(500);
    touch(&mut stage, "/repo/src/a.rs");
    stage.pass(500);
    assert_eq!(bashed(&mut stage, OTTER, "make", SECOND).verdict.context, None, "not this one");
    let told = bashed(&mut stage, coder, "python3 fix.py src/a.rs", SECOND).verdict.context;
    assert!(told.unwrap().contains("your command, which names it, was running"));
    assert_eq!(looks(&mut stage, OTTER), None, "once");
}
