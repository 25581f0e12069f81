//! What other features may ask about directions.

use substrate_core::{Db, DbError};

use super::ops;
use crate::identity::book::MAIN;

/// The directions that the main thread of an effort was told, in whichever session.
pub(crate) fn told(db: &mut dyn Db, effort: i64) -> Result<Vec<String>, DbError> {
    ops::known(db, &super::scope(effort), MAIN)
}
