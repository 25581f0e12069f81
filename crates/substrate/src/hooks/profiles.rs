//! The profiles in the settings file of a scope. An installation adds to them or replaces them.

use std::path::PathBuf;

use toml_edit::{Array, DocumentMut, Item, Value};

use super::manifest::FileKind;
use super::plan::{Change, Request, read};
use super::scope::{Scope, root};
use crate::config::Home;
use crate::error::{AppError, Kind, Result};

/// Always in force. It adds nothing.
const STANDARD: &str = "standard";

/// Includes every other one.
const ALL: &str = "all";

/// The profiles that the user asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Profiles {
    pub(crate) names: Vec<String>,
    /// Replace the existing ones.
    pub(crate) only: bool,
}

/// The profiles that a settings file names. None if it does not parse.
pub(super) fn named_in(toml: &str) -> Vec<String> {
    named(&toml.parse::<DocumentMut>().unwrap_or_default())
}

/// The change of the scope's settings file, and the profiles that are new in it. `None`: the user asked for none.
pub(super) fn change(home: &Home, request: &Request<'_>) -> Result<Option<(Change, Vec<String>)>> {
    if request.profiles.names.is_empty() {
        return Ok(None);
    }
    let path = file(home, request);
    let before = read(&path)?;
    let (after, added) =
        with(before.as_deref().unwrap_or(""), &request.profiles).ok_or_else(|| {
            AppError::new(Kind::User, format!("`{}` does not parse", path.display()))
                .hint("`substrate config check` says where; nothing was changed")
        })?;
    let kind = FileKind::Profile;
    Ok(Some((Change { path, before, after, mode: 0o600, kind, is_ours: false }, added)))
}

/// The settings file of the scope.
pub(super) fn file(home: &Home, request: &Request<'_>) -> PathBuf {
    match request.scope {
        Scope::User => home.config(),
        Scope::Project => root(request.dir).join(".substrate.toml"),
        Scope::Local => root(request.dir).join(".substrate.local.toml"),
    }
}

/// The same TOML with those profiles, and which are new. `None`: it does not parse.
fn with(toml: &str, asked: &Profiles) -> Option<(String, Vec<String>)> {
    let mut document: DocumentMut = toml.parse().ok()?;
    let before = named(&document);
    let mut after = together(&before, asked);
    if after.is_empty() {
        after.push(STANDARD.to_owned());
    }
    if after == before {
        return Some((toml.to_owned(), Vec::new()));
    }
    put(&mut document, &after);
    let added = after.into_iter().filter(|name| !before.contains(name)).collect();
    Some((document.to_string(), added))
}

/// The same TOML without the profiles that we added, or without any if that is unknown. `None`: it does not parse.
pub(super) fn without(toml: &str, added: Option<&[String]>) -> Option<String> {
    let mut document: DocumentMut = toml.parse().ok()?;
    let before = named(&document);
    let is_added = |name: &String| added.is_none_or(|added| added.contains(name));
    let left: Vec<String> = before.iter().filter(|name| !is_added(name)).cloned().collect();
    if left == before {
        return Some(toml.to_owned());
    }
    put(&mut document, &left);
    Some(document.to_string())
}

/// The existing profiles and the new ones, without repeats.
fn together(before: &[String], asked: &Profiles) -> Vec<String> {
    let kept = before.iter().filter(|_| !asked.only);
    let mut all: Vec<String> = Vec::new();
    for name in kept.chain(&asked.names).filter(|name| *name != STANDARD) {
        if !all.contains(name) && !all.iter().any(|own| own == ALL) {
            all.push(name.clone());
        }
    }
    all
}

/// The profiles that a file names: one word, or a list.
fn named(document: &DocumentMut) -> Vec<String> {
    match document.get("profile").and_then(Item::as_value) {
        Some(Value::String(name)) => vec![name.value().clone()],
        Some(Value::Array(names)) => {
            names.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect()
        }
        _ => Vec::new(),
    }
}

/// One is a word, several are a list. The comment after them stays.
fn put(document: &mut DocumentMut, names: &[String]) {
    let mut value = match names {
        [] => {
            document.remove("profile");
            return;
        }
        [one] => Value::from(one.as_str()),
        several => several.iter().map(String::as_str).collect::<Array>().into(),
    };
    match document.get_mut("profile").and_then(Item::as_value_mut) {
        Some(old) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        None => drop(document.insert("profile", toml_edit::value(value))),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn asked(names: &[&str], only: bool) -> Profiles {
        Profiles { names: names.iter().map(|&name| name.to_owned()).collect(), only }
    }

    #[rstest]
    #[case::first("", &["locks"], false, "profile = \"locks\"\n", &["locks"])]
    #[case::one_more("profile = \"locks\" # mine\n", &["engine"], false, "profile = [\"locks\", \"engine\"] # mine\n", &["engine"])]
    #[case::two("profile = [\"locks\"]\n", &["engine", "locks"], false, "profile = [\"locks\", \"engine\"]\n", &["engine"])]
    #[case::there("profile = [ 'locks' ]\n", &["locks"], false, "profile = [ 'locks' ]\n", &[])]
    #[case::in_all("profile = \"all\"\n", &["locks"], false, "profile = \"all\"\n", &[])]
    #[case::all("profile = \"locks\"\n", &["all"], false, "profile = [\"locks\", \"all\"]\n", &["all"])]
    #[case::only("profile = [\"locks\", \"engine\"]\n", &["reminders"], true, "profile = \"reminders\"\n", &["reminders"])]
    #[case::only_the_standard("profile = \"all\"\n", &["standard"], true, "profile = \"standard\"\n", &["standard"])]
    #[case::standard_adds_nothing("profile = \"all\"\n", &["standard"], false, "profile = \"all\"\n", &[])]
    #[case::standard("", &["standard"], false, "profile = \"standard\"\n", &["standard"])]
    #[case::after_standard("profile = \"standard\"\n", &["locks"], false, "profile = \"locks\"\n", &["locks"])]
    fn an_installation_adds_or_replaces(
        #[case] before: &str,
        #[case] names: &[&str],
        #[case] only: bool,
        #[case] after: &str,
        #[case] added: &[&str],
    ) {
        let (text, new) = with(before, &asked(names, only)).unwrap();
        assert_eq!((text.as_str(), new), (after, asked(added, false).names));
        let (again, new) = with(&text, &asked(names, only)).unwrap();
        assert_eq!((again, new.len()), (text, 0), "twice is once");
    }

    #[test]
    fn a_profile_is_one_line_and_the_rest_stays() {
        let toml = "# mine\n[journal]\nmax_age = \"1d\" # short\n";
        let (text, added) = with(toml, &asked(&["locks"], false)).unwrap();
        assert!(text.contains("# short") && text.contains("# mine"), "{text}");
        let (key, table) = (text.find("profile").unwrap(), text.find("[journal]").unwrap());
        assert!(key < table, "a key before the tables: {text}");
        assert_eq!(without(&text, Some(&added)).unwrap(), toml);
        assert_eq!(with("= broken", &asked(&["all"], false)), None);
    }

    #[test]
    fn only_what_was_added_goes() {
        let added = asked(&["engine"], false).names;
        let toml = "profile = [\"locks\", \"engine\", \"reminders\"]\n";
        assert_eq!(without(toml, Some(&added)).unwrap(), "profile = [\"locks\", \"reminders\"]\n");
        assert_eq!(
            without("profile = \"locks\"\n", Some(&added)).unwrap(),
            "profile = \"locks\"\n"
        );
        assert_eq!(without(toml, None).unwrap(), "", "an earlier version did not say");
    }
}
