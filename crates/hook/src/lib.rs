//! What the hook client, the commands and the daemon say to each other: length-prefixed, versioned frames over a
//! Unix stream socket. Std and a few system calls; it knows no JSON, no events and no database.

pub mod conn;
pub mod frame;
pub mod out;
pub mod passed;
pub mod place;
pub mod reply;
pub mod request;
pub mod unjudged;

pub use conn::{Conn, ConnError};
pub use frame::{Header, Kind};
pub use reply::Reply;
pub use request::HookRequest;
