//! Where the binaries under test are. If one is missing, the test fails and names the command that builds it. Nothing
//! is ever skipped.
use std::path::{Path, PathBuf};

/// The client version whose hook contract we measured. `make test` installs exactly this one.
pub const CLIENT_VERSION: &str = "2.1.325";

/// A binary of this workspace, beside the test executable or in `SUBSTRATE_TEST_BIN_DIR`.
///
/// # Panics
/// If it was not built.
pub fn bin(name: &str) -> PathBuf {
    find_bin(name).unwrap_or_else(|| {
        panic!("`{name}` is not in {:?}: run `cargo build --workspace --bins`", bin_dirs())
    })
}

/// The real Claude Code: `SUBSTRATE_TEST_CLAUDE`, or what `make test` installed in `.tools`.
///
/// # Panics
/// If it is missing.
pub fn claude() -> PathBuf {
    if let Some(path) = setting("SUBSTRATE_TEST_CLAUDE") {
        assert!(path.is_file(), "SUBSTRATE_TEST_CLAUDE is not a file: `{}`", path.display());
        return path;
    }
    let tools = workspace_root().join(".tools/claude");
    let scope = tools.join("node_modules/@anthropic-ai");
    client_candidates(&scope).into_iter().find(|path| path.is_file()).unwrap_or_else(|| {
        panic!(
            "Claude Code is not installed: run `npm install --prefix {} \
             @anthropic-ai/claude-code@{CLIENT_VERSION}`, or set SUBSTRATE_TEST_CLAUDE",
            tools.display()
        )
    })
}

/// The program of another real client, below the modules that `make test` installed in `.tools/NAME`.
///
/// # Panics
/// If it is missing.
pub(crate) fn other_program(name: &str, program: &str, package: &str) -> PathBuf {
    let tools = workspace_root().join(".tools").join(name);
    let program = tools.join("node_modules").join(program);
    assert!(
        program.is_file(),
        "`{name}` is not installed: run `npm install --ignore-scripts --prefix {} {package}`",
        tools.display()
    );
    program
}

/// Like [`bin`], for code that must not panic.
pub(crate) fn find_bin(name: &str) -> Option<PathBuf> {
    bin_dirs().into_iter().map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// The folder that goes first into the `PATH` of children.
pub(crate) fn bin_dir() -> PathBuf {
    match find_bin("substrate") {
        Some(path) => path.parent().expect("a file has a folder").to_path_buf(),
        None => bin_dirs().pop().expect("there is always one folder"),
    }
}

/// `target/debug/deps` and `target/debug` for a test executable, or only the folder from the setting.
fn bin_dirs() -> Vec<PathBuf> {
    if let Some(dir) = setting("SUBSTRATE_TEST_BIN_DIR") {
        return vec![dir];
    }
    let exe = std::env::current_exe().expect("a test knows its own executable");
    exe.ancestors().skip(1).take(2).map(Path::to_path_buf).collect()
}

/// The platform's package first: it works even if npm ran no install scripts.
fn client_candidates(scope: &Path) -> Vec<PathBuf> {
    let os = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let cpu = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let platform = format!("claude-code-{os}-{cpu}");
    vec![
        scope.join(&platform).join("claude"),
        scope.join(format!("{platform}-musl")).join("claude"),
        scope.join("claude-code/bin/claude.exe"),
    ]
}

fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("this crate is two folders deep").to_path_buf()
}

#[expect(clippy::disallowed_methods, reason = "says where the binaries are, before any sandbox")]
fn setting(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "cargo build --workspace --bins")]
    fn a_missing_binary_says_how_to_build_it() {
        bin("substrate-no-such-binary");
    }

    #[test]
    fn the_client_is_looked_for_in_the_platform_package_first() {
        let found = client_candidates(Path::new("scope"));
        assert!(found[0].starts_with("scope") && found[0].ends_with("claude"));
        assert_eq!(found.len(), 3);
    }
}
