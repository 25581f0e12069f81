//! The built-in rules.

use std::collections::BTreeMap;

use serde::Deserialize;
use substrate_core::Settings;
use substrate_core::settings::{Layer, Scope};

use crate::guards::policy::Judgement;
use crate::guards::prove::{judge_all, outcome, prove, sample};
use crate::guards::rule::{Action, Rule};
use crate::guards::rule_set;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Table {
    deny: BTreeMap<String, Vec<String>>,
    ask: BTreeMap<String, Vec<String>>,
    allow: BTreeMap<String, Vec<String>>,
}

/// Misses that are known, each with its reason. A line that is caught after all must go from here.
const KNOWN: &[(&str, &str)] = &[];

fn tables() -> Vec<Table> {
    [include_str!("commands.toml"), include_str!("dangerous.toml"), include_str!("harmless.toml")]
        .into_iter()
        .map(|text| toml::from_str(text).unwrap())
        .collect()
}

fn defaults() -> Settings {
    Settings::resolve(&crate::keys(), &[])
}

/// The verdict and the rules that fired. Panics at a rule that can't be judged.
fn verdict(command: &str) -> (Option<Action>, Vec<String>) {
    let set = rule_set::of(&defaults());
    let (_, judged) =
        judge_all(&set, &sample(&substrate_clients::DIALECTS, &Rule::default_for_shell(), command));
    let fired = judged.iter().filter(|(_, said)| *said == Judgement::Fires);
    let names = fired.map(|(entry, _)| entry.rule.name.clone()).collect();
    for (entry, said) in &judged {
        assert!(!matches!(said, Judgement::Fails(_)), "{command}: {} {said:?}", entry.rule.name);
    }
    (outcome(&judged), names)
}

#[test]
fn the_packs_catch_what_destroys_and_let_pass_what_does_not() {
    let (mut missed, mut false_alarms, mut mistaken) = (Vec::new(), Vec::new(), Vec::new());
    let (mut n_dangerous, mut n_harmless) = (0, 0);
    for table in tables() {
        for (rules, action) in [(&table.deny, Action::Deny), (&table.ask, Action::Ask)] {
            for (rule, command) in
                rules.iter().flat_map(|(rule, lines)| lines.iter().map(move |one| (rule, one)))
            {
                n_dangerous += 1;
                let (found, names) = verdict(command);
                if found.is_none() {
                    missed.push(format!("{rule}: {command:?}"));
                } else if !names.contains(rule) || (found != Some(action) && action == Action::Deny)
                {
                    mistaken.push(format!(
                        "{command:?}: {rule} must {action:?}, and {found:?} by {names:?}"
                    ));
                }
            }
        }
        for command in table.allow.values().flatten() {
            n_harmless += 1;
            let (found, names) = verdict(command);
            if found.is_some() {
                false_alarms.push(format!("{command:?}: {found:?} by {names:?}"));
            }
        }
    }
    println!("{} of {n_dangerous} missed:\n{}", missed.len(), missed.join("\n"));
    println!("{} of {n_harmless} false alarms:\n{}", false_alarms.len(), false_alarms.join("\n"));
    let is_known = |line: &String| KNOWN.iter().any(|(known, _)| line.contains(known));
    let unknown: Vec<&String> = missed.iter().filter(|line| !is_known(line)).collect();
    assert!(unknown.is_empty() && mistaken.is_empty(), "{unknown:#?}\n{mistaken:#?}");
    assert!(missed.len() >= KNOWN.len(), "known misses that are none: {KNOWN:?}");
    assert!(n_dangerous >= 400 && n_harmless >= 600, "{n_dangerous} and {n_harmless}");
    // 97 % caught, 0.5 % false.
    assert!(missed.len() * 100 <= n_dangerous * 3, "{missed:#?}");
    assert!(false_alarms.len() * 200 <= n_harmless, "{false_alarms:#?}");
    assert!(false_alarms.is_empty(), "{false_alarms:#?}");
}

#[test]
fn the_packs_are_small_proved_and_used_by_the_table() {
    let set = rule_set::of(&defaults());
    assert!(set.entries.len() <= 45 && set.entries.len() >= 30, "{}", set.entries.len());
    let tables = tables();
    for entry in &set.entries {
        let found = prove(&substrate_clients::DIALECTS, &set, entry);
        assert!(
            found.problems.is_empty() && found.warnings.is_empty(),
            "{}: {found:?}",
            entry.rule.name
        );
        let name = &entry.rule.name;
        assert!(
            tables.iter().any(|all| all.deny.contains_key(name) || all.ask.contains_key(name)),
            "no command for {name}"
        );
    }
}

#[test]
fn a_pack_can_be_switched_off_by_the_user_and_on_by_a_project() {
    let keys = crate::keys();
    let layer = |scope, text: &str| Layer::read(scope, "x.toml", text, &keys);
    let user = layer(Scope::User, "guards.packs = [\"core\"]");
    let is_on = |layers: &[&Layer], name: &str| {
        let set = rule_set::of(&Settings::resolve(&keys, layers));
        set.entries.iter().any(|entry| entry.rule.name == name && !entry.is_off)
    };
    assert!(is_on(&[], "git-clean") && is_on(&[], "rm-vital"));
    assert!(!is_on(&[&user], "git-clean") && is_on(&[&user], "rm-vital"));
    let project = layer(Scope::Project, "guards.packs = [\"git\"]");
    assert!(is_on(&[&user, &project], "git-clean") && is_on(&[&user, &project], "rm-vital"));
    assert!(!is_on(&[&user, &project], "sql-drop"));
    let nothing = layer(Scope::Project, "guards.packs = []");
    assert!(is_on(&[&nothing], "rm-vital") && is_on(&[&user, &nothing], "rm-vital"));
    let wrong = layer(Scope::User, "guards.packs = [\"kore\"]");
    let set = rule_set::of(&Settings::resolve(&keys, &[&wrong]));
    assert!(set.problems.iter().any(|(_, why)| why.contains("there is no pack `kore`")));
}

/// A line that can't be read never passes in silence.
#[test]
fn a_line_that_is_too_much_is_asked_about() {
    for line in [
        format!("echo {}b{}", "{a,".repeat(16 << 10), "}".repeat(16 << 10)),
        format!("echo {}", "{a,b}".repeat(8 << 10)),
        format!("echo {}ls{}", "$(".repeat(40), ")".repeat(40)),
        "true;".repeat(2_000),
        format!("echo {}", "a ".repeat(9_000)),
        format!("echo {}", "a".repeat(2 << 20)),
        "sh -c \"sh -c 'sh -c \\\"sh -c \\\\\\\"eval eval eval ls\\\\\\\"\\\"'\"".to_owned(),
    ] {
        let (found, names) = verdict(&line);
        assert_eq!(found, Some(Action::Ask), "{} {names:?}", line.get(..40).unwrap_or_default());
        assert_eq!(names, ["unread"]);
    }
}
