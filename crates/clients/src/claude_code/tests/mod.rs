//! The client's contract as tables.

mod delivery;
mod encoding;

use substrate_core::Timestamp;

use super::CLIENT;

const AT: Timestamp = Timestamp(1_700_000_000_000);
