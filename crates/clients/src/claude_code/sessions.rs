//! What the client shows of its sessions where it sends no event: after Esc, Ctrl+C and a dialog that is refused.
//!
//! `<config>/sessions/<pid>.json` says what each running process does. It is written in place, so it may not parse for a
//! moment. Beside it lies a secret of the client (`<pid>.<hash>.key`), which is never opened. Transcripts say less, and
//! later: they serve only clients that have no such file.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use substrate_core::{Activity, Dialog, SafeId, Timestamp};

use crate::{SessionFile, SessionFiles};

pub(super) const FILES: SessionFiles = SessionFiles { folder: "sessions", pid, read };

/// The file as the client writes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    pid: u32,
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow, default)]
    cwd: Cow<'a, str>,
    /// Ticks since the machine started, as text.
    proc_start: Option<Value>,
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
    #[serde(borrow)]
    waiting_for: Option<Cow<'a, str>>,
    started_at: Option<i64>,
    updated_at: Option<i64>,
    status_updated_at: Option<i64>,
}

/// `4446.json`
fn pid(name: &str) -> Option<u32> {
    let digits = name.strip_suffix(".json")?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

fn read(bytes: &[u8]) -> Option<SessionFile> {
    let wire: Wire<'_> = serde_json::from_slice(bytes).ok()?;
    let since = wire.status_updated_at.or(wire.updated_at).or(wire.started_at);
    Some(SessionFile {
        pid: wire.pid,
        began: wire.proc_start.as_ref().and_then(whole),
        session: SafeId::new(&wire.session_id)?,
        cwd: wire.cwd.into_owned(),
        activity: wire.status.and_then(|status| activity(&status, wire.waiting_for.as_deref())),
        since: Timestamp(since.unwrap_or_default()),
    })
}

fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

fn activity(status: &str, waiting_for: Option<&str>) -> Option<Activity> {
    Some(match status {
        "idle" => Activity::Idle { in_background: false },
        "shell" => Activity::Idle { in_background: true },
        "busy" => Activity::Working,
        "waiting" => Activity::Asking(match waiting_for {
            Some("permission prompt") => Dialog::Permission,
            Some("input needed") => Dialog::Input,
            Some("dialog open") => Dialog::Menu,
            _ => Dialog::Other,
        }),
        _ => return None,
    })
}

/// One line of a transcript.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<Value>,
}

/// What the client writes as the person's words when its turn was interrupted.
const INTERRUPTED: [&str; 2] =
    ["[Request interrupted by user]", "[Request interrupted by user for tool use]"];

/// The last word of the conversation decides. Lines of other kinds are not part of it.
pub(super) fn was_interrupted(tail: &[u8]) -> bool {
    let lines = tail.rsplit(|byte| *byte == b'\n');
    let mut lines = lines.filter_map(|line| serde_json::from_slice::<Line<'_>>(line).ok());
    let last = lines.find(|line| matches!(&*line.kind, "user" | "assistant"));
    let Some(Line { kind, message: Some(Message { content: Some(content) }) }) = last else {
        return false;
    };
    let text = content[0]["text"].as_str().unwrap_or_default();
    kind == "user" && INTERRUPTED.contains(&text)
}
