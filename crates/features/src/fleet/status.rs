//! What an event says about the status of its actor: a pure function, row by row.

use substrate_core::redact::redacted;
use substrate_core::text::one_line;
use substrate_core::verdict::Verdict;
use substrate_core::{Detail, Event, EventKind, StartSource, ToolCall};

use super::limits::LimitHit;

/// The status of an actor, from least to most important. Of several, the most important is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Status {
    Done,
    /// Done, or waiting for a person, and a person has looked.
    Checked,
    Working,
    /// A person is asked for something.
    Attention,
    Error,
}

impl Status {
    pub(super) const ALL: [Self; 5] =
        [Self::Error, Self::Attention, Self::Working, Self::Checked, Self::Done];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Checked => "checked",
            Self::Working => "working",
            Self::Attention => "attention",
            Self::Error => "error",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Its rank among the others, from 1.
    pub(super) const fn rank(self) -> u8 {
        self as u8 + 1
    }
}

/// What is known of an actor before an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatusBefore {
    /// As its events left it: never `Checked`.
    pub(super) status: Status,
    pub(super) is_checked: bool,
    /// The call that a person is asked about, as `call_key` says it; empty otherwise.
    pub(super) asks: String,
    /// In a few words.
    pub(super) why: String,
    /// For how long it has been so.
    pub(super) for_ms: i64,
}

/// What it is from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatusChange {
    pub(super) status: Status,
    /// In a few words; empty while it works.
    pub(super) why: String,
    pub(super) asks: String,
    /// The limit that ended its turn.
    pub(super) limit: Option<LimitHit>,
}

/// Hooks of parallel calls arrive within this time of each other.
const SIDE_BY_SIDE_MS: i64 = 1_000;

/// The reason of a failed turn begins with this. Any other error is a single failed call.
pub(super) const TURN_FAILED: &str = "the turn failed";

/// The reason of a turn that a person stopped begins with this.
pub(super) const INTERRUPTED: &str = "interrupted by a person";

/// Why an actor that has done nothing yet is done, by how its session began.
pub(super) const READY: [&str; 3] =
    ["ready for a first prompt", "resumed, ready for a prompt", "cleared, ready for a prompt"];

/// The longest reason that is kept, in characters.
const MAX_WHY: usize = 160;

/// The client has waited a minute for the next prompt.
pub(super) const IDLE_PROMPT: &str = "idle_prompt";

/// Whether an event of that kind can change anything: the others are not looked at.
pub(super) const fn matters(kind: EventKind) -> bool {
    use EventKind as K;
    matches!(
        kind,
        K::UserPromptSubmit
            | K::PreToolUse
            | K::PostToolUse
            | K::PostToolUseFailure
            | K::PermissionRequest
            | K::PermissionDenied
            | K::Notification
            | K::Elicitation
            | K::ElicitationResult
            | K::SessionStart
            | K::SessionEnd
            | K::Stop
            | K::StopFailure
            | K::SubagentStart
            | K::SubagentStop
            | K::TeammateIdle
    )
}

/// What the event makes of its actor. `None` if it says nothing about it.
pub(super) fn next(
    before: Option<&StatusBefore>,
    event: &Event,
    verdict: &Verdict,
) -> Option<StatusChange> {
    use EventKind as K;
    match (event.kind, &event.detail) {
        // A refused prompt never reached the agent.
        (K::UserPromptSubmit, _) if verdict.block.is_some() => None,
        (K::UserPromptSubmit | K::SubagentStart | K::ElicitationResult, _) => Some(working()),
        // The client itself refused a call. A person who watches may want to know.
        (K::PermissionDenied, Detail::ToolFailed { call, error, .. })
            if event.attended != Some(false) =>
        {
            let what = call_words(call);
            Some(be(Status::Attention, &format!("was refused {what}: {error}")))
        }
        (K::PermissionDenied, _) => Some(working()),
        (K::PreToolUse | K::PostToolUse, _) => match before {
            // Another call goes on beside the one that a dialog is about.
            Some(before) if is_still_asked(before, event) => None,
            _ => Some(working()),
        },
        (K::PostToolUseFailure, Detail::ToolFailed { call, error, interrupted, .. }) => {
            // A person who interrupts a call knows why it ended: nothing is wrong or asked.
            if *interrupted {
                return Some(be(Status::Done, INTERRUPTED));
            }
            let (name, error) = (said(&call.name, 60), said(error, MAX_WHY));
            Some(be(Status::Error, &format!("{name} failed: {error}")))
        }
        (K::StopFailure, Detail::StopFailure { error, last_message }) => {
            let words = last_message.as_deref().unwrap_or_default();
            let words = if words.is_empty() { String::new() } else { format!(": {words}") };
            Some(be(Status::Error, &format!("{TURN_FAILED}, {error}{words}")))
        }
        // Answered at once, or by the user outside the client: no dialog is open any more.
        (K::PermissionRequest, _) if verdict.permission.is_some() => Some(working()),
        // The same request, considered again: what ended its dialog has been told by other events.
        (K::PermissionRequest, _) if event.waiting_since.is_some() => None,
        // Unattended, a call that needs permission is refused and the agent goes on.
        (K::PermissionRequest, _) if event.attended == Some(false) => None,
        (K::PermissionRequest, Detail::ToolBefore { call }) => Some(StatusChange {
            asks: call_key(call),
            ..be(Status::Attention, &format!("asks for permission: {}", call_words(call)))
        }),
        (K::PermissionRequest, _) => Some(be(Status::Attention, "asks for permission")),
        (K::Elicitation, Detail::Because { word }) => {
            Some(be(Status::Attention, &format!("{word} asks for something")))
        }
        (K::Elicitation, _) => Some(be(Status::Attention, "asks for something")),
        (K::Notification, Detail::Notification { kind, message }) => {
            notified(before, kind, message)
        }
        (K::SessionStart, Detail::SessionStart { source: StartSource::Compact, .. }) => None,
        (K::SessionStart, Detail::SessionStart { source, .. }) => {
            Some(be(Status::Done, ready(*source)))
        }
        (K::SessionStart, _) => Some(be(Status::Done, READY[0])),
        (K::SessionEnd, _) => Some(be(Status::Done, "session ended")),
        (K::Stop | K::SubagentStop, detail) => stopped(before, event, detail, verdict),
        (K::TeammateIdle, _) if verdict.block.is_some() => Some(working()),
        (K::TeammateIdle, _) => Some(be(Status::Done, "idle")),
        _ => None,
    }
}

/// A refused stop does not count. One that waits for mail counts as done.
fn stopped(
    before: Option<&StatusBefore>,
    event: &Event,
    detail: &Detail,
    verdict: &Verdict,
) -> Option<StatusChange> {
    if verdict.block.is_some() {
        return Some(working());
    }
    let was_done = before.is_some_and(|before| before.status == Status::Done);
    if was_done && event.waiting_since.is_some() {
        return None;
    }
    let Detail::Stop { last_message, n_background_tasks, .. } = detail else {
        return Some(be(Status::Done, ""));
    };
    Some(match n_background_tasks {
        0 => be(Status::Done, last_message.as_deref().unwrap_or_default()),
        1 => be(Status::Done, "1 background task is running"),
        n => be(Status::Done, &format!("{n} background tasks are running")),
    })
}

const fn ready(source: StartSource) -> &'static str {
    match source {
        StartSource::Resume => READY[1],
        StartSource::Clear => READY[2],
        StartSource::Startup | StartSource::Fork | StartSource::Compact | StartSource::Other => {
            READY[0]
        }
    }
}

/// The client asks for a person. It says so with a delay, and it is not news to a person who has already looked.
fn notified(before: Option<&StatusBefore>, kind: &str, message: &str) -> Option<StatusChange> {
    let asks = matches!(kind, "permission_prompt" | IDLE_PROMPT | "agent_needs_input")
        || (kind.starts_with("elicitation") && kind != "elicitation_response");
    let is_known =
        before.is_some_and(|before| before.is_checked || before.status == Status::Attention);
    // A failed turn also waits for a person, but "error" says more.
    let is_worse = before.is_some_and(|before| before.status == Status::Error);
    (asks && !is_known && !is_worse).then(|| be(Status::Attention, message))
}

/// Whether a dialog about another call than the event's is open. The client reports no end of a dialog but the end of
/// its call; a call that begins later shows that it is over.
fn is_still_asked(before: &StatusBefore, event: &Event) -> bool {
    if before.status != Status::Attention || before.asks.is_empty() {
        return false;
    }
    let Some(call) = event.tool() else { return false };
    let is_it = call_key(call) == before.asks;
    !is_it && (event.kind == EventKind::PostToolUse || before.for_ms < SIDE_BY_SIDE_MS)
}

/// The key of a call. A permission request has no id, and its input may be completed later.
fn call_key(call: &ToolCall) -> String {
    let what = call.command.clone().unwrap_or_else(|| call.files.join(" "));
    let sum = substrate_core::ids::checksum(&what);
    format!("{} {}", one_line(&call.name, 60), &sum[..16])
}

fn call_words(call: &ToolCall) -> String {
    let what = call.command.as_deref().or(call.files.first().map(String::as_str));
    what.map_or_else(|| call.name.clone(), |what| format!("{} {what}", call.name))
}

/// The same for a turn that a limit has ended. Some clients report such a turn like any other.
pub(super) fn limited(next: StatusChange, hit: Option<LimitHit>) -> StatusChange {
    if hit.is_none() || next.status == Status::Working {
        return next;
    }
    let why = match next.status {
        Status::Error => next.why,
        _ => said(&format!("{TURN_FAILED}: {}", next.why), MAX_WHY),
    };
    StatusChange { status: Status::Error, why, limit: hit, ..next }
}

pub(super) fn working() -> StatusChange {
    StatusChange { status: Status::Working, why: String::new(), asks: String::new(), limit: None }
}

pub(super) fn be(status: Status, why: &str) -> StatusChange {
    StatusChange { status, why: said(why, MAX_WHY), asks: String::new(), limit: None }
}

/// Text from outside as it is kept: one line, without secrets.
fn said(text: &str, max: usize) -> String {
    one_line(&redacted(text, 4 * max, false), max)
}
