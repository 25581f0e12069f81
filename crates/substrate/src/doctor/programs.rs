//! The programs: the hook beside us, and what a client finds on its PATH.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::finding::{Area, Finding};
use super::try_out::version_of;
use super::whereabouts::{HOOK, is_executable, is_same, on_path};
use crate::config::Env;
use crate::daemon::this_program;

const OURS: &str = env!("CARGO_PKG_VERSION");

/// How long a program may take to print its version.
const LIMIT: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub(crate) struct Programs {
    /// This program.
    pub(super) substrate: PathBuf,
    /// The hook of the same installation.
    pub(super) hook: Program,
    /// The hook that a client finds on the PATH.
    pub(super) hook_on_path: Option<OnPath>,
    /// The `substrate` that agents find on the PATH.
    pub(super) substrate_on_path: Option<OnPath>,
}

#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) state: Works,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Works {
    Missing,
    NotExecutable,
    /// It could not be started, or printed nothing.
    Silent,
    Version(String),
}

/// A program on the PATH.
#[derive(Clone, Debug)]
pub(super) struct OnPath {
    pub(super) path: PathBuf,
    /// It is the expected one.
    pub(super) is_ours: bool,
    pub(super) state: Works,
}

pub(super) fn look(env: &Env) -> Programs {
    let substrate = this_program().unwrap_or_else(|_| PathBuf::from("substrate"));
    let beside = substrate.with_file_name(HOOK);
    let find = |name: &str, ours: &Path| {
        let path = on_path(env.get("PATH"), name)?;
        let is_ours = is_same(&path, ours);
        let state = if is_ours { Works::Version(OURS.to_owned()) } else { tried(&path, env) };
        Some(OnPath { path, is_ours, state })
    };
    Programs {
        hook_on_path: find(HOOK, &beside),
        substrate_on_path: find("substrate", &substrate),
        hook: Program { state: tried(&beside, env), path: beside },
        substrate,
    }
}

fn tried(path: &Path, env: &Env) -> Works {
    if !path.is_file() {
        return Works::Missing;
    }
    if !is_executable(path) {
        return Works::NotExecutable;
    }
    let said = version_of(path, env, &[], LIMIT);
    let version = said.and_then(|line| line.split_whitespace().nth(1).map(str::to_owned));
    version.map_or(Works::Silent, Works::Version)
}

pub(super) fn judge(programs: &Programs, out: &mut Vec<Finding>) {
    let path = programs.hook.path.display();
    out.push(match &programs.hook.state {
        Works::Missing => Area::Programs
            .error("hook-missing", format!("`{path}` is not there: no hook can run"))
            .next("install Substrate again: both programs belong in one folder"),
        Works::NotExecutable => Area::Programs
            .error("hook-not-executable", format!("`{path}` is not executable: no hook can run"))
            .next(format!("`chmod +x '{path}'`")),
        Works::Silent => Area::Programs
            .error("hook-broken", format!("`{path}` does not run"))
            .next("install Substrate again for this machine"),
        Works::Version(version) if version != OURS => Area::Programs
            .warning(
                "hook-version",
                format!("`{path}` is version {version}, `substrate` is {OURS}"),
            )
            .next("install both programs from the same release"),
        Works::Version(_) => Area::Programs.ok("hook-fine", format!("version {OURS}: `{path}`")),
    });
    judge_hook_on_path(programs, out);
    judge_substrate_on_path(programs, out);
}

fn judge_hook_on_path(programs: &Programs, out: &mut Vec<Finding>) {
    let Some(found) = &programs.hook_on_path else {
        let message =
            format!("`{HOOK}` is not on the PATH; only a project's shared hooks need it there");
        out.push(Area::Programs.info("hook-not-on-path", message).next(add_to_path(programs)));
        return;
    };
    if let Some(message) = other(found, HOOK) {
        out.push(message.next(add_to_path(programs)));
    }
}

fn judge_substrate_on_path(programs: &Programs, out: &mut Vec<Finding>) {
    match &programs.substrate_on_path {
        None => out.push(
            Area::Programs
                .warning(
                    "substrate-not-on-path",
                    "`substrate` is not on the PATH: agents can't run its commands",
                )
                .next(add_to_path(programs)),
        ),
        Some(found) => {
            out.extend(other(found, "substrate").map(|told| told.next(add_to_path(programs))));
        }
    }
}

/// Another file of that name comes first on the PATH.
fn other(found: &OnPath, name: &str) -> Option<Finding> {
    if found.is_ours {
        return None;
    }
    let path = found.path.display();
    Some(match &found.state {
        Works::Version(version) if version == OURS => Area::Programs.info(
            "other-program-on-path",
            format!("the PATH finds another `{name}` of the same version: `{path}`"),
        ),
        Works::Version(version) => Area::Programs.warning(
            "other-version-on-path",
            format!("the PATH finds another `{name}`, version {version}: `{path}`"),
        ),
        Works::Missing | Works::NotExecutable | Works::Silent => Area::Programs.warning(
            "other-version-on-path",
            format!("the PATH finds another `{name}`, which does not run: `{path}`"),
        ),
    })
}

fn add_to_path(programs: &Programs) -> String {
    let folder = programs.substrate.parent().unwrap_or(Path::new("/"));
    format!("put `{}` first in the PATH of your shell", folder.display())
}
