//! Which skills are there: a folder each, with a `SKILL.md` whose front matter says what it is for.

use std::path::Path;
use std::time::Instant;

use substrate_core::facts::Skill;

use super::beginning;

/// How many skills are read, and how much of each.
const MAX_SKILLS: usize = 200;
const MAX_BYTES: usize = 4 << 10;

/// The skills of the folders. The first of a name counts; what can't be read is skipped.
pub(super) fn skills(folders: &[String], deadline: Instant) -> Vec<Skill> {
    let mut out: Vec<Skill> = Vec::new();
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        for name in names {
            if out.len() >= MAX_SKILLS || Instant::now() >= deadline {
                return out;
            }
            if let Some(skill) = skill(folder, &name)
                && !out.iter().any(|other| other.name == skill.name)
            {
                out.push(skill);
            }
        }
    }
    out
}

fn skill(folder: &str, name: &str) -> Option<Skill> {
    let path = format!("{folder}/{name}/SKILL.md");
    // Anything but a file could keep us waiting.
    if !Path::new(&path).is_file() {
        return None;
    }
    let front = front_matter(&beginning(&path, MAX_BYTES)?)?;
    // The model can't use what only a person may start.
    if front.is_for_people {
        return None;
    }
    let name = if front.name.is_empty() { name.to_owned() } else { front.name };
    Some(Skill { name, description: front.description, path })
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Front {
    name: String,
    description: String,
    is_for_people: bool,
}

/// The lines between the first two `---`; `None` where there are none, or nothing that we know is in them. This is no
/// YAML: of a value we want the words only.
fn front_matter(text: &str) -> Option<Front> {
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    if lines.next()?.trim_end() != "---" {
        return None;
    }
    let mut values: Vec<(&str, String)> = Vec::new();
    let mut is_closed = false;
    for line in lines {
        if line.trim_end() == "---" {
            is_closed = true;
            break;
        }
        let is_continued = line.starts_with([' ', '\t']) || line.trim().is_empty();
        match (values.last_mut(), line.split_once(':')) {
            (Some((_, value)), _) if is_continued => {
                value.push(' ');
                value.push_str(line.trim());
            }
            (_, Some((key, value))) if !is_continued => {
                values.push((key.trim(), begun(value.trim()).to_owned()));
            }
            _ => {}
        }
    }
    let value = |name: &str| {
        let found = values.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| unquoted(value.trim())).unwrap_or_default()
    };
    let front = Front {
        name: value("name"),
        description: value("description"),
        is_for_people: value("disable-model-invocation") == "true",
    };
    (is_closed && !(front.name.is_empty() && front.description.is_empty())).then_some(front)
}

/// The first line of a value; `>` and `|` only announce those that follow.
fn begun(value: &str) -> &str {
    if matches!(value, ">" | ">-" | ">+" | "|" | "|-" | "|+") { "" } else { value }
}

fn unquoted(value: &str) -> String {
    let inner = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(inner) = inner('"') {
        return inner.replace("\\\"", "\"").replace("\\\\", "\\");
    }
    inner('\'').map_or_else(|| value.to_owned(), |inner| inner.replace("''", "'"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fsx;

    fn front(name: &str, description: &str) -> Option<Front> {
        Some(Front {
            name: name.to_owned(),
            description: description.to_owned(),
            ..Front::default()
        })
    }

    #[test]
    fn front_matter_reads() {
        let cases = [
            ("---\nname: a\ndescription: b c\n---\ntext", front("a", "b c")),
            ("\u{feff}---\r\nname: a\r\ndescription: b\r\n---\r\n", front("a", "b")),
            ("---\nname: \"a\"\ndescription: 'it''s: b'\n---\n", front("a", "it's: b")),
            ("---\ndescription: \"say \\\"x\\\"\"\n---\n", front("", "say \"x\"")),
            (
                "---\nname: a\ndescription: >-\n  one\n  two\n\n  three\n---\n",
                front("a", "one two  three"),
            ),
            ("---\ndescription: one\n  two\nname: a\n---\n", front("a", "one two")),
            ("---\nname: a\nallowed-tools:\n  - name: x\n# comment: y\n---\n", front("a", "")),
            ("---\nname: a: b\n---\n", front("a: b", "")),
            ("---\nlicense: MIT\n---\n", None),
            ("---\nname: a\n", None),
            ("# name: a\n---\nname: a\n---\n", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(front_matter(text), expected, "{text:?}");
        }
    }

    #[test]
    fn skills_of_all_folders_are_found_and_broken_ones_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let file = folder.path().join(path).join("SKILL.md");
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            fsx::replace(&file, text.as_bytes(), 0o600).unwrap();
        };
        put("one/b", "---\nname: beta\ndescription: of the project\n---\n");
        put("one/a", "---\ndescription: no name\n---\n");
        put("one/broken", "nothing");
        put("one/people", "---\nname: people\ndisable-model-invocation: true\n---\n");
        put("one/long", &format!("---\nname: long\ndescription: {}\n---\n", "x".repeat(5_000)));
        std::fs::create_dir_all(folder.path().join("one/odd/SKILL.md")).unwrap();
        put("two/beta", "---\nname: beta\ndescription: of the user\n---\n");
        put("two/gamma", "---\nname: gamma\n---\n");
        let at = |path: &str| folder.path().join(path).display().to_string();
        let soon = Instant::now() + Duration::from_secs(20);
        let found = skills(&[at("one"), at("nowhere"), at("two")], soon);
        let names: Vec<_> =
            found.iter().map(|skill| (skill.name.as_str(), skill.description.as_str())).collect();
        assert_eq!(names, [("a", "no name"), ("beta", "of the project"), ("gamma", "")]);
        assert_eq!(found[1].path, at("one/b/SKILL.md"));
        assert!(skills(&[at("one")], Instant::now()).is_empty(), "no time is left");
    }
}
