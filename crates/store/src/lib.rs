//! The databases behind core's `Db`: SQLite now, in WAL mode, with one writer and a pool of readers.
//!
//! Only this crate knows SQLite. Writes go through one `Writer`, whose transactions begin immediate; whoever wants
//! many events in one commit opens one transaction for all of them.

mod backup;
mod bind;
mod error;
mod migrate;
mod readers;
mod writer;

#[cfg(test)]
mod tests;

pub use backup::{back_up, check};
pub use error::StoreError;
pub use migrate::{Schema, missing_steps, prepare};
pub use readers::Readers;
pub use writer::{Durability, Tx, Writer};
