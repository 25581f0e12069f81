//! The hub as a process: a listener with TLS, one task per machine, and one look at the database for all of them.
//!
//! A connection begins as HTTP/1.1. `GET /link` with an upgrade becomes frames; `/health` and `/metrics` are for those who
//! run the hub. No metric has a name of a machine, an agent or a person.

mod certificate;
mod http;
mod listen;
mod metrics;
mod seat;

#[cfg(test)]
mod tests;

pub use certificate::{Certificate, CertificateError};
pub(crate) use http::{ask, get};
pub use listen::{Hub, HubError, Options, prepare, serve};
