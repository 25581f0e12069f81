//! Which working tree a folder belongs to.

use std::path::{Path, PathBuf};

/// The nearest folder, from `dir` upwards, that has a `.git` or a `.substrate.toml`; `dir` itself where there is none.
pub(crate) fn root_of(dir: &Path) -> PathBuf {
    dir.ancestors()
        .take(64)
        .find(|folder| folder.join(".git").exists() || folder.join(".substrate.toml").exists())
        .unwrap_or(dir)
        .to_owned()
}
