//! Looks up the facts that features need, before any transaction is open.

mod cache;
mod changed;
mod daily;
mod directives;
mod files;
mod git;
pub(crate) mod ignored;
mod look_up;
mod places;
mod room;
mod skill_folder;
mod skills;
mod tree;

pub(crate) use cache::PathCache;
pub(crate) use files::{beginning, open, part};
pub(crate) use look_up::{gather, gather_step_by_step};
pub(crate) use places::place;

/// Files for tests, with their folders.
#[cfg(test)]
fn put(root: &std::path::Path, names: &[&str]) {
    for name in names {
        let file = root.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        crate::fsx::replace(&file, b"x", 0o600).unwrap();
    }
}
