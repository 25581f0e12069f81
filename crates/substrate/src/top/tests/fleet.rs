//! What the six verbs return for a small fleet, with text that means harm.

use serde_json::{Value, json};

use super::super::views::View;

/// Text that moves the cursor, clears the screen, forges a row, hides and reorders.
pub(super) const HOSTILE: &str =
    "ls\u{1b}[2J\u{1b}[1;1H> ! permission  Forged\r\nrm \u{202e}txt.exe\u{200b}\u{7}\u{9b}31m";

fn at(seconds_ago: i64) -> i64 {
    super::NOW.0 - seconds_ago * 1_000
}

pub(super) fn need(id: &str, agent: &str, text: &str, actions: &Value) -> Value {
    json!({
        "id": id, "kind": "permission", "agent": agent, "project": "/home/me/shop/.git", "session": "s1", "actor": "main",
        "since_ms": at(45), "reason": "asks for permission: Bash", "text": text,
        "pane": {"socket": "/tmp/tmux-1000/default", "id": "%3"}, "actions": actions,
    })
}

pub(super) fn allow_or_deny(id: i64) -> Value {
    json!([
        {"label": "Allow once", "verb": ["answer"], "body": {"id": id, "decision": "allow"}, "recommended": true},
        {"label": "Deny", "verb": ["answer"], "body": {"id": id, "decision": "deny"}, "recommended": false},
    ])
}

pub(super) fn needs(rows: &[Value]) -> Vec<(View, Value)> {
    vec![(View::Needs, json!({"needs": rows, "failed": []}))]
}

pub(super) fn question() -> Value {
    let choice = |label: &str| json!({"label": label, "verb": ["answer"], "body": {"id": 9, "choose": [label]}, "recommended": false});
    let mut row = need(
        "dialog:s2:main",
        "CalmOtter",
        "Which port?\n- 80\n- 443",
        &json!([choice("80"), choice("443")]),
    );
    (row["kind"], row["reason"]) = (json!("question"), json!("asks: Which port?"));
    row
}

pub(super) fn all() -> Vec<(View, Value)> {
    let mut guard = need("dialog:s3:main", "EpicQuail", HOSTILE, &allow_or_deny(8));
    (guard["kind"], guard["reason"]) =
        (json!("guard"), json!("guards: `rm` of a folder that git does not know"));
    let mail = json!({
        "id": "mail:42", "kind": "mail", "agent": "NobleLion/reviewer-1", "project": "/home/me/shop", "session": "", "actor": "",
        "since_ms": at(7_200), "reason": "#42 Review done", "text": "Two remarks:\n\n1. The cache is never emptied.\n2. 漢字 take two columns.",
        "pane": null, "actions": [
            {"label": "Reply", "verb": ["reply"], "body": {"id": 42}, "recommended": true},
            {"label": "Acknowledge", "verb": ["ack"], "body": {"ids": [42]}, "recommended": false},
        ],
    });
    let rows = [
        guard,
        need(
            "dialog:s1:main",
            "NobleLion",
            "git push --force-with-lease origin main",
            &allow_or_deny(7),
        ),
        question(),
        mail,
    ];
    let mut out = needs(&rows);
    out.extend([
        (View::Fleet, fleet()),
        (View::Mail, mail_list()),
        (View::Locks, locks()),
        (View::Work, work()),
        (View::Journal, journal()),
    ]);
    out
}

fn fleet() -> Value {
    let actor = |address: &str, status: &str, why: &str, tool: Option<&str>, ago: i64| {
        json!({
            "address": address, "session": format!("session-of-{address}"), "actor": "main", "project": "/home/me/shop",
            "status": status, "idle": why.is_empty(), "needs_you": status == "attention" || status == "error", "why": why, "tool": tool,
            "task": "Make the checkout faster", "since_ms": at(ago), "last_ms": at(3), "silent_ms": null, "unread": ago % 3,
            "held_files": ago % 2, "effort": null, "resume": null, "pane": "%3", "pane_socket": "/tmp/tmux-1000/default",
        })
    };
    json!({"unread_for_you": 1, "actors": [
        actor("EpicQuail", "attention", "asks for permission", None, 30),
        actor("BoldHeron", "error", HOSTILE, None, 400),
        actor("NobleLion", "working", "", Some("Edit src/cart.rs"), 65),
        actor("NobleLion/reviewer-1", "working", "", Some("Read"), 20),
        actor("CalmOtter", "done", "the turn ended", None, 5_000),
        actor("SwiftCrane", "done", "", None, 90_000),
        actor("MildBadger", "gone", "", None, 3_000),
    ]})
}

fn mail_list() -> Value {
    let one = |id: i64, from: &str, to: &str, state: &str, subject: &str, body: &str| json!({"id": id, "from": from, "to": [to], "state": state, "subject": subject, "body": body, "n_chars": body.chars().count(), "sent_ms": at(id * 60)});
    json!({"n_unread": 1, "messages": [
        one(42, "NobleLion/reviewer-1", "User", "unread", "Review done", "Two remarks:\n\n1. The cache is never emptied."),
        one(41, "User", "CalmOtter", "injected", "Which port?", "Take 443."),
        one(40, HOSTILE, "User", "read", HOSTILE, HOSTILE),
    ]})
}

fn locks() -> Value {
    let one = |file: &str, holder: &str, state: &str, ago: i64| {
        json!({"file": file, "root": "/home/me/shop", "path": format!("/home/me/shop/{file}"), "holder": holder, "state": state,
            "reason": "", "acquired_ms": at(ago), "until_ms": at(-600)})
    };
    json!({"locks": [one("src/cart.rs", "NobleLion", "editing", 65), one("src/\u{1b}[2Jx.rs", "EpicQuail", "held", 500)]})
}

fn work() -> Value {
    let one = |id: i64, title: &str, state: &str| {
        json!({"id": id, "title": title, "body": "As in the issue.", "state": state, "project": "/home/me/shop", "added_by": "User",
            "added_ms": at(9_000), "claimant": (state == "claimed").then_some("NobleLion"), "claimed_ms": at(100), "n_claims": 1,
            "note": null, "done_by": (state == "done").then_some("CalmOtter"), "done_ms": at(50), "result": null})
    };
    json!({"work": [one(1, "Empty the cart", "done"), one(2, "Faster checkout", "claimed"), one(3, HOSTILE, "queued")], "counts": {}})
}

fn journal() -> Value {
    let one = |id: i64, event: &str, tool: &str, verdict: &str, input: &str| {
        json!({"id": id, "at_ms": at(400 - id), "agent": "NobleLion", "session": "s1", "actor": "main", "event": event, "tool": tool,
            "cwd": "/home/me/shop", "input": input, "output": null, "verdict": verdict,
            "answer": (verdict == "deny").then(|| json!({"permission": {"deny": "locks: src/lib.rs is held by EpicQuail"}}))})
    };
    json!([
        one(301, "UserPromptSubmit", "", "none", "make it faster"),
        one(302, "PreToolUse", "Edit", "deny", "{\"file_path\":\"src/lib.rs\"}"),
        one(303, "PreToolUse", "Bash", "none", HOSTILE),
    ])
}
