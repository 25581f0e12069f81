//! Random settings files: random members, duplicates and white space.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;

/// JSON without its white space: strings that are glued together with a random gap between any two.
type Tokens = Vec<String>;

const GAPS: &[&str] =
    &["", "", "", " ", "\n", "\n  ", "\t", "\r\n    ", "  ", " \n", "\r", "\n\n\t"];
const EVENTS: &[&str] = &[
    "PreToolUse",
    "Stop",
    "SessionStart",
    "PermissionRequest",
    "FileChanged",
    "Zzz",
    "St\\u006fp",
];

fn glue(tokens: &Tokens, gaps: &[usize]) -> String {
    let gap = |n: usize| GAPS[gaps[n % gaps.len()]];
    let mut out = gap(0).to_owned();
    for (n, token) in tokens.iter().enumerate() {
        out.push_str(token);
        out.push_str(gap(n + 1));
    }
    out
}

fn token(text: &str) -> Tokens {
    vec![text.to_owned()]
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn list(items: &[Tokens], brackets: [&str; 2]) -> Tokens {
    let inner = items.join(&",".to_owned());
    [token(brackets[0]), inner, token(brackets[1])].concat()
}

fn member(key: &str, value: Tokens) -> Tokens {
    [vec![quoted(key), ":".to_owned()], value].concat()
}

fn any_value() -> impl Strategy<Value = Tokens> {
    let leaf = select(vec![
        "null",
        "true",
        "1e5",
        "-0.5",
        "\"\"",
        "\"a\\n  {\\\"\"",
        "\"🦊  ,\"",
        "[]",
        "{}",
    ]);
    leaf.prop_map(token).prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(|items| list(&items, ["[", "]"])),
            vec((select(vec!["a", "hooks", "allow", "é"]), inner), 0..3).prop_map(|members| {
                let members: Vec<_> =
                    members.into_iter().map(|(key, value)| member(key, value)).collect();
                list(&members, ["{", "}"])
            }),
        ]
    })
}

fn hook() -> impl Strategy<Value = Tokens> {
    let known = select(vec![
        r#""type":"command","command":"my-substrate-hook claude-code Stop""#,
        r#""type":"command","command":"x","args":["claude-code"],"timeout":0.5"#,
        r#""type":"prompt","prompt":"ok?","if":"Bash(git *)","once":true"#,
        r#""type":"agent","prompt":"look""#,
        r#""type":"http","url":"http://localhost:1/","onFailure":"block""#,
        r#""type":"mcp_tool","server":"s","tool":"t""#,
    ]);
    (known, proptest::option::of(any_value())).prop_map(|(known, extra)| {
        let mut members = vec![token(known)];
        members.extend(extra.map(|value| member("extra", value)));
        list(&members, ["{", "}"])
    })
}

fn group() -> impl Strategy<Value = Tokens> {
    (vec(hook(), 0..3), proptest::option::of(select(vec!["", "*", "Bash", "a|b"]))).prop_map(
        |(hooks, matcher)| {
            let mut members = vec![member("hooks", list(&hooks, ["[", "]"]))];
            members.extend(matcher.map(|matcher| member("matcher", token(&quoted(matcher)))));
            list(&members, ["{", "}"])
        },
    )
}

fn hooks() -> impl Strategy<Value = Tokens> {
    vec((select(EVENTS), vec(group(), 0..3)), 0..4).prop_map(|events| {
        let members: Vec<_> = events
            .into_iter()
            .map(|(event, groups)| member(event, list(&groups, ["[", "]"])))
            .collect();
        list(&members, ["{", "}"])
    })
}

fn permissions() -> impl Strategy<Value = Tokens> {
    let rules = subsequence(vec!["Read", "Bash(substrate *)", "Bash(ls)"], 0..3);
    vec((select(vec!["allow", "deny", "allow", "other"]), rules), 0..3).prop_map(|lists| {
        let members: Vec<_> = lists
            .into_iter()
            .map(|(key, rules)| {
                let rules: Vec<_> = rules.into_iter().map(|rule| token(&quoted(rule))).collect();
                member(key, list(&rules, ["[", "]"]))
            })
            .collect();
        list(&members, ["{", "}"])
    })
}

fn file() -> impl Strategy<Value = Tokens> {
    let part = prop_oneof![
        hooks().prop_map(|value| member("hooks", value)),
        permissions().prop_map(|value| member("permissions", value)),
        any_value().prop_map(|value| member("x", value)),
    ];
    vec(part, 0..4).prop_map(|members| list(&members, ["{", "}"]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_file_survives_any_plan(
        tokens in file(),
        gaps in vec(0..GAPS.len(), 1..40),
        wanted in select(all_wanted()),
    ) {
        check(&glue(&tokens, &gaps), &wanted);
    }

    #[test]
    fn no_text_makes_us_panic(text in r#"([{}\[\],:"\\ \n/*0-9a-z'-]|hooks|Stop|"hooks"|true|\u{feff}){0,40}"#) {
        let _edited = (SETTINGS.add)(&text, &user());
        let _removed = (SETTINGS.remove)(&text, &[RULE.to_owned()]);
        let _registered = (SETTINGS.registered)(&text);
        let _findings = (SETTINGS.findings)(&text);
    }
}
