//! The machine's end of the connection to the hub, without sockets, threads or clocks.
//!
//! The host passes bytes, times and wishes in, and takes [`Output`]s out. The link decides when to dial, what to send, what
//! to send again and what to tell. Everything that must last is the host's: the link forgets all when the daemon ends, and
//! the host submits its outbox again.

mod asks;
mod backoff;
mod greeting;
mod outbox;
mod state;
mod status;

#[cfg(test)]
mod tests;

pub use backoff::Jitter;
pub use greeting::{Credentials, JoinAs};
pub use outbox::PUT_BYTES;
pub use state::{Away, Link, Output};

/// Milliseconds of a clock that never goes back. Where it began does not matter.
pub type Ms = u64;
