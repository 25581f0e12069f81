//! What an installation would change, computed without touching anything.

use std::path::{Path, PathBuf};

use substrate_clients::Client;
use substrate_clients::install::{Entry, SettingsError, Wanted};
use substrate_core::ids::checksum;

use super::chosen::{Chosen, calls_scripts, command_line, entries};
use super::library;
use super::manifest::{FileKind, Manifest};
use super::own::{Own, Uses, own_files, skills_of_project};
use super::profiles::{self, Profiles};
use super::retired::{Retired, Settled, retired};
use super::scope::{Scope, client_home, refuse_link, root};
use super::trust::TrustFile;
use crate::config::{Env, Home};
use crate::error::{AppError, Kind, Result};
use crate::{daemon, fsx};

/// What the user asks for.
#[derive(Clone, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) client: &'static Client,
    pub(crate) scope: Scope,
    pub(crate) profiles: Profiles,
    /// Register scripts, which a user can edit, instead of the program. `None`: as before.
    pub(crate) scripts: Option<bool>,
    /// Let agents run commands without a dialog.
    pub(crate) allow: bool,
    /// Tell the client that the user trusts our hooks.
    pub(crate) trust: bool,
    /// The rules that allow this.
    pub(crate) rules: Vec<String>,
    pub(crate) dir: &'a Path,
}

/// The changes in order. The settings file comes last, so it never names a missing file.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) client: &'static Client,
    pub(crate) scope: Scope,
    pub(crate) settings: PathBuf,
    /// Our permission rules.
    pub(crate) allow: Vec<String>,
    /// The user's own rule already lets agents run every command.
    pub(crate) is_broad: bool,
    pub(crate) changes: Vec<Change>,
    /// The profiles that are new in the scope's settings file.
    pub(crate) added: Vec<String>,
    /// Files of ours that the user edited. They stay as they are.
    pub(crate) edited: Vec<PathBuf>,
    /// Foreign files in the place of ours. They stay as they are.
    pub(crate) foreign: Vec<PathBuf>,
    /// Scripts that are not written, since they would source a foreign library.
    pub(crate) without_library: Vec<PathBuf>,
    /// Files of ours that are no longer used.
    pub(crate) retired: Vec<Retired>,
    pub(crate) scripts: Option<bool>,
    pub(crate) entries: Vec<Entry>,
    /// The profiles that the scope's settings file will have.
    pub(crate) profiles: Vec<String>,
    /// The events whose hooks the client will skip, because its user does not trust them.
    pub(crate) untrusted: Vec<String>,
}

/// One file before and after.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) path: PathBuf,
    /// `None`: the file does not exist.
    pub(crate) before: Option<String>,
    pub(crate) after: String,
    pub(crate) mode: u32,
    pub(crate) kind: FileKind,
    /// We wrote the existing file, word for word: a script or skill of some installation.
    pub(super) is_ours: bool,
}

impl Change {
    pub(crate) fn is_none(&self) -> bool {
        self.before.as_deref() == Some(&self.after)
    }

    /// What happens to the file, in a word.
    pub(crate) fn word(&self) -> &'static str {
        match (&self.before, self.is_none()) {
            (_, true) => "stays",
            (None, _) => "new",
            (Some(_), _) => "edited",
        }
    }

    /// Another's file with entries of ours in it.
    pub(super) fn has_ours(&self, client: &Client, text: &str) -> bool {
        match self.kind {
            FileKind::Settings => {
                (client.install.format.registered)(text).is_ok_and(|found| !found.is_empty())
            }
            FileKind::Trust => client.install.trust.is_some_and(|trust| {
                (trust.remove)(text).is_ok_and(|without| without.text != text)
            }),
            FileKind::Profile | FileKind::Own => false,
        }
    }
}

pub(crate) fn plan(env: &Env, home: &Home, request: &Request<'_>) -> Result<Plan> {
    let client = request.client;
    let settings = request.scope.settings(client, env, request.dir)?;
    let root = root(request.dir);
    if request.scope != Scope::User {
        refuse_link(&root, &settings)?;
        refuse_link(&root, &profiles::file(home, request))?;
    }
    let (profile, added) = profiles::change(home, request)?.unzip();
    let before = read(&settings)?;
    let old = Manifest::load(home, &settings)?;
    let chosen = Chosen::of(home, request, profile.as_ref());
    let scripts = request
        .scripts
        .or_else(|| old.as_ref()?.scripts)
        .or_else(|| calls_scripts(client, before.as_deref()).then_some(true));
    let entries = entries(env, request, &chosen, scripts)?;
    let uses = Uses {
        commands: entries.iter().filter_map(command_line).collect(),
        library: scripts == Some(true),
        skill: request.scope != Scope::Project,
        reminders: chosen.reminds,
    };
    let all = match request.scope {
        Scope::Project => skills_of_project(client, &root),
        Scope::User | Scope::Local => own_files(client, env)?,
    };
    let (used, unused): (Vec<Own>, Vec<Own>) = all.into_iter().partition(|file| uses.has(file));
    let manifests = Manifest::all(home)?;
    let settled =
        Settled { client, scope: request.scope, settings: &settings, text: before.as_deref() };
    let retired = retired(env, &manifests, &settled, unused)?;
    let (mut changes, mut unreadable) = own_changes(env, request, used)?;
    changes.extend(profile);
    let trusted_before = |path: &Path| old.as_ref().is_some_and(|old| old.touched(path).is_some());
    let trust = TrustFile::of(client, env, &settings)?;
    let trusts = trust.as_ref().is_some_and(|file| request.trust || trusted_before(&file.path));
    let rules = Rules::of(request, old, before.as_deref());
    let all = Wanted { entries: entries.clone(), allow: rules.allow, retired: rules.retired };
    let after = (client.install.format.add)(before.as_deref().unwrap_or(""), &all)
        .map_err(|error| refused(&settings, &error))?;
    let (trusted, untrusted) = match trust {
        Some(file) => trust_change(client, file, &after.text, trusts)?,
        None => (None, Vec::new()),
    };
    changes.extend(trusted);
    let mode = if request.scope == Scope::Project { 0o644 } else { 0o600 };
    changes.push(Change {
        path: settings.clone(),
        before,
        after: after.text,
        mode,
        kind: FileKind::Settings,
        is_ours: false,
    });
    let (edited, changes) = without(changes, |change| is_edited(&manifests, change));
    let (mut foreign, changes) = without(changes, |change| is_foreign(&manifests, change));
    foreign.append(&mut unreadable);
    let (without_library, changes) = without_library(&foreign, changes);
    check(&changes)?;
    Ok(Plan {
        client,
        scope: request.scope,
        settings,
        allow: rules.ours,
        is_broad: rules.is_broad,
        added: added.unwrap_or_default(),
        changes,
        edited,
        foreign,
        without_library,
        retired,
        scripts,
        entries,
        profiles: chosen.profiles,
        untrusted,
    })
}

/// The change that makes the client trust our hooks, and the events whose hooks it will skip after that.
fn trust_change(
    client: &Client,
    file: TrustFile,
    settings: &str,
    trusts: bool,
) -> Result<(Option<Change>, Vec<String>)> {
    if !trusts {
        let known = file.text.as_deref().unwrap_or("");
        return Ok((None, file.untrusted(client, settings, known)));
    }
    let after = file.add(client, settings).map_err(|error| refused(&file.path, &error))?.text;
    let untrusted = file.untrusted(client, settings, &after);
    let TrustFile { path, text: before, .. } = file;
    let change = Change { path, before, after, mode: 0o600, kind: FileKind::Trust, is_ours: false };
    Ok((Some(change), untrusted))
}

/// The changes of our own files, and the files that can't be read.
fn own_changes(
    env: &Env,
    request: &Request<'_>,
    used: Vec<Own>,
) -> Result<(Vec<Change>, Vec<PathBuf>)> {
    let (program, folder) = (program(env)?, scripts_folder(request.client, env)?);
    let (mut changes, mut unreadable) = (Vec::new(), Vec::new());
    for file in used {
        if request.scope == Scope::Project {
            refuse_link(&root(request.dir), &file.path)?;
        }
        match file.change(&program) {
            Ok(change) => changes.push(change),
            Err(error) if file.path.starts_with(&folder) => return Err(error),
            // We write only text, so this is not ours. The hooks work without it.
            Err(_) => unreadable.push(file.path),
        }
    }
    Ok((changes, unreadable))
}

/// Scripts that would source a foreign library are not written.
fn without_library(foreign: &[PathBuf], changes: Vec<Change>) -> (Vec<PathBuf>, Vec<Change>) {
    match foreign.iter().find(|path| path.ends_with(library::LIBRARY)) {
        Some(library) => {
            let folder = library.parent().and_then(Path::parent).unwrap_or(library).to_owned();
            without(changes, |change| change.path.parent() == Some(&folder) && !change.is_none())
        }
        None => (Vec::new(), changes),
    }
}

/// The paths that are left out, and the remaining changes.
fn without(
    changes: Vec<Change>,
    is_left_out: impl Fn(&Change) -> bool,
) -> (Vec<PathBuf>, Vec<Change>) {
    let (out, rest): (Vec<Change>, Vec<Change>) = changes.into_iter().partition(is_left_out);
    (out.into_iter().map(|change| change.path).collect(), rest)
}

/// Checks that each file can be changed at all.
fn check(changes: &[Change]) -> Result<()> {
    for change in changes.iter().filter(|change| !change.is_none()) {
        if change.path.is_symlink() && !fsx::real(&change.path).parent().is_some_and(Path::is_dir) {
            return Err(AppError::new(
                Kind::User,
                format!("`{}` is a link into a folder that does not exist", change.path.display()),
            )
            .hint("nothing was changed; create the folder, or remove the link"));
        }
        if !fsx::may_replace(&change.path) {
            return Err(AppError::new(
                Kind::User,
                format!("`{}` is read-only", change.path.display()),
            )
            .hint("nothing was changed; make it writable if you want Substrate to edit it"));
        }
    }
    Ok(())
}

/// A script or skill of ours that was edited since we wrote it: it belongs to the user now.
fn is_edited(manifests: &[Manifest], change: &Change) -> bool {
    let Some(now) =
        change.before.as_deref().filter(|_| change.kind == FileKind::Own && !change.is_none())
    else {
        return false;
    };
    let mut written =
        manifests.iter().filter_map(|manifest| manifest.touched(&change.path)).peekable();
    written.peek().is_some() && written.all(|file| file.after != checksum(now))
}

/// A foreign file in the place of ours, or one that was edited after we wrote it: no manifest lists it, and its text is
/// not ours word for word.
fn is_foreign(manifests: &[Manifest], change: &Change) -> bool {
    change.kind == FileKind::Own
        && !change.is_none()
        && change.before.is_some()
        && !change.is_ours
        && manifests.iter().all(|manifest| manifest.touched(&change.path).is_none())
}

/// What happens to the permission rules.
struct Rules {
    allow: Vec<String>,
    /// From an earlier installation, and no longer wanted.
    retired: Vec<String>,
    /// What an uninstall removes. A rule that was there before us is not ours.
    ours: Vec<String>,
    is_broad: bool,
}

impl Rules {
    /// What was allowed once stays allowed, by today's rules.
    fn of(request: &Request<'_>, old: Option<Manifest>, settings: Option<&str>) -> Self {
        let old = old.map(|old| old.allow).unwrap_or_default();
        let install = &request.client.install;
        let there = (install.format.rules)(settings.unwrap_or(""));
        let is_allowed = request.allow || !old.is_empty();
        let allow = if is_allowed { request.rules.clone() } else { Vec::new() };
        let is_ours = |rule: &&String| old.contains(rule) || !there.contains(rule);
        Self {
            retired: old.iter().filter(|rule| !allow.contains(rule)).cloned().collect(),
            ours: allow.iter().filter(is_ours).cloned().collect(),
            is_broad: there.iter().any(|rule| rule == install.broad_rule)
                && !old.iter().any(|rule| rule == install.broad_rule),
            allow,
        }
    }
}

/// Why a settings file is left alone, with file, line and advice.
pub(crate) fn refused(settings: &Path, error: &SettingsError) -> AppError {
    AppError::new(Kind::User, format!("{}:{}: {}", settings.display(), error.line, error.message))
        .hint(error.advice.clone())
        .hint("nothing was changed")
}

/// The text of a file. `None`: the file does not exist.
pub(super) fn read(path: &Path) -> Result<Option<String>> {
    // Reading a pipe would block forever.
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(AppError::new(Kind::User, format!("`{}` is not a file", path.display()))
            .hint("nothing was changed"));
    }
    match std::fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| {
            AppError::new(Kind::User, format!("`{}` is not UTF-8", path.display()))
                .hint("nothing was changed; the client would not read it either")
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(AppError::from_error(Kind::State, &error)
            .hint(format!("make `{}` readable for you", path.display()))),
    }
}

pub(crate) fn scripts_folder(client: &Client, env: &Env) -> Result<PathBuf> {
    Ok(client_home(client, env)?.join("hooks/substrate"))
}

/// The installed hook, by a path that outlives an upgrade: the one on the PATH, if it is the one beside us.
pub(crate) fn program(env: &Env) -> Result<String> {
    let beside = daemon::this_program()?.with_file_name("substrate-hook");
    let real = beside.canonicalize().map_err(|error| {
        AppError::from_error(Kind::State, &error)
            .hint(format!("`substrate-hook` must be beside `substrate`: `{}`", beside.display()))
    })?;
    let on_path = env
        .get("PATH")
        .into_iter()
        .flat_map(std::env::split_paths)
        .map(|folder| folder.join("substrate-hook"));
    let found = on_path
        .filter(|path| path.is_absolute())
        .find(|path| path.canonicalize().is_ok_and(|found| found == real));
    text(&found.unwrap_or(beside))
}

pub(super) fn text(path: &Path) -> Result<String> {
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| AppError::new(Kind::User, format!("`{}` is not UTF-8", path.display())))
}
