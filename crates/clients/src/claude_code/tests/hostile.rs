//! No bytes make the decoder panic, and every JSON object is an event.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{all_samples, decode, decode_with};

static SAMPLES: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| all_samples().into_iter().map(|(_, bytes)| bytes).collect());

fn a_sample() -> impl Strategy<Value = Vec<u8>> {
    any::<prop::sample::Index>().prop_map(|index| index.get(&SAMPLES).clone())
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!("")),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..5)
                .prop_map(|pairs| Value::Object(Map::from_iter(pairs))),
        ]
    })
}

/// An object with some of a sample's fields replaced by anything at all.
fn a_distorted_sample() -> impl Strategy<Value = Value> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any_json()), 0..6);
    (a_sample(), changes, any::<String>(), any_json()).prop_map(|(bytes, changes, key, extra)| {
        let mut object: Map<String, Value> = serde_json::from_slice(&bytes).unwrap();
        let keys: Vec<String> = object.keys().cloned().collect();
        for (index, value) in changes {
            object.insert(index.get(&keys).clone(), value);
        }
        object.entry(key).or_insert(extra);
        Value::Object(object)
    })
}

proptest! {
    #[test]
    fn random_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), event in ".{0,80}") {
        drop(decode_with(&event, &bytes, &[]));
    }

    #[test]
    fn a_truncated_sample_is_refused_or_empty(bytes in a_sample(), at in any::<prop::sample::Index>()) {
        let whole = bytes.trim_ascii_end();
        let cut = &whole[..at.index(whole.len())];
        prop_assert_eq!(decode(cut).is_ok(), cut.is_empty());
    }

    #[test]
    fn a_mutated_sample_does_not_panic(
        bytes in a_sample(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = bytes;
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        drop(decode(&bytes));
    }

    #[test]
    fn bytes_that_are_no_text_inside_a_sample_are_refused(
        bytes in a_sample(),
        at in any::<prop::sample::Index>(),
        byte in prop::sample::select(vec![0x80_u8, 0xbf, 0xc0, 0xf8, 0xff]),
    ) {
        let mut bytes = bytes;
        let at = at.index(bytes.len());
        bytes[at] = byte;
        prop_assert!(decode(&bytes).is_err());
    }

    #[test]
    fn a_nul_outside_a_string_is_refused(bytes in a_sample()) {
        let mut bytes = bytes;
        bytes.push(0);
        prop_assert!(decode(&bytes).is_err());
    }

    #[test]
    fn every_object_is_an_event(value in a_distorted_sample(), argument in ".{0,20}") {
        let text = value.to_string();
        let event = decode_with(&argument, text.as_bytes(), &[]).unwrap();
        prop_assert_eq!(event.n_bytes, text.len());
        prop_assert!(event.name.chars().count() <= 65 && !event.name.contains(char::is_control));
    }

    #[test]
    fn a_key_that_comes_twice_counts_by_its_last_value(bytes in a_sample(), first in any_json()) {
        let text = String::from_utf8(bytes).unwrap();
        let rest = text.trim_start().strip_prefix('{').unwrap();
        let doubled = format!("{{\"session_id\":{first},\"hook_event_name\":{first},{rest}");
        let (plain, twice) = (decode(text.as_bytes()).unwrap(), decode(doubled.as_bytes()).unwrap());
        prop_assert_eq!((plain.kind, plain.session), (twice.kind, twice.session));
    }
}

/// Nesting is skipped over without recursion, wherever it is.
#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let deep = format!("{}{}", "[".repeat(300_000), "]".repeat(300_000));
    let objects = format!("{}1{}", r#"{"command":"#.repeat(100_000), "}".repeat(100_000));
    for (name, stdin) in [
        ("PreToolUse", format!(r#"{{"tool_name":"Bash","tool_input":{{"command":{deep}}}}}"#)),
        ("PreToolUse", format!(r#"{{"tool_name":"Bash","tool_input":{objects}}}"#)),
        ("Stop", format!(r#"{{"background_tasks":{deep}}}"#)),
        ("Stop", format!(r#"{{"session_id":{deep},"x":{objects}}}"#)),
    ] {
        assert!(decode_with(name, stdin.as_bytes(), &[]).is_ok());
    }
    assert!(decode(deep.as_bytes()).is_err());
    assert!(decode("[".repeat(300_000).as_bytes()).is_err());
    assert!(decode(r#"{"a":"#.repeat(300_000).as_bytes()).is_err());
}
