//! What can be said of a call where no database can be asked: whether it may change a file that another actor could hold.
//!
//! By words alone: a path in a project counts, whether it is leased or not. What only reads, and what writes elsewhere, does not.

use substrate_core::{Event, EventKind, Settings, ToolClass};

use super::sweep::{self, Reach, Taken, Takes, plain};
use super::writes;
use crate::shell::{self, joined};

/// Whether a call that is about to happen may change such a file: an edit, or a line that plainly writes or sweeps away
/// files in the project.
pub fn may_change_leased(event: &Event, settings: &Settings) -> bool {
    let is_on = event.kind == EventKind::PreToolUse && settings.word("locks.mode") != "off";
    let Some(call) = event.tool().filter(|_| is_on) else { return false };
    let line = call.command.as_deref().unwrap_or_default();
    match call.class {
        ToolClass::Edit => true,
        ToolClass::Shell => {
            writes_in_project(event, line)
                || (settings.word("locks.git") != "off" && sweeps_project(event, line))
        }
        ToolClass::Read
        | ToolClass::Agent
        | ToolClass::Todo
        | ToolClass::Skill
        | ToolClass::Other => false,
    }
}

fn writes_in_project(event: &Event, line: &str) -> bool {
    writes::may_write(line)
        && writes::writes(&shell::read(line)).iter().any(|one| is_in_project(event, &one.taken))
}

fn sweeps_project(event: &Event, line: &str) -> bool {
    sweep::sweeps(line).iter().any(|swept| match &swept.takes {
        // A tree that the line itself makes is nobody else's.
        Takes::Tree => swept.made.is_none(),
        Takes::These(these) => these.iter().any(|taken| is_in_project(event, taken)),
    })
}

fn is_in_project(event: &Event, taken: &Taken) -> bool {
    let path = plain(&joined(&event.cwd, &taken.path));
    let roots = [event.project_dir.as_deref(), Some(&event.project), Some(&event.cwd)];
    let mut roots = roots.into_iter().flatten().filter(|root| root.len() > 1);
    roots.any(|root| match path.strip_prefix("~/") {
        // Which folder is home is not known here: any that the root may be in.
        Some(rest) => root.match_indices('/').any(|(at, _)| is_below(rest, &root[at + 1..])),
        None => is_below(&path, root) || (taken.reach != Reach::File && is_below(root, &path)),
    })
}

fn is_below(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
