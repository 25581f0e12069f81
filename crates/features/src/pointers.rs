//! No text sends an agent to a command that is not there, or that is off in its settings.

use rstest::rstest;
use serde_json::json;
use substrate_core::{Caller, Detail, Event, EventKind, Settings, StartSource};

use crate::quoting::{House, everything};
use crate::spellings::{self, MOVED};

/// The program's own commands that texts of features name. That they are there, the program checks.
const OF_THE_PROGRAM: &[&str] = &[
    "claim",
    "config",
    "daemon",
    "doctor",
    "hooks",
    "hub",
    "locks guard",
    "run",
    "scratchpad",
    "team",
    "up",
];

const OFF: &str = "efforts are switched off here";

/// A command as it is named in a text: the words up to the first that is no command's.
fn named(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let is_word = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
    };
    let marked = text.split("`substrate ").skip(1);
    marked.filter_map(move |rest| {
        let rest = rest.split('`').next()?;
        let words: Vec<&str> = rest.split_whitespace().take_while(is_word).take(3).collect();
        (!words.is_empty()).then_some(words)
    })
}

/// The feature whose command that is; `None` for one of the program's own.
fn feature(words: &[&str]) -> Option<&'static str> {
    let of = |path: &[&str]| {
        crate::ALL.iter().find_map(|feature| {
            let is_it = |verb: &substrate_core::Verb| {
                verb.path == path || (verb.default && path.len() == 1 && verb.path[0] == path[0])
            };
            feature.verbs.iter().any(is_it).then_some(feature.name)
        })
    };
    let moved = MOVED.iter().find(|(_, to)| words.starts_with(to)).map(|(from, _)| *from);
    let words = moved.unwrap_or(words);
    (1..=words.len()).rev().find_map(|n| of(&words[..n]))
}

/// What there is can always be looked at, even where efforts are off.
fn is_look(words: &[&str]) -> bool {
    matches!(words, ["effort", "list" | "task" | "session", ..])
}

/// Why a text must not name that command.
fn wrong(words: &[&str], settings: &Settings) -> Option<String> {
    let is_of_the_program = OF_THE_PROGRAM.iter().any(|known| {
        let known: Vec<&str> = known.split(' ').collect();
        words.starts_with(&known)
    });
    if let Some(better) = spellings::better(words) {
        return Some(format!("help spells it `{}`", better.join(" ")));
    }
    match feature(words) {
        Some("efforts") if !settings.on("efforts.on") && !is_look(words) => {
            Some("it is off".to_owned())
        }
        Some(_) => None,
        None if is_of_the_program => None,
        None => Some("it is not there".to_owned()),
    }
}

/// A client below a supervisor, whose context is full, and the fresh one after it.
fn restart(house: &mut House) {
    house.stage.machine.processes.extend([(5, 1), (30, 2)]);
    house.stage.machine.parents.extend([(20, 5), (30, 5)]);
    let announce = |house: &mut House, effort: Option<i64>| {
        let body = json!({"token": "t1", "pid": 5, "child": 0, "effort": effort});
        house.stage.call(&Caller::default(), &["supervise", "note"], body).unwrap();
    };
    announce(house, None);
    let start = Detail::SessionStart { source: StartSource::Startup, model: None };
    let full = Detail::Because { word: "auto".to_owned() };
    for (session, pid) in [("otter", 20), ("fresh", 30)] {
        if session == "fresh" {
            announce(house, Some(1));
        }
        for (kind, detail) in [
            (EventKind::SessionStart, start.clone()),
            (EventKind::Waiter, Detail::Waiter { beside: EventKind::SessionStart }),
            (EventKind::PreCompact, full.clone()),
        ] {
            let event = house.event(session, kind, detail);
            house.happen(&Event { client_pid: Some(pid), attended: Some(true), ..event });
            house.stage.pass(2_000);
        }
    }
}

/// Every command of every feature, without anything that it needs: what it says then.
fn nothing_given(house: &mut House) {
    for verb in crate::ALL.iter().flat_map(|feature| feature.verbs) {
        for body in [json!({}), json!({"id": 999, "effort": 999, "token": "x", "child": 1})] {
            house.call("otter", verb.path, body);
        }
    }
}

#[rstest]
#[case::standard("standard")]
#[case::persistent("persistent")]
#[case::scratchpad("scratchpad")]
#[case::engine("engine")]
#[case::locks("locks")]
#[case::reminders("reminders")]
#[case::all("all")]
fn every_command_that_a_text_names_is_there_and_on(#[case] profile: &str) {
    let toml = format!("profile = \"{profile}\"\nefforts.warn_at = 1\nskills.suggest = true\n");
    let mut house = House::with(&toml);
    everything(&mut house);
    restart(&mut house);
    nothing_given(&mut house);
    let mut seen = std::collections::BTreeSet::new();
    let mut n_efforts = 0;
    for (when, text) in &house.told {
        for words in named(text) {
            assert_eq!(wrong(&words, house.stage.settings()), None, "{when}: {words:?} in {text}");
            n_efforts += usize::from(words[0] == "effort" && !is_look(&words));
            seen.insert(words.join(" "));
        }
    }
    assert!(seen.len() >= 10 && seen.contains("inbox"), "too few: {seen:?}");
    let has_efforts = matches!(profile, "engine" | "all");
    assert_eq!(n_efforts > 0, has_efforts, "{seen:?}");
    let is_off = house.told.iter().any(|(_, text)| text.contains(OFF));
    assert_eq!(is_off, !has_efforts);
}

#[test]
fn a_wrong_pointer_is_seen() {
    let stage = crate::stage::Stage::new("");
    let reasons = |text: &str| -> Vec<Option<String>> {
        named(text).map(|words| wrong(&words, stage.settings())).collect()
    };
    let is_off = Some("it is off".to_owned());
    let is_missing = Some("it is not there".to_owned());
    let wrong = "efort";
    let text = format!(
        "`substrate effort show 3`, `substrate inbox --all`, `substrate {wrong}`, substrate, `substrate COMMAND`, `substrate mail ack 3`"
    );
    assert_eq!(reasons(&text), [is_off, None, is_missing, None]);
    for (old, new) in [("topic create NAME", "mail topic create"), ("ack 3", "mail ack")] {
        let better = Some(format!("help spells it `{new}`"));
        assert_eq!(reasons(&format!("`substrate {old}`")), [better]);
    }
}
