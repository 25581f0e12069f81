//! The commands as they are typed.

use super::*;
use clap::Command;
use rstest::rstest;
use substrate_core::Local;

struct Files;

impl Local for Files {
    fn read(&mut self, path: &str) -> Result<String, VerbError> {
        Ok(format!("the text of {path}"))
    }

    fn place(&mut self, path: &str) -> substrate_core::facts::Place {
        substrate_core::facts::Place { path: path.to_owned(), ..Default::default() }
    }
}

/// The body of a command line.
fn typed(line: &str) -> Result<Value, String> {
    let mut words = line.split(' ');
    let name = words.next().unwrap();
    let verb = crate::mail::FEATURE.verbs.iter().find(|verb| verb.path == [name]).unwrap();
    let command = (verb.augment)(Command::new(verb.path[0]));
    let matches = command
        .try_get_matches_from(std::iter::once(name).chain(words))
        .map_err(|error| error.to_string())?;
    (verb.body)(&matches, &mut Files).map_err(|error| error.to_string())
}

#[test]
fn every_command_is_well_made() {
    for verb in crate::mail::FEATURE.verbs {
        (verb.augment)(Command::new(verb.path[0])).debug_assert();
    }
}

#[rstest]
#[case("send --to A,B --subject s --body -x", json!({"to": ["A", "B"], "body": "-x", "priority": "normal"}))]
#[case("send --to A --to B --subject s --body-file - --priority urgent", json!({"to": ["A", "B"], "body": "the text of -", "body_file": null, "priority": "urgent"}))]
#[case("send --jsonl -", json!({"jsonl": "-", "to": []}))]
#[case("reply #42 --body x --all", json!({"id": 42, "all": true}))]
#[case("read 42 --from 16000", json!({"id": 42, "from": 16_000}))]
#[case("ack 42 #43", json!({"ids": [42, 43]}))]
#[case("inbox --all -n 5 --before 9", json!({"all": true, "n": 5, "before": 9}))]
#[case("snooze 42 --until 2h", json!({"id": 42, "until": "2h"}))]
#[case("search build fail* --all", json!({"words": ["build", "fail*"], "all": true}))]
#[case("publish t --subject s --body-file f", json!({"topic": "t", "body": "the text of f"}))]
#[case("poll --wait 30s --quiet", json!({"wait": "30s", "quiet": true}))]
#[case("watch", json!({"timeout": "24h"}))]
#[case("status", json!({"id": null}))]
fn what_is_typed_becomes_a_body_that_fits(#[case] line: &str, #[case] expected: Value) {
    let body = typed(line).unwrap();
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&body[key], value, "{key}");
    }
    // The body is read again on the other side, which must not find it malformed.
    let mut stage = two();
    let name = line.split(' ').next().unwrap();
    if let Err(VerbError::User { message, .. }) = stage.call(&person(), &[name], body) {
        assert!(!message.contains("does not fit"), "{message}");
    }
}

#[rstest]
#[case("send --subject s --body b")]
#[case("send --to A --subject s --body b --body-file f")]
#[case("send --to A --subject s --body b --priority high")]
#[case("send --jsonl - --to A")]
#[case("read fortytwo")]
#[case("ack")]
#[case("inbox -n 0")]
#[case("inbox --before 4")]
#[case("search")]
fn what_makes_no_sense_is_refused(#[case] line: &str) {
    assert!(typed(line).is_err());
}
