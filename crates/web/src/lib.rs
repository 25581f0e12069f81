//! The dashboard: one listener on 127.0.0.1, on a thread of its own.
//!
//! It knows no feature. The host hands it pages, verbs and a way to read as data ([`Host`]). Pages are rendered on the
//! server and work without JavaScript; one stream per tab says what changed. The listener never touches the writer: it
//! reads through the host's readers, and hands commands that write to the daemon's own queue.
//!
//! What must stay true: nothing is answered without a key, not even a read; the `Host` header is one of ours, always;
//! text that others wrote never becomes markup.

mod api;
mod assets;
mod form;
mod gate;
mod keys;
mod layout;
mod respond;
mod rows;
mod server;
mod settings;
mod site;
mod snapshot;
mod stream;

pub use form::{Fields, NoFiles};
pub use keys::{Issued, KeyInfo, Keys, Kind as KeyKind};
pub use server::{Listening, listen};
pub use site::{Host, Refusal, Site};
