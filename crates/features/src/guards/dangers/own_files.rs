//! Our own files and the client's settings. Only the user changes them, so a person is asked when an agent tries.
//!
//! A project's `.substrate.toml` is not among them: it is the project's, and it can only add to what the user has.

use substrate_core::{Event, ToolClass};

use crate::guards::cel::scene::Scene;
use crate::guards::dangers::paths::{at_home, may_be_within, normal, target, targets};
use crate::shell::files::writes::written;
use crate::shell::{Line, Simple, Word, joined};

/// Where our state and settings are, unless `SUBSTRATE_HOME` says otherwise.
const USUAL_HOME: &str = "~/.subtrate/";

/// Programs that change every file they name. `written` knows those that write where they are told to.
const CHANGES: &[&str] = &[
    "rm", "rmdir", "unlink", "shred", "mv", "chmod", "chown", "chgrp", "chattr", "setfacl",
    "truncate", "tee", "touch", "ln", "rimraf", "trash", "ed", "ex",
];
const CHANGES_LAST: &[&str] = &["cp", "install", "rsync", "scp"];
const CHANGES_IF_TOLD: &[&str] = &["sed", "perl", "ruby", "find", "sqlite3", "tar", "unzip"];

/// Which files these are for an event.
#[derive(Clone, Copy, Debug)]
pub(in crate::guards) struct OwnFiles<'e> {
    event: &'e Event,
    state_home: Option<&'e str>,
}

impl<'e> OwnFiles<'e> {
    pub(in crate::guards) const fn of(event: &'e Event, state_home: Option<&'e str>) -> Self {
        Self { event, state_home }
    }

    /// Whether the event may be about one of them: a cheap look at its text.
    pub(in crate::guards) fn is_named_in(self, event: &Event) -> bool {
        let Some(call) = event.tool() else { return false };
        let is_in = |text: &str| {
            let home = self.state_home.unwrap_or(USUAL_HOME);
            [USUAL_HOME, home]
                .into_iter()
                .chain(self.event.dialect.settings_files.iter().copied())
                .any(|file| text.contains(name(file)))
        };
        match call.class {
            ToolClass::Shell => call.command.as_deref().is_some_and(is_in),
            ToolClass::Edit => call.files.iter().any(|file| is_in(file)),
            ToolClass::Read
            | ToolClass::Agent
            | ToolClass::Todo
            | ToolClass::Skill
            | ToolClass::Other => false,
        }
    }

    /// Whether a line that changes something has a pattern, which may mean them without their names: `~/.sub*`. Braces
    /// are already expanded, so look for them in the text itself.
    pub(in crate::guards) fn may_be_meant_by(line: &Line, text: &str) -> bool {
        let is_pattern = |word: &Word| word.has_glob;
        let changes = |made: &Simple| {
            let name = made.name();
            !made.writes.is_empty()
                || [CHANGES, CHANGES_LAST, CHANGES_IF_TOLD].iter().any(|all| all.contains(&name))
        };
        let mut all = line.commands.iter().flat_map(|made| made.words.iter().chain(&made.writes));
        (all.any(is_pattern) || text.contains('{')) && line.commands.iter().any(changes)
    }

    /// Each as it is compared: a folder ends with `/`.
    pub(in crate::guards) fn all(self) -> Vec<String> {
        let event = self.event;
        let project =
            [event.project_dir.as_deref(), Some(event.project.as_str()), Some(&event.cwd)];
        let mut out = vec![USUAL_HOME.to_owned()];
        out.extend(self.state_home.map(|home| plain(&format!("{home}/"))));
        for file in event.dialect.settings_files {
            let (start, rest) = file.split_once('/').unwrap_or((file, ""));
            match start {
                "$CONFIG" => {
                    out.extend(event.config_dir.iter().map(|dir| plain(&format!("{dir}/{rest}"))));
                }
                "$PROJECT" => {
                    let roots = project.iter().flatten().filter(|root| root.starts_with('/'));
                    out.extend(roots.map(|root| plain(&format!("{root}/{rest}"))));
                }
                _ => out.push((*file).to_owned()),
            }
        }
        out
    }
}

/// The part of a path that is searched for in a text.
fn name(file: &str) -> &str {
    file.trim_end_matches('/').rsplit('/').next().unwrap_or(file)
}

fn plain(path: &str) -> String {
    let end = if path.ends_with('/') { "/" } else { "" };
    format!("{}{end}", at_home(&normal(path)))
}

/// Whether the event would change one of them.
pub(in crate::guards) fn are_changed(scene: &Scene) -> bool {
    let is_own = |path: &str| {
        let path = at_home(path);
        let base = path.strip_suffix("/*").unwrap_or(&path);
        let is_pattern = path.contains(['*', '?', '[']);
        scene.own.iter().any(|own| match own.strip_suffix('/') {
            Some(folder) => {
                base.strip_prefix(folder)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                    || (is_pattern && may_be_within(&path, folder))
            }
            None => base == own || (is_pattern && may_be_within(&path, own)),
        })
    };
    if scene.is_edit {
        let path = |file: &String| match file.starts_with(['/', '~']) {
            true => normal(file),
            false => normal(&format!("{}/{file}", scene.cwd)),
        };
        return scene.files.iter().any(|file| is_own(&path(file)));
    }
    let is_written = |path: String| is_own(&normal(&joined(&scene.cwd, &path)));
    if written(&scene.line).any(is_written) {
        return true;
    }
    scene.line.commands.iter().any(|made| {
        let of_word = |word: &Word| target(word, &made.folder, &scene.cwd);
        made.writes.iter().filter_map(of_word).any(|path| is_own(&path))
            || changed(scene, made).iter().any(|path| is_own(path))
    })
}

/// The files that a command changes, as far as its words tell.
fn changed(scene: &Scene, made: &Simple) -> Vec<String> {
    let all = || targets(made, &scene.cwd);
    match made.name() {
        name if CHANGES.contains(&name) => all(),
        name if CHANGES_LAST.contains(&name) => all().pop().into_iter().collect(),
        "sed" | "perl" | "ruby" if made.has_flag("-i") || made.has_flag("--in-place") => all(),
        "unzip" if made.has_flag("-d") => all(),
        "tar" if made.after().first().is_some_and(|word| word.text.contains('x')) => all(),
        "find" if !made.inner.is_empty() || made.has_flag("-delete") => all(),
        "sqlite3" if !made.has_flag("-readonly") => {
            let fed = scene.line.fed(made);
            let texts = made.args().skip(1).map(|word| word.text.as_str()).chain([fed.as_str()]);
            let is_change = |text: &str| {
                let text = text.to_ascii_lowercase();
                ["insert", "update", "delete", "drop", "alter", "replace", "create", "vacuum"]
                    .iter()
                    .any(|verb| text.contains(verb))
            };
            let mut texts = texts;
            if texts.any(is_change) { all() } else { Vec::new() }
        }
        _ => Vec::new(),
    }
}
