//! When a file was last changed, and its identity.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use substrate_core::facts::Changed;

/// The time of change (ctime), which a program can't set.
fn changed_ms(path: impl AsRef<Path>) -> Option<i64> {
    std::fs::symlink_metadata(path).ok().map(|found| stamp(&found))
}

/// The same, from metadata.
pub(super) fn stamp(found: &Metadata) -> i64 {
    found.ctime().saturating_mul(1_000).saturating_add(found.ctime_nsec() / 1_000_000)
}

pub(super) fn changed(path: &str) -> Changed {
    let itself = changed_ms(path);
    let above = || Path::new(path).ancestors().skip(1).find_map(changed_ms);
    Changed { itself, folder: if itself.is_none() { above() } else { None } }
}

/// A file's identity, whatever its name: device, inode, and birth time, since inodes are reused. On a file system
/// without birth times, only a file with several names gets an identity: a new file has one name.
pub(super) fn file(found: &Metadata) -> Option<String> {
    let born = found.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let is_known = found.is_file() && (born.is_some() || found.nlink() > 1);
    let born = born.map_or(0, |born| born.as_nanos());
    is_known.then(|| format!("{:x}.{:x}.{born:x}", found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock, fsx};

    #[test]
    fn a_change_is_when_it_happened_whatever_the_file_says() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let now = || clock::now().0;
        let begun = now();
        fsx::replace(folder.path().join("a").as_path(), b"1", 0o600).unwrap();
        let file = std::fs::File::options().write(true).open(at("a")).unwrap();
        for days in [-10_000, 10_000] {
            let said = UNIX_EPOCH + std::time::Duration::from_millis(begun.unsigned_abs());
            let day = std::time::Duration::from_secs(86_400 * u64::from(i32::unsigned_abs(days)));
            file.set_modified(if days < 0 { said - day } else { said + day }).unwrap();
            let changed = changed_ms(at("a")).unwrap();
            assert!(changed >= begun - 50 && changed <= now() + 50, "{changed} {begun}");
        }
        let before = changed_ms(at("a")).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::rename(at("a"), at("b")).unwrap();
        assert!(changed_ms(at("b")).unwrap() > before, "it came to its place");
        assert_eq!(changed_ms(at("a")), None);
    }

    #[test]
    fn a_file_is_the_same_under_every_name_and_another_when_it_was_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let file = |name: &str| file(&at(name).symlink_metadata().unwrap());
        fsx::replace(&at("a"), b"1", 0o600).unwrap();
        let first = file("a");
        std::fs::hard_link(at("a"), at("b")).unwrap();
        assert!(file("a").is_some() && file("a") == file("b"));
        std::fs::rename(at("b"), at("c")).unwrap();
        assert_eq!(file("a"), file("c"));
        fsx::replace(&at("a"), b"2", 0o600).unwrap();
        assert_ne!(file("a"), file("c"));
        if first.is_some() {
            assert_eq!(file("c"), first);
            // Its inode may be reused, its birth time is not.
            for _ in 0..20 {
                fsx::replace(&at("a"), b"3", 0o600).unwrap();
                assert_ne!(file("a"), first);
            }
        }
        assert_eq!(super::file(&folder.path().symlink_metadata().unwrap()), None);
    }

    #[test]
    fn what_is_gone_left_its_folder_changed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        fsx::replace(&folder.path().join("a"), b"1", 0o600).unwrap();
        let there = changed(&at("a"));
        assert!(there.itself.is_some() && there.folder.is_none());
        let gone = changed(&at("x/y"));
        assert_eq!((gone.itself, gone.folder), (None, changed_ms(folder.path())));
    }
}
