//! What the client shows of its sessions, as captured.

use rstest::rstest;
use serde_json::Value;
use substrate_core::{Activity, Dialog, Timestamp};

use super::CLIENT;
use crate::SessionFile;

fn captured() -> Value {
    serde_json::from_str(include_str!("../samples/_sessions_file.json")).unwrap()
}

fn read(bytes: &[u8]) -> Option<SessionFile> {
    (CLIENT.session_files.unwrap().read)(bytes)
}

const IDLE: Activity = Activity::Idle { in_background: false };

#[rstest]
#[case("first-write", None)]
#[case("idle", Some(IDLE))]
#[case("busy", Some(Activity::Working))]
#[case("busy in -p", Some(Activity::Working))]
#[case("shell", Some(Activity::Idle { in_background: true }))]
#[case("waiting (permission prompt)", Some(Activity::Asking(Dialog::Permission)))]
#[case("waiting (input needed)", Some(Activity::Asking(Dialog::Input)))]
#[case("waiting (dialog open)", Some(Activity::Asking(Dialog::Menu)))]
fn a_captured_file_says(#[case] name: &str, #[case] expected: Option<Activity>) {
    let file = &captured()[name];
    let read = read(file.to_string().as_bytes()).unwrap();
    assert_eq!(read.activity, expected);
    assert_eq!(u64::from(read.pid), file["pid"].as_u64().unwrap());
    assert_eq!(read.session.as_str(), file["sessionId"].as_str().unwrap());
    assert_eq!(read.began.unwrap().to_string(), file["procStart"].as_str().unwrap());
    assert_eq!(read.cwd, "/home/dev/app");
    assert!(read.since > Timestamp(1_794_815_618_000));
}

#[rstest]
#[case::another_dialog(
    r#"{"pid":1,"sessionId":"s","status":"waiting","waitingFor":"goal proposal"}"#,
    Some(Activity::Asking(Dialog::Other))
)]
#[case::a_new_word(r#"{"pid":1,"sessionId":"s","status":"dreaming"}"#, None)]
#[case::new_fields(r#"{"pid":1,"sessionId":"s","status":"idle","mood":["good"]}"#, Some(IDLE))]
fn what_was_not_captured_says(#[case] text: &str, #[case] expected: Option<Activity>) {
    assert_eq!(read(text.as_bytes()).unwrap().activity, expected);
}

#[rstest]
#[case::cut("{\"pid\":1,\"sessionId\":\"s\",\"stat")]
#[case::old_rest("{\"pid\":1,\"sessionId\":\"s\",\"status\":\"idle\"}fier\":1}")]
#[case::empty("")]
#[case::no_session("{\"pid\":1}")]
#[case::no_process("{\"sessionId\":\"s\"}")]
#[case::not_an_object("[1]")]
#[case::a_huge_pid("{\"pid\":99999999999,\"sessionId\":\"s\"}")]
fn a_file_that_does_not_parse_says_nothing(#[case] text: &str) {
    assert_eq!(read(text.as_bytes()), None);
}

#[rstest]
#[case("4446.json", Some(4446))]
#[case::the_secret_beside_it("4446.0f3a.key", None)]
#[case::no_number("x.json", None)]
#[case::nothing(".json", None)]
#[case::signed("+1.json", None)]
#[case::too_long("99999999999.json", None)]
fn only_a_process_has_a_file(#[case] name: &str, #[case] expected: Option<u32>) {
    assert_eq!((CLIENT.session_files.unwrap().pid)(name), expected);
}

/// The captured lines of that case, as a transcript ends with them.
fn transcript(case: &str) -> Vec<String> {
    let all: Value =
        serde_json::from_str(include_str!("../samples/_transcript_interrupts.json")).unwrap();
    let of_case = all.as_array().unwrap().iter().filter(|one| one["case"] == case);
    of_case.map(|one| one["line"].to_string()).collect()
}

#[rstest]
#[case::a_tool_was_stopped("Esc while Bash runs", true)]
#[case::a_reply_was_stopped("Esc while the reply streams", true)]
#[case::a_held_turn_was_stopped("Esc while a Stop hook holds the turn", true)]
#[case::refused_with_words("No, with feedback", false)]
fn a_transcript_ends_with(#[case] case: &str, #[case] expected: bool) {
    let lines = transcript(case);
    assert!(!lines.is_empty());
    let tail = |more: &str| format!("half a line\"}}\n{}\n{more}", lines.join("\n"));
    let was_interrupted = |text: &str| (CLIENT.was_interrupted)(text.as_bytes());
    assert_eq!(was_interrupted(&tail("")), expected);
    let system = "{\"type\":\"system\",\"subtype\":\"turn_duration\"}\n";
    assert_eq!(was_interrupted(&tail(system)), expected, "no part of the conversation");
    let next = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"go on\"}}\n";
    assert!(!was_interrupted(&tail(next)), "the next turn has begun");
}
