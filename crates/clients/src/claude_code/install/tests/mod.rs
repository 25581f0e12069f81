//! What an edit of a settings file may and may not do: over the files of `corpus/`, and over generated ones.
//!
//! In `corpus/`, `refused-…` must be refused, `ours-…` has entries of ours already, `blank-…` counts as no file, and
//! everything else is a user's file that must come back byte for byte.

mod corpus;
mod findings;
mod generated;
mod plans;
mod recognised;
mod refused;
mod written;

use std::path::Path;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;

use super::SETTINGS;
use super::plan;
use crate::install::{Drops, Entry, Form, Wanted, What};
use crate::settings::document::{is_blank, member, parse, split_bom};
use crate::settings::remove::position;

const RULE: &str = "Bash(substrate *)";

/// Rules by name, and the broad one that they replace.
fn rules() -> Vec<String> {
    ["Bash(substrate inbox:*)", "Bash(substrate locks)", RULE].map(str::to_owned).into()
}

/// The files whose names begin like that, in order.
fn corpus(is_meant: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/claude_code/install/corpus");
    let mut out: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .filter(|(name, _)| name.ends_with(".json") && is_meant(name))
        .map(|(name, path)| (name, String::from_utf8(std::fs::read(path).unwrap()).unwrap()))
        .collect();
    out.sort();
    out
}

fn is_foreign(name: &str) -> bool {
    !name.starts_with("refused-") && !name.starts_with("ours-")
}

/// Every plan, with and without the rule and the prompts.
fn all_wanted() -> Vec<Wanted> {
    let forms = [
        Form::User { program: "/home/u/.substrate/bin/substrate-hook" },
        Form::User { program: "/home/ü \"x\"\\y/substrate-hook" },
        Form::Project,
        Form::Scripts { folder: "/home/o'brien/.claude/hooks/substrate" },
    ];
    let mut out = Vec::new();
    for form in forms {
        for allow in [Vec::new(), rules()] {
            out.push(Wanted { entries: plan::entries(form), allow, ..Wanted::default() });
        }
    }
    let mut entries = plan::entries(Form::Project);
    entries.extend(plan::prompts());
    out.push(Wanted { entries, allow: vec![RULE.to_owned()], ..Wanted::default() });
    out.push(Wanted { entries: plan::prompts(), ..Wanted::default() });
    out.push(Wanted { entries: Vec::new(), allow: vec![RULE.to_owned()], ..Wanted::default() });
    out
}

fn user() -> Wanted {
    let entries = plan::entries(Form::User { program: "/bin/substrate-hook" });
    Wanted { entries, allow: vec![RULE.to_owned()], ..Wanted::default() }
}

/// What an older version wanted: another place, fewer events, one that we no longer want, other timeouts.
fn older() -> Wanted {
    let mut entries = plan::entries(Form::User { program: "/old/substrate-hook" });
    entries.truncate(11);
    for entry in &mut entries {
        entry.timeout_s += 1;
    }
    let args = vec!["claude-code".to_owned(), "FileChanged".to_owned()];
    let what = What::Exec { program: "/old/substrate-hook".to_owned(), args, wakes: false };
    entries.push(Entry { event: "FileChanged", what, timeout_s: 3 });
    Wanted { entries, ..Wanted::default() }
}

fn add(text: &str, wanted: &Wanted) -> String {
    (SETTINGS.add)(text, wanted).unwrap().text
}

fn remove(text: &str, allow: &[String]) -> String {
    (SETTINGS.remove)(text, allow).unwrap().text
}

/// Everything that must be true of a file that has nothing of ours, whatever it looks like.
fn check(text: &str, wanted: &Wanted) {
    let added = (SETTINGS.add)(text, wanted).unwrap();
    let once = added.text;
    assert!(!added.is_empty);
    assert_eq!(add(&once, wanted), once, "adding twice is adding once");
    check_registered(&once, wanted);
    assert!((SETTINGS.findings)(&once).iter().all(|finding| finding.drops != Drops::File));
    check_foreign(text, &once);

    // A rule is ours to take only where it was not there before.
    let rules: Vec<String> =
        wanted.allow.iter().filter(|rule| !has_rule(text, rule)).cloned().collect();
    let removed = (SETTINGS.remove)(&once, &rules).unwrap();
    if is_blank(split_bom(text).1) {
        // No white space of a blank file can be known from what came of it; the shell deletes such a file.
        assert!(removed.is_empty);
        assert_eq!(removed.text, format!("{}{{}}\n", split_bom(text).0));
    } else {
        assert_eq!(removed.text, text, "removing undoes adding");
    }

    let upgraded = add(&add(text, &older()), wanted);
    assert_eq!(value(&upgraded), value(&once), "an upgrade ends where a fresh start does");
    assert_eq!(add(&upgraded, wanted), upgraded);
    assert_eq!(remove(&upgraded, &rules), removed.text);
}

fn check_registered(text: &str, wanted: &Wanted) {
    let mut found: Vec<_> = (SETTINGS.registered)(text)
        .unwrap()
        .into_iter()
        .map(|registered| (registered.event, registered.command))
        .collect();
    let mut expected: Vec<_> = wanted
        .entries
        .iter()
        .map(|entry| {
            let command = match &entry.what {
                What::Exec { program, .. } => program.clone(),
                What::Shell { command, .. } => command.clone(),
                What::Prompt { prompt } => prompt.chars().take(60).collect(),
            };
            (entry.event.to_owned(), command)
        })
        .collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

/// Every foreign group, rule and setting is there with the same bytes and in the same order.
fn check_foreign(before: &str, after: &str) {
    let mut rest = after;
    for part in foreign_parts(before) {
        let at = rest.find(part);
        assert!(at.is_some(), "`{part}` is not there any more, or out of order");
        rest = &rest[at.unwrap() + part.len()..];
    }
}

fn foreign_parts(text: &str) -> Vec<&str> {
    let body = split_bom(text).1;
    if is_blank(body) {
        return Vec::new();
    }
    let document = parse(body).unwrap();
    let mut out = Vec::new();
    for prop in &document.root.properties {
        match (prop.name.as_str(), &prop.value) {
            ("hooks" | "permissions", Value::Object(inner)) => {
                for prop in &inner.properties {
                    out.push(prop.name.text(body));
                    match &prop.value {
                        Value::Array(items) => {
                            out.extend(items.elements.iter().map(|item| item.text(body)));
                        }
                        other => out.push(other.text(body)),
                    }
                }
            }
            _ => out.push(prop.text(body)),
        }
    }
    out
}

fn has_rule(text: &str, rule: &str) -> bool {
    let Ok(document) = parse(split_bom(text).1) else { return false };
    let permissions = member(&document.root, "permissions").and_then(|prop| prop.value.as_object());
    let allow = permissions.and_then(|rules| member(rules, "allow")?.value.as_array());
    allow.is_some_and(|allow| position(allow, rule).is_some())
}

fn value(text: &str) -> serde_json::Value {
    serde_json::from_str(split_bom(text).1).unwrap()
}
