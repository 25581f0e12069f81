//! What this machine tells the senders of other machines: how far their messages have come here.

use substrate_core::{Cx, Db, DbError};

use super::ops::{self, FarRow, Side};
use super::{FarReceipt, uid};

/// Receipts per transaction.
const BATCH: i64 = 200;

/// Nothing more is told about a message after this long.
const KEPT_MS: i64 = 7 * 86_400_000;

/// Whether a sender should be told something.
pub(crate) fn are_due(db: &mut dyn Db) -> Result<bool, DbError> {
    Ok(!ops::due(db, 1)?.is_empty())
}

/// Puts the receipts that are due into the outbox.
pub(crate) fn queue_due(cx: &mut Cx<'_>) -> Result<usize, DbError> {
    let due = ops::due(cx.db, BATCH)?;
    for one in &due {
        let [injected_ms, seen_ms, read_ms, acked_ms] = one.steps;
        let receipt = FarReceipt {
            of: one.of.uid.clone(),
            rev: one.of.rev + 1,
            injected_ms,
            seen_ms,
            read_ms,
            acked_ms,
            failed: None,
        };
        queue(cx, &one.of, &receipt)?;
        ops::told(cx.db, one)?;
    }
    Ok(due.len())
}

/// Tells the sender that its message can't be delivered here.
pub(super) fn refuse(cx: &mut Cx<'_>, row: &FarRow, why: &str) -> Result<(), DbError> {
    let failed = Some(why.to_owned());
    let receipt = FarReceipt { of: row.uid.clone(), rev: 1, failed, ..FarReceipt::default() };
    queue(cx, row, &receipt)
}

fn queue(cx: &mut Cx<'_>, of: &FarRow, receipt: &FarReceipt) -> Result<(), DbError> {
    let body = serde_json::to_string(receipt)
        .map_err(|error| DbError::Other { detail: error.to_string() })?;
    let one = FarRow {
        uid: uid(cx.now, &format!("receipt {} {} {}", of.uid, receipt.rev, cx.now.0)),
        machine: of.machine.clone(),
        kind: "receipt".to_owned(),
        sender: "Substrate".to_owned(),
        body,
        ..FarRow::default()
    };
    ops::insert(cx.db, &one, Side::Ours, cx.now)
}

pub(in crate::mail) fn close_old(cx: &mut Cx<'_>) -> Result<(), DbError> {
    ops::close_old(cx.db, cx.now.plus_ms(-KEPT_MS))
}
