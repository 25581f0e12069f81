//! One file under several names.

use super::*;
use rstest::rstest;

/// Makes both names the same file.
fn link(stage: &mut Stage, name: &str, other: &str) {
    for name in [name, other] {
        stage.machine.same_file.insert(format!("/repo/{name}"), format!("file of {other}"));
    }
}

#[test]
fn another_name_of_a_held_file_is_refused_and_its_holder_told_by_the_name_it_knows() {
    let mut stage = two();
    link(&mut stage, "link.rs", "a.rs");
    assert!(edits(&mut stage, LION, "a.rs"));
    let outcome = edit(&mut stage, OTTER, "link.rs");
    let reason = denial(&outcome).unwrap();
    assert!(reason.starts_with("`link.rs` is leased by NobleLion as `a.rs`, taken "), "{reason}");
    assert!(riding(&mut stage, LION).unwrap().starts_with("CalmOtter is waiting for `a.rs`, "));
    assert!(edits(&mut stage, LION, "link.rs") && edits(&mut stage, LION, "a.rs"));
    assert_eq!(held(&mut stage), ["a.rs NobleLion held", "link.rs NobleLion held"]);
    really_stop(&mut stage, LION);
    assert!(edits(&mut stage, OTTER, "link.rs"));
}

/// The file's identity before and after the first edit of `a.rs`, and that of `b.rs` then.
#[rstest]
#[case::never_known(None, None, None, true)]
#[case::new(None, Some("1"), Some("1"), false)]
#[case::written(Some("1"), Some("1"), Some("1"), false)]
#[case::replaced(Some("1"), Some("2"), Some("2"), false)]
#[case::replaced_and_kept_beside(Some("1"), Some("2"), Some("1"), true)]
#[case::gone(Some("1"), None, Some("1"), true)]
#[case::another(Some("1"), Some("1"), Some("2"), true)]
fn a_lease_is_on_the_file_that_was_there_after_the_edit(
    #[case] before: Option<&str>,
    #[case] after: Option<&str>,
    #[case] other: Option<&str>,
    #[case] is_let: bool,
) {
    let mut stage = two();
    let is = |stage: &mut Stage, path: &str, file: Option<&str>| match file {
        Some(file) => drop(stage.machine.same_file.insert(path.to_owned(), file.to_owned())),
        None => drop(stage.machine.same_file.remove(path)),
    };
    is(&mut stage, "/repo/a.rs", before);
    edit(&mut stage, LION, "a.rs");
    is(&mut stage, "/repo/a.rs", after);
    edited(&mut stage, LION, "a.rs");
    is(&mut stage, "/repo/b.rs", other);
    assert_eq!(edits(&mut stage, OTTER, "b.rs"), is_let);
    assert!(!edits(&mut stage, OTTER, "a.rs"), "its path is held in any case");
}

#[test]
fn the_holder_of_a_path_is_not_refused_when_two_files_become_one() {
    let mut stage = two();
    assert!(edits(&mut stage, LION, "a.rs") && edits(&mut stage, OTTER, "b.rs"));
    link(&mut stage, "a.rs", "b.rs");
    assert!(edits(&mut stage, LION, "a.rs") && edits(&mut stage, OTTER, "b.rs"));
    assert!(!edits(&mut stage, CODER, "a.rs") && !edits(&mut stage, CODER, "b.rs"));
}

#[test]
fn a_name_held_by_a_dead_holder_keeps_no_one_off() {
    let mut stage = two();
    link(&mut stage, "link.rs", "a.rs");
    assert!(edits(&mut stage, LION, "a.rs"));
    stage.machine.processes.remove(&10);
    assert!(edits(&mut stage, OTTER, "link.rs"));
}
