//! What waits for the user. Every surface that says "needs you" shows this one list: `substrate needs`, the overview,
//! the page, the terminal and notifications.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::Pane;
use crate::feature::{Cx, FeatureError};

/// The rows of one feature.
pub type NeedsYou = fn(&mut Cx<'_>) -> Result<Vec<UserNeed>, FeatureError>;

/// One thing that waits for the user. It is there as long as its cause is, and nothing is stored for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserNeed {
    /// The same as long as the same thing waits, e.g. `mail:42`. See `dialog_id`.
    pub id: String,
    pub kind: NeedKind,
    /// The agent that it is about, as mail is addressed; empty where it is about none.
    pub agent: String,
    pub project: String,
    pub session: String,
    pub actor: String,
    pub since_ms: i64,
    /// One line.
    pub reason: String,
    /// The whole command, question or message. Never cut: a user decides only about what is shown.
    pub text: String,
    /// The text is exactly what the actions decide about. Other features only know what was kept of it.
    #[serde(skip)]
    pub is_whole: bool,
    /// Where the agent's terminal is.
    pub pane: Option<PaneView>,
    pub actions: Vec<Action>,
}

impl UserNeed {
    /// A row about nothing yet.
    pub fn new(id: String, kind: NeedKind) -> Self {
        Self {
            id,
            kind,
            agent: String::new(),
            project: String::new(),
            session: String::new(),
            actor: String::new(),
            since_ms: 0,
            reason: String::new(),
            text: String::new(),
            is_whole: false,
            pane: None,
            actions: Vec::new(),
        }
    }
}

/// What kind of thing waits. Kinds come in the order of urgency: an agent that can't go on comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NeedKind {
    /// A rule put a call to the user.
    Guard,
    /// The client asks for permission.
    Permission,
    /// An agent asks something.
    Question,
    /// A turn failed, or an agent is stuck.
    Error,
    /// A rate limit, or a full context, ended a turn.
    Limit,
    /// A client is gone, and its work is not finished.
    Dead,
    /// A message was not acknowledged in time.
    Deadline,
    /// Unread mail to the user.
    Mail,
    /// An agent waits for its next prompt.
    Idle,
}

impl NeedKind {
    pub const ALL: [Self; 9] = [
        Self::Guard,
        Self::Permission,
        Self::Question,
        Self::Error,
        Self::Limit,
        Self::Dead,
        Self::Deadline,
        Self::Mail,
        Self::Idle,
    ];

    /// As people read it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Guard => "guard",
            Self::Permission => "permission",
            Self::Question => "question",
            Self::Error => "error",
            Self::Limit => "limit",
            Self::Dead => "gone",
            Self::Deadline => "deadline",
            Self::Mail => "mail",
            Self::Idle => "idle",
        }
    }
}

/// A pane of a terminal multiplexer, for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaneView {
    pub socket: String,
    pub id: String,
}

impl From<Pane> for PaneView {
    fn from(pane: Pane) -> Self {
        Self { socket: pane.socket, id: pane.id }
    }
}

/// What the user can do about it: a verb and its body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    pub label: String,
    /// The words of the verb.
    pub verb: Vec<String>,
    pub body: Value,
    /// The answer that we would give. At most one of a row's actions is.
    pub recommended: bool,
}

impl Action {
    pub fn new(label: &str, verb: &[&str], body: Value) -> Self {
        let verb = verb.iter().map(|word| (*word).to_owned()).collect();
        Self { label: label.to_owned(), verb, body, recommended: false }
    }

    #[must_use]
    pub fn recommended(self) -> Self {
        Self { recommended: true, ..self }
    }
}

/// The id of an actor's open dialog. Two features may know of one dialog: the one that sees its status, and the one that
/// can answer it. Their rows share this id and become one.
pub fn dialog_id(session: &str, actor: &str) -> String {
    format!("dialog:{session}:{actor}")
}

/// One list: rows with the same id are one row, and the most urgent comes first, then the longest wait. Of two rows with
/// the same id, the kind, reason and text of the more urgent one count; the actions add up.
pub fn merged(rows: Vec<UserNeed>) -> Vec<UserNeed> {
    let mut out: Vec<UserNeed> = Vec::new();
    for row in rows {
        match out.iter_mut().find(|known| known.id == row.id) {
            Some(known) => join(known, row),
            None => out.push(row),
        }
    }
    // Where a rule objects, "no" is the answer that we would give.
    for row in out.iter_mut().filter(|row| row.kind == NeedKind::Guard) {
        for action in &mut row.actions {
            action.recommended = action.body["decision"] == "deny";
        }
    }
    out.sort_by_key(|row| (row.kind, row.since_ms));
    out
}

fn join(known: &mut UserNeed, row: UserNeed) {
    let UserNeed { kind, reason, text, is_whole, pane, actions, since_ms, .. } = row;
    if kind < known.kind {
        (known.kind, known.reason) = (kind, reason);
    }
    if is_whole || (!known.is_whole && text.len() > known.text.len()) {
        (known.text, known.is_whole) = (text, is_whole);
    }
    known.since_ms = known.since_ms.min(since_ms);
    known.pane = known.pane.take().or(pane);
    for action in actions {
        let is_known = |other: &Action| other.verb == action.verb && other.body == action.body;
        if !known.actions.iter().any(is_known) {
            let has_one = known.actions.iter().any(|other| other.recommended);
            let recommended = action.recommended && !has_one;
            known.actions.push(Action { recommended, ..action });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(id: &str, kind: NeedKind, since_ms: i64) -> UserNeed {
        UserNeed {
            id: id.to_owned(),
            kind,
            agent: "NobleLion".to_owned(),
            project: "/repo".to_owned(),
            session: "lion".to_owned(),
            actor: "main".to_owned(),
            since_ms,
            reason: format!("{kind:?}"),
            text: String::new(),
            is_whole: false,
            pane: None,
            actions: Vec::new(),
        }
    }

    #[test]
    fn the_most_urgent_comes_first_and_then_the_longest_wait() {
        let rows = vec![
            row("a", NeedKind::Mail, 1),
            row("b", NeedKind::Permission, 9),
            row("c", NeedKind::Permission, 5),
            row("d", NeedKind::Idle, 0),
            row("e", NeedKind::Guard, 9),
        ];
        let ids: Vec<String> = merged(rows).into_iter().map(|row| row.id).collect();
        assert_eq!(ids, ["e", "c", "b", "a", "d"]);
    }

    #[test]
    fn two_rows_about_one_dialog_are_one_with_the_actions_of_both() {
        let check = || Action::new("Seen", &["fleet", "check"], json!({}));
        let id = dialog_id("lion", "main");
        let mut status = row(&id, NeedKind::Guard, 7);
        "something longer that was asked at another time".clone_into(&mut status.text);
        status.actions = vec![check()];
        let mut answer = row(&id, NeedKind::Permission, 5);
        "rm -rf build && make".clone_into(&mut answer.text);
        answer.is_whole = true;
        let allow = Action::new("Allow", &["answer"], json!({"decision": "allow"})).recommended();
        let deny = Action::new("Deny", &["answer"], json!({"decision": "deny"}));
        answer.actions = vec![allow, deny, check()];
        let all = merged(vec![status, answer]);
        assert_eq!(all.len(), 1);
        let one = &all[0];
        assert_eq!((one.kind, one.since_ms), (NeedKind::Guard, 5));
        assert_eq!((one.reason.as_str(), one.text.as_str()), ("Guard", "rm -rf build && make"));
        let labels: Vec<(&str, bool)> =
            one.actions.iter().map(|action| (action.label.as_str(), action.recommended)).collect();
        assert_eq!(labels, [("Seen", false), ("Allow", false), ("Deny", true)], "a rule objects");
    }

    #[test]
    fn a_kind_is_named_once() {
        let mut names: Vec<&str> = NeedKind::ALL.iter().map(|kind| kind.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), NeedKind::ALL.len());
        assert!(NeedKind::ALL.is_sorted());
    }
}
