//! What of the mail is still on its way, for the page of health.

use substrate_core::view::{Check, CheckKind};
use substrate_core::{Cx, DbError, FeatureError, Param};

use crate::identity::book;

/// Counts end here.
const MAX: i64 = 1_000;

/// Mail that no client was told of yet. What the user has to read is another list.
pub(super) const PENDING: &str = "select count(*) from (select 1 from deliveries
     where seen_ms is null and injected_ms is null and replaced_by is null and box = 'inbox' and snooze_ms is null
       and agent <> $1 limit $2)";

/// Mail that was put into an answer which its model has not shown to have read.
pub(super) const FLYING: &str = "select count(*) from (select 1 from deliveries
     where injected_ms is not null and seen_ms is null and agent <> $1 limit $2)";

/// Mail whose deadline has passed, and no note was sent about it.
pub(super) const OVERDUE: &str = "select count(*) from (select 1 from deliveries
     where deadline_ms is not null and acked_ms is null and overdue_told_ms is null and replaced_by is null
       and deadline_ms <= $1 limit $2)";

pub(super) fn checks(cx: &mut Cx<'_>) -> Result<Vec<Check>, FeatureError> {
    let n_pending = count(cx, PENDING, book::USER.into())?;
    let n_flying = count(cx, FLYING, book::USER.into())?;
    let n_overdue = count(cx, OVERDUE, cx.now.0.into())?;
    let mut out = vec![match n_pending {
        0 => check(CheckKind::Fine, "0 messages wait", "all of them were told to their agents"),
        n => check(
            CheckKind::Fine,
            &format!("{} not told yet", messages(n)),
            "they come with the next event of their agents",
        ),
    }];
    if n_flying > 0 {
        let what = format!("{} not yet seen", messages(n_flying));
        out.push(check(CheckKind::Fine, &what, "told, and their models were not asked since"));
    }
    if n_overdue > 0 {
        let what = format!("{} overdue", messages(n_overdue));
        out.push(check(CheckKind::Attention, &what, "not acknowledged before their deadline"));
    }
    Ok(out)
}

fn count(cx: &mut Cx<'_>, sql: &str, first: Param<'_>) -> Result<i64, DbError> {
    Ok(cx.db.first(sql, &[first, MAX.into()], |row| row.int(0))?.unwrap_or(0))
}

fn messages(n: i64) -> String {
    match n {
        1 => "1 message".to_owned(),
        MAX.. => format!("{MAX} messages or more"),
        n => format!("{n} messages"),
    }
}

fn check(kind: CheckKind, what: &str, detail: &str) -> Check {
    let (what, detail) = (what.to_owned(), detail.to_owned());
    Check { kind, what, detail, since_ms: None, link: Some("/mail?box=sent".to_owned()) }
}
