//! `docs/seeds.md` says how every promise of the five systems is kept. What it names must exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use substrate_clients::DEFAULT;
use substrate_core::settings::{Layer, Scope};

/// One promise.
struct Row {
    id: String,
    promise: String,
    how: String,
    shown_by: String,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    std::fs::read_to_string(repository().join("docs/seeds.md")).unwrap()
}

fn rows() -> Vec<Row> {
    let page = page();
    page.lines()
        .filter(|line| is_row(line))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [id, promise, how, shown_by] = cells[..] else { panic!("four cells: {line}") };
            let [id, promise, how, shown_by] = [id, promise, how, shown_by].map(str::to_owned);
            Row { id, promise, how, shown_by }
        })
        .collect()
}

/// `| 1.1 | …`
fn is_row(line: &str) -> bool {
    let first = line.strip_prefix("| ").and_then(|rest| rest.split(' ').next());
    first.is_some_and(|id| id.contains('.') && id.starts_with(|c: char| c.is_ascii_digit()))
}

/// What stands between backticks.
fn marked(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// All that programs, scripts and tests are made of.
struct Sources {
    /// Without the tests.
    program: String,
    tests: BTreeSet<String>,
}

impl Sources {
    fn read() -> Self {
        let mut out = Self { program: String::new(), tests: BTreeSet::new() };
        out.read_folder(&repository().join("crates"));
        out
    }

    fn read_folder(&mut self, folder: &Path) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                self.read_folder(&path);
            } else if path.extension().is_some_and(|end| end == "rs" || end == "sh" || end == "md")
            {
                self.read_file(&path);
            }
        }
    }

    fn read_file(&mut self, path: &Path) {
        let text = std::fs::read_to_string(path).unwrap();
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            is_test |= matches!(line, "#[test]" | "#[rstest]");
            let name = line.strip_prefix("fn ").and_then(|rest| rest.split('(').next());
            if let Some(name) = name.filter(|_| is_test) {
                self.tests.insert(name.to_owned());
                is_test = false;
            }
        }
        let is_of_tests = path.components().any(|part| part.as_os_str() == "tests")
            || path.ends_with("tests.rs")
            || path.ends_with("cli/seeds.rs");
        if !is_of_tests {
            self.program.push_str(text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(""));
        }
    }

    /// Whether something that a row names is there.
    fn has(&self, name: &str) -> bool {
        if name.starts_with("substrate ") {
            return is_command(name);
        }
        if is_setting(name) || repository().join(name).exists() {
            return true;
        }
        if let Some(flag) = name.strip_prefix("--") {
            return flags(&super::command()).contains(flag);
        }
        // Of a path, every part that is a name.
        let mut parts =
            name.split('/').filter(|part| !part.is_empty() && !part.contains(['*', '<', '~']));
        let scripts = (DEFAULT.install.scripts)("x");
        let is_script = |part: &str| scripts.iter().any(|(script, _)| script == part);
        parts.all(|part| is_script(part) || is_word_in(&self.program, part))
    }
}

/// Whether a name stands in a text by itself, and not as a part of a longer one.
fn is_word_in(text: &str, name: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        !is_part(before.chars().next_back()) && !is_part(after.chars().next())
    })
}

/// A command with its flags; what it acts on may be left out.
fn is_command(line: &str) -> bool {
    let Err(error) = super::command().try_get_matches_from(line.split(' ')) else { return true };
    matches!(
        error.kind(),
        ErrorKind::MissingRequiredArgument | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    )
}

fn flags(command: &clap::Command) -> BTreeSet<String> {
    let own = command.get_arguments().flat_map(|arg| {
        let names = arg.get_long_and_visible_aliases().unwrap_or_default();
        names.into_iter().map(str::to_owned).collect::<Vec<_>>()
    });
    own.chain(command.get_subcommands().flat_map(flags)).collect()
}

/// A key, or a line of a settings file.
fn is_setting(text: &str) -> bool {
    let keys = substrate_features::keys();
    let name = text.split(" = ").next().unwrap_or(text);
    let Some(key) = keys.iter().find(|key| key.name == name) else { return false };
    let line = if name == text { format!("{name} = {}", key.default) } else { text.to_owned() };
    Layer::read(Scope::User, "docs", &line, &keys).problems.is_empty()
}

#[test]
fn every_row_names_what_exists() {
    let sources = Sources::read();
    for Row { id, promise, how, shown_by } in rows() {
        let commands = marked(&promise).filter(|name| name.starts_with("substrate "));
        for name in commands.chain(marked(&how)) {
            assert!(sources.has(name), "{id}: `{name}` does not exist");
        }
        assert!(!how.is_empty() && marked(&shown_by).count() > 0, "{id}: nothing shows it");
        for name in marked(&shown_by) {
            assert!(sources.tests.contains(name), "{id}: there is no test `{name}`");
        }
    }
}

#[test]
fn the_rest_of_the_page_names_what_exists() {
    let sources = Sources::read();
    let page = page();
    let mut n = 0;
    for line in page.lines().filter(|line| !is_row(line)) {
        // A command that a document prints is the document's; what is in its place stands in the next cell.
        let printed = line.strip_prefix("| `").and_then(|rest| rest.split_once('|'));
        for name in marked(printed.map_or(line, |(_, ours)| ours)) {
            assert!(sources.has(name), "`{name}` does not exist: {line}");
            n += 1;
        }
    }
    assert!(n > 5, "{n}");
}

#[test]
fn every_promise_has_its_number() {
    let ids: Vec<String> = rows().into_iter().map(|row| row.id).collect();
    let mut expected = Vec::new();
    for seed in 1..=5 {
        let n = ids.iter().filter(|id| id.starts_with(&format!("{seed}."))).count();
        assert!(n > 20, "{seed}: {n} rows");
        expected.extend((1..=n).map(|at| format!("{seed}.{at}")));
    }
    assert_eq!(ids, expected);
    for (name, _) in substrate_features::PROFILES {
        assert!(page().contains(&format!("`{name}`")), "{name}");
    }
}

/// The check itself finds what is not there.
#[test]
fn what_does_not_exist_is_noticed() {
    let sources = Sources::read();
    let wrong = [
        "substrate hooks instal",
        "substrate hooks install --profil locks",
        "substrate hooks install --profile lock",
        "substrate nothing",
        "persist.mod",
        "persist.mode = \"polls\"",
        "docs/nothing.md",
        "~/.claude/hooks/substrate/nothing.sh",
        "~/.claude/no-such-folder/substrate/stop.sh",
        "logs/no-such-folder/session-end.jsonl",
        "no-such-file.jsonl",
        "--no-such-flag",
    ];
    for name in wrong {
        assert!(!sources.has(name), "`{name}` is taken to exist");
    }
    assert!(!sources.tests.contains("there_is_no_such_test"));
}
