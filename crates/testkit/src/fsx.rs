//! The one place where the testkit writes files: fixtures in a sandbox, which nobody reads yet.
use std::path::Path;

/// Writes a fixture, creating its folders.
pub fn write_file(path: &Path, text: impl AsRef<[u8]>) {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .unwrap_or_else(|e| panic!("could not create `{}`: {e}", folder.display()));
    }
    #[expect(clippy::disallowed_methods, reason = "a fixture has no reader to tear it from")]
    std::fs::write(path, text)
        .unwrap_or_else(|e| panic!("could not write `{}`: {e}", path.display()));
}
