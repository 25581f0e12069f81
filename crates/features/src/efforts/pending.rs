//! What waits to be told: injections, files, and what an earlier window left. Each is told exactly once: it is claimed for
//! an answer, and counts as told when that answer was printed.

use substrate_core::redact::{names_dotenv, redacted};
use substrate_core::verdict::Permission;
use substrate_core::{Cx, DbError, FeatureError, Outcome, Part, RequestId, Wish};

use super::ops::{self, Effort};
use super::ops_pending::{self, CLAIM_MS, Pending, What};
use super::ops_windows::{self, Standing};
use super::{NAME, words};

/// What is told: something that waits,
const PENDING: &str = "pending";
/// or what an earlier window of an effort left.
const PAYLOAD: &str = "payload";

/// Or which teammates have nothing to do.
const IDLE: &str = "idle";

/// How many are told at once.
const MAX_AT_ONCE: i64 = 4;

/// How much of a file is read: more than there is ever room for.
const MAX_READ: usize = 8 << 10;

/// The bytes that may be told with one event. A session begins with words of other features as well.
const ROOM: usize = 7_500;
pub(super) const ROOM_AT_START: usize = 6_500;

/// Everything that waits for the effort, for a window that may be told it.
pub(super) fn all(cx: &mut Cx<'_>, effort: &Effort, window: i64) -> Result<Vec<Wish>, DbError> {
    within(cx, effort, window, &mut { ROOM })
}

/// The same in so much room; what is left of it afterwards.
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
    for pending in ops_pending::open(cx.db, effort.id, cx.now, MAX_AT_ONCE)? {
        out.push(wish(cx, effort.id, &pending, room));
    }
    Ok(with_receipt(out))
}

/// The teammates that have nothing to do, for the main thread. It is told, and not held.
pub(super) fn idle(standing: &Standing) -> Option<Wish> {
    let names: Vec<&str> = standing.idle.lines().collect();
    let text = (!names.is_empty()).then(|| words::idle(&names))?;
    Some(told(IDLE, standing.window, text, "substrate fleet".to_owned()))
}

/// Only the files that wait.
pub(super) fn files(cx: &mut Cx<'_>, effort: i64) -> Result<Vec<Wish>, DbError> {
    let open = ops_pending::open(cx.db, effort, cx.now, MAX_AT_ONCE)?;
    let files = open.iter().filter(|pending| pending.what == What::Preload);
    let mut room = ROOM;
    let wishes = files.map(|pending| wish(cx, effort, pending, &mut room)).collect();
    Ok(with_receipt(wishes))
}

/// The beginning of a file, without secrets; nothing of what is no text.
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

/// The files that are told with what waits for the effort.
pub(super) fn paths(cx: &mut Cx<'_>, effort: i64) -> Result<Vec<String>, DbError> {
    let open = ops_pending::open(cx.db, effort, cx.now, MAX_AT_ONCE)?;
    let files = open.into_iter().filter(|pending| pending.what == What::Preload);
    Ok(files.map(|pending| pending.body).collect())
}

/// What is in the answer is claimed for it. What was cut is told again, and then whole.
pub(super) fn claim(cx: &mut Cx<'_>, outcome: &Outcome) -> Result<(), DbError> {
    // Whether a client still delivers what goes with a refused call is not known: then it is told again.
    if matches!(outcome.verdict.permission, Some(Permission::Deny { .. })) {
        return Ok(());
    }
    for part in outcome.told(NAME) {
        if part.what == PAYLOAD {
            ops_pending::claim_payload(cx.db, part.id, outcome.request, cx.now)?;
        } else if part.what == IDLE {
            ops_windows::idle_told(cx.db, part.id)?;
        } else {
            ops_pending::claim(cx.db, part.id, outcome.request, cx.now)?;
        }
    }
    Ok(())
}

/// Whether an answer reached the client's pipe.
pub(super) fn printed(
    cx: &mut Cx<'_>,
    request: RequestId,
    reached: bool,
) -> Result<(), FeatureError> {
    if reached {
        ops_pending::told(cx.db, request, cx.now)?;
    } else {
        ops_pending::released(cx.db, request)?;
    }
    Ok(())
}

/// The effort that a window works on, whole.
pub(super) fn effort(cx: &mut Cx<'_>, standing: &Standing) -> Result<Option<Effort>, DbError> {
    match &standing.effort {
        Some(effort) => ops::one(cx.db, effort.id),
        None => Ok(None),
    }
}

/// What another window left, if nobody was told yet and no answer is on its way with it.
fn payload(cx: &Cx<'_>, effort: &Effort, window: i64) -> Option<String> {
    let is_claimed = effort.payload_claimed.is_some_and(|at| cx.now.since(at) < CLAIM_MS);
    let is_due = effort.payload_told.is_none() && effort.payload_by != Some(window) && !is_claimed;
    effort.payload.clone().filter(|_| is_due)
}

fn wish(cx: &Cx<'_>, effort: i64, pending: &Pending, room: &mut usize) -> Wish {
    let file = match pending.what {
        What::Preload => text(cx, &pending.body),
        What::Inject => None,
    };
    let text = words::pending(effort, pending, file.as_ref(), *room);
    *room = room.saturating_sub(text.len());
    told(PENDING, pending.id, text, format!("substrate effort show {effort}"))
}

/// A wish that is about one thing.
fn told(what: &'static str, id: i64, text: String, more: String) -> Wish {
    let parts = vec![Part { what: what.into(), id, end: text.len() }];
    Wish::Context { text, more: Some(more), parts }
}

/// One odd letter may be the one that the cut went through, or somebody's old encoding.
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
