//! The commands about leases.

use super::*;

#[test]
fn a_list_shows_who_holds_what() {
    let mut stage = two();
    let out = run(&mut stage, &person(), "list", json!({})).unwrap();
    assert_eq!(out.text, "No files are held.\n");
    edits(&mut stage, LION, "src/a.rs");
    stage.pass(2 * MINUTE);
    edit(&mut stage, CODER, "src/b.rs");
    let out = run(&mut stage, &person(), "list", json!({})).unwrap();
    assert_eq!(
        out.text,
        "src/b.rs  NobleLion/coder-1  editing, taken 0s ago, ends in 1m if silent\n\
         src/a.rs  NobleLion          held, taken 2m ago, ends in 10m if silent\n"
    );
    let elsewhere = Caller { project: "/other".to_owned(), ..person() };
    let out = run(&mut stage, &elsewhere, "list", json!({})).unwrap();
    assert_eq!(out.text, "No files are held.\n");
    let out = run(&mut stage, &elsewhere, "list", json!({"all": true})).unwrap();
    assert_eq!(out.json["locks"].as_array().unwrap().len(), 2);
}

#[test]
fn show_prints_a_file_with_its_history() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    edits(&mut stage, OTTER, "a.rs");
    let out = run(&mut stage, &person(), "show", json!({"path": "./a.rs"})).unwrap();
    assert_eq!(
        out.text,
        "a.rs  NobleLion  held, taken 0s ago, ends in 10m if silent\n   \
         0s ago  CalmOtter  denied (held by NobleLion)\n   0s ago  NobleLion  acquired\n"
    );
    let out = run(&mut stage, &person(), "show", json!({"path": "b.rs"})).unwrap();
    assert!(out.text.starts_with("`b.rs` is free.\n"), "{}", out.text);
}

#[test]
fn a_file_can_be_taken_ahead_with_a_reason_that_others_read() {
    let mut stage = two();
    let body = json!({"paths": ["a.rs"], "reason": "renames\nthe `parser`", "ttl": "30m"});
    let out = run(&mut stage, &caller(LION), "acquire", body).unwrap();
    assert_eq!(out.text, "You hold `a.rs` until your turn ends or you release it.\n");
    let outcome = edit(&mut stage, OTTER, "a.rs");
    let reason = denial(&outcome).unwrap();
    assert!(reason.contains("taken 0s ago: \"renames the 'parser'\". [locks]"), "{reason}");
    stage.pass(29 * MINUTE);
    assert!(!edits(&mut stage, OTTER, "a.rs"));
    stage.pass(2 * MINUTE);
    assert!(edits(&mut stage, OTTER, "a.rs"));
}

#[test]
fn acquire_takes_nothing_if_another_holds_one_of_the_files() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    let error = run(&mut stage, &caller(OTTER), "acquire", json!({"paths": ["b.rs", "a.rs"]}));
    let error = error.unwrap_err();
    assert!(error.starts_with("`a.rs` can't be taken: NobleLion holds `a.rs` | "), "{error}");
    assert_eq!(held(&mut stage), ["a.rs NobleLion held"]);
    let error = run(&mut stage, &caller(OTTER), "acquire", json!({"paths": ["/tmp/x"]}));
    assert!(error.unwrap_err().contains("is neither in a git working tree nor in this project"));
}

#[test]
fn only_the_holder_or_the_person_releases() {
    let mut stage = two();
    for file in ["a.rs", "b.rs", "c.rs"] {
        edits(&mut stage, LION, file);
    }
    let paths = json!({"paths": ["a.rs"]});
    let error = run(&mut stage, &caller(OTTER), "release", paths.clone()).unwrap_err();
    assert!(error.starts_with("`a.rs` is held by NobleLion, not by you | "), "{error}");
    let error = run(&mut stage, &person(), "release", paths).unwrap_err();
    assert!(error.ends_with("the person may add `--force`"), "{error}");
    let force = json!({"paths": ["a.rs"], "force": true});
    let error = run(&mut stage, &caller(OTTER), "release", force.clone()).unwrap_err();
    assert!(error.starts_with("only the person may release what others hold"), "{error}");
    assert_eq!(run(&mut stage, &person(), "release", force).unwrap().text, "Released 1 file.\n");
    assert_eq!(woken(&stage), ["/repo/a.rs"]);
    assert_eq!(history(&mut stage, "a.rs").last().unwrap(), "User forced");
    let out = run(&mut stage, &caller(LION), "release", json!({"all": true})).unwrap();
    assert_eq!(out.text, "Released 2 files.\n");
    let out = run(&mut stage, &caller(LION), "release", json!({"paths": ["a.rs"]})).unwrap();
    assert_eq!(out.text, "Released 0 files.\n");
}

#[test]
fn a_subagent_owns_what_it_takes_by_command() {
    let mut stage = two();
    reads(&mut stage, CODER);
    run(&mut stage, &caller(CODER), "acquire", json!({"paths": ["a.rs"]})).unwrap();
    assert!(!edits(&mut stage, LION, "a.rs"));
    assert!(edits(&mut stage, CODER, "a.rs"));
}

#[test]
fn waiting_ends_when_the_file_is_free() {
    let mut stage = two();
    let body = json!({"path": "a.rs", "timeout": "5m"});
    let out = run(&mut stage, &caller(OTTER), "wait", body.clone()).unwrap();
    assert!(out.text.starts_with("`a.rs` is free. Edit it now"), "{}", out.text);
    edits(&mut stage, LION, "a.rs");
    let wait = run(&mut stage, &caller(OTTER), "wait", body).unwrap().wait.unwrap();
    assert_eq!(wait.key, "lock /repo/a.rs");
    assert!(riding(&mut stage, LION).unwrap().starts_with("CalmOtter is waiting for `a.rs`, "));
    stage.pass(MINUTE);
    really_stop(&mut stage, LION);
    assert_eq!(woken(&stage), ["/repo/a.rs"]);
    let out = run(&mut stage, &caller(OTTER), "wait", wait.body).unwrap();
    assert!(out.wait.is_none());
    assert!(out.text.starts_with("`a.rs` is free. NobleLion held it."), "{}", out.text);
}

#[test]
fn waiting_ends_with_an_error_when_the_time_is_up() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    let body = json!({"path": "a.rs", "timeout": "5m"});
    let wait = run(&mut stage, &caller(OTTER), "wait", body).unwrap().wait.unwrap();
    assert_eq!(wait.until_ms, stage.now.plus_ms(5 * MINUTE).0);
    stage.pass(5 * MINUTE);
    let error = run(&mut stage, &caller(OTTER), "wait", wait.body).unwrap_err();
    assert!(error.starts_with("`a.rs` is still held by NobleLion | write to them: "), "{error}");
    let error = run(&mut stage, &caller(OTTER), "wait", json!({"path": "a.rs", "timeout": "x"}));
    assert!(error.unwrap_err().starts_with("`x` is not a duration"));
}

#[test]
fn waiting_looks_again_when_a_silent_holder_would_lose_it() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    let body = json!({"path": "a.rs", "timeout": "1h"});
    let wait = run(&mut stage, &caller(OTTER), "wait", body).unwrap().wait.unwrap();
    stage.now = substrate_core::Timestamp(wait.until_ms);
    let out = run(&mut stage, &caller(OTTER), "wait", wait.body).unwrap();
    assert_eq!(out.json["free"], true);
}

#[test]
fn a_check_fails_when_others_hold_a_file() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    let body = json!({"paths": ["a.rs", "b.rs"]});
    assert!(run(&mut stage, &caller(LION), "check", body.clone()).is_ok());
    let error = run(&mut stage, &caller(OTTER), "check", body).unwrap_err();
    assert!(error.starts_with("held by others: `a.rs` (NobleLion) | "), "{error}");
    let body = json!({"paths": ["a.rs", "b.rs"], "list": true});
    let out = run(&mut stage, &caller(OTTER), "check", body).unwrap();
    assert_eq!(out.json["held"][0]["path"], "/repo/a.rs");
}

#[test]
fn a_file_taken_by_command_is_held_even_where_edits_take_no_lease() {
    let mut stage = with("[locks]\nfiles = [\"**/*.ts\"]\n");
    for file in ["target/x.ts", "notes.md"] {
        assert!(edits(&mut stage, OTTER, file) && held(&mut stage).is_empty(), "{file}");
        run(&mut stage, &caller(LION), "acquire", json!({"paths": [file]})).unwrap();
        assert!(!edits(&mut stage, OTTER, file), "{file}");
        assert!(edits(&mut stage, LION, file), "{file}");
        run(&mut stage, &caller(LION), "release", json!({"paths": [file]})).unwrap();
        run(&mut stage, &caller(LION), "acquire", json!({"paths": [file], "shared": true}))
            .unwrap();
        assert!(!edits(&mut stage, OTTER, file), "{file}");
        run(&mut stage, &caller(LION), "release", json!({"all": true})).unwrap();
        assert!(edits(&mut stage, OTTER, file) && held(&mut stage).is_empty(), "{file}");
    }
}

#[test]
fn an_invalid_time_is_refused() {
    let mut stage = two();
    for ttl in ["0s", "1ms", "25h", "x"] {
        let body = json!({"paths": ["a.rs"], "ttl": ttl});
        let error = run(&mut stage, &caller(LION), "acquire", body).unwrap_err();
        assert!(error.contains(&format!("`{ttl}`")) && error.contains("write"), "{error}");
    }
    assert!(held(&mut stage).is_empty());
    run(&mut stage, &caller(LION), "acquire", json!({"paths": ["a.rs"], "ttl": "1s"})).unwrap();
    assert!(!edits(&mut stage, OTTER, "a.rs"));
}

#[test]
fn to_an_unknown_caller_every_held_file_belongs_to_others() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    let body = json!({"paths": ["a.rs", "b.rs"]});
    for agent in [None, Some("Unknown".to_owned())] {
        let unknown = Caller { session: Some("unknown".to_owned()), agent, ..caller(LION) };
        let error = run(&mut stage, &unknown, "check", body.clone()).unwrap_err();
        assert!(error.starts_with("held by others: `a.rs` (NobleLion)"), "{error}");
    }
    let free = json!({"paths": ["b.rs"]});
    let unknown = Caller { session: Some("unknown".to_owned()), agent: None, ..caller(LION) };
    assert!(run(&mut stage, &unknown, "check", free).is_ok());
}

#[test]
fn an_unknown_caller_is_told_how_to_identify_itself() {
    let mut stage = two();
    let unknown = Caller { session: Some("unknown".to_owned()), ..caller(LION) };
    let unknown = Caller { agent: None, ..unknown };
    let error = run(&mut stage, &unknown, "acquire", json!({"paths": ["a.rs"]})).unwrap_err();
    assert!(
        error.contains("`substrate agent ensure --session-id unknown` gives it one"),
        "{error}"
    );
}

#[test]
fn every_command_is_well_made() {
    for verb in crate::locks::FEATURE.verbs {
        (verb.augment)(clap::Command::new(verb.path[1])).debug_assert();
    }
}
