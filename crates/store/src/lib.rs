//! The databases behind core's `Db`: SQLite now, in WAL mode, with one writer and a pool of readers.
//!
//! Only this crate knows SQLite. Writes go through one `Writer`, whose transactions begin immediate. Many events share
//! a commit by sharing a transaction.

mod backup;
mod bind;
mod create;
mod error;
mod log;
mod memory;
mod migrate;
mod readers;
mod restore;
mod tx;
mod writer;

#[cfg(test)]
mod tests;

pub use backup::{back_up, check, daily};
pub use error::StoreError;
pub use log::{MAX_LOG, log_size};
pub use memory::{Seeded, SeededTable, give_back, seed};
pub use migrate::{Prepared, Schema, Setup, missing_steps, prepare};
pub use readers::Readers;
pub use restore::{Restored, newest_good, restore};
pub use tx::Tx;
pub use writer::{Durability, Writer};
