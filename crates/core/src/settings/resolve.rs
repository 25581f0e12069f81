//! The layers over each other: default, profile, user, project, local.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::key::{Key, Kind, ProjectMay, Table, Value};
use super::layer::{Layer, Problem, Scope, fits};

/// The settings in force. Looking up a key that nobody declared is a bug, and a test finds it.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    values: BTreeMap<&'static str, Effective>,
    pub problems: Vec<Problem>,
}

/// A value, and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    pub value: Value,
    pub scope: Scope,
    /// `file:line`, where it came from a file.
    pub origin: Option<String>,
}

impl Settings {
    /// Lays the layers over the defaults of `keys`.
    pub fn resolve(keys: &[&Key], layers: &[&Layer]) -> Self {
        let mut layers: Vec<&Layer> = layers.to_vec();
        layers.sort_by_key(|layer| layer.scope);
        let profile = layers.iter().rev().find_map(|layer| match layer.find("profile") {
            Some((Value::Word(word), _)) => Some(word.as_str()),
            _ => None,
        });
        let mut out = Self::default();
        for key in keys {
            out.values.insert(key.name, effective(key, profile.unwrap_or("standard"), &layers));
        }
        out.problems = layers.iter().flat_map(|layer| layer.problems.iter().cloned()).collect();
        out
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Effective)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    pub fn get(&self, name: &str) -> Option<&Effective> {
        self.values.get(name)
    }

    pub fn on(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::Bool(true)))
    }

    /// A span in milliseconds, a size in bytes, or a count. 0 for a key that is none.
    pub fn int(&self, name: &str) -> i64 {
        match self.value(name) {
            Some(Value::Int(number)) => *number,
            _ => 0,
        }
    }

    pub fn word(&self, name: &str) -> &str {
        match self.value(name) {
            Some(Value::Word(word)) => word,
            _ => "",
        }
    }

    pub fn text(&self, name: &str) -> &str {
        match self.value(name) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    pub fn texts(&self, name: &str) -> &[String] {
        match self.value(name) {
            Some(Value::Texts(texts)) => texts,
            _ => &[],
        }
    }

    pub fn tables(&self, name: &str) -> &[Table] {
        match self.value(name) {
            Some(Value::Tables(tables)) => tables,
            _ => &[],
        }
    }

    fn value(&self, name: &str) -> Option<&Value> {
        debug_assert!(
            self.values.is_empty() || self.values.contains_key(name),
            "no such setting: {name}"
        );
        self.values.get(name).map(|found| &found.value)
    }
}

impl Layer {
    fn find(&self, name: &str) -> Option<(&Value, usize)> {
        self.values
            .iter()
            .rev()
            .find(|(key, ..)| *key == name)
            .map(|(_, value, line)| (value, *line))
    }
}

fn effective(key: &Key, profile: &str, layers: &[&Layer]) -> Effective {
    let from_profile = key.profiles.iter().find(|(name, _)| *name == profile);
    let (text, scope) =
        from_profile.map_or((key.default, Scope::Default), |(_, text)| (*text, Scope::Profile));
    let mut out = Effective { value: literal(key.kind, text), scope, origin: None };
    for layer in layers {
        let Some((value, line)) = layer.find(key.name) else { continue };
        let value = match (&out.value, value) {
            (Value::Texts(before), Value::Texts(more))
                if layer.scope > Scope::User && key.project == ProjectMay::Append =>
            {
                Value::Texts(before.iter().chain(more).cloned().collect())
            }
            (Value::Tables(before), Value::Tables(more))
                if layer.scope > Scope::User && key.project == ProjectMay::Append =>
            {
                Value::Tables(before.iter().chain(more).cloned().collect())
            }
            _ => value.clone(),
        };
        out =
            Effective { value, scope: layer.scope, origin: Some(format!("{}:{line}", layer.file)) };
    }
    out
}

/// A default, which is written by us and so must fit.
fn literal(kind: Kind, text: &str) -> Value {
    DeValue::parse(text)
        .ok()
        .and_then(|value| fits(kind, value.get_ref()))
        .expect("a default in the table of keys fits its own kind; a test reads them all")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &[Key] = &[
        Key {
            name: "profile",
            kind: Kind::Word(&["standard", "all"]),
            default: "\"standard\"",
            about: "",
            project: ProjectMay::Set,
            profiles: &[],
        },
        Key {
            name: "journal.on",
            kind: Kind::Bool,
            default: "true",
            about: "",
            project: ProjectMay::TurnOn,
            profiles: &[],
        },
        Key {
            name: "journal.max_age",
            kind: Kind::Span,
            default: "\"14d\"",
            about: "",
            project: ProjectMay::Nothing,
            profiles: &[("all", "\"28d\"")],
        },
        Key {
            name: "words",
            kind: Kind::Text,
            default: "\"\"",
            about: "",
            project: ProjectMay::Set,
            profiles: &[],
        },
        Key {
            name: "journal.n",
            kind: Kind::Count,
            default: "7",
            about: "",
            project: ProjectMay::Nothing,
            profiles: &[],
        },
        Key {
            name: "guards.rules",
            kind: Kind::Texts,
            default: "[]",
            about: "",
            project: ProjectMay::Append,
            profiles: &[],
        },
    ];

    fn layer(scope: Scope, text: &str) -> Layer {
        Layer::read(scope, scope.name(), text, &KEYS.iter().collect::<Vec<_>>())
    }

    fn resolve(layers: &[Layer]) -> Settings {
        Settings::resolve(&KEYS.iter().collect::<Vec<_>>(), &layers.iter().collect::<Vec<_>>())
    }

    #[test]
    fn the_nearest_layer_wins_and_says_where() {
        let found = resolve(&[layer(Scope::User, "# mine\n[journal]\nmax_age = \"2d\"\n")]);
        assert_eq!(found.int("journal.max_age"), 172_800_000);
        assert_eq!(found.get("journal.max_age").unwrap().origin.as_deref(), Some("user:3"));
        assert_eq!(found.get("journal.on").unwrap().scope, Scope::Default);
    }

    #[test]
    fn a_text_is_any_string_and_nothing_else() {
        let found = resolve(&[layer(Scope::User, "words = \"\"\"\ntwo\nlines\"\"\"\n")]);
        assert_eq!(found.text("words"), "two\nlines");
        let found = resolve(&[layer(Scope::User, "words = [\"a\"]\n")]);
        assert_eq!((found.text("words"), found.problems.len()), ("", 1));
    }

    #[test]
    fn a_profile_lies_between_the_default_and_the_user() {
        assert_eq!(
            resolve(&[layer(Scope::User, "profile = \"all\"")]).int("journal.max_age"),
            28 * 86_400_000
        );
        let own = resolve(&[layer(Scope::User, "profile = \"all\"\njournal.max_age = \"1d\"")]);
        assert_eq!(own.int("journal.max_age"), 86_400_000);
    }

    #[test]
    fn a_count_is_a_whole_number_that_is_not_negative() {
        let n = |text: &str| {
            let found = resolve(&[layer(Scope::User, &format!("journal.n = {text}\n"))]);
            (found.int("journal.n"), found.problems.len())
        };
        assert_eq!(n("0"), (0, 0));
        assert_eq!(n("200_000"), (200_000, 0));
        assert_eq!(n("0x10"), (16, 0));
        for wrong in ["-1", "\"3\"", "1.5", "99999999999999999999"] {
            assert_eq!(n(wrong), (7, 1), "{wrong}");
        }
    }

    #[test]
    fn a_project_adds_but_never_takes_away() {
        let user = layer(Scope::User, "guards.rules = [\"a\"]\n");
        let project = layer(
            Scope::Project,
            "journal.on = false\njournal.max_age = \"1s\"\nguards.rules = [\"b\"]\n",
        );
        let found = resolve(&[project, user]);
        assert!(found.on("journal.on"));
        assert_eq!(found.int("journal.max_age"), 14 * 86_400_000);
        assert_eq!(found.texts("guards.rules"), ["a", "b"]);
        assert_eq!(
            found.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "project:1: `journal.on`: a project can turn it on, not off",
                "project:2: `journal.max_age`: a project can't set it"
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_told_by_line_and_the_rest_holds() {
        let found = resolve(&[layer(
            Scope::User,
            "jornal.max_age = \"1d\"\nprofile = \"wrong\"\njournal.on = \"yes\"\n= 3\nguards.rules = [\"x\"]\njournal.max_agee = 1\n",
        )]);
        assert_eq!(found.texts("guards.rules"), ["x"]);
        let lines: Vec<_> =
            found.problems.iter().map(|problem| (problem.line, problem.message.as_str())).collect();
        for line in [1, 2, 3, 4, 6] {
            assert!(lines.iter().any(|(at, _)| *at == line), "line {line} is not among {lines:?}");
        }
        let typo = found.problems.iter().find(|problem| problem.line == 6).unwrap();
        assert_eq!(typo.hint, "did you mean `journal.max_age`?");
    }
}
