//! Acorn's settings: TOML, in which what is ours is one block between two comments.

use std::fmt::Write as _;

use substrate_clients::install::{
    Drops, Edited, Entry, Finding, Form, Registered, SettingsError, SettingsFormat, Wanted, What,
};

use super::NAME;
use super::protocol::EVENTS;

pub(super) const FORMAT: SettingsFormat = SettingsFormat {
    add,
    remove,
    without_status_line: |_| Ok(None),
    registered,
    findings,
    rules,
    hooks_off: |text| text.lines().any(|line| line == "no_hooks = true").then_some("no_hooks"),
};

const BEGIN: &str = "\n# >>> substrate\n";
const END: &str = "# <<< substrate\n";

/// A missing hook would refuse every call, so each command looks for its program first.
pub(super) fn entries(form: Form<'_>) -> Vec<Entry> {
    let program = match form {
        Form::User { program } | Form::Persistent { program, .. } => program,
        Form::Project | Form::Scripts { .. } => "substrate-hook",
    };
    let program = substrate_clients::install::quoted(program);
    let entry = |(event, _): &(&'static str, _)| Entry {
        event,
        what: What::Shell {
            command: format!(
                "command -v {program} >/dev/null 2>&1 || exit 0; exec {program} {NAME} {event}"
            ),
            wakes: false,
        },
        timeout_s: 15,
    };
    EVENTS.iter().map(entry).collect()
}

fn add(text: &str, wanted: &Wanted) -> Result<Edited, SettingsError> {
    let rest = remove(text, &wanted.retired)?.text;
    if wanted.entries.is_empty() && wanted.allow.is_empty() {
        return Ok(Edited { is_empty: rest.trim().is_empty(), text: rest });
    }
    let mut out = format!("{rest}{BEGIN}");
    for entry in &wanted.entries {
        let What::Shell { command, .. } = &entry.what else { continue };
        let ms = entry.timeout_s * 1_000;
        let _infallible = writeln!(
            out,
            "[[hooks]]\non = {:?}\nrun = {command:?}\ntimeout_ms = {ms}",
            entry.event
        );
    }
    let there = rules(&rest);
    for rule in wanted.allow.iter().filter(|rule| !there.contains(rule)) {
        let _infallible = writeln!(out, "[[allow]]\nrule = {rule:?}");
    }
    out.push_str(END);
    Ok(Edited { text: out, is_empty: false })
}

fn remove(text: &str, _rules: &[String]) -> Result<Edited, SettingsError> {
    if let Some(Finding { line, message, .. }) = findings(text).into_iter().next() {
        return Err(SettingsError { line, message, advice: "mend that line".to_owned() });
    }
    let (before, after) = match text.split_once(BEGIN) {
        Some((before, rest)) => (before, rest.split_once(END).map_or("", |(_, after)| after)),
        None => (text, ""),
    };
    let text = format!("{before}{after}");
    Ok(Edited { is_empty: text.trim().is_empty(), text })
}

fn registered(text: &str) -> Result<Vec<Registered>, SettingsError> {
    remove(text, &[])?;
    let all: Vec<(&str, String)> = values(text).filter(|(key, _)| *key != "timeout_ms").collect();
    let pairs = all.windows(2).filter(|pair| pair[0].0 == "on" && pair[1].0 == "run");
    let ours = pairs.filter(|pair| pair[1].1.contains(&format!(" {NAME} ")));
    Ok(ours
        .map(|pair| Registered { event: pair[0].1.clone(), command: pair[1].1.clone() })
        .collect())
}

/// A line that is not a table, a key or a comment.
fn findings(text: &str) -> Vec<Finding> {
    let is_odd = |line: &str| {
        let line = line.trim();
        let is_table = line.starts_with('[') && line.ends_with(']');
        let is_key = line.split_once('=').is_some_and(|(_, value)| !value.trim().is_empty());
        !(line.is_empty() || line.starts_with('#') || is_table || is_key)
    };
    let odd = (1..).zip(text.lines()).filter(|(_, line)| is_odd(line));
    odd.map(|(line, _)| Finding { line, message: "not TOML".to_owned(), drops: Drops::File })
        .collect()
}

fn rules(text: &str) -> Vec<String> {
    values(text).filter(|(key, _)| *key == "rule").map(|(_, value)| value).collect()
}

/// Keys with their texts.
fn values(text: &str) -> impl Iterator<Item = (&str, String)> {
    text.lines().filter_map(|line| {
        let (key, value) = line.split_once(" = ")?;
        Some((key, serde_json::from_str(value).ok()?))
    })
}
