//! Shell lines that plainly write what others hold.

use super::*;
use rstest::rstest;

/// NobleLion holds `a.rs` and `lib/held.rs`, CalmOtter runs this.
#[rstest]
#[case::redirection("echo x > a.rs", true)]
#[case::appended("echo x >> a.rs", true)]
#[case::sed("sed -i s/a/b/ a.rs", true)]
#[case::perl("perl -pi -e s/a/b/ a.rs", true)]
#[case::tee("echo x | tee a.rs", true)]
#[case::cp("cp b.rs a.rs", true)]
#[case::cp_into("cp new/held.rs lib", true)]
#[case::cp_into_slash("cp new/held.rs lib/", true)]
#[case::install("install -m 644 b.rs a.rs", true)]
#[case::rsync("rsync new/a.rs .", true)]
#[case::dd("dd if=b.rs of=a.rs", true)]
#[case::patch("patch a.rs < x.patch", true)]
#[case::apply("git apply <<'E'\n--- a/a.rs\n+++ b/a.rs\nE", true)]
#[case::truncate("truncate -s 0 a.rs", true)]
#[case::shred("shred a.rs", true)]
#[case::unlink("unlink a.rs", true)]
#[case::link("ln -sf b.rs a.rs", true)]
#[case::find("find . -name '*.rs' -delete", true)]
#[case::find_all("find lib -delete", true)]
#[case::find_exec("find . -name 'held*' -exec sed -i s/a/b/ {} +", true)]
#[case::glob("sed -i s/a/b/ *.rs", true)]
#[case::glob_below("sed -i s/a/b/ lib/*", true)]
#[case::below("cd lib && echo x > held.rs", true)]
#[case::whole("cd /tmp && echo x > /repo/a.rs", true)]
#[case::from_the_top("cd lib && cd $(git rev-parse --show-toplevel) && echo x > a.rs", true)]
#[case::quoted("sh -c 'echo x > a.rs'", true)]
#[case::moved("mv b.rs a.rs", true)]
#[case::removed("rm a.rs", true)]
#[case::reads("cat a.rs && sed -n 1p a.rs && cp a.rs b.rs && grep x a.rs 2>&1", false)]
#[case::writes_its_own("echo x > mine.txt", false)]
#[case::free("echo x > b.rs", false)]
#[case::other_glob("sed -i s/a/b/ *.md", false)]
#[case::elsewhere("cd /other && echo x > a.rs", false)]
#[case::nowhere("echo x > /tmp/a.rs", false)]
#[case::cd("cd lib", false)]
#[case::touch("touch a.rs", false)]
#[case::not_plain("python3 fix.py a.rs", false)]
#[case::unknown("echo x > $F", false)]
#[case::scratchpad("echo x > .claude/scratchpad/n.md", false)]
fn a_line_that_writes_a_held_file_is_refused(#[case] line: &str, #[case] is_denied: bool) {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    edits(&mut stage, LION, "lib/held.rs");
    edits(&mut stage, OTTER, "mine.txt");
    let outcome = bash(&mut stage, OTTER, line);
    assert_eq!(denial(&outcome).is_some(), is_denied, "{:?}", outcome.verdict.permission);
    if is_denied {
        assert_eq!(denial(&bash(&mut stage, LION, line)), None, "the holder is never refused");
    }
    assert_eq!(
        held(&mut stage),
        ["a.rs NobleLion held", "lib/held.rs NobleLion held", "mine.txt CalmOtter held"],
        "a line takes nothing"
    );
    really_stop(&mut stage, LION);
    assert_eq!(denial(&bash(&mut stage, OTTER, line)), None, "they are free");
}

#[test]
fn a_refused_line_reads_like_a_refused_edit() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    stage.pass(3 * MINUTE);
    let by_edit = denial(&edit(&mut stage, OTTER, "a.rs")).unwrap().to_owned();
    let by_line = denial(&bash(&mut stage, OTTER, "sed -i s/a/b/ a.rs")).unwrap().to_owned();
    assert_eq!(by_line, by_edit);
    assert_eq!(
        by_line,
        "`a.rs` is leased by NobleLion, taken 3m ago: they are editing it. [locks] Work on something else, wait with \
         `substrate locks wait a.rs`, or write to them: `substrate send --to NobleLion --subject a.rs --body \"…\"`."
    );
}

#[test]
fn the_holder_learns_once_who_wants_the_file() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    for line in ["echo x > a.rs", "echo x > a.rs", "cat a.rs"] {
        bash(&mut stage, OTTER, line);
    }
    assert!(riding(&mut stage, LION).unwrap().starts_with("CalmOtter is waiting for `a.rs`"));
    assert_eq!(riding(&mut stage, LION), None, "once is enough");
    assert_eq!(history(&mut stage, "a.rs").last().unwrap(), "CalmOtter denied");
}

#[rstest]
#[case("enforce", "deny")]
#[case("warn", "context")]
#[case("off", "allow")]
fn the_mode_decides(#[case] mode: &str, #[case] word: &str) {
    let mut stage = with(&format!("[locks]\nmode = \"{mode}\"\n"));
    edits(&mut stage, LION, "a.rs");
    let outcome = bash(&mut stage, OTTER, "echo x > a.rs");
    assert_eq!(outcome.verdict.word(), word);
    let told = outcome.verdict.context.unwrap_or_default();
    assert_eq!(told.contains("You may edit it anyway"), mode == "warn", "{told}");
}

#[test]
fn switching_the_sweeps_off_lets_no_write_pass() {
    let mut stage = with("[locks]\ngit = \"off\"\n");
    edits(&mut stage, LION, "a.rs");
    assert!(denial(&bash(&mut stage, OTTER, "echo x > a.rs")).is_some());
}

#[test]
fn a_waiting_parent_lends_only_to_its_subagent() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    assert!(denial(&bash(&mut stage, CODER, "echo x > a.rs")).is_some(), "it does not wait yet");
    stage.pass(SECOND);
    agent(&mut stage, LION);
    stage.pass(SECOND);
    for line in ["echo x > a.rs", "sed -i s/a/b/ *.rs", "find . -delete"] {
        assert_eq!(denial(&bash(&mut stage, TESTER, line)), None, "{line}");
        assert!(denial(&bash(&mut stage, OTTER, line)).is_some(), "{line}");
    }
}

#[test]
fn what_is_reserved_is_refused_as_well() {
    let mut stage = two();
    run(&mut stage, &caller(LION), "acquire", json!({"paths": ["src/**"]})).unwrap();
    let outcome = bash(&mut stage, OTTER, "echo x > src/new.rs");
    let reason = denial(&outcome).unwrap();
    assert!(reason.starts_with("`src/new.rs` is reserved by NobleLion (`src/**`)"), "{reason}");
    // Whether `copy` is a folder is unknown here, and no one holds exactly that file.
    run(&mut stage, &caller(LION), "acquire", json!({"paths": ["*.toml"]})).unwrap();
    assert_eq!(denial(&bash(&mut stage, OTTER, "cp /tmp/x.toml copy")), None);
    assert!(denial(&bash(&mut stage, OTTER, "cp /tmp/x.toml copy/")).is_some());
}

#[test]
fn another_name_of_a_held_file_is_the_same_file() {
    let mut stage = two();
    for name in ["link.rs", "a.rs"] {
        stage.machine.same_file.insert(format!("/repo/{name}"), "one".to_owned());
    }
    edits(&mut stage, LION, "a.rs");
    let outcome = bash(&mut stage, OTTER, "echo x > link.rs");
    let reason = denial(&outcome).unwrap();
    assert!(reason.starts_with("`link.rs` is leased by NobleLion as `a.rs`"), "{reason}");
}

#[test]
fn a_line_that_writes_many_held_files_names_a_few() {
    let mut stage = two();
    for i in 0..6 {
        edits(&mut stage, LION, &format!("{i}.rs"));
    }
    let outcome = bash(&mut stage, OTTER, "tee 0.rs 1.rs 2.rs 3.rs 4.rs 5.rs");
    assert_eq!(denial(&outcome).unwrap().matches("is leased by").count(), 3);
}

#[test]
fn when_no_one_else_holds_anything_no_file_is_looked_at() {
    let mut stage = two();
    edits(&mut stage, OTTER, "a.rs");
    // Without facts this is unknown, and the line would be refused.
    let detail = Detail::ToolBefore { call: bash_call("echo x > a.rs") };
    let event = event(&stage, OTTER, EventKind::PreToolUse, detail);
    assert_eq!(stage.happen_reading(&event).verdict.word(), "allow");
}
