//! What happens outside the database after a commit: data, carried out by the host.

/// One effect. A feature that fails has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Whoever waits for this key looks again.
    Wake { key: String },
    /// Writes a file of ours, for its owner only. The path is below the state home.
    Keep { path: String, text: String },
    /// Removes such a file.
    Forget { path: String },
    /// Writes a file for people and other tools into a project, only below `.claude/coordination/` of the working tree
    /// `root`: all of it at once, or (`append`) at the end of a file that the host keeps short.
    Mirror { root: String, path: String, text: String, append: bool },
}
