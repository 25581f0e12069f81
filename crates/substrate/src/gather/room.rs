//! Whether we could write into a folder of a project.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use substrate_core::facts::Room;

use crate::config::{is_worked_in, root_of};

/// `None` if the project itself does not exist.
pub(super) fn room(dir: &str, of_tree: bool, below: &str, ours: bool) -> Option<Room> {
    let root = if of_tree { root_of(Path::new(dir)) } else { PathBuf::from(dir) };
    if !root.is_dir() {
        return None;
    }
    if ours && !is_worked_in(&root) {
        return Some(Room::Nowhere);
    }
    let mut here = root;
    for name in below.split('/') {
        let next = here.join(name);
        match next.symlink_metadata() {
            Ok(found) if found.is_dir() || (!ours && next.is_dir()) => here = next,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Some(allowed(&here, Room::CanBeMade));
            }
            Ok(_) | Err(_) => return Some(Room::Nowhere),
        }
    }
    Some(allowed(&here, Room::There))
}

fn allowed(folder: &Path, room: Room) -> Room {
    let may_write = rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    if may_write { room } else { Room::Nowhere }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::fsx;

    fn look(root: &Path, below: &str, ours: bool) -> Option<Room> {
        room(&root.display().to_string(), false, below, ours)
    }

    #[test]
    fn there_is_room_where_a_folder_is_or_could_be() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(look(root, "a/b/c", false), Some(Room::CanBeMade));
        fsx::create_folders(&root.join("a/b")).unwrap();
        assert_eq!(look(root, "a/b", false), Some(Room::There));
        assert_eq!(look(root, "a/b/c", false), Some(Room::CanBeMade));
        fsx::replace(&root.join("file"), b"", 0o600).unwrap();
        fsx::pipe(&root.join("pipe"));
        for name in ["file", "pipe"] {
            assert_eq!(look(root, &format!("{name}/x"), false), Some(Room::Nowhere), "{name}");
        }
        std::os::unix::fs::symlink("/nowhere/at/all", root.join("dangling")).unwrap();
        assert_eq!(look(root, "dangling/x", false), Some(Room::Nowhere));
        assert_eq!(look(&root.join("gone"), "x", false), None);
        let locked = std::fs::Permissions::from_mode(0o555);
        std::fs::set_permissions(root.join("a/b"), locked).unwrap();
        if !rustix::process::geteuid().is_root() {
            assert_eq!(look(root, "a/b/c", false), Some(Room::Nowhere));
        }
    }

    #[test]
    fn our_own_files_go_through_no_link_and_only_into_projects() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(look(root, "logs", true), Some(Room::Nowhere), "only some folder");
        fsx::create_folders(&root.join(".git")).unwrap();
        assert_eq!(look(root, "logs", true), Some(Room::CanBeMade));
        fsx::create_folders(&root.join("other")).unwrap();
        std::os::unix::fs::symlink(root.join("other"), root.join("logs")).unwrap();
        assert_eq!(look(root, "logs/x", true), Some(Room::Nowhere));
        assert_eq!(look(root, "logs/x", false), Some(Room::CanBeMade), "an agent may");
    }
}
