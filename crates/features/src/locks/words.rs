//! What agents read about leases. Paths and reasons come from outside, so each is one short line.

use std::fmt::Write as _;

use substrate_core::text::one_line;
use substrate_core::time::Ago;
use substrate_core::{Cx, DbError, Timestamp};

use super::life::Claim;
use super::standing::Holder;

const MAX_PATH: usize = 200;
pub(super) const MAX_REASON: usize = 120;

/// What those wait for who want a file.
pub(super) fn wake_key(path: &str) -> String {
    format!("lock {path}")
}

/// The same where the file is in a reserved glob.
pub(super) fn glob_key(id: i64) -> String {
    format!("lock glob {id}")
}

/// A path in a sentence, without the marks that are around it there.
pub(super) fn path(path: &str) -> String {
    one_line(&path.replace('`', "'"), MAX_PATH)
}

pub(super) fn reason(text: &str) -> String {
    one_line(&text.replace('`', "'"), MAX_REASON)
}

/// `src/lib.rs` is leased by NobleLion since 3m ago, who edits it.
pub(super) fn held(cx: &mut Cx<'_>, relative: &str, holder: &Holder) -> Result<String, DbError> {
    let Holder { claim, glob, .. } = holder;
    let who = claim.owner.address(cx)?;
    let since = Ago(cx.now.since(claim.acquired));
    let by = match glob {
        Some((_, glob)) => format!("reserved by {who} (`{}`)", path(glob)),
        None => format!("leased by {who}"),
    };
    let what = doing(claim, glob.is_some());
    Ok(format!("`{}` is {by}, since {since} ago: {what}.", path(relative)))
}

fn doing(claim: &Claim, is_reserved: bool) -> String {
    match (reason(&claim.reason), is_reserved) {
        (reason, _) if !reason.is_empty() => format!("\"{reason}\""),
        (_, true) => "they plan work there".to_owned(),
        (_, false) => "they edit it".to_owned(),
    }
}

/// What whoever was refused can do instead.
pub(super) fn next(cx: &mut Cx<'_>, relative: &str, holder: &Holder) -> Result<String, DbError> {
    let (who, path) = (holder.claim.owner.address(cx)?, path(relative));
    Ok(format!(
        "Work elsewhere meanwhile, wait with `substrate locks wait {path}`, or write to them: \
         `substrate send --to {who} --subject \"{path}\" --body \"…\"`."
    ))
}

/// The mail to a holder for whom somebody waits.
pub(super) fn waits(waiter: &str, relative: &str) -> (String, String) {
    let path = path(relative);
    let subject = format!("{waiter} waits for {path}");
    let body = format!(
        "{waiter} wanted to edit `{path}`, which you hold.\n\
         It is free when your turn ends; `substrate locks release {path}` frees it at once."
    );
    (subject, body)
}

/// To somebody whose edit or command changed what another holds.
pub(super) fn you_changed(holder: &str, relative: &str, how: &str) -> String {
    let path = path(relative);
    format!(
        "`{path}` is leased by {holder}, and {how} changed it. Look at it again before you go on, and tell them: \
         `substrate send --to {holder} --subject \"{path}\" --body \"…\"`."
    )
}

/// To the holder of a file that somebody else changed.
pub(super) fn was_changed(who: &str, relative: &str, how: &str) -> (String, String) {
    let path = path(relative);
    let subject = format!("{who} changed {path}");
    let body = format!(
        "{who} changed `{path}`, which you hold, {how}.\nRead it again before you edit it."
    );
    (subject, body)
}

/// What an agent holds, for a conversation that has forgotten it.
pub(super) fn you_hold(relatives: &[String], n: usize) -> String {
    let mut out = format!("You hold {n} file lease{}: ", if n == 1 { "" } else { "s" });
    for (i, relative) in relatives.iter().enumerate() {
        let _infallible = write!(out, "{}`{}`", if i == 0 { "" } else { ", " }, path(relative));
    }
    if n > relatives.len() {
        out.push_str(", …");
    }
    out.push_str(". They end with your turn; `substrate locks` shows them.");
    out
}

/// A moment as everybody reads it, in UTC, to the millisecond.
pub(super) fn iso(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| at.0.to_string(), |time| format!("{time:.3}"))
}
