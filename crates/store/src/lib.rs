//! The port to the database. The rest of the program sees three types and none of SQLite's:
//!
//! * [`Database`]: a file at its path. It is read, checked, copied and restored.
//! * [`Writer`]: the one connection that writes, to a file or in memory.
//! * [`Tx`]: an open transaction, which is what features get as `substrate_core::Db`.
//!
//! Only this crate knows SQLite. Many events share a commit by sharing a transaction. What an implementation must do is
//! the contract in `tests/contract.rs`; it runs on a file and in memory.
//!
//! ```
//! use substrate_core::{Db as _, Timestamp};
//! use substrate_store::{Durability, Writer};
//!
//! let mut writer = Writer::in_memory(&[], Timestamp(0))?;
//! let mut tx = writer.begin(Durability::Full)?;
//! tx.execute("create table note (text text)", &[])?;
//! tx.commit()?;
//! # Ok::<(), substrate_store::StoreError>(())
//! ```

mod backup;
mod bind;
mod create;
mod database;
mod error;
mod log;
mod memory;
mod migrate;
mod places;
mod tx;
mod writer;

#[cfg(test)]
mod tests;

pub use database::Database;
pub use error::StoreError;
pub use memory::{TakenOver, TakenTable};
pub use migrate::{Prepared, Schema, Setup};
pub use tx::Tx;
pub use writer::{Durability, Writer};
