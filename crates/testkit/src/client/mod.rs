//! The real Claude Code, offline: an empty environment, a home in a sandbox, a scripted model.
//!
//! Invariant: it reads no configuration but the sandbox's, and reaches no host but loopback.
mod driver;
mod kinds;
mod other;
mod tui;

pub use driver::{Client, PrintRun};
pub use kinds::{OTHERS, OtherKind};
pub use other::OtherClient;
pub use tui::Tui;
