//! What the hook client, the commands and the daemon say to each other: length-prefixed, versioned frames over a
//! Unix stream socket. Std and a few system calls; it knows no JSON, no events and no database.

pub mod conn;
pub mod frame;
pub mod messages;
pub mod out;
pub mod passed;
pub mod place;
pub mod unjudged;

pub use conn::{Conn, ConnError};
pub use frame::{Header, Kind};
pub use messages::{HookRequest, Reply};
