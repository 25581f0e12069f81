//! Frames as version 1 wrote them. They are never edited: a machine of that version may still be out there.

use serde_json::Value;

use super::{ToHub, ToMachine};

const V1_TO_HUB: &str = include_str!("recorded/v1-to-hub.jsonl");
const V1_TO_MACHINE: &str = include_str!("recorded/v1-to-machine.jsonl");

fn lines(text: &str) -> impl Iterator<Item = (&str, Value)> {
    text.lines().map(|line| (line, serde_json::from_str(line).unwrap()))
}

#[test]
fn what_version_1_wrote_is_understood_and_written_in_the_same_way() {
    for (line, value) in lines(V1_TO_HUB) {
        let frame: ToHub = serde_json::from_str(line).unwrap();
        assert_ne!(frame, ToHub::Unknown, "{line}");
        assert_eq!(serde_json::to_value(&frame).unwrap(), value);
    }
    for (line, value) in lines(V1_TO_MACHINE) {
        let frame: ToMachine = serde_json::from_str(line).unwrap();
        assert_ne!(frame, ToMachine::Unknown, "{line}");
        assert_eq!(serde_json::to_value(&frame).unwrap(), value);
    }
}

/// The next version may add fields and frames, and this one goes on.
#[test]
fn what_a_newer_side_adds_is_ignored() {
    for (line, mut value) in lines(V1_TO_HUB) {
        value["added_later"] = serde_json::json!({"x": [1]});
        let newer: ToHub = serde_json::from_value(value).unwrap();
        assert_eq!(newer, serde_json::from_str(line).unwrap());
    }
    for (line, mut value) in lines(V1_TO_MACHINE) {
        value["added_later"] = serde_json::json!(null);
        let newer: ToMachine = serde_json::from_value(value).unwrap();
        assert_eq!(newer, serde_json::from_str(line).unwrap());
    }
    let unknown = r#"{"t":"from_the_future","why":[1,2]}"#;
    assert_eq!(serde_json::from_str::<ToHub>(unknown).unwrap(), ToHub::Unknown);
    assert_eq!(serde_json::from_str::<ToMachine>(unknown).unwrap(), ToMachine::Unknown);
}

#[test]
fn text_that_is_not_valid_is_refused_when_it_is_read() {
    for bad in [
        r#"{"t":"have","ids":["not-an-id"]}"#,
        r#"{"t":"status","seq":1,"whole":true,"agents":[],"gone":["a b"]}"#,
        r#"{"t":"ask","id":1,"what":{"q":"release","name":"a\u0000b","agent":"a","epoch":1}}"#,
    ] {
        assert!(serde_json::from_str::<ToHub>(bad).is_err(), "{bad}");
    }
}
