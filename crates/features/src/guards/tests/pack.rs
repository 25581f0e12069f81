//! The built-in rules.

use std::collections::BTreeMap;

use serde::Deserialize;
use substrate_core::Settings;

use crate::guards::policy::Judged;
use crate::guards::prove::{judge_all, outcome, prove, sample};
use crate::guards::rule::{Action, Rule};
use crate::guards::set;

#[derive(Deserialize)]
struct Table {
    deny: BTreeMap<String, Vec<String>>,
    ask: BTreeMap<String, Vec<String>>,
    allow: BTreeMap<String, Vec<String>>,
}

fn table() -> Table {
    toml::from_str(include_str!("commands.toml")).unwrap()
}

fn defaults() -> Settings {
    Settings::resolve(&crate::keys(), &[])
}

/// The verdict, and the rules that fired; panics at a rule that can't be judged.
fn verdict(command: &str) -> (Option<Action>, Vec<String>) {
    let set = set::of(&defaults());
    let (_, judged) = judge_all(&set, &sample(&Rule::default_for_shell(), command));
    let fired = judged.iter().filter(|(_, said)| *said == Judged::Fires);
    let names = fired.map(|(entry, _)| entry.rule.name.clone()).collect();
    assert!(
        !judged.iter().any(|(_, said)| matches!(said, Judged::Fails(_))),
        "{command}: {judged:?}"
    );
    (outcome(&judged), names)
}

#[test]
fn every_command_of_the_table_gets_its_verdict() {
    let table = table();
    let mut wrong = Vec::new();
    let mut n = 0;
    for (rules, action) in [(&table.deny, Action::Deny), (&table.ask, Action::Ask)] {
        for (rule, command) in
            rules.iter().flat_map(|(rule, commands)| commands.iter().map(move |one| (rule, one)))
        {
            n += 1;
            let (found, names) = verdict(command);
            if found != Some(action) || !names.contains(rule) {
                wrong.push(format!(
                    "{command:?}: {rule} must {action:?}, and {found:?} by {names:?}"
                ));
            }
        }
    }
    for command in table.allow.values().flatten() {
        n += 1;
        let (found, names) = verdict(command);
        if found.is_some() {
            wrong.push(format!("{command:?}: harmless, and {found:?} by {names:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {n} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(n >= 300, "{n} commands");
}

#[test]
fn the_pack_is_small_proved_and_used_by_the_table() {
    let set = set::of(&defaults());
    assert!(set.entries.len() <= 22 && set.entries.len() >= 15, "{}", set.entries.len());
    let table = table();
    for entry in &set.entries {
        let found = prove(&set, entry);
        assert!(
            found.problems.is_empty() && found.warnings.is_empty(),
            "{}: {found:?}",
            entry.rule.name
        );
        let name = &entry.rule.name;
        assert!(
            table.deny.contains_key(name) || table.ask.contains_key(name),
            "no command for {name}"
        );
    }
}
