//! Recently resolved paths.

use std::collections::HashMap;
use std::path::Path;

use substrate_core::facts::Found;
use substrate_core::{Facts, Need};

/// How long an entry is fresh. The meaning of a path rarely changes within this time.
const FRESH_US: u64 = 2_000_000;

/// How many paths are cached.
const MAX_PATHS: usize = 4_096;

/// Recently resolved paths, so that an agent that keeps working on a file does not wait for the disk each time.
#[derive(Debug, Default)]
pub(crate) struct PathCache {
    places: HashMap<Need, (u64, Found)>,
}

impl PathCache {
    /// Answers from the cache. Returns the needs that have to be looked up.
    pub(crate) fn answer(&self, needs: Vec<Need>, now_us: u64, facts: &mut Facts) -> Vec<Need> {
        needs
            .into_iter()
            .filter(|need| match self.places.get(need) {
                Some((at, found)) if now_us.saturating_sub(*at) < FRESH_US => {
                    facts.insert(need.clone(), found.clone());
                    false
                }
                _ => true,
            })
            .collect()
    }

    /// Caches the results, except for paths through a link: it may lead elsewhere next time.
    pub(crate) fn keep(&mut self, facts: &Facts, now_us: u64) {
        for (need, found) in facts.places().filter(|(need, found)| is_direct(need, found)) {
            if self.places.len() >= MAX_PATHS {
                self.places.clear();
            }
            self.places.insert(need.clone(), (now_us, found.clone()));
        }
    }
}

/// Whether the path alone identifies the file: no links, and no `..` out of one. A file with several names, or one that
/// does not exist yet in an existing folder, may be another file in a moment.
fn is_direct(need: &Need, found: &Found) -> bool {
    match (need, found) {
        (Need::Place { path, cwd }, Found::Place(place)) => {
            (place.changed_ms.is_some() || place.is_nowhere)
                && !place.has_other_names
                && Path::new(cwd).join(path) == Path::new(&place.path)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gather::gather;

    #[test]
    fn a_path_is_remembered_unless_it_may_be_another_file_in_a_moment() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("v1")).unwrap();
        std::os::unix::fs::symlink("v1", root.join("cur")).unwrap();
        crate::fsx::replace(&root.join("v1/a"), b"", 0o600).unwrap();
        crate::fsx::replace(&root.join("v1/b"), b"", 0o600).unwrap();
        std::fs::hard_link(root.join("v1/b"), root.join("v1/c")).unwrap();
        let need =
            |path: &str| Need::Place { path: path.to_owned(), cwd: root.display().to_string() };
        let needs: Vec<Need> =
            ["./v1/a", "v1/new", "cur/a", "cur/../b", "v1/c"].map(need).into_iter().collect();
        let mut cache = PathCache::default();
        cache.keep(&gather(needs.clone()), 0);
        let asked = cache.answer(needs, 1, &mut Facts::default());
        assert_eq!(asked, ["v1/new", "cur/a", "cur/../b", "v1/c"].map(need));
        assert_eq!(cache.answer(vec![need("./v1/a")], FRESH_US, &mut Facts::default()).len(), 1);
    }
}
