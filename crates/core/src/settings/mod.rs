//! Settings: a table of keys, files layered over each other, and for every value where it came from.
//!
//! The files are read elsewhere; here they are text. A bad value never stops anything: it is reported with its file
//! and line, and the next layer's value holds.

mod index;
mod key;
mod layer;
mod resolve;

pub use key::{Key, Kind, ProjectMay, Table, Value};
pub use layer::{Layer, MAX_PROJECT_FILE, MAX_PROJECT_LIST, Problem, Scope};
pub use resolve::{Effective, Settings};
