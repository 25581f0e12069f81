//! What is ours, and what only looks like it.

use rstest::rstest;

use super::*;
use crate::install::Registered;

const STOP_PROMPT: &str = plan::PROMPTS[0].1;

#[rstest]
#[case::exec(r#"{"command": "/a/substrate-hook", "args": ["claude-code", "Stop"]}"#, true)]
#[case::exec_on_the_path(r#"{"command": "substrate-hook", "args": ["claude-code", "Stop"]}"#, true)]
#[case::exec_on_windows(
    r#"{"command": "C:\\s\\substrate-hook.exe", "args": ["claude-code", "Stop"]}"#,
    true
)]
#[case::another_client(r#"{"command": "/a/substrate-hook", "args": ["codex", "Stop"]}"#, false)]
#[case::another_program(
    r#"{"command": "/a/my-substrate-hook", "args": ["claude-code", "Stop"]}"#,
    false
)]
#[case::no_arguments(r#"{"command": "/a/substrate-hook", "args": []}"#, false)]
#[case::odd_arguments(r#"{"command": "/a/substrate-hook", "args": [1]}"#, false)]
#[case::shared(r#"{"command": "exec substrate-hook claude-code Stop --shared"}"#, true)]
#[case::shell_by_path(r#"{"command": "/x/substrate-hook claude-code Stop"}"#, true)]
#[case::shell_of_others(r#"{"command": "my-substrate-hook claude-code Stop"}"#, false)]
#[case::a_longer_name(r#"{"command": "substrate-hook-thing claude-code Stop"}"#, false)]
#[case::script(r#"{"command": "/h/.claude/hooks/substrate/stop.sh"}"#, true)]
#[case::quoted_script(r#"{"command": "\"/h/.claude/hooks/substrate/stop_wake.sh\""}"#, true)]
#[case::single_quoted_script(r#"{"command": "'/h o/hooks/substrate/user_prompt.sh'"}"#, true)]
#[case::script_of_others(r#"{"command": "/h/.claude/hooks/substrate/sub/stop.sh"}"#, false)]
#[case::script_with_arguments(r#"{"command": "/h/.claude/hooks/substrate/stop.sh --now"}"#, false)]
#[case::no_script(r#"{"command": "/h/.claude/hooks/substrate/.sh"}"#, false)]
#[case::prompt_of_others(r#"{"type": "prompt", "prompt": "Analyze the conversation"}"#, false)]
#[case::nothing("{}", false)]
#[case::odd_command(r#"{"command": 5}"#, false)]
fn a_hook_is_ours(#[case] hook: &str, #[case] is_ours: bool) {
    let text = format!(r#"{{"hooks":{{"Stop":[{{"hooks":[{hook}]}}]}}}}"#);
    assert_eq!((SETTINGS.registered)(&text).unwrap().len(), usize::from(is_ours));
    assert_eq!(remove(&text, &[]), if is_ours { "{}".to_owned() } else { text });
}

#[test]
fn a_prompt_is_ours_at_its_own_event() {
    let hook = serde_json::json!({"type": "prompt", "prompt": STOP_PROMPT, "timeout": 5});
    for (event, n_ours) in [("Stop", 1), ("SubagentStop", 0)] {
        let text = serde_json::json!({"hooks": {event: [{"hooks": [hook]}]}}).to_string();
        assert_eq!((SETTINGS.registered)(&text).unwrap().len(), n_ours);
    }
}

#[test]
fn what_a_later_key_hides_is_not_registered_and_still_removed() {
    let text =
        r#"{"hooks":{"Stop":[{"hooks":[{"command":"/x/hooks/substrate/stop.sh"}]}]},"hooks":{}}"#;
    assert_eq!((SETTINGS.registered)(text).unwrap(), []);
    assert_eq!(remove(text, &[]), r#"{"hooks":{}}"#);
    let added = add(text, &user());
    assert!(!added.contains("stop.sh"));
}

#[test]
fn old_entries_go_and_their_neighbours_stay() {
    let (_, text) = corpus(|name| name == "ours-old.json").remove(0);
    let before = (SETTINGS.registered)(&text).unwrap();
    assert_eq!(before.len(), 6);
    let command = "'/home/u/.claude/hooks/substrate/session_end.sh'".to_owned();
    assert_eq!(before[5], Registered { event: "SessionEnd".to_owned(), command });

    let left = remove(&text, &[]);
    let expected = serde_json::json!({
        "hooks": {
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [{"type": "command", "command": "a"}]},
                {"hooks": [{"type": "command", "command": "b"}, {"type": "command", "command": "c"}]},
            ],
            "SessionEnd": [{"hooks": [{"type": "command", "command": "z"}]}],
        },
        "model": "opus",
    });
    assert_eq!(value(&left), expected);
    assert_eq!(add(&text, &user()), add(&left, &user()));
    check(&left, &user());
}

#[test]
fn an_entry_that_the_user_narrowed_is_replaced() {
    let wanted = Wanted { allow: Vec::new(), ..user() };
    let narrowed =
        add("{}", &wanted).replacen("\"hooks\": [", "\"matcher\": \"Bash\", \"hooks\": [", 1);
    assert_ne!(narrowed, add("{}", &wanted));
    assert_eq!(value(&add(&narrowed, &wanted)), value(&add("{}", &wanted)));
    let everywhere = narrowed.replace("\"Bash\"", "\"*\"");
    assert_eq!(add(&everywhere, &wanted), everywhere);
}

#[test]
fn only_the_rule_is_added_where_the_entries_are_there() {
    let without = Wanted { allow: Vec::new(), ..user() };
    let text = add("{\n\t\"a\": 1\n}", &without);
    assert_eq!(remove(&add(&text, &user()), &[RULE.to_owned()]), "{\n\t\"a\": 1\n}");
    assert!(add(&text, &user()).starts_with(text.strip_suffix("\n}").unwrap()));
}

#[test]
fn of_two_equal_rules_one_is_ours() {
    let text = r#"{"permissions":{"allow":["Bash(substrate *)","Read","Bash(substrate *)"]}}"#;
    assert_eq!(
        remove(text, &[RULE.to_owned()]),
        r#"{"permissions":{"allow":["Read","Bash(substrate *)"]}}"#
    );
}

#[rstest]
#[case::only_ours(
    r#"{"permissions":{"allow":["Bash(substrate *)"]}}"#,
    "{\n  \"permissions\": {\n    \"allow\": [\n      \"A\",\n      \"B\"\n    ]\n  }\n}",
    "{}"
)]
#[case::between_others(
    r#"{"permissions":{"allow":["Read","Bash(substrate *)","Bash(ls)"]}}"#,
    r#"{"permissions":{"allow":["Read","Bash(ls)","A","B"]}}"#,
    r#"{"permissions":{"allow":["Read","Bash(ls)"]}}"#
)]
#[case::one_was_there(
    r#"{"permissions":{"allow":["B","Bash(substrate *)"]}}"#,
    r#"{"permissions":{"allow":["B","A"]}}"#,
    r#"{"permissions":{"allow":["B"]}}"#
)]
fn a_retired_rule_is_replaced(#[case] text: &str, #[case] expected: &str, #[case] left: &str) {
    let wanted = Wanted {
        entries: Vec::new(),
        allow: vec!["A".to_owned(), "B".to_owned()],
        retired: vec![RULE.to_owned()],
    };
    let added = add(text, &wanted);
    assert_eq!(added, expected);
    assert_eq!(add(&added, &wanted), added);
    let ours = wanted.allow.iter().filter(|rule| !has_rule(text, rule)).cloned();
    assert_eq!(remove(&added, &ours.collect::<Vec<_>>()), left);
}

#[test]
fn a_retired_rule_goes_and_the_hooks_stay() {
    let before = add("{\n\t\"a\": 1\n}", &user());
    let wanted = Wanted { allow: vec!["A".to_owned()], retired: vec![RULE.to_owned()], ..user() };
    let after = add(&before, &wanted);
    assert_eq!(after, before.replace(RULE, "A"));
}

#[rstest]
#[case::alone(
    r#"{"statusLine": {"type": "command", "command": "substrate statusline"}}"#,
    Some("{}")
)]
#[case::by_its_path(
    r#"{"a": 1, "statusLine": {"type": "command", "command": "'/opt/bin/substrate' statusline"}}"#,
    Some(r#"{"a": 1}"#)
)]
#[case::first(
    r#"{"statusLine": {"command": "substrate statusline"}, "a": 1}"#,
    Some(r#"{"a": 1}"#)
)]
#[case::of_others(r#"{"statusLine": {"type": "command", "command": "my-line"}}"#, None)]
#[case::a_part_of_theirs(
    r#"{"statusLine": {"type": "command", "command": "substrate statusline | cut -c1-9"}}"#,
    None
)]
#[case::none(r#"{"a": "substrate statusline"}"#, None)]
#[case::blank("", None)]
fn a_status_line_is_taken_out(#[case] text: &str, #[case] left: Option<&str>) {
    let done = (SETTINGS.without_status_line)(text).unwrap();
    assert_eq!(done.as_ref().map(|done| done.text.as_str()), left);
    assert!(done.is_none_or(|done| done.is_empty == (left == Some("{}"))));
}
