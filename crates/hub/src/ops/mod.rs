//! Everything that touches the hub's tables. Each function runs in an open transaction, and its SQL is the same on SQLite and
//! PostgreSQL. Times come from the database's clock, `now_ms()`.

pub mod claims;
pub mod machines;
pub mod mail;
pub mod roster;
pub mod work;

use substrate_core::{DbError, Row};

use crate::wire::{Label, Uid};

/// What was checked before it was stored is checked again when it is read: the database may be shared.
fn uid(row: &dyn Row, column: usize) -> Result<Uid, DbError> {
    Uid::try_from(row.text(column)?).map_err(|detail| DbError::Other { detail })
}

fn label(row: &dyn Row, column: usize) -> Result<Label, DbError> {
    Label::try_from(row.text(column)?).map_err(|detail| DbError::Other { detail })
}

/// `($1, $2), ($3, $4)` for rows of several columns.
fn places(n_rows: usize, n_columns: usize) -> String {
    let row = |n: usize| {
        let columns: Vec<String> =
            (1..=n_columns).map(|column| format!("${}", n * n_columns + column)).collect();
        format!("({})", columns.join(", "))
    };
    (0..n_rows).map(row).collect::<Vec<_>>().join(", ")
}
