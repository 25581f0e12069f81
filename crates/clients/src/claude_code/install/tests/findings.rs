//! What the client drops, each case as its own `doctor` reported it.

use rstest::rstest;

use super::*;

const NONE: &[(usize, Drops)] = &[];
const FILE: &[(usize, Drops)] = &[(1, Drops::File)];
const ENTRY: &[(usize, Drops)] = &[(1, Drops::Entry)];

#[rstest]
#[case::nothing("", NONE)]
#[case::blank(" \n", NONE)]
#[case::bom_alone("\u{feff}", NONE)]
#[case::bom("\u{feff}{}", NONE)]
#[case::unknown_key(r#"{"zz":1}"#, NONE)]
#[case::unknown_event(r#"{"hooks":{"Zzz":"x","Yyy":[{"hooks":[{"type":"q"}]}]}}"#, NONE)]
#[case::hidden(r#"{"hooks":{"PreToolUse":"x"},"hooks":{}}"#, NONE)]
#[case::hiding(r#"{"hooks":{},"hooks":{"PreToolUse":"x"}}"#, FILE)]
#[case::comment("{//x\n}", FILE)]
#[case::trailing_comma(r#"{"hooks":{},}"#, FILE)]
#[case::list("[]", FILE)]
#[case::null("null", FILE)]
#[case::hooks_null(r#"{"hooks":null}"#, FILE)]
#[case::hooks_list(r#"{"hooks":[]}"#, FILE)]
#[case::permissions_null(r#"{"permissions":null}"#, FILE)]
#[case::allow_null(r#"{"permissions":{"allow":null}}"#, FILE)]
#[case::rule_of_a_wrong_kind(r#"{"permissions":{"allow":[1]}}"#, ENTRY)]
#[case::mode(r#"{"permissions":{"defaultMode":"zzz"}}"#, FILE)]
#[case::unknown_permission(r#"{"permissions":{"zzz":1}}"#, NONE)]
#[case::env_text(r#"{"env":"x"}"#, FILE)]
#[case::env_number(r#"{"env":{"A":1}}"#, NONE)]
#[case::model(r#"{"model":1}"#, FILE)]
#[case::event_null(r#"{"hooks":{"PreToolUse":null,"Stop":null}}"#, &[(1, Drops::Entry), (1, Drops::Entry)])]
#[case::half_a_surrogate(r#"{"a":"\ud800"}"#, NONE)]
fn a_file_is_dropped(#[case] text: &str, #[case] expected: &[(usize, Drops)]) {
    let found: Vec<_> = (SETTINGS.findings)(text)
        .into_iter()
        .map(|finding| (finding.line, finding.drops))
        .collect();
    assert_eq!(found, expected);
}

/// The same value under an event that guards permissions and under one that does not.
#[rstest]
#[case::right(r#"[{"matcher":"Bash","hooks":[{"type":"command","command":"x"}]}]"#, 0)]
#[case::no_list("{}", 1)]
#[case::empty("[]", 0)]
#[case::group_text(r#"["x"]"#, 1)]
#[case::group_null("[null]", 1)]
#[case::no_hooks("[{}]", 1)]
#[case::hooks_object(r#"[{"hooks":{}}]"#, 1)]
#[case::hooks_null(r#"[{"hooks":null}]"#, 1)]
#[case::hooks_empty(r#"[{"hooks":[]}]"#, 0)]
#[case::matcher_object(r#"[{"matcher":{},"hooks":[]}]"#, 1)]
#[case::matcher_null(r#"[{"matcher":null,"hooks":[]}]"#, 1)]
#[case::matcher_bad_pattern(r#"[{"matcher":"(","hooks":[]}]"#, 0)]
#[case::hook_text(r#"[{"hooks":["x"]}]"#, 1)]
#[case::no_type(r#"[{"hooks":[{"command":"x"}]}]"#, 1)]
#[case::one_of_two(r#"[{"hooks":[{"type":"command","command":"x"},{"type":"zzz"}]}]"#, 1)]
#[case::two_of_two(r#"[{"hooks":[{"type":1},{"type":"zzz"}]}]"#, 2)]
fn an_event_is_dropped(#[case] groups: &str, #[case] n_mistakes: usize) {
    check_events(groups, n_mistakes);
}

#[rstest]
#[case::no_command(r#""type":"command""#, 1)]
#[case::command_number(r#""type":"command","command":1"#, 1)]
#[case::command_empty(r#""type":"command","command":"""#, 0)]
#[case::timeout_text(r#""type":"command","command":"x","timeout":"5""#, 1)]
#[case::timeout_zero(r#""type":"command","command":"x","timeout":0"#, 1)]
#[case::timeout_negative(r#""type":"prompt","prompt":"x","timeout":-1"#, 1)]
#[case::timeout_null(r#""type":"agent","prompt":"x","timeout":null"#, 1)]
#[case::timeout_fraction(r#""type":"agent","prompt":"x","timeout":0.5"#, 0)]
#[case::timeout_large(r#""type":"command","command":"x","timeout":1e9"#, 0)]
#[case::args_text(r#""type":"command","command":"x","args":"x""#, 1)]
#[case::args_number(r#""type":"command","command":"x","args":[1]"#, 1)]
#[case::if_number(r#""type":"command","command":"x","if":1"#, 1)]
#[case::shell(r#""type":"command","command":"x","shell":"fish""#, 1)]
#[case::shell_right(r#""type":"command","command":"x","shell":"bash""#, 0)]
#[case::on_failure(r#""type":"http","url":"http://a","onFailure":"zz""#, 1)]
#[case::async_text(r#""type":"command","command":"x","async":"x","asyncRewake":"x","once":"x""#, 3)]
#[case::unknown_key(r#""type":"command","command":"x","zzz":1"#, 0)]
#[case::key_of_another_type(r#""type":"prompt","prompt":"x","args":1,"async":"x""#, 0)]
#[case::no_prompt(r#""type":"prompt""#, 1)]
#[case::agent(r#""type":"agent","prompt":1,"model":1"#, 2)]
#[case::no_url(r#""type":"http""#, 1)]
#[case::relative_url(r#""type":"http","url":"nope""#, 1)]
#[case::no_scheme(r#""type":"http","url":"//a/b""#, 1)]
#[case::no_host(r#""type":"http","url":"http://""#, 1)]
#[case::variable(r#""type":"http","url":"$URL""#, 1)]
#[case::other_scheme(r#""type":"http","url":"ftp:x""#, 0)]
#[case::headers(r#""type":"http","url":"http://a","headers":{"a":1},"allowedEnvVars":[1]"#, 2)]
#[case::mcp(r#""type":"mcp_tool""#, 2)]
#[case::mcp_right(r#""type":"mcp_tool","server":"a","tool":"b","input":{"c":1}"#, 0)]
#[case::mcp_input(r#""type":"mcp_tool","server":"a","tool":"b","input":"c""#, 1)]
fn a_hook_is_dropped(#[case] members: &str, #[case] n_mistakes: usize) {
    check_events(&format!(r#"[{{"hooks":[{{{members}}}]}}]"#), n_mistakes);
}

fn check_events(groups: &str, n_mistakes: usize) {
    for (event, drops) in
        [("PreToolUse", Drops::File), ("PermissionRequest", Drops::File), ("Stop", Drops::Entry)]
    {
        let found = (SETTINGS.findings)(&format!("{{\"hooks\":{{\"{event}\":\n{groups}}}}}"));
        assert_eq!(found.len(), n_mistakes, "{found:?}");
        assert!(
            found.iter().all(|finding| finding.line == 2 && finding.drops == drops),
            "{found:?}"
        );
        assert!(
            found.iter().all(|finding| finding.message.starts_with(&format!("`hooks.{event}")))
        );
    }
}

#[test]
fn a_finding_says_what_and_where() {
    let (_, text) = corpus(|name| name == "mistakes-that-cost-one-entry.json").remove(0);
    let messages: Vec<_> = (SETTINGS.findings)(&text)
        .into_iter()
        .map(|finding| {
            assert_eq!(finding.drops, Drops::Entry);
            format!("{} {}", finding.line, finding.message)
        })
        .collect();
    assert_eq!(
        messages,
        [
            "5 `hooks.Stop.0.matcher` must be a text, not an object: the client ignores it",
            "13 `hooks.Stop.1` must be an object, not \"text\": the client ignores it",
            "14 `hooks.Stop.2` must be an object, not null: the client ignores it",
            "16 `hooks.Stop.3.hooks` must be a list, not \"x\": the client ignores it",
            "18 `hooks.Stop.4.hooks` is missing: the client ignores it",
            "22 `hooks.Stop.5.hooks.0.type` must be one of `command`, `prompt`, `agent`, `http`, `mcp_tool`: the client ignores it",
            "24 `hooks.Stop.5.hooks.1` must be an object, not 3: the client ignores it",
            "28 `hooks.Stop.5.hooks.2.timeout` must be a number above 0, not \"5\": the client ignores it",
        ]
    );
}
