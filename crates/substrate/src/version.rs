//! Which build this is.

use std::sync::LazyLock;

/// The commit, as `cargo xtask dist` names it. Other builds don't know theirs, or each commit would rebuild everything.
pub(crate) const COMMIT: Option<&str> = option_env!("SUBSTRATE_COMMIT");

/// The system that it was built for.
pub(crate) fn target() -> String {
    let library = if cfg!(target_env = "musl") {
        "-musl"
    } else if cfg!(target_env = "gnu") {
        "-gnu"
    } else {
        ""
    };
    format!("{}-{}{library}", std::env::consts::ARCH, std::env::consts::OS)
}

/// Version, commit and system.
pub(crate) fn words() -> &'static str {
    static WORDS: LazyLock<String> = LazyLock::new(|| {
        let version = env!("CARGO_PKG_VERSION");
        match COMMIT {
            Some(commit) => format!("{version} ({commit}, {})", target()),
            None => format!("{version} ({})", target()),
        }
    });
    &WORDS
}
