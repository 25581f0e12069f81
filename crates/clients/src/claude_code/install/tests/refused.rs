//! Files that are left alone, with the line and a reason.

use rstest::rstest;

use super::*;

#[rstest]
#[case::comment("comment", 3, "comment")]
#[case::block_comment("block-comment", 2, "comment")]
#[case::behind_the_end("comment-behind", 2, "not JSON")]
#[case::trailing_comma("trailing-comma", 3, "comma")]
#[case::trailing_comma_in_a_list("trailing-comma-list", 3, "comma")]
#[case::list("list", 1, "a list, not an object")]
#[case::null("null", 1, "null, not an object")]
#[case::text("text", 1, "a text, not an object")]
#[case::cut_off("cut-off", 4, "not JSON (EOF")]
#[case::hooks_is_a_list("hooks-list", 3, "`hooks` must be an object, not a list")]
#[case::hooks_is_null("hooks-null", 2, "`hooks` must be an object, not null")]
#[case::an_event_is_an_object("stop-object", 3, "`hooks.Stop` must be a list, not an object")]
#[case::an_event_is_null("stop-null", 3, "`hooks.Stop` must be a list, not null")]
#[case::matcher_is_an_object(
    "matcher-object",
    5,
    "`hooks.PreToolUse.0.matcher` must be a text, not an object"
)]
#[case::timeout_is_text(
    "timeout-text",
    5,
    "`hooks.PermissionRequest.0.hooks.0.timeout` must be a number above 0"
)]
#[case::unknown_type(
    "unknown-type",
    1,
    "`hooks.PreToolUse.0.hooks.0.type` must be one of `command`"
)]
#[case::no_hooks("no-hooks", 3, "`hooks.PreToolUse.0.hooks` is missing")]
#[case::permissions_is_text("permissions-text", 2, "`permissions` must be an object, not \"all\"")]
#[case::allow_is_text("allow-text", 3, "`permissions.allow` must be a list")]
#[case::model_is_a_number("model-number", 3, "`model` must be a text, not 5")]
#[case::single_quotes("single-quotes", 2, "not JSON")]
#[case::missing_comma("missing-comma", 3, "not JSON (expected `,`")]
#[case::two_documents("two-documents", 2, "not JSON (trailing characters)")]
#[case::control_character("control-character", 2, "not JSON (control character")]
#[case::no_break_space("no-break-space", 2, "not JSON")]
#[case::bom_inside("bom-inside", 1, "not JSON")]
#[case::leading_zero("leading-zero", 1, "not JSON (invalid number)")]
#[case::too_deep("too-deep", 1, "cannot be edited safely here (Maximum nesting depth exceeded)")]
#[case::half_a_surrogate(
    "half-a-surrogate",
    2,
    "cannot be edited safely here (Invalid unicode escape"
)]
fn an_add_is_refused(#[case] name: &str, #[case] line: usize, #[case] message: &str) {
    let (_, text) = corpus(|file| file == format!("refused-{name}.json")).remove(0);
    let refused = (SETTINGS.add)(&text, &user()).unwrap_err();
    assert!(refused.message.contains(message), "{refused:?}");
    assert_eq!(refused.line, line, "{refused:?}");
    assert!(!refused.advice.is_empty());
}

#[test]
fn every_refused_file_has_its_case() {
    let n_cases = include_str!("refused.rs").matches("#[case::").count() - 1;
    assert_eq!(corpus(|name| name.starts_with("refused-")).len(), n_cases);
}

/// Taking out is possible wherever the file can be read: nothing of ours is in the way of the mistake.
#[test]
fn a_removal_is_refused_only_where_the_file_cannot_be_read() {
    for (name, text) in corpus(|name| name.starts_with("refused-")) {
        match (SETTINGS.remove)(&text, &[RULE.to_owned()]) {
            Ok(left) => assert_eq!(left.text, text, "{name}"),
            Err(_) => assert!(parse(&text).is_err(), "{name}"),
        }
    }
}

#[test]
fn a_mistake_in_an_old_entry_of_ours_is_no_reason() {
    let (_, text) = corpus(|name| name == "ours-broken.json").remove(0);
    assert_eq!(
        (SETTINGS.findings)(&text).iter().filter(|finding| finding.drops == Drops::File).count(),
        2
    );
    let mended = add(&text, &user());
    assert_eq!((SETTINGS.findings)(&mended), []);
    assert_eq!(value(&mended), value(&add("", &user())));
}

#[test]
fn a_mistake_of_others_is_named_by_its_line_in_the_file_as_it_is() {
    let (_, text) = corpus(|name| name == "ours-broken-and-theirs.json").remove(0);
    let refused = (SETTINGS.add)(&text, &user()).unwrap_err();
    assert_eq!(
        refused.line,
        text.lines().position(|line| line.contains("\"matcher\": 5")).unwrap() + 1
    );
}
