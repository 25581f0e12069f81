//! Leftovers of an installation that was removed.

use super::facts::Patient;
use super::finding::{Area, Finding};
use super::settings::Scopes;
use crate::hooks::Manifest;
use crate::remnants::{self, Remnants};

/// How many files a finding names.
const MAX_NAMED: usize = 5;

/// `None`: the hooks are installed, so nothing is left over.
pub(super) fn look(patient: &Patient<'_>, scopes: &Scopes) -> Option<Remnants> {
    let is_installed =
        scopes.has_hooks() || Manifest::all(patient.home).is_ok_and(|all| !all.is_empty());
    (!is_installed).then(|| remnants::look(patient.env, patient.home, patient.dir))
}

pub(super) fn judge(left: Option<&Remnants>, out: &mut Vec<Finding>) {
    let Some(left) = left else { return };
    let mut add = |id, message: String| {
        out.push(Area::Client.warning(id, message).next("`substrate uninstall` removes it"));
    };
    for socket in &left.tmux {
        add("left-in-tmux", format!("our hooks are left over in the tmux server `{socket}`"));
    }
    for hooks in &left.commit_hooks {
        add("left-in-git", format!("our commit hook is left over in `{}`", hooks.display()));
    }
    for (_, file) in &left.status_lines {
        add("left-status-line", format!("our status line is left over in `{}`", file.display()));
    }
    if !left.files.is_empty() {
        let named = left.files.iter().take(MAX_NAMED).map(|file| format!("`{}`", file.display()));
        let named = named.collect::<Vec<_>>().join(", ");
        let more = match left.files.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        add("left-files", format!("files of ours are left over: {named}{more}"));
    }
}
