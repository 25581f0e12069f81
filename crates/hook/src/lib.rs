//! The protocol between the hook, the commands and the daemon: length-prefixed, versioned frames over a Unix stream
//! socket. It uses std and a few system calls, and knows no JSON, no events and no database.

pub mod conn;
pub mod frame;
pub mod messages;
pub mod out;
pub mod passed;
pub mod place;
pub mod unjudged;

pub use conn::{Conn, ConnError};
pub use frame::{Header, Kind};
pub use messages::{HookRequest, Reply, variables};
