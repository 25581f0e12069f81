//! What our own insertions look like.

use rstest::rstest;

use super::*;

fn two() -> Wanted {
    let args = |wake: &[&str]| {
        ["claude-code", "Stop"].iter().chain(wake).map(|arg| (*arg).to_owned()).collect::<Vec<_>>()
    };
    let exec = |wakes, wake: &[&str]| What::Exec {
        program: "/s/substrate-hook".to_owned(),
        args: args(wake),
        wakes,
    };
    let shell = What::Shell {
        command: "exec substrate-hook claude-code Setup --shared".to_owned(),
        wakes: true,
    };
    Wanted {
        entries: vec![
            Entry { event: "Stop", what: exec(false, &[]), timeout_s: 600 },
            Entry { event: "Setup", what: shell, timeout_s: 15 },
            Entry { event: "Stop", what: exec(true, &["--wake"]), timeout_s: 9 },
        ],
        allow: vec![RULE.to_owned()],
        ..Wanted::default()
    }
}

const NEW: &str = r#"{
  "hooks": {
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/s/substrate-hook",
            "args": [
              "claude-code",
              "Stop"
            ],
            "timeout": 600
          },
          {
            "type": "command",
            "command": "/s/substrate-hook",
            "args": [
              "claude-code",
              "Stop",
              "--wake"
            ],
            "timeout": 9,
            "asyncRewake": true
          }
        ]
      }
    ],
    "Setup": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "exec substrate-hook claude-code Setup --shared",
            "timeout": 15,
            "asyncRewake": true
          }
        ]
      }
    ]
  },
  "permissions": {
    "allow": [
      "Bash(substrate *)"
    ]
  }
}
"#;

#[rstest]
#[case("")]
#[case(" \n ")]
#[case("{}\n")]
fn a_new_file(#[case] text: &str) {
    assert_eq!(add(text, &two()), NEW);
}

fn one() -> Wanted {
    let what = What::Prompt { prompt: "ok?" };
    Wanted {
        entries: vec![Entry { event: "Stop", what, timeout_s: 5 }],
        allow: vec!["R".to_owned()],
        ..Wanted::default()
    }
}

#[rstest]
#[case::minified(
    r#"{"a":1}"#,
    r#"{"a":1,"hooks":{"Stop":[{"hooks":[{"type":"prompt","prompt":"ok?","timeout":5}]}]},"permissions":{"allow":["R"]}}"#
)]
#[case::one_line(
    r#"{ "hooks": { "Stop": [ { "hooks": [] } ] }, "permissions": { "allow": [] } }"#,
    r#"{ "hooks": { "Stop": [ { "hooks": [] }, {"hooks": [{"type": "prompt", "prompt": "ok?", "timeout": 5}]} ] }, "permissions": { "allow": [  "R"] } }"#
)]
#[case::tabs_and_crlf(
    "{\r\n\t\"permissions\": {\r\n\t\t\"deny\": []\r\n\t},\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [\r\n\t\t\t{}\r\n\t\t]\r\n\t}\r\n}",
    "{\r\n\t\"permissions\": {\r\n\t\t\"deny\": [],\r\n\t\t\"allow\": [\r\n\t\t\t\"R\"\r\n\t\t]\r\n\t},\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [\r\n\t\t\t{},\r\n\t\t\t{\r\n\t\t\t\t\"hooks\": [\r\n\t\t\t\t\t{\r\n\t\t\t\t\t\t\"type\": \"prompt\",\r\n\t\t\t\t\t\t\"prompt\": \"ok?\",\r\n\t\t\t\t\t\t\"timeout\": 5\r\n\t\t\t\t\t}\r\n\t\t\t\t]\r\n\t\t\t}\r\n\t\t]\r\n\t}\r\n}"
)]
#[case::empty_containers_are_marked_by_two_blanks(
    "{\n \"hooks\": {},\n \"permissions\": {\"allow\": []}\n}",
    "{\n \"hooks\": {  \n  \"Stop\": [\n   {\n    \"hooks\": [\n     {\n      \"type\": \"prompt\",\n      \"prompt\": \"ok?\",\n      \"timeout\": 5\n     }\n    ]\n   }\n  ]\n },\n \"permissions\": {\"allow\": [  \"R\"]}\n}"
)]
fn an_insertion_looks_like_its_surroundings(#[case] text: &str, #[case] expected: &str) {
    // `{}` as a group is a mistake that costs an entry, which is no reason to refuse.
    assert_eq!(add(text, &one()), expected);
    assert_eq!(add(expected, &one()), expected);
}

#[test]
fn new_events_stand_behind_those_that_are_there() {
    let (_, text) = corpus(|name| name == "client-written.json").remove(0);
    let added = add(&text, &user());
    let places: Vec<_> =
        ["\"Stop\": [", "\"PostToolUse\": [", "\"DirectoryAdded\": [", "\"statusLine\""]
            .iter()
            .map(|part| added.find(part).unwrap())
            .collect();
    assert!(places.is_sorted(), "{places:?}");
}
