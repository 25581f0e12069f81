//! Writing files atomically, without changing anything about them but their content.

use std::fs::{File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;
use tempfile::NamedTempFile;

/// The prefix of our temporary files.
pub(crate) const TEMP: &str = ".substrate-part-";

/// Replaces a file's content. A link stays a link, and mode and owner stay. A new file gets `mode`. A reader sees
/// either the old file or the new one, and the new one is on disk before it counts.
pub(crate) fn replace(path: &Path, content: &[u8], mode: u32) -> std::io::Result<()> {
    let (new, target) = prepared(path, content, mode)?;
    new.persist(&target).map_err(|error| error.error)?;
    keep(&target)
}

/// Like `replace`, but only if the file is still what we saw before. `false`: it changed, and stays as it is. Even an
/// edit at that very moment is not lost: the two files are exchanged, and exchanged back if the old one is not what we
/// saw.
pub(crate) fn replace_if(
    path: &Path,
    seen: Option<&[u8]>,
    content: &[u8],
    mode: u32,
) -> std::io::Result<bool> {
    let (new, target) = prepared(path, content, mode)?;
    if std::fs::read(&target).ok().as_deref() != seen {
        return Ok(false);
    }
    let flags = if seen.is_some() { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
    let swap = || rustix::fs::renameat_with(CWD, new.path(), CWD, &target, flags);
    let is = |text: Option<&[u8]>| std::fs::read(new.path()).ok().as_deref() == text;
    match swap() {
        Ok(()) if seen.is_none() || is(seen) => {}
        Ok(()) => {
            swap()?;
            // Unless it was edited once more meanwhile: then that edit stays.
            if !is(Some(content)) {
                swap()?;
            }
            return Ok(false);
        }
        Err(Errno::EXIST | Errno::NOENT) => return Ok(false),
        // The file system can't exchange files.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            new.persist(&target).map_err(|error| error.error)?;
        }
        Err(error) => return Err(error.into()),
    }
    keep(&target)?;
    Ok(true)
}

/// Replaces a file that can be created again. A reader always sees a whole file, but we don't wait for the disk.
pub(crate) fn mirror(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().ok_or(std::io::ErrorKind::NotFound)?;
    let mut new = NamedTempFile::with_prefix_in(TEMP, folder)?;
    new.write_all(content)?;
    new.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Writes the new file beside the one to replace, on disk, with that one's mode and owner.
fn prepared(path: &Path, content: &[u8], mode: u32) -> std::io::Result<(NamedTempFile, PathBuf)> {
    let target = real(path);
    let folder = target.parent().ok_or(std::io::ErrorKind::NotFound)?;
    let old = std::fs::metadata(&target).ok();
    let mut new = NamedTempFile::with_prefix_in(TEMP, folder)?;
    new.write_all(content)?;
    let mode = old.as_ref().map_or(mode, |old| old.permissions().mode() & 0o7777);
    new.as_file().set_permissions(Permissions::from_mode(mode))?;
    if let Some(old) = &old {
        let ours = new.as_file().metadata()?;
        if (ours.uid(), ours.gid()) != (old.uid(), old.gid()) {
            std::os::unix::fs::fchown(new.as_file(), Some(old.uid()), Some(old.gid()))?;
        }
    }
    new.as_file().sync_all()?;
    Ok((new, target))
}

/// Puts the new name on disk, too.
fn keep(target: &Path) -> std::io::Result<()> {
    let folder = target.parent().ok_or(std::io::ErrorKind::NotFound)?;
    File::open(folder)?.sync_all()
}

/// Removes a file. A link to it stays.
pub(crate) fn remove(path: &Path) -> std::io::Result<()> {
    std::fs::remove_file(real(path))
}

/// Removes temporary files that a killed process left. Call it only while no one else replaces files there.
pub(crate) fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in
        entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(TEMP))
    {
        let _maybe_gone = std::fs::remove_file(entry.path());
    }
}

/// Whether a file may be replaced: it does not exist, or its owner can write it. Replacing would bypass a read-only
/// mode that a person has set.
pub(crate) fn may_replace(path: &Path) -> bool {
    std::fs::metadata(real(path)).map_or(true, |found| found.permissions().mode() & 0o200 != 0)
}

/// Creates a folder and those above it. Returns the new ones, outermost first.
pub(crate) fn create_folders(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut missing: Vec<PathBuf> =
        path.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.reverse();
    for folder in &missing {
        std::fs::create_dir(folder)?;
    }
    Ok(missing)
}

/// Where a path finally leads, even if nothing is there yet.
pub(crate) fn real(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..40 {
        match std::fs::read_link(&path) {
            Ok(link) => path = path.parent().map_or(link.clone(), |folder| folder.join(&link)),
            Err(_) => break,
        }
    }
    path
}

/// A pipe, for tests of what must not wait for its other end.
#[cfg(test)]
pub(crate) fn pipe(path: &Path) {
    let env = crate::config::Env::of_this_process();
    let made = crate::proc::command("mkfifo", &env).arg(path).status();
    assert!(made.is_ok_and(|status| status.success()), "{}", path.display());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_changes_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("real.json");
        let link = folder.path().join("link.json");
        replace(&file, b"one", 0o600).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        replace(&link, b"two", 0o600).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"two");
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left over");
    }

    #[test]
    fn what_changed_meanwhile_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        assert!(replace_if(&file, None, b"one", 0o600).unwrap());
        assert!(!replace_if(&file, None, b"two", 0o600).unwrap());
        assert!(!replace_if(&file, Some(b"other"), b"two", 0o600).unwrap());
        assert!(replace_if(&file, Some(b"one"), b"two", 0o600).unwrap());
        assert_eq!(std::fs::read(&file).unwrap(), b"two");
    }

    /// An editor saves by renaming, again and again, while we append to the version that we last saw.
    #[test]
    fn no_edit_is_lost_at_the_moment_of_the_change() {
        let folder = tempfile::tempdir().unwrap();
        let (file, part) = (folder.path().join("a"), folder.path().join("part"));
        replace(&file, b"edit 0", 0o600).unwrap();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let order = std::sync::atomic::Ordering::Relaxed;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(order) {
                    let seen = std::fs::read(&file).unwrap();
                    let mut ours = seen.clone();
                    ours.push(b'+');
                    replace_if(&file, Some(&seen), &ours, 0o600).unwrap();
                }
            });
            for n in 1..300 {
                let edit = format!("edit {n}.");
                substrate_testkit::write_file(&part, edit.as_bytes());
                std::fs::rename(&part, &file).unwrap();
                substrate_testkit::wait_until(std::time::Duration::from_secs(20), &edit, || {
                    std::fs::read(&file).unwrap().starts_with(edit.as_bytes())
                });
            }
            is_over.store(true, order);
        });
    }

    #[test]
    fn a_dangling_link_is_followed_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second, file) =
            (folder.path().join("1"), folder.path().join("2"), folder.path().join("3"));
        std::os::unix::fs::symlink("2", &first).unwrap();
        std::os::unix::fs::symlink(&file, &second).unwrap();
        replace(&first, b"x", 0o600).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"x");
        remove(&first).unwrap();
        assert!(
            !file.exists() && first.symlink_metadata().is_ok() && second.symlink_metadata().is_ok()
        );
    }

    #[test]
    fn a_read_only_file_is_respected() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        assert!(may_replace(&file));
        replace(&file, b"x", 0o444).unwrap();
        assert!(!may_replace(&file));
    }

    #[test]
    fn the_folders_that_were_made_are_told() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("a/b/c");
        assert_eq!(create_folders(&deep).unwrap().len(), 3);
        assert_eq!(create_folders(&deep).unwrap().len(), 0);
    }
}
