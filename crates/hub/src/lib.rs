//! Many machines: what one machine and the hub say to each other, and the hub itself.
//!
//! ```text
//! daemon ── Link (sans-IO) ── TLS, frames ── hub: service (sans-IO) ── Pool ── SQLite or PostgreSQL
//! ```
//!
//! * [`wire`]: frames and their versions
//! * [`link`]: the machine's end as a state machine; bytes and times in, bytes and effects out
//! * [`keys`]: who a machine is, how it joins, and sealed bodies
//! * [`db`]: one narrow trait, one schema and one SQL text on two databases
//! * [`ops`]: everything that touches the hub's tables
//! * [`service`]: what the hub answers to a frame; no sockets, no clock
//! * [`server`] and [`dial`]: the two ends of the connection
//!
//! The link speaks frames after an HTTP upgrade, not WebSocket. Machines pin the hub's certificate, so no proxy can stand in
//! between, and the masking and fragments of WebSocket would buy nothing.
//!
//! What must stay true (`a_database_that_forgets_loses_nothing`,
//! `a_hostile_machine_is_refused_and_counted_and_the_others_go_on`): a message is in its sender's outbox until the far machine has it on disk, so a database that
//! forgets loses nothing; each message is handed over once, in the order of its sender; a machine reads only what is
//! addressed to it, and acts only as itself.

pub mod db;
pub mod dial;
pub mod keys;
pub mod link;
pub mod ops;
pub mod server;
pub mod service;
pub mod wire;

#[cfg(test)]
mod sim;
