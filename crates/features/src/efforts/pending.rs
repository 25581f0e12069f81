//! What waits to be told: injections, files, and what an earlier window left.
//!
//! Each is told exactly once. An answer claims it, and once that answer is printed it counts as told.

use substrate_core::redact::{names_dotenv, redacted};
use substrate_core::verdict::Permission;
use substrate_core::wish::{Receipt, is_claimed};
use substrate_core::{Cx, DbError, FeatureError, Outcome, Part, Wish};

use super::ops::messages::{self, Pending, PendingKind};
use super::ops::windows::{self, OpenWindow};
use super::ops::{self, Effort};
use super::{NAME, words};

/// The parts of an answer: something that waits,
const PENDING: &str = "pending";
/// what an earlier window of the effort left,
const PAYLOAD: &str = "payload";
/// or which teammates are idle.
const IDLE: &str = "idle";

/// How many are told at once.
const MAX_AT_ONCE: i64 = 4;

/// How much of a file is read: more than ever fits.
const MAX_READ: usize = 8 << 10;

/// The bytes that one event may tell. A session starts with the words of other features as well.
const ROOM: usize = 7_500;
pub(super) const ROOM_AT_START: usize = 6_500;

/// Everything that waits for the effort, for a window that may be told it.
pub(super) fn all(cx: &mut Cx<'_>, effort: &Effort, window: i64) -> Result<Vec<Wish>, DbError> {
    within(cx, effort, window, &mut { ROOM })
}

/// The same in limited room, which shrinks by what is told.
pub(super) fn within(
    cx: &mut Cx<'_>,
    effort: &Effort,
    window: i64,
    room: &mut usize,
) -> Result<Vec<Wish>, DbError> {
    let mut out: Vec<Wish> = Vec::new();
    if let Some(text) = payload(cx, effort, window) {
        let more = format!("substrate effort show {} --dehydrated", effort.id);
        let text = words::payload(effort, &text);
        *room = room.saturating_sub(text.len());
        out.push(told(PAYLOAD, effort.id, text, more));
    }
    for pending in messages::open(cx.db, effort.id, cx.now, MAX_AT_ONCE)? {
        out.push(wish(cx, effort.id, &pending, room));
    }
    Ok(with_receipt(out))
}

/// The idle teammates, for the main thread. It is told about them but never held for them.
pub(super) fn idle(window: &OpenWindow) -> Option<Wish> {
    let names: Vec<&str> = window.idle.lines().collect();
    let text = (!names.is_empty()).then(|| words::idle(&names))?;
    Some(told(IDLE, window.id, text, "substrate fleet".to_owned()))
}

/// Only the files that wait.
pub(super) fn files(cx: &mut Cx<'_>, effort: i64) -> Result<Vec<Wish>, DbError> {
    let open = messages::open(cx.db, effort, cx.now, MAX_AT_ONCE)?;
    let files = open.iter().filter(|pending| pending.kind == PendingKind::Preload);
    let mut room = ROOM;
    let wishes = files.map(|pending| wish(cx, effort, pending, &mut room)).collect();
    Ok(with_receipt(wishes))
}

/// The beginning of a file, without secrets. `None` for a file that is not text.
pub(super) fn text(cx: &Cx<'_>, path: &str) -> Option<Text> {
    let text = cx.real_file(path, MAX_READ).filter(|text| !is_binary(text))?;
    // The letter at the end of what was read may have gone.
    let is_whole = text.len() + char::MAX.len_utf8() <= MAX_READ;
    let shown = redacted(text, MAX_READ, names_dotenv(path)).into_owned();
    Some(Text { shown, is_whole })
}

/// What can be shown of a file.
pub(super) struct Text {
    pub(super) shown: String,
    /// However short it is without secrets: there may be more in the file.
    pub(super) is_whole: bool,
}

/// The paths of the files that wait for the effort.
pub(super) fn paths(cx: &mut Cx<'_>, effort: i64) -> Result<Vec<String>, DbError> {
    let open = messages::open(cx.db, effort, cx.now, MAX_AT_ONCE)?;
    let files = open.into_iter().filter(|pending| pending.kind == PendingKind::Preload);
    Ok(files.map(|pending| pending.body).collect())
}

/// Claims the parts that are in the answer. A part that was cut is told again, and then whole.
pub(super) fn claim(cx: &mut Cx<'_>, outcome: &Outcome) -> Result<(), DbError> {
    // A client may drop the context that goes with a refused call, so tell it again.
    if matches!(outcome.verdict.permission, Some(Permission::Deny { .. })) {
        return Ok(());
    }
    for part in outcome.told(NAME) {
        if part.what == PAYLOAD {
            messages::claim_payload(cx.db, part.id, outcome.request, cx.now)?;
        } else if part.what == IDLE {
            windows::idle_told(cx.db, part.id)?;
        } else {
            messages::claim(cx.db, part.id, outcome.request, cx.now)?;
        }
    }
    Ok(())
}

/// Settles the claims of an answer.
pub(super) fn printed(cx: &mut Cx<'_>, receipt: Receipt) -> Result<(), FeatureError> {
    if receipt.reached {
        messages::told(cx.db, receipt.request, cx.now)?;
    } else {
        messages::released(cx.db, receipt.request)?;
    }
    Ok(())
}

/// The whole effort that a window works on.
pub(super) fn effort(cx: &mut Cx<'_>, window: &OpenWindow) -> Result<Option<Effort>, DbError> {
    match &window.effort {
        Some(effort) => ops::one(cx.db, effort.id),
        None => Ok(None),
    }
}

/// What another window left, unless it was told or an answer carries it now.
fn payload(cx: &Cx<'_>, effort: &Effort, window: i64) -> Option<String> {
    let is_due = effort.payload_told.is_none()
        && effort.payload_by != Some(window)
        && !is_claimed(effort.payload_claimed, cx.now);
    effort.payload.clone().filter(|_| is_due)
}

fn wish(cx: &Cx<'_>, effort: i64, pending: &Pending, room: &mut usize) -> Wish {
    let file = match pending.kind {
        PendingKind::Preload => text(cx, &pending.body),
        PendingKind::Inject => None,
    };
    let text = words::pending(effort, pending, file.as_ref(), *room);
    *room = room.saturating_sub(text.len());
    told(PENDING, pending.id, text, format!("substrate effort show {effort}"))
}

/// A wish with one part.
fn told(what: &'static str, id: i64, text: String, more: String) -> Wish {
    let parts = vec![Part { what: what.into(), id, end: text.len() }];
    Wish::Context { text, more: Some(more), parts }
}

/// A few replacement characters are fine: the cut may have split a letter, or the file may have an old encoding.
fn is_binary(text: &str) -> bool {
    let n_odd = text.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count();
    text.contains('\0') || n_odd > 1 + text.len() / 32
}

fn with_receipt(mut wishes: Vec<Wish>) -> Vec<Wish> {
    if !wishes.is_empty() {
        wishes.push(Wish::Receipt);
    }
    wishes
}
