//! Finds the skills: a folder each, with a `SKILL.md` whose front matter says what it is for.

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use substrate_core::facts::Skill;

use super::beginning;
use crate::inside::{self, Folder};

/// How many skills are read, and how much of each.
const MAX_SKILLS: usize = 10_000;
const MAX_BYTES: usize = 4 << 10;

/// A folder of skills.
struct Shelf {
    path: String,
    /// In a project, links are not followed. The user's own folder may be full of them.
    inside: Option<Folder>,
    names: Vec<String>,
}

/// The skills of the projects and of the user. For each name the first folder wins. Unreadable ones are skipped. The
/// folders take turns, so that many skills in one don't use up the time.
pub(super) fn skills(
    projects: &[String],
    below: &str,
    own: Option<&str>,
    deadline: Instant,
) -> Vec<Skill> {
    let of_project = |root: &String| {
        let path = format!("{}/{below}", root.trim_end_matches('/'));
        // In the home folder, the project's skills are the user's own.
        let is_own = own.is_some_and(|own| Path::new(own) == Path::new(&path));
        let inside = Folder::root(root).and_then(|root| root.at(below)).ok().filter(|_| !is_own)?;
        let names = sorted(inside.names(MAX_SKILLS).ok()?);
        Some(Shelf { path, inside: Some(inside), names })
    };
    let mut shelves: Vec<Shelf> = projects.iter().filter_map(of_project).collect();
    shelves.extend(own.map(|own| Shelf { path: own.to_owned(), inside: None, names: names(own) }));
    let longest = shelves.iter().map(|shelf| shelf.names.len()).max().unwrap_or_default();
    let turns = (0..longest).flat_map(|n| shelves.iter().enumerate().map(move |on| (n, on)));
    let mut found: Vec<(usize, Skill)> = Vec::new();
    for (n, (from, shelf)) in turns {
        if found.len() >= MAX_SKILLS || Instant::now() >= deadline {
            break;
        }
        let Some(name) = shelf.names.get(n) else { continue };
        found.extend(skill(shelf, name).map(|skill| (from, skill)));
    }
    // Each folder's skills are sorted by name already.
    found.sort_by_key(|(from, _)| *from);
    let mut known: HashSet<String> = HashSet::new();
    let skills = found.into_iter().map(|(_, skill)| skill);
    skills.filter(|skill| known.insert(skill.name.clone())).collect()
}

fn names(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    sorted(entries.filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

fn skill(shelf: &Shelf, name: &str) -> Option<Skill> {
    let path = format!("{}/{name}/SKILL.md", shelf.path);
    let text = match &shelf.inside {
        Some(folder) => {
            let (file, _) = folder.at(name).and_then(|folder| folder.read("SKILL.md")).ok()?;
            inside::beginning(file, MAX_BYTES).ok()?
        }
        None => beginning(&path, MAX_BYTES)?,
    };
    let front = front_matter(&text)?;
    // The model can't use a skill that only a person may start.
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

/// The lines between the first two `---`. `None` if there are none, or none of the fields that we know. This is not a
/// YAML parser: we only want the words of a value.
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

/// The first line of a value, without a comment. `>`, `|-` or `|2` only announce the lines that follow.
fn begun(value: &str) -> &str {
    let is_quoted = value.starts_with(['"', '\'']);
    let end = value.find(" #").filter(|_| !is_quoted).unwrap_or(value.len());
    let value = if value.starts_with('#') { "" } else { value[..end].trim_end() };
    let announces = value
        .strip_prefix(['>', '|'])
        .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '+' | '-')));
    if announces { "" } else { value }
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
            ("---\nname: a # note\ndescription: \"b # c\"\n---\n", front("a", "b # c")),
            ("---\nname: a\ndescription: in C# code\n---\n", front("a", "in C# code")),
            ("---\nname: a\ndescription: |2-\n   b\n---\n", front("a", "b")),
            ("---\nname: a\ndescription: >1 # folded\n  b\n---\n", front("a", "b")),
            (
                "---\nname: a\ndisable-model-invocation: true # x\n---\n",
                Some(Front { is_for_people: true, ..front("a", "").unwrap() }),
            ),
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
        let all = |deadline| skills(&[at(""), at("nowhere")], "one", Some(&at("two")), deadline);
        let found = all(soon);
        let names: Vec<_> =
            found.iter().map(|skill| (skill.name.as_str(), skill.description.as_str())).collect();
        assert_eq!(names, [("a", "no name"), ("beta", "of the project"), ("gamma", "")]);
        assert_eq!(found[1].path, at("one/b/SKILL.md"));
        assert!(all(Instant::now()).is_empty(), "no time is left");
    }

    #[test]
    fn links_are_followed_in_the_users_own_folder_only() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        let put = |path: &str| {
            std::fs::create_dir_all(at(path)).unwrap();
            let name = path.rsplit('/').next().unwrap();
            let text = format!("---\nname: {name}\n---\n");
            fsx::replace(&at(path).join("SKILL.md"), text.as_bytes(), 0o600).unwrap();
        };
        put("outside/secret");
        put("p/skills/plain");
        std::fs::create_dir_all(at("p/skills/file")).unwrap();
        std::os::unix::fs::symlink(at("outside/secret"), at("p/skills/folder")).unwrap();
        let target = at("outside/secret/SKILL.md");
        std::os::unix::fs::symlink(target, at("p/skills/file/SKILL.md")).unwrap();
        std::fs::create_dir_all(at("q")).unwrap();
        std::os::unix::fs::symlink(at("outside"), at("q/skills")).unwrap();
        let text = |path: &str| at(path).display().to_string();
        let soon = Instant::now() + Duration::from_secs(20);
        let names = |projects: &[String], own: Option<&str>| {
            let found = skills(projects, "skills", own, soon);
            found.into_iter().map(|skill| skill.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[text("p"), text("q")], None), ["plain"]);
        assert_eq!(names(&[], Some(&text("q/skills"))), ["secret"]);
        assert_eq!(names(&[text("q")], Some(&text("q/skills"))), ["secret"], "it is their home");
    }

    #[test]
    fn many_skills_in_one_folder_hide_neither_its_own_nor_those_of_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: String| {
            let file = folder.path().join(&path).join("SKILL.md");
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            let name = path.rsplit('/').next().unwrap();
            std::fs::File::create(&file)
                .and_then(|mut file| {
                    std::io::Write::write_all(
                        &mut file,
                        format!("---\nname: {name}\n---\n").as_bytes(),
                    )
                })
                .unwrap();
        };
        for n in 0..500 {
            put(format!("one/a{n:03}"));
        }
        put("one/zz-deploy".to_owned());
        put("two/mine".to_owned());
        let at = |path: &str| folder.path().join(path).display().to_string();
        let soon = Instant::now() + Duration::from_secs(20);
        let found = skills(&[at("")], "one", Some(&at("two")), soon);
        let names: Vec<&str> = found.iter().map(|skill| skill.name.as_str()).collect();
        assert_eq!((names[0], &names[names.len() - 2..]), ("a000", &["zz-deploy", "mine"][..]));
        assert_eq!(names.len(), 502);
    }
}
