//! What other features may ask about directions.

use substrate_core::{Db, DbError};

use super::ops;
use crate::identity::book::MAIN;

/// The directions that an effort's main thread was told, in any session.
pub(crate) fn told(db: &mut dyn Db, effort: i64) -> Result<Vec<String>, DbError> {
    ops::known(db, &super::scope(effort), MAIN)
}
