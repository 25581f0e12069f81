//! What an event or a command needs from files: settings, project, facts. All of it is read on threads.

use std::path::Path;
use std::rc::Rc;

use substrate_core::{Caller, EventKind, Facts, Need, SafeId, engine};

use super::group::Job;
use super::state::State;
use super::threads;
use crate::config::Around;
use crate::host::{Decoded, Gathered, Prepared};
use crate::{clock, gather};

/// An event with its settings, its project and the facts that features need.
pub(super) async fn surround(state: &Rc<State>, mut decoded: Decoded) -> Prepared {
    let dir = decoded.dir().to_owned();
    let who = who(&decoded);
    let fresh = state.settings.borrow().fresh(&dir, clock::micros());
    let (around, trouble) = match fresh {
        Some(fresh) => (fresh, None),
        None => around(state, &dir, &who).await,
    };
    decoded.event.project = around.1.as_ref().to_owned();
    let mut prepared = Prepared::new(decoded, around.0);
    prepared.troubles.extend(trouble);
    let event = &prepared.decoded.event;
    let mut needs = engine::needs(substrate_features::ALL, event, &prepared.settings);
    if needs.is_empty() {
        return prepared;
    }
    // The tool that just ran may have changed which file a path means.
    if !matches!(event.kind, EventKind::PostToolUse | EventKind::PostToolUseFailure) {
        let facts = &mut prepared.gathered.facts;
        needs = state.paths.borrow().answer(needs, clock::micros(), facts);
    }
    let found = found(state, &dir, &who, needs).await;
    prepared.gathered.facts.extend(found);
    prepared
}

/// The same from memory alone, for an event that another one's transaction answers. Returns the event if the settings
/// of its folder are no longer cached.
pub(super) fn from_memory(state: &State, mut decoded: Decoded) -> Result<Prepared, Box<Decoded>> {
    let Some((settings, project)) = state.settings.borrow().latest(decoded.dir()) else {
        return Err(Box::new(decoded));
    };
    decoded.event.project = project.as_ref().to_owned();
    let gathered = Gathered::closed();
    Ok(Prepared { gathered, ..Prepared::new(decoded, settings) })
}

/// Looks up the facts that a job's transaction asked for.
pub(super) async fn look_up(state: &Rc<State>, job: &mut Job, needs: Vec<Need>) {
    let (dir, who, gathered) = match job {
        Job::Hook { prepared, .. } | Job::Shown { prepared } => {
            let dir = prepared.decoded.dir().to_owned();
            (dir, who(&prepared.decoded), &mut prepared.gathered)
        }
        Job::Verb { call, .. } => {
            let who = call.caller.session.as_deref().unwrap_or_default().into();
            (caller_dir(&call.caller).to_owned(), who, &mut call.gathered)
        }
        Job::Printed { .. } => return,
    };
    let found = found(state, &dir, &who, needs.clone()).await;
    gathered.add(needs, found);
}

/// The folder whose settings apply to a command.
pub(super) fn caller_dir(caller: &Caller) -> &Path {
    Path::new(caller.project_dir.as_deref().unwrap_or(&caller.cwd))
}

fn who(decoded: &Decoded) -> Box<str> {
    decoded.event.session.as_ref().map_or("", SafeId::as_str).into()
}

/// The settings in force in a folder, and its project. If its files can't be read in time: the cached settings, or the
/// user's own, and the error. The files are checked each time: who has just saved one expects the next command to know it.
pub(super) async fn around(state: &Rc<State>, dir: &Path, who: &str) -> (Around, Option<String>) {
    // A thread would cost more than the lookup itself.
    if let Some(unchanged) = state.settings.borrow_mut().unchanged(dir, clock::micros()) {
        return (unchanged, None);
    }
    if let Some(around) = read(state, dir, who).await {
        return (around, None);
    }
    let trouble = format!("the settings of `{}` could not be read in time", dir.display());
    if let Some(known) = state.settings.borrow().latest(dir) {
        return (known, Some(trouble));
    }
    let top = Path::new("/");
    let own = read(state, top, "").await.or_else(|| state.settings.borrow().latest(top));
    let Some((settings, _)) = own else { return (state.defaults(), Some(trouble)) };
    ((settings, dir.display().to_string().into()), Some(trouble))
}

async fn read(state: &Rc<State>, dir: &Path, who: &str) -> Option<Around> {
    let root = root(state, dir);
    let folders = threads::open(state, &[root], who).await;
    if folders.is_empty() {
        return None;
    }
    let look = state.settings.borrow_mut().look(dir, clock::micros());
    let looked = threads::look(state, folders, who, |_| None, move |_| look.run()).await?;
    Some(state.settings.borrow_mut().keep(looked, clock::micros()))
}

/// Looks facts up on a thread. Facts below a folder where a lookup hangs are reported as not found at once.
pub(super) async fn found(state: &Rc<State>, dir: &Path, who: &str, needs: Vec<Need>) -> Facts {
    let root = root(state, dir);
    let folders: Vec<Box<str>> = needs.iter().map(|need| folder(need, dir, &root)).collect();
    let open = threads::open(state, &folders, who).await;
    let (needs, folders): (Vec<Need>, Vec<Box<str>>) =
        needs.into_iter().zip(folders).filter(|(_, folder)| open.contains(folder)).unzip();
    if needs.is_empty() {
        return Facts::default();
    }
    let stuck = |step: usize| folders.get(step).cloned();
    let body = move |progress: &threads::Progress| {
        gather::gather_step_by_step(needs, |step| progress.at(step))
    };
    let found = threads::look(state, open, who, stuck, body).await.unwrap_or_default();
    state.paths.borrow_mut().keep(&found, clock::micros());
    found
}

/// The working tree of a folder if it is cached, else the folder itself.
fn root(state: &State, dir: &Path) -> Box<str> {
    let settings = state.settings.borrow();
    settings.root(dir).unwrap_or(dir).to_string_lossy().into()
}

/// The folder that a need would hang with: the project, or the folder of its own path.
fn folder(need: &Need, dir: &Path, root: &str) -> Box<str> {
    let (path, cwd) = match need {
        Need::File { path, .. }
        | Need::RealFile { path, .. }
        | Need::Tail { path, .. }
        | Need::Lines { path, .. }
        | Need::Folder { path, .. }
        | Need::Changed { path } => (path.as_str(), "/"),
        Need::Place { path, cwd } => (path.as_str(), cwd.as_str()),
        Need::Directives { file, cwd, .. } => (file.as_str(), cwd.as_str()),
        Need::Files { folder, .. } => (folder.as_str(), "/"),
        Need::SkillFolder { dir, .. }
        | Need::Daily { dir, .. }
        | Need::Room { dir, .. }
        | Need::Git { dir, .. } => (dir.as_str(), "/"),
        Need::Tree { root, .. } | Need::Artifact { root, .. } | Need::ProjectFile { root, .. } => {
            (root.as_str(), "/")
        }
        Need::Skills { projects, own, .. } => {
            (projects.first().or(own.as_ref()).map_or("/", String::as_str), "/")
        }
    };
    let path = Path::new(cwd).join(path);
    if path.starts_with(root) || path.starts_with(dir) {
        return root.into();
    }
    path.parent().unwrap_or(&path).to_string_lossy().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::in_the_project("src/a.rs", "/p/src", "/p")]
    #[case::the_project("/p/a", "/", "/p")]
    #[case::where_it_was_started("/link/a", "/", "/p")]
    #[case::elsewhere("/mnt/dead/x", "/p", "/mnt/dead")]
    #[case::only_begins_so("/pp/x", "/p", "/pp")]
    fn a_need_hangs_with(#[case] path: &str, #[case] cwd: &str, #[case] expected: &str) {
        let need = Need::Place { path: path.to_owned(), cwd: cwd.to_owned() };
        assert_eq!(&*folder(&need, Path::new("/link"), "/p"), expected);
    }
}
