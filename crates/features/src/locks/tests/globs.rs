//! Reserved globs.

use super::*;
use rstest::rstest;

fn acquire(stage: &mut Stage, who: One, glob: &str, shared: bool) -> Result<(), String> {
    let body = json!({"paths": [glob], "reason": "api", "ttl": "30m", "shared": shared});
    run(stage, &caller(who), "acquire", body).map(|_| ())
}

#[test]
fn a_reserved_glob_keeps_others_off_files_that_are_not_there_yet() {
    let mut stage = two();
    acquire(&mut stage, LION, "src/api/**", false).unwrap();
    assert!(edits(&mut stage, LION, "src/api/new.rs"));
    let outcome = edit(&mut stage, OTTER, "src/api/deep/er.rs");
    let reason = denial(&outcome).unwrap();
    assert!(
        reason.starts_with(
            "`src/api/deep/er.rs` is reserved by NobleLion (`src/api/**`), taken 0s ago: \"api\"."
        ),
        "{reason}"
    );
    assert!(edits(&mut stage, OTTER, "src/web.rs"));
    assert!(edits(&mut stage, OTTER, "/other/src/api/x.rs"), "another working tree");
    assert!(!edits(&mut stage, CODER, "src/api/x.rs"), "its own subagent is another actor");
    stop(&mut stage, LION);
    really_stop(&mut stage, LION);
    assert!(edits(&mut stage, OTTER, "src/api/deep/er.rs"));
}

#[rstest]
#[case::same("src/**", false, "src/**", false, false)]
#[case::inside("src/**", false, "src/api/**", false, false)]
#[case::beside("src/api/**", false, "src/web/**", false, true)]
#[case::two_share("src/**", true, "src/api/**", true, true)]
#[case::one_shares("src/**", true, "src/api/**", false, false)]
#[case::other_shares("src/**", false, "src/api/**", true, false)]
fn two_reservations(
    #[case] first: &str,
    #[case] first_shared: bool,
    #[case] second: &str,
    #[case] second_shared: bool,
    #[case] fits: bool,
) {
    let mut stage = two();
    acquire(&mut stage, LION, first, first_shared).unwrap();
    assert_eq!(acquire(&mut stage, OTTER, second, second_shared).is_ok(), fits);
    acquire(&mut stage, LION, first, first_shared).unwrap();
}

#[test]
fn only_those_who_share_a_glob_may_edit_in_it() {
    let mut stage = two();
    acquire(&mut stage, LION, "src/**", true).unwrap();
    assert!(!edits(&mut stage, OTTER, "src/a.rs"));
    acquire(&mut stage, OTTER, "src/**", true).unwrap();
    assert!(edits(&mut stage, OTTER, "src/a.rs"));
    assert!(!edits(&mut stage, LION, "src/a.rs"), "the file itself is one owner's");
    assert!(edits(&mut stage, LION, "src/b.rs"));
    reads(&mut stage, CODER);
    acquire(&mut stage, CODER, "src/**", true).unwrap();
}

#[test]
fn a_file_can_be_shared() {
    let mut stage = two();
    acquire(&mut stage, LION, "a.rs", true).unwrap();
    acquire(&mut stage, OTTER, "a.rs", true).unwrap();
    assert!(!edits(&mut stage, CODER, "a.rs"));
    assert!(edits(&mut stage, CODER, "src/a.rs"), "another file of that name");
    let out = run(&mut stage, &caller(LION), "release", json!({"paths": ["a.rs"]})).unwrap();
    assert_eq!(out.text, "Released 0 files and 1 glob.\n");
}

#[test]
fn a_glob_over_a_file_that_another_edits_is_refused() {
    let mut stage = two();
    edits(&mut stage, LION, "src/a.rs");
    for shared in [false, true] {
        let error = acquire(&mut stage, OTTER, "src/**", shared).unwrap_err();
        assert!(
            error.starts_with("`src/**` can't be taken: NobleLion holds `src/a.rs`"),
            "{error}"
        );
    }
    acquire(&mut stage, OTTER, "src/**/*.ts", false).unwrap();
    assert!(edits(&mut stage, LION, "src/a.rs"));
}

#[test]
fn a_reservation_ends_and_is_waited_for() {
    let mut stage = two();
    acquire(&mut stage, LION, "src/**", false).unwrap();
    let body = json!({"path": "src/a.rs", "timeout": "2h"});
    let wait = run(&mut stage, &caller(OTTER), "wait", body).unwrap().wait.unwrap();
    assert_eq!(wait.key, "lock glob 1");
    let out = run(&mut stage, &caller(LION), "release", json!({"paths": ["src/**"]})).unwrap();
    assert_eq!(out.text, "Released 0 files and 1 glob.\n");
    assert_eq!(woken(&stage), ["glob 1"]);
    assert!(run(&mut stage, &caller(OTTER), "wait", wait.body).unwrap().wait.is_none());
    acquire(&mut stage, LION, "src/**", false).unwrap();
    stage.pass(30 * MINUTE);
    assert!(edits(&mut stage, OTTER, "src/a.rs"));
    stage.with(|cx| crate::locks::release::tick(cx).unwrap());
    assert_eq!(woken(&stage), ["glob 1"], "the row is gone");
}

#[test]
fn the_person_reserves_too_and_for_a_fixed_time() {
    let mut stage = two();
    let body = json!({"paths": ["src/**", "a.rs"], "ttl": "1h"});
    let out = run(&mut stage, &person(), "acquire", body).unwrap();
    assert_eq!(out.text, "You hold `src/**`, `a.rs` for 1h.\n");
    stage.with(|cx| crate::locks::release::tick(cx).unwrap());
    assert!(!edits(&mut stage, LION, "a.rs") && !edits(&mut stage, LION, "src/b.rs"));
    stage.pass(60 * MINUTE);
    assert!(edits(&mut stage, LION, "a.rs") && edits(&mut stage, LION, "src/b.rs"));
}

#[test]
fn a_holder_may_have_200_globs_and_a_bad_one_is_refused() {
    let mut stage = two();
    for i in 0..200 {
        acquire(&mut stage, LION, &format!("d{i}/**"), false).unwrap();
    }
    let error = acquire(&mut stage, LION, "x/**", false).unwrap_err();
    assert!(error.starts_with("you already have 200 reserved globs"), "{error}");
    acquire(&mut stage, LION, "d7/**", false).unwrap();
    acquire(&mut stage, OTTER, "x/**", false).unwrap();
    assert!(!edits(&mut stage, OTTER, "d199/a.rs"));
    reads(&mut stage, CODER);
    assert!(!edits(&mut stage, CODER, "x/a.rs"), "the 201st counts as well");
    stage.pass(31 * MINUTE);
    acquire(&mut stage, LION, "y/**", false).unwrap();
    let mut stage = two();
    assert!(
        acquire(&mut stage, LION, "a{*", false)
            .unwrap_err()
            .starts_with("`a{*` is not a valid glob")
    );
    for glob in ["**/../x/*", "*//x", "{a,../b}/*"] {
        let error = acquire(&mut stage, LION, glob, false).unwrap_err();
        assert!(error.contains("can't match a file"), "{error}");
    }
    assert!(held(&mut stage).is_empty());
}

#[test]
fn names_with_brackets_are_names() {
    let mut stage = two();
    acquire(&mut stage, LION, "app/[id]/**", false).unwrap();
    assert!(!edits(&mut stage, OTTER, "app/[id]/page.tsx"));
    assert!(edits(&mut stage, OTTER, "app/i/page.tsx"));
    let out = run(&mut stage, &caller(LION), "release", json!({"paths": ["app/[id]/**"]})).unwrap();
    assert_eq!(out.text, "Released 0 files and 1 glob.\n");
}

#[test]
fn a_folder_waits_for_shows_and_checks_what_is_held_inside() {
    let mut stage = two();
    edits(&mut stage, LION, "src/c.rs");
    acquire(&mut stage, LION, "src/api/**", false).unwrap();
    edits(&mut stage, LION, "docs/a.md");
    for typed in ["src/**", "src/"] {
        let out = run(&mut stage, &person(), "show", json!({"path": typed})).unwrap();
        assert!(out.text.starts_with("src/c.rs    NobleLion  held"), "{}", out.text);
        assert!(out.text.contains("\nsrc/api/**  NobleLion  reserved"), "{}", out.text);
        assert!(!out.text.contains("docs"), "{}", out.text);
    }
    let check = run(&mut stage, &caller(OTTER), "check", json!({"paths": ["src/"]})).unwrap_err();
    assert!(check.starts_with("held by others: `src/**` (NobleLion)"), "{check}");
    assert!(run(&mut stage, &caller(LION), "check", json!({"paths": ["src/"]})).is_ok());
    let body = json!({"path": "src/", "timeout": "1h"});
    let wait = run(&mut stage, &caller(OTTER), "wait", body).unwrap().wait.unwrap();
    assert_eq!(wait.key, "lock /repo/src/c.rs");
    let said = riding(&mut stage, LION).unwrap();
    assert!(said.starts_with("CalmOtter is waiting for `src/c.rs`, which you hold."), "{said}");
    run(&mut stage, &caller(LION), "release", json!({"paths": ["src/c.rs"]})).unwrap();
    let wait = run(&mut stage, &caller(OTTER), "wait", wait.body).unwrap().wait.unwrap();
    assert_eq!(wait.key, "lock glob 1", "then for the next");
    run(&mut stage, &caller(LION), "release", json!({"paths": ["src/api/**"]})).unwrap();
    let out = run(&mut stage, &caller(OTTER), "wait", wait.body).unwrap();
    assert!(out.wait.is_none() && out.text.starts_with("`src/**` is free. NobleLion held it."));
    acquire(&mut stage, LION, "lib/**", true).unwrap();
    acquire(&mut stage, OTTER, "lib/**", true).unwrap();
    let out = run(&mut stage, &caller(OTTER), "wait", json!({"path": "lib/"})).unwrap();
    assert!(out.wait.is_none(), "those who share it have it");
}
