//! Our own settings files, the ignore files of a project, and files that settings ask for in it.

use std::path::{Path, PathBuf};

use substrate_core::Settings;
use substrate_core::settings::Problem;
use substrate_core::size::Bytes;

use super::finding::{Area, Finding};
use crate::config::{common_dir, is_worked_in, root_of};
use crate::gather::ignored;

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

pub(super) fn unread_rules(dir: &Path) -> Vec<PathBuf> {
    let root = root_of(dir);
    let own = common_dir(&root.join(".git")).map(|git| git.join("info/exclude"));
    let files = [root.join(".gitignore")].into_iter().chain(own);
    files.filter(|file| ignored::is_too_long(file)).collect()
}

pub(super) fn judge_rules(unread: &[PathBuf], out: &mut Vec<Finding>) {
    for file in unread {
        let message = format!(
            "`{}` is too long to be used, so files that it names are leased like any other",
            file.display()
        );
        let next = format!(
            "at most {} and {} rules of a list are read",
            Bytes(ignored::MAX_BYTES),
            ignored::MAX_RULES
        );
        out.push(Area::Settings.warning("ignore-rules", message).next(&next));
    }
}

pub(super) fn judge_problems(problems: &[Problem], out: &mut Vec<Finding>) {
    for problem in problems {
        let message = problem.to_string();
        out.push(Area::Settings.warning("settings-problem", message).next(&problem.hint));
    }
    if problems.is_empty() {
        out.push(Area::Settings.ok("settings-fine", "Substrate's own settings files are fine"));
    }
}
