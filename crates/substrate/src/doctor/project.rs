//! Files that settings ask for in a project, and why a folder does not get them.

use std::path::{Path, PathBuf};

use substrate_core::Settings;

use super::finding::{Area, Finding};
use crate::config::{is_worked_in, root_of};

/// Settings that write into projects, and the profile that turns each on.
const WRITTEN: [(&str, &str); 2] =
    [("locks.mirror", "locks"), ("journal.project_logs", "reminders")];

/// A folder that is left untouched.
#[derive(Clone, Debug)]
pub(super) struct Unwritten {
    pub(super) root: PathBuf,
    /// The settings that ask for files.
    pub(super) keys: Vec<&'static str>,
    /// A profile that turns one of them on.
    pub(super) profile: &'static str,
}

pub(super) fn look(settings: &Settings, dir: &Path) -> Option<Unwritten> {
    let asked: Vec<_> = WRITTEN.into_iter().filter(|(key, _)| settings.on(key)).collect();
    let (_, profile) = *asked.first()?;
    let root = root_of(dir);
    let keys = asked.into_iter().map(|(key, _)| key).collect();
    (!is_worked_in(&root)).then_some(Unwritten { root, keys, profile })
}

pub(super) fn judge(unwritten: Option<&Unwritten>, out: &mut Vec<Finding>) {
    let Some(Unwritten { root, keys, profile }) = unwritten else { return };
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    let message = format!(
        "nothing is written into `{}` for {}: it is not a git working tree, nothing was asked for in it, or it is a home",
        root.display(),
        keys.join(" and "),
    );
    let next =
        format!("if it is a project: `substrate hooks install --project --profile {profile}`");
    out.push(Area::Settings.info("nothing-written-here", message).next(next));
}
