//! The layers over each other: default, profile, user, project, local.

use std::sync::Arc;

use toml::de::DeValue;

use super::index::Index;
use super::key::{Key, Kind, ProjectMay, Table, Value};
use super::layer::{Layer, Problem, Scope, fits, not_for_a_project};

/// The settings in force. Looking up an undeclared key is a bug, and a test finds it.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// In the order of their names.
    values: Vec<(&'static str, Effective)>,
    index: Index,
    pub problems: Vec<Problem>,
    /// Files of the project that are too large, so that nothing of them is used. They are problems as well.
    pub refused: Vec<Problem>,
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
        let mut out = Self::default();
        let profiles = profiles(&layers);
        out.values =
            keys.iter().map(|key| (key.name, effective(key, &profiles, &layers))).collect();
        out.values.sort_by_key(|(name, _)| *name);
        out.values.dedup_by_key(|(name, _)| *name);
        out.index = Index::of(&out.values);
        out.problems = layers.iter().flat_map(|layer| layer.problems.iter().cloned()).collect();
        out.refused = layers.iter().filter_map(|layer| layer.refused.clone()).collect();
        out
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Effective)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    pub fn get(&self, name: &str) -> Option<&Effective> {
        self.index.find(&self.values, name)
    }

    pub fn on(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::Bool(true)))
    }

    /// A span in milliseconds, a size in bytes, or a count. 0 for any other key.
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

    pub fn tables(&self, name: &str) -> Arc<[Table]> {
        match self.value(name) {
            Some(Value::Tables(tables)) => Arc::clone(tables),
            _ => Arc::default(),
        }
    }

    fn value(&self, name: &str) -> Option<&Value> {
        debug_assert!(
            self.values.is_empty() || self.get(name).is_some(),
            "no such setting: {name}"
        );
        self.get(name).map(|found| &found.value)
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

/// A profile that a file asks for.
struct Asked<'a> {
    name: &'a str,
    is_foreign: bool,
    /// As `config` shows it.
    origin: String,
}

/// The profile that has the settings of every other one.
const ALL: &str = "all";

/// The profiles in force, the user's first. A project's add to them and take nothing away.
fn profiles<'a>(layers: &[&'a Layer]) -> Vec<Asked<'a>> {
    let asked = |layer: &&'a Layer| {
        let Some((Value::Texts(names), line)) = layer.find("profile") else { return Vec::new() };
        let origin = |name| format!("profile {name}, {}:{line}", layer.file);
        let is_foreign = layer.scope.is_foreign();
        names.iter().map(|name| Asked { name, is_foreign, origin: origin(name) }).collect()
    };
    layers.iter().flat_map(asked).collect()
}

fn effective(key: &Key, profiles: &[Asked<'_>], layers: &[&Layer]) -> Effective {
    let default = literal(key.kind, key.default);
    let mut out = of_profiles(key, profiles).unwrap_or(Effective {
        value: default,
        scope: Scope::Default,
        origin: None,
    });
    for layer in layers {
        let Some((value, line)) = layer.find(key.name) else { continue };
        let Some(value) = over(&out.value, value, key, layer.scope) else { continue };
        let here = format!("{}:{line}", layer.file);
        // A list that grew has its entries from both.
        let before = out.origin.filter(|_| layer.scope.is_foreign() && value.n_entries() > 0);
        let origin = before.map_or_else(|| here.clone(), |before| format!("{before}, {here}"));
        out = Effective { value, scope: layer.scope, origin: Some(origin) };
    }
    out
}

/// The value of the first profile that has one. No two profiles give different values.
fn of_profiles(key: &Key, profiles: &[Asked<'_>]) -> Option<Effective> {
    profiles.iter().find_map(|asked| {
        let mut values = key.profiles.iter();
        let (_, text) = values.find(|(name, _)| *name == asked.name || asked.name == ALL)?;
        let value = literal(key.kind, text);
        if asked.is_foreign && not_for_a_project(key, &value).is_some() {
            return None;
        }
        Some(Effective { value, scope: Scope::Profile, origin: Some(asked.origin.clone()) })
    })
}

/// A layer's value over the one below it. `None`: it changes nothing.
fn over(before: &Value, value: &Value, key: &Key, scope: Scope) -> Option<Value> {
    if let (Kind::Profiles(names), Value::Texts(more)) = (key.kind, value) {
        return together(names, before, more);
    }
    if !scope.is_foreign() {
        return Some(value.clone());
    }
    let adds = matches!(key.project, ProjectMay::Append | ProjectMay::Widen);
    match (before, value) {
        (Value::Texts(before), _) if before.is_empty() && key.project == ProjectMay::Widen => None,
        (Value::Texts(before), Value::Texts(more)) if adds => {
            Some(Value::Texts(before.iter().chain(more).cloned().collect()))
        }
        (Value::Tables(before), Value::Tables(more)) if adds => {
            Some(Value::Tables(before.iter().chain(&**more).cloned().collect()))
        }
        _ => Some(value.clone()),
    }
}

/// The profiles so far and more of them, each once. `None`: there is nothing new.
fn together(names: &[&str], before: &Value, more: &[String]) -> Option<Value> {
    let Value::Texts(before) = before else { return None };
    let adds = |name: &&String| Some(name.as_str()) != names.first().copied();
    let mut all: Vec<String> = Vec::new();
    for name in before.iter().chain(more).filter(adds) {
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
    (!all.is_empty() && all != *before).then_some(Value::Texts(all))
}

/// A default. We wrote it, so it must fit.
fn literal(kind: Kind, text: &str) -> Value {
    simple(kind, text)
        .or_else(|| parsed(kind, text))
        .expect("a default in the table of keys fits its own kind; a test reads them all")
}

fn parsed(kind: Kind, text: &str) -> Option<Value> {
    fits(kind, DeValue::parse(text).ok()?.get_ref())
}

/// The same for what nearly all defaults are. Every command reads all of them, and the parser was an eighth of a short one.
fn simple(kind: Kind, text: &str) -> Option<Value> {
    match (kind, text) {
        (Kind::Bool, "true") => Some(Value::Bool(true)),
        (Kind::Bool, "false") => Some(Value::Bool(false)),
        (Kind::Count, "0") => Some(Value::Int(0)),
        (Kind::Count, _) if text.starts_with(|first: char| ('1'..='9').contains(&first)) => {
            text.parse().ok().map(Value::Int)
        }
        (Kind::Texts, "[]") => Some(Value::Texts(Vec::new())),
        (Kind::Tables, "[]") => Some(Value::Tables(Arc::default())),
        _ => {
            let inner = text.strip_prefix('"')?.strip_suffix('"')?;
            let is_plain = |byte: u8| byte != b'"' && byte != b'\\' && !byte.is_ascii_control();
            inner.bytes().all(is_plain).then(|| kind.read_text(inner)).flatten()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &[Key] = &[
        Key {
            name: "profile",
            kind: Kind::Profiles(&["standard", "long", "b", "all"]),
            default: "\"standard\"",
            about: "",
            project: ProjectMay::Append,
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
            profiles: &[("long", "\"28d\"")],
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
            name: "b",
            kind: Kind::Bool,
            default: "false",
            about: "",
            project: ProjectMay::TurnOn,
            profiles: &[("b", "true")],
        },
        Key {
            name: "files",
            kind: Kind::Texts,
            default: "[]",
            about: "",
            project: ProjectMay::Widen,
            profiles: &[],
        },
        Key {
            name: "rules",
            kind: Kind::Tables,
            default: "[]",
            about: "",
            project: ProjectMay::Append,
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

    #[test]
    fn a_simple_default_is_what_the_parser_says() {
        let kinds = [
            Kind::Bool,
            Kind::Count,
            Kind::Span,
            Kind::Size,
            Kind::Text,
            Kind::Colour,
            Kind::Texts,
            Kind::Tables,
            Kind::Word(&["a", "b"]),
            Kind::Profiles(&["a", "b"]),
        ];
        for kind in kinds {
            let mut n_simple = 0;
            for text in [
                "true",
                "false",
                "0",
                "7",
                "007",
                "+7",
                "-7",
                "1_000",
                "0x10",
                "1.5",
                "[]",
                "[\"a\"]",
                "\"\"",
                "\"a\"",
                "\"14d\"",
                "\"2GB\"",
                "\"red\"",
                "\"a\\n\"",
                "'a'",
                "\"a\"b\"",
                "\"\"\"a\"\"\"",
                "\"",
                "",
            ] {
                let Some(found) = simple(kind, text) else { continue };
                n_simple += 1;
                assert_eq!(Some(found), parsed(kind, text), "{kind:?} {text}");
            }
            assert!(n_simple > 0, "{kind:?}");
        }
        assert!(KEYS.iter().all(|key| simple(key.kind, key.default).is_some()));
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
    fn a_projects_profile_adds_to_the_users() {
        let both = |user: &str, project: &str| {
            let found = resolve(&[layer(Scope::User, user), layer(Scope::Project, project)]);
            (found.on("b"), found.texts("profile").join(" "))
        };
        let all = "profile = \"all\"";
        assert_eq!(both("", ""), (false, "standard".to_owned()));
        assert_eq!(both("", all), (true, "all".to_owned()));
        assert_eq!(both(all, "profile = \"standard\""), (true, "all".to_owned()));
        assert_eq!(both(all, "profile = []"), (true, "all".to_owned()));
        assert_eq!(both("profile = [\"long\"]", all), (true, "long all".to_owned()));
        assert_eq!(both("b = false", all), (false, "all".to_owned()), "what the user wrote wins");
        let found = resolve(&[layer(Scope::Project, all)]);
        assert_eq!(found.int("journal.max_age"), 14 * 86_400_000, "what it can't set stays");
    }

    #[test]
    fn profiles_add_up_and_each_value_names_its_own() {
        let user = "\nprofile = [\"long\", \"b\", \"long\", \"standard\"]";
        let found = resolve(&[layer(Scope::User, user), layer(Scope::Local, "profile = \"b\"")]);
        assert_eq!(found.texts("profile"), ["long", "b"]);
        assert_eq!((found.int("journal.max_age"), found.on("b")), (28 * 86_400_000, true));
        let origin = |key: &str| found.get(key).unwrap().origin.clone().unwrap();
        assert_eq!(origin("journal.max_age"), "profile long, user:2");
        assert_eq!(origin("b"), "profile b, user:2");
        assert_eq!(origin("profile"), "user:2", "the other file adds nothing");

        let found = resolve(&[layer(Scope::User, user), layer(Scope::Local, "profile = \"all\"")]);
        assert_eq!(found.get("profile").unwrap().origin.as_deref(), Some("user:2, local:1"));
    }

    #[test]
    fn a_profile_that_is_not_there_is_told_and_the_others_count() {
        let found = resolve(&[layer(Scope::User, "profile = [\"lonk\", \"b\"]")]);
        assert!(found.on("b"));
        assert_eq!(found.problems[0].to_string(), "user:1: `profile`: there is no `lonk`");
        assert_eq!(found.problems[0].hint, "did you mean `long`?");
        for wrong in ["\"lonk\"", "[1]", "true", "[[]]"] {
            let found = resolve(&[layer(Scope::User, &format!("profile = {wrong}"))]);
            assert_eq!(
                (found.texts("profile"), found.problems.len()),
                (&["standard".to_owned()][..], 1),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_project_widens_a_list_of_which_none_means_all() {
        let files = |user: &str| {
            let project = layer(Scope::Project, "files = [\"none\"]");
            resolve(&[layer(Scope::User, user), project]).texts("files").join(" ")
        };
        assert_eq!(files(""), "");
        assert_eq!(files("files = [\"*.ts\"]"), "*.ts none");
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

    /// Files that were slow to read, by their shape; each is as long as asked for.
    fn bombs(n_bytes: usize) -> Vec<(&'static str, String)> {
        let filled = |head: &str, unit: &str, tail: &str| {
            format!("{head}{}{tail}", unit.repeat(n_bytes / unit.len()))
        };
        let numbered = |f: fn(usize) -> String| {
            (0..)
                .map(f)
                .scan(0, |len, text| {
                    *len += text.len();
                    (*len < n_bytes).then_some(text)
                })
                .collect::<String>()
        };
        vec![
            ("empty rules", filled("rules=[", "{},", "]")),
            ("empty rules on lines of their own", filled("rules=[", "{},\n", "]")),
            ("rules", filled("", "[[rules]]\n", "")),
            ("texts", filled("guards.rules=[", "\"\",", "]")),
            ("unknown keys", numbered(|n| format!("k{n}=1\n"))),
            ("unknown keys near to known ones", numbered(|n| format!("journal.max{n}=1\n"))),
            ("unknown tables", numbered(|n| format!("[t{n}]\na=1\n"))),
            (
                "a long name above many",
                format!(
                    "[{}]\n{}",
                    "a".repeat(n_bytes / 2),
                    (0..n_bytes / 16).map(|n| format!("b{n}=1\n")).collect::<String>()
                ),
            ),
            ("one long unknown key", filled("", "k", "=1")),
            ("dotted keys", filled("", "a.", "a=1")),
            ("dotted headers", filled("[", "a.", "a]")),
            ("brackets", filled("", "[", "")),
            ("brackets in a value", filled("a=", "[", "")),
            ("braces in a value", filled("a=", "{a=", "")),
            ("no syntax", filled("", "= \n", "")),
            ("quotes", filled("", "\"", "")),
            ("wrong types", filled("", "b=1\n", "")),
            ("line breaks", filled("", "\n", "")),
            ("comments", filled("", "#\n", "")),
            ("NULs", filled("", "\0", "")),
        ]
    }

    #[test]
    fn a_project_file_that_is_too_large_is_refused() {
        for (name, text) in bombs(878 << 10) {
            let found = resolve(&[layer(Scope::User, "b = true"), layer(Scope::Project, &text)]);
            let told: Vec<&str> = found.refused.iter().map(|told| told.message.as_str()).collect();
            assert_eq!(told.len(), 1, "{name}");
            assert!(told[0].contains("KB, and at most 64 KB are read"), "{name}: {told:?}");
            assert!(found.on("b") && found.tables("rules").is_empty(), "{name}");
        }
        let rules = |n: usize| {
            let found = resolve(&[layer(Scope::Project, &"[[rules]]\n".repeat(n))]);
            (found.tables("rules").len(), found.refused.len())
        };
        assert_eq!(rules(200), (200, 0));
        assert_eq!(rules(201), (0, 1));
    }

    #[test]
    fn a_refused_file_leaves_its_last_good_version_in_force() {
        let good = layer(Scope::Project, "guards.rules = [\"b\"]");
        let bad = layer(Scope::Project, &"x".repeat(70_000)).with_values_of(&good);
        let found = resolve(&[layer(Scope::User, "guards.rules = [\"a\"]"), bad]);
        assert_eq!(found.texts("guards.rules"), ["a", "b"]);
        assert!(found.refused[0].message.ends_with("; its last good version stays in force"));
        assert_eq!(found.problems, found.refused);
    }

    /// The user's own file may be longer. What was quadratic took minutes at this length, on any machine.
    #[test]
    fn any_file_is_read_in_linear_time_and_its_problems_are_few() {
        for (name, text) in bombs(256 << 10) {
            let begun = std::time::Instant::now();
            let read = layer(Scope::User, &text);
            assert!(begun.elapsed().as_secs() < 20, "{name}: {:?}", begun.elapsed());
            assert!(read.problems.len() <= 21, "{name}: {}", read.problems.len());
            assert!(read.problems.iter().all(|told| told.message.len() < 300), "{name}");
        }
    }
}
