//! The settings files, read again when they change, so that nothing needs a restart.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use substrate_core::Settings;
use substrate_core::settings::{Key, Layer, MAX_PROJECT_FILE, Scope};

use super::local::{Mounts, is_local};
use super::project::{project_of, root_of, root_of_by};
use crate::{clock, gather, inside};

/// How long a look at the files stays fresh. An edit applies before its author notices a delay.
const FRESH_US: u64 = 100_000;

/// How many projects are cached.
const MAX_PROJECTS: usize = 256;

/// What the user chose for our plugin in the client's settings, beside the user's own file.
pub(crate) const PLUGIN_OPTIONS: &str = "plugin.toml";

/// The longest settings file of the user that is read.
const MAX_FILE: u64 = 1 << 20;

/// The settings of every project that was asked for recently. Only `SettingsLookup::run` touches files, so a daemon can
/// run it on a thread: a project may be on a mount that hangs.
#[derive(Debug)]
pub(crate) struct SettingsFiles {
    user: PathBuf,
    projects: HashMap<PathBuf, ProjectSettings>,
    mounts: Mounts,
    good: Arc<LastGood>,
}

/// The last good layers of project files, used while a project asks for too much. Lookups share it across threads.
#[derive(Debug, Default)]
struct LastGood(Mutex<HashMap<PathBuf, Layer>>);

impl LastGood {
    /// The layer to use for a file: the file's own, or the last good one if it is refused.
    fn instead_of(&self, file: &Path, layer: Layer) -> Layer {
        let mut good = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if layer.refused.is_some() {
            return match good.get(file) {
                Some(good) => layer.with_values_of(good),
                None => layer,
            };
        }
        if good.len() >= MAX_PROJECTS && !good.contains_key(file) {
            good.clear();
        }
        good.insert(file.to_owned(), layer.clone());
        layer
    }

    /// The file is gone, so nothing of it stays in force.
    fn forget(&self, file: &Path) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(file);
    }
}

#[derive(Clone, Debug)]
struct ProjectSettings {
    root: PathBuf,
    project: Arc<str>,
    looked_us: u64,
    /// Checking its files can't hang.
    is_local: bool,
    stamps: [Stamp; 4],
    settings: Arc<Settings>,
}

/// Changes when the file does. `None`: the file does not exist.
type Stamp = Option<(u64, i64, i64, u64)>;

/// The settings in force in that folder, for a process that asks once: nothing is kept to notice changes by.
pub(crate) fn settings_at(user: &Path, dir: &Path) -> Settings {
    read(user, &root_of(dir), &LastGood::default())
}

/// The settings in force in a folder, and its project.
pub(crate) type Around = (Arc<Settings>, Arc<str>);

impl SettingsFiles {
    pub(crate) fn new(user: PathBuf) -> Self {
        Self { user, projects: HashMap::new(), mounts: Mounts::new(), good: Arc::default() }
    }

    /// The settings in force in that folder.
    pub(crate) fn at(&mut self, dir: &Path) -> Arc<Settings> {
        self.around(dir).0
    }

    /// The settings in force in that folder, and its project. Touches files.
    pub(crate) fn around(&mut self, dir: &Path) -> Around {
        let now = clock::micros();
        match self.fresh(dir, now) {
            Some(around) => around,
            None => {
                let looked = self.look(dir, now).run();
                self.keep(looked, now)
            }
        }
    }

    /// The same, if the files were checked a moment ago.
    pub(crate) fn fresh(&self, dir: &Path, now_us: u64) -> Option<Around> {
        let known = self.projects.get(dir)?;
        (now_us.saturating_sub(known.looked_us) < FRESH_US).then(|| known.both())
    }

    /// The same, if a check shows no change and that check can't hang.
    pub(crate) fn unchanged(&mut self, dir: &Path, now_us: u64) -> Option<Around> {
        if self.mounts.have_changed() {
            self.projects.values_mut().for_each(|known| known.is_local = false);
        }
        let known = self.projects.get_mut(dir).filter(|known| known.is_local)?;
        let root = root_of_by(dir, |file| file.symlink_metadata().is_ok());
        if root != known.root || stamps(&self.user, root, Path::symlink_metadata) != known.stamps {
            return None;
        }
        known.looked_us = now_us;
        Some(known.both())
    }

    /// The same, as of the last check.
    pub(crate) fn latest(&self, dir: &Path) -> Option<Around> {
        self.projects.get(dir).map(ProjectSettings::both)
    }

    /// Whether options of the plugin are in force, as of the last check.
    pub(crate) fn has_plugin_options(&self) -> bool {
        self.projects.values().any(|known| known.stamps[0].is_some())
    }

    /// Has every file checked again.
    pub(crate) fn distrust(&mut self) {
        self.projects.values_mut().for_each(|known| known.looked_us = 0);
    }

    /// The working tree of that folder, if it is cached.
    pub(crate) fn root(&self, dir: &Path) -> Option<&Path> {
        self.projects.get(dir).map(|known| known.root.as_path())
    }

    /// A lookup to run. Others that ask meanwhile get the cached settings instead of starting their own.
    pub(crate) fn look(&mut self, dir: &Path, now_us: u64) -> SettingsLookup {
        let known = self.projects.get_mut(dir).map(|known| {
            known.looked_us = now_us;
            known.clone()
        });
        let (user, good) = (self.user.clone(), Arc::clone(&self.good));
        SettingsLookup { user, dir: dir.to_owned(), known, good }
    }

    /// Caches what a lookup has found.
    pub(crate) fn keep(&mut self, looked: FoundSettings, now_us: u64) -> Around {
        let FoundSettings { dir, known } = looked;
        let both = known.both();
        if self.projects.len() >= MAX_PROJECTS && !self.projects.contains_key(&dir) {
            let others = self.projects.iter().filter(|(dir, _)| dir.as_os_str() != "/");
            let oldest =
                others.min_by_key(|(_, known)| known.looked_us).map(|(dir, _)| dir.clone());
            oldest.and_then(|oldest| self.projects.remove(&oldest));
        }
        self.projects.insert(dir, ProjectSettings { looked_us: now_us, ..known });
        both
    }
}

/// A lookup of the settings files of a folder.
#[derive(Debug)]
pub(crate) struct SettingsLookup {
    user: PathBuf,
    dir: PathBuf,
    known: Option<ProjectSettings>,
    good: Arc<LastGood>,
}

/// The result of a lookup.
#[derive(Debug)]
pub(crate) struct FoundSettings {
    dir: PathBuf,
    known: ProjectSettings,
}

impl SettingsLookup {
    /// Checks the files, and reads them if they have changed.
    pub(crate) fn run(self) -> FoundSettings {
        let Self { user, dir, known, good } = self;
        let root = root_of(&dir);
        let found = stamps(&user, &root, Path::metadata);
        let is_local = is_local(&root)
            && user.parent().is_some_and(is_local)
            && found == stamps(&user, &root, Path::symlink_metadata);
        let same = known.filter(|known| known.root == root && known.stamps == found);
        let known = same.unwrap_or_else(|| {
            let settings = Arc::new(read(&user, &root, &good));
            let project = project_of(&root).display().to_string().into();
            ProjectSettings { root, project, looked_us: 0, is_local, stamps: found, settings }
        });
        FoundSettings { dir, known: ProjectSettings { is_local, ..known } }
    }
}

impl ProjectSettings {
    fn both(&self) -> Around {
        (Arc::clone(&self.settings), Arc::clone(&self.project))
    }
}

/// Reads and layers the files of one project.
fn read(user: &Path, root: &Path, good: &LastGood) -> Settings {
    let keys = substrate_features::keys();
    let layers = files(user, root).into_iter().filter_map(|(scope, file)| {
        let layer = layer(scope, &file, &keys);
        match layer {
            _ if !scope.is_foreign() => layer,
            Some(layer) => Some(good.instead_of(&file, layer)),
            None => {
                good.forget(&file);
                None
            }
        }
    });
    let layers: Vec<Layer> = layers.collect();
    Settings::resolve(&keys, &layers.iter().collect::<Vec<_>>())
}

fn layer(scope: Scope, file: &Path, keys: &[&Key]) -> Option<Layer> {
    let name = file.display().to_string();
    let unusable = |why: &str| match scope.is_foreign() {
        true => Layer::refuse(scope, &name, why),
        false => Layer::unusable(scope, &name, why),
    };
    let (opened, max) = match scope.is_foreign() {
        true => (in_project(file), MAX_PROJECT_FILE as u64),
        false => (gather::open(file), MAX_FILE),
    };
    let (opened, n_bytes) = match opened {
        Ok(opened) => opened,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return None;
        }
        Err(error) => return Some(unusable(&format!("it could not be read: {error}"))),
    };
    if n_bytes > max {
        return Some(match scope.is_foreign() {
            true => Layer::oversized(scope, &name, n_bytes),
            false => Layer::unusable(scope, &name, "the file is too long for settings"),
        });
    }
    Some(match whole(opened, max) {
        Ok(text) => Layer::read(scope, &name, &text, keys),
        Err(error) => unusable(&format!("it could not be read: {error}")),
    })
}

/// The file itself, never the target of a link.
fn in_project(file: &Path) -> io::Result<(File, u64)> {
    let (root, name) = file.parent().zip(file.file_name()).ok_or(ErrorKind::InvalidInput)?;
    inside::open(root, name)
}

/// The text of a file. Reading one byte past the limit is enough to see that it has grown since it was checked.
fn whole(file: File, max: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// In the order in which they are laid over each other.
fn files(user: &Path, root: &Path) -> [(Scope, PathBuf); 4] {
    [
        (Scope::User, user.with_file_name(PLUGIN_OPTIONS)),
        (Scope::User, user.to_owned()),
        (Scope::Project, root.join(".substrate.toml")),
        (Scope::Local, root.join(".substrate.local.toml")),
    ]
}

/// What `look` says about the files. A `look` that does not follow links can't be led elsewhere.
fn stamps(user: &Path, root: &Path, look: fn(&Path) -> io::Result<Metadata>) -> [Stamp; 4] {
    let stamp = |found: Metadata| (found.ino(), found.mtime(), found.mtime_nsec(), found.len());
    files(user, root).map(|(_, file)| look(&file).ok().map(stamp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_are_not_a_file_keep_no_caller_waiting() {
        let folder = tempfile::tempdir().unwrap();
        crate::fsx::pipe(&folder.path().join(".substrate.toml"));
        let (tell, told) = std::sync::mpsc::channel();
        let root = folder.path().to_owned();
        std::thread::spawn(move || {
            tell.send(SettingsFiles::new(root.join("config.toml")).at(&root).problems.len())
        });
        assert_eq!(told.recv_timeout(std::time::Duration::from_secs(20)), Ok(1));
    }
    #[test]
    fn a_look_is_remembered_and_who_asks_meanwhile_does_not_look_too() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = SettingsFiles::new(folder.path().join("config.toml"));
        let dir = folder.path();
        assert!(files.latest(dir).is_none() && files.fresh(dir, 0).is_none());
        let looked = files.look(dir, 0).run();
        files.keep(looked, 0);
        assert!(files.fresh(dir, FRESH_US - 1).is_some() && files.fresh(dir, FRESH_US).is_none());
        assert!(files.latest(dir).is_some());
        let look = files.look(dir, FRESH_US);
        assert!(files.fresh(dir, FRESH_US + 1).is_some(), "it is under way");
        crate::fsx::replace(&dir.join(".substrate.toml"), b"locks.mirror = true\n", 0o600).unwrap();
        let (settings, _) = files.keep(look.run(), FRESH_US);
        assert!(settings.on("locks.mirror"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_on_a_disk_of_this_machine_is_looked_at_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let file = dir.join(".substrate.toml");
        let mut files = SettingsFiles::new(dir.join("config.toml"));
        assert!(files.unchanged(dir, 0).is_none(), "nothing is known");
        files.around(dir);
        let at = clock::micros() + FRESH_US;
        assert!(files.unchanged(dir, at).is_some(), "as it was");
        assert!(files.fresh(dir, at + 1).is_some());
        crate::fsx::replace(&file, b"locks.mirror = true\n", 0o600).unwrap();
        assert!(files.unchanged(dir, at).is_none(), "another file is read on a thread");
        let looked = files.look(dir, at).run();
        assert!(files.keep(looked, at).0.on("locks.mirror"));
        assert!(files.unchanged(dir, at).is_some());
        let elsewhere = dir.join("elsewhere");
        std::fs::rename(&file, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
        let looked = files.look(dir, at).run();
        files.keep(looked, at);
        assert!(files.unchanged(dir, at).is_none(), "a link may lead to where a look hangs");
    }

    #[test]
    fn only_the_oldest_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = SettingsFiles::new(folder.path().join("config.toml"));
        let dirs: Vec<PathBuf> =
            (0..=MAX_PROJECTS).map(|n| folder.path().join(n.to_string())).collect();
        for (n, dir) in [PathBuf::from("/")].iter().chain(&dirs).enumerate() {
            let looked = files.look(dir, 0).run();
            files.keep(looked, u64::try_from(n).unwrap());
        }
        assert!(files.latest(Path::new("/")).is_some(), "what every project falls back on");
        assert!(files.latest(&dirs[0]).is_none() && files.latest(&dirs[2]).is_some());
        assert!(files.latest(&dirs[MAX_PROJECTS]).is_some());
    }
}
