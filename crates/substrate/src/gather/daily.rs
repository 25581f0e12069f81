//! Files that are named after a day: which exist, and how the latest ones end.

use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use substrate_core::Need;
use substrate_core::facts::{Daily, DayFile};

use crate::config::root_of;
use crate::inside::Folder;

/// The pattern of their names, with a digit for each `0`.
const NAME: &str = "0000-00-00.md";

/// How many entries of a folder are read.
const MAX_ENTRIES: usize = 20_000;

/// `None` if that can't be determined. A missing folder counts as empty. Links are not followed: a project comes from
/// outside, and a model reads this text.
pub(super) fn daily(need: &Need) -> Option<Daily> {
    let Need::Daily { dir, of_tree, below, until, n, max_bytes } = need else { return None };
    let root = if *of_tree { root_of(Path::new(dir)) } else { PathBuf::from(dir) };
    let folder = match Folder::root(&root).ok()?.at(below) {
        Ok(folder) => Some(folder),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(_) => return None,
    };
    let path = root.join(below).to_str()?.to_owned();
    let Some(folder) = folder else { return Some(Daily { folder: path, files: Vec::new() }) };
    let names = folder.names(MAX_ENTRIES).ok()?;
    let mut days: Vec<&str> = names.iter().filter_map(|name| day(name)).collect();
    days.retain(|day| *day <= until.as_str());
    days.sort_unstable();
    let latest = days.split_off(days.len().saturating_sub(*n));
    let file = |day: &str| {
        let name = format!("{day}.md");
        let found = folder.look(&name).ok();
        DayFile {
            text: end(&folder, &name, *max_bytes).ok(),
            day: day.to_owned(),
            is_folder: found.is_some_and(|found| found.kind == FileType::Directory),
            changed_ms: found.map(|found| found.stamp_ms),
        }
    };
    Some(Daily { files: latest.into_iter().map(file).collect(), folder: path })
}

/// The day in a file's name.
fn day(name: &str) -> Option<&str> {
    let fits = |(is, like): (u8, u8)| if like == b'0' { is.is_ascii_digit() } else { is == like };
    let is_day = name.len() == NAME.len() && name.bytes().zip(NAME.bytes()).all(fits);
    is_day.then(|| name.strip_suffix(".md")).flatten()
}

/// The last lines of a file that fit into `max` bytes.
fn end(folder: &Folder, name: &str, max: usize) -> std::io::Result<String> {
    let (mut file, length) = folder.read(name)?;
    let max = u64::try_from(max).unwrap_or(u64::MAX);
    let from = length.saturating_sub(max);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(max).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // The cut leaves half a line.
    let whole = if from == 0 { 0 } else { text.find('\n').map_or(0, |at| at + 1) };
    Ok(text[whole..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsx;

    fn look(dir: &Path, of_tree: bool, n: usize, max_bytes: usize) -> Option<Daily> {
        let need = Need::Daily {
            dir: dir.display().to_string(),
            of_tree,
            below: "pads/x".to_owned(),
            until: "2026-02-28".to_owned(),
            n,
            max_bytes,
        };
        daily(&need)
    }

    fn write(dir: &Path, name: &str, text: &str) {
        fsx::create_folders(&dir.join("pads/x")).unwrap();
        fsx::replace(&dir.join("pads/x").join(name), text.as_bytes(), 0o600).unwrap();
    }

    fn told(daily: &Daily) -> Vec<(&str, Option<&str>)> {
        daily.files.iter().map(|file| (file.day.as_str(), file.text.as_deref())).collect()
    }

    #[test]
    fn the_latest_days_are_found_and_how_they_end() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        for (name, text) in [
            ("2026-02-08.md", "one\ntwo\nthree\n"),
            ("2026-02-07.md", "short\n"),
            ("2025-12-31.md", "old\n"),
            ("notes.md", "no day\n"),
            ("2026-02-09.txt", "no"),
            ("2099-01-01.md", "of the future"),
        ] {
            write(dir, name, text);
        }
        let found = look(dir, false, 2, 12).unwrap();
        assert_eq!(found.folder, dir.join("pads/x").display().to_string());
        assert_eq!(
            told(&found),
            [("2026-02-07", Some("short\n")), ("2026-02-08", Some("two\nthree\n"))]
        );
    }

    #[test]
    fn what_is_not_there_is_known_and_what_cant_be_looked_at_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        assert_eq!(look(dir, false, 2, 12).unwrap().files, []);
        assert_eq!(look(&dir.join("gone"), false, 2, 12), None);
        fsx::create_folders(&dir.join("pads")).unwrap();
        fsx::replace(&dir.join("pads/x"), b"a file", 0o600).unwrap();
        assert_eq!(look(dir, false, 2, 12), None);
    }

    #[test]
    fn links_and_folders_are_there_but_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        write(dir, "2026-02-01.md", "text");
        fsx::replace(&dir.join("secret"), b"secret", 0o600).unwrap();
        let at = |day: &str| dir.join("pads/x").join(day);
        std::os::unix::fs::symlink(dir.join("secret"), at("2026-02-02.md")).unwrap();
        fsx::create_folders(&at("2026-02-03.md")).unwrap();
        let found = look(dir, false, 10, 100).unwrap();
        let expected = [("2026-02-01", Some("text")), ("2026-02-02", None), ("2026-02-03", None)];
        assert_eq!(told(&found), expected);
        assert_eq!(found.files.iter().filter(|file| file.is_folder).count(), 1);
    }

    #[test]
    fn a_folder_that_is_a_link_is_not_looked_into() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(other.path(), "2026-02-01.md", "secret");
        std::os::unix::fs::symlink(other.path().join("pads"), folder.path().join("pads")).unwrap();
        assert_eq!(look(folder.path(), false, 10, 100), None);
    }

    #[test]
    fn a_folder_below_is_looked_for_at_the_root_of_its_tree() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        fsx::create_folders(&dir.join(".git")).unwrap();
        fsx::create_folders(&dir.join("src/deep")).unwrap();
        write(dir, "2026-02-01.md", "text");
        assert_eq!(look(&dir.join("src/deep"), true, 1, 100).unwrap().files.len(), 1);
        assert_eq!(look(&dir.join("src/deep"), false, 1, 100).unwrap().files.len(), 0);
    }

    #[test]
    fn only_a_day_is_a_name() {
        assert_eq!(day("2026-02-08.md"), Some("2026-02-08"));
        let others =
            ["2026-2-8.md", "2026-02-08.md.bak", "2026-02-08", "٢026-02-8.md", "abcd-ef-gh.md", ""];
        assert!(others.into_iter().all(|name| day(name).is_none()));
    }
}
