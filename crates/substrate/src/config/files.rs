//! The settings files, read again when they change, so that nothing needs a restart.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use substrate_core::Settings;
use substrate_core::settings::{Layer, Problem, Scope};

use super::project::{project_of, root_of};
use crate::clock;

/// Files are looked at again after so long; what a person changes is in force before they notice.
const FRESH_US: u64 = 100_000;

/// How many projects are remembered.
const MAX_PROJECTS: usize = 256;

/// A settings file longer than this is not one.
const MAX_FILE: u64 = 1 << 20;

/// The settings of every project that was asked for lately.
#[derive(Debug)]
pub(crate) struct SettingsFiles {
    user: PathBuf,
    projects: HashMap<PathBuf, Known>,
}

#[derive(Debug)]
struct Known {
    root: PathBuf,
    project: Arc<str>,
    looked_us: u64,
    stamps: [Stamp; 3],
    settings: Arc<Settings>,
}

/// What changes when a file does. `None`: there is no file.
type Stamp = Option<(u64, i64, i64, u64)>;

impl SettingsFiles {
    pub(crate) fn new(user: PathBuf) -> Self {
        Self { user, projects: HashMap::new() }
    }

    /// The settings in force in that folder.
    pub(crate) fn at(&mut self, dir: &Path) -> Arc<Settings> {
        self.around(dir).0
    }

    /// The settings in force in that folder, and which project it is.
    pub(crate) fn around(&mut self, dir: &Path) -> (Arc<Settings>, Arc<str>) {
        let now = clock::micros();
        if let Some(known) = self.projects.get_mut(dir) {
            if now.saturating_sub(known.looked_us) < FRESH_US {
                return known.both();
            }
            known.looked_us = now;
            if stamps(&self.user, &known.root) == known.stamps {
                return known.both();
            }
        }
        let root = root_of(dir);
        let stamps = stamps(&self.user, &root);
        let settings = Arc::new(read(&self.user, &root));
        if self.projects.len() >= MAX_PROJECTS {
            self.projects.clear();
        }
        let project = project_of(&root).display().to_string().into();
        let known = Known { root, project, looked_us: now, stamps, settings };
        let both = known.both();
        self.projects.insert(dir.to_owned(), known);
        both
    }
}

impl Known {
    fn both(&self) -> (Arc<Settings>, Arc<str>) {
        (Arc::clone(&self.settings), Arc::clone(&self.project))
    }
}

/// Reads and layers the files of one project.
fn read(user: &Path, root: &Path) -> Settings {
    let keys = substrate_features::keys();
    let layers: Vec<Layer> = files(user, root)
        .into_iter()
        .filter_map(|(scope, file)| layer(scope, &file, &keys))
        .collect();
    Settings::resolve(&keys, &layers.iter().collect::<Vec<_>>())
}

fn layer(scope: Scope, file: &Path, keys: &[&substrate_core::settings::Key]) -> Option<Layer> {
    let name = file.display().to_string();
    let unreadable = |why: String| {
        let mut layer = Layer::read(scope, &name, "", keys);
        let hint = "make it readable, or remove it".to_owned();
        layer.problems.push(Problem { file: name.clone(), line: 1, message: why, hint });
        layer
    };
    match std::fs::metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Ok(found) if found.len() > MAX_FILE => {
            return Some(unreadable("the file is too long for settings".to_owned()));
        }
        // Reading a pipe would wait for its other end.
        Ok(found) if !found.is_file() => return Some(unreadable("is no file".to_owned())),
        Ok(_) | Err(_) => {}
    }
    Some(match std::fs::read(file) {
        Ok(bytes) => Layer::read(scope, &name, &String::from_utf8_lossy(&bytes), keys),
        Err(error) => unreadable(format!("could not be read: {error}")),
    })
}

fn files(user: &Path, root: &Path) -> [(Scope, PathBuf); 3] {
    [
        (Scope::User, user.to_owned()),
        (Scope::Project, root.join(".substrate.toml")),
        (Scope::Local, root.join(".substrate.local.toml")),
    ]
}

fn stamps(user: &Path, root: &Path) -> [Stamp; 3] {
    let stamp = |found: Metadata| (found.ino(), found.mtime(), found.mtime_nsec(), found.len());
    files(user, root).map(|(_, file)| std::fs::metadata(file).ok().map(stamp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_are_no_file_keep_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        crate::fsx::pipe(&folder.path().join(".substrate.toml"));
        let (tell, told) = std::sync::mpsc::channel();
        let root = folder.path().to_owned();
        std::thread::spawn(move || {
            tell.send(SettingsFiles::new(root.join("config.toml")).at(&root).problems.len())
        });
        assert_eq!(told.recv_timeout(std::time::Duration::from_secs(20)), Ok(1));
    }
}
