//! From what read verbs return to rows. All text of others becomes visible here, once.

use std::fmt::Write as _;

use serde_json::{Value, json};
use substrate_core::need::{Action, NeedKind, PaneView, UserNeed};
use substrate_core::text::{visible, visible_line};

use super::views::View;

/// One line of a view, and everything about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row {
    /// The same as long as it is the same thing.
    pub(super) id: String,
    /// One per column of the view.
    pub(super) cells: Vec<Cell>,
    /// What the detail says above the text.
    pub(super) facts: Vec<(&'static str, Cell)>,
    /// The whole text.
    pub(super) text: String,
    pub(super) actions: Vec<Action>,
    pub(super) pane: Option<PaneView>,
    /// Whom a message goes to.
    pub(super) to: Option<String>,
    /// The message that is replied to.
    pub(super) message: Option<i64>,
}

/// What stands in a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    Text(String),
    /// A word that means a state.
    State(Tone, String),
    /// How long ago that was.
    Since(i64),
    /// How long until then.
    Until(i64),
    /// The time of day.
    Clock(i64),
}

/// What a state means. Each has a sign and a colour, so that colour alone says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Waits,
    Wrong,
    Works,
    Done,
    Quiet,
}

impl Tone {
    pub(super) const fn sign(self) -> char {
        match self {
            Self::Waits => '!',
            Self::Wrong => 'x',
            Self::Works => '*',
            Self::Done => '+',
            Self::Quiet => '-',
        }
    }
}

impl Row {
    /// Everything in it that can be searched, in lower case.
    pub(super) fn words(&self) -> String {
        let mut out = String::new();
        for cell in self.cells.iter().chain(self.facts.iter().map(|(_, cell)| cell)) {
            if let Cell::Text(text) | Cell::State(_, text) = cell {
                out.push_str(text);
                out.push('\n');
            }
        }
        out.push_str(&self.text);
        out.to_lowercase()
    }

    /// The action with that decision.
    pub(super) fn decides(&self, decision: &str) -> Option<&Action> {
        self.actions
            .iter()
            .find(|action| action.verb == ["answer"] && action.body["decision"] == decision)
    }
}

/// The rows of a view.
pub(super) fn of(view: View, json: &Value) -> Vec<Row> {
    let list = |name: &str| json[name].as_array().into_iter().flatten();
    match view {
        View::Needs => list("needs").filter_map(need).collect(),
        View::Fleet => list("actors").map(actor).collect(),
        View::Mail => list("messages").map(message).collect(),
        View::Locks => list("locks").map(lock).collect(),
        View::Work => list("work").rev().map(item).collect(),
        View::Journal => json.as_array().into_iter().flatten().rev().map(entry).collect(),
    }
}

/// The rows of what was found for a view, in its columns.
pub(super) fn found(view: View, json: &Value) -> Vec<Row> {
    let hits = json["hits"].as_array().into_iter().flatten().enumerate();
    hits.map(|(n, value)| hit(view, n, value)).collect()
}

fn text(value: &Value) -> String {
    visible_line(value.as_str().unwrap_or_default())
}

fn cell(value: &Value) -> Cell {
    Cell::Text(text(value))
}

fn whole(value: &Value) -> String {
    visible(value.as_str().unwrap_or_default())
}

fn ms(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

/// The last folder of a project's path.
fn project(value: &Value) -> Cell {
    let path = value.as_str().unwrap_or_default().trim_end_matches("/.git");
    Cell::Text(visible_line(path.rsplit('/').next().unwrap_or_default()))
}

/// An address that mail goes to.
fn address(value: &Value) -> Option<String> {
    value.as_str().filter(|name| !name.is_empty()).map(str::to_owned)
}

fn need(value: &Value) -> Option<Row> {
    let need: UserNeed = serde_json::from_value(value.clone()).ok()?;
    let tone = match need.kind {
        NeedKind::Error | NeedKind::Limit | NeedKind::Dead | NeedKind::Guard => Tone::Wrong,
        NeedKind::Permission | NeedKind::Question | NeedKind::Deadline => Tone::Waits,
        NeedKind::Mail | NeedKind::Idle => Tone::Quiet,
    };
    let is_reply = |action: &&Action| action.verb == ["reply"];
    let message = need.actions.iter().find(is_reply).and_then(|action| action.body["id"].as_i64());
    Some(Row {
        cells: vec![
            Cell::State(tone, need.kind.name().to_owned()),
            cell(&value["agent"]),
            Cell::Since(need.since_ms),
            project(&value["project"]),
            cell(&value["reason"]),
        ],
        facts: vec![
            ("agent", cell(&value["agent"])),
            ("project", cell(&value["project"])),
            ("why", cell(&value["reason"])),
        ],
        text: visible(&need.text),
        to: address(&value["agent"]),
        message,
        pane: need.pane,
        // A reply has a key of its own.
        actions: need.actions.into_iter().filter(|action| !is_reply(&action)).collect(),
        id: need.id,
    })
}

fn actor(value: &Value) -> Row {
    let word = value["status"].as_str().unwrap_or_default();
    let (tone, word) = match word {
        "error" => (Tone::Wrong, word),
        "attention" => (Tone::Waits, word),
        "working" => (Tone::Works, word),
        "done" if value["idle"] == true => (Tone::Quiet, "idle"),
        "done" | "checked" => (Tone::Done, word),
        _ => (Tone::Quiet, word),
    };
    let doing = ["tool", "why", "task"].map(|name| text(&value[name]));
    let doing = doing.into_iter().find(|words| !words.is_empty()).unwrap_or_default();
    let count = |name: &str| match ms(&value[name]) {
        0 => Cell::Text(String::new()),
        n => Cell::Text(n.to_string()),
    };
    let effort = &value["effort"];
    let effort = [text(&effort["skill"]), text(&effort["phase"])].join(" ");
    let seen =
        Action::new("Mark as seen", &["fleet", "check"], json!({"names": [value["address"]]}));
    let mut facts = vec![
        ("agent", cell(&value["address"])),
        ("project", cell(&value["project"])),
        ("session", cell(&value["session"])),
        ("status", Cell::State(tone, visible_line(word))),
        ("why", cell(&value["why"])),
        ("tool", cell(&value["tool"])),
        ("effort", Cell::Text(effort.trim().to_owned())),
        ("resume", cell(&value["resume"])),
    ];
    if ms(&value["silent_ms"]) > 0 {
        facts.push(("last seen", Cell::Since(ms(&value["last_ms"]))));
    }
    Row {
        id: format!("{} {}", text(&value["session"]), text(&value["actor"])),
        cells: vec![
            Cell::State(tone, visible_line(word)),
            cell(&value["address"]),
            Cell::Since(ms(&value["since_ms"])),
            project(&value["project"]),
            count("unread"),
            count("held_files"),
            Cell::Text(doing),
        ],
        facts,
        text: whole(&value["task"]),
        actions: if value["needs_you"] == true { vec![seen] } else { Vec::new() },
        pane: pane(value),
        to: address(&value["address"]),
        message: None,
    }
}

fn pane(value: &Value) -> Option<PaneView> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    Some(PaneView { socket: text("pane_socket")?, id: text("pane")? })
}

fn message(value: &Value) -> Row {
    let id = ms(&value["id"]);
    let state = value["state"].as_str().unwrap_or_default();
    let tone = match state {
        "unread" => Tone::Waits,
        "read" | "acked" | "seen" => Tone::Done,
        _ => Tone::Quiet,
    };
    let to: Vec<String> = value["to"].as_array().into_iter().flatten().map(text).collect();
    let is_own = state != "unread" && to.first().is_none_or(|name| name != "User");
    let mut shown = whole(&value["body"]);
    let n_more = ms(&value["n_chars"])
        - i64::try_from(value["body"].as_str().unwrap_or_default().chars().count()).unwrap_or(0);
    if n_more > 0 {
        let _infallible = write!(shown, "\n({n_more} more characters: `substrate read {id}`)");
    }
    let one = |label: &str, verb: &str| Action::new(label, &[verb], json!({"ids": [id]}));
    Row {
        id: id.to_string(),
        cells: vec![
            Cell::Text(format!("#{id}")),
            Cell::State(tone, visible_line(state)),
            cell(&value["from"]),
            Cell::Text(to.join(", ")),
            Cell::Since(ms(&value["sent_ms"])),
            cell(&value["subject"]),
        ],
        facts: vec![
            ("from", cell(&value["from"])),
            ("to", Cell::Text(to.join(", "))),
            ("sent", Cell::Since(ms(&value["sent_ms"]))),
            ("subject", cell(&value["subject"])),
        ],
        text: shown,
        actions: if is_own {
            Vec::new()
        } else {
            vec![one("Acknowledge", "ack"), one("Archive", "archive")]
        },
        pane: None,
        to: address(&value["from"]),
        message: Some(id),
    }
}

fn lock(value: &Value) -> Row {
    let path = match value["path"].as_str() {
        Some(path) => path.to_owned(),
        // A reserved glob has no path of its own.
        None => format!(
            "{}/{}",
            value["root"].as_str().unwrap_or_default(),
            value["file"].as_str().unwrap_or_default()
        ),
    };
    let body = json!({"paths": [path], "force": true});
    let tone = if value["state"] == "editing" { Tone::Works } else { Tone::Quiet };
    Row {
        id: visible_line(&path),
        cells: vec![
            Cell::State(tone, text(&value["state"])),
            cell(&value["holder"]),
            Cell::Since(ms(&value["acquired_ms"])),
            Cell::Until(ms(&value["until_ms"])),
            project(&value["root"]),
            cell(&value["file"]),
        ],
        facts: vec![
            ("file", Cell::Text(visible_line(&path))),
            ("holder", cell(&value["holder"])),
            ("taken", Cell::Since(ms(&value["acquired_ms"]))),
            ("ends", Cell::Until(ms(&value["until_ms"]))),
            ("reason", cell(&value["reason"])),
        ],
        actions: vec![Action::new("Release it", &["locks", "release"], body)],
        to: address(&value["holder"]),
        ..Row::default()
    }
}

fn item(value: &Value) -> Row {
    let id = ms(&value["id"]);
    let (tone, who, at) = match value["state"].as_str() {
        Some("claimed") => (Tone::Works, "claimant", "claimed_ms"),
        Some("done") => (Tone::Done, "done_by", "done_ms"),
        _ => (Tone::Quiet, "added_by", "added_ms"),
    };
    Row {
        id: id.to_string(),
        cells: vec![
            Cell::Text(format!("#{id}")),
            Cell::State(tone, text(&value["state"])),
            cell(&value[who]),
            Cell::Since(ms(&value[at])),
            project(&value["project"]),
            cell(&value["title"]),
        ],
        facts: vec![
            ("title", cell(&value["title"])),
            ("project", cell(&value["project"])),
            ("added by", cell(&value["added_by"])),
            ("claimed by", cell(&value["claimant"])),
            ("note", cell(&value["note"])),
            ("result", cell(&value["result"])),
        ],
        text: whole(&value["body"]),
        to: address(&value["claimant"]),
        ..Row::default()
    }
}

fn hit(view: View, n: usize, value: &Value) -> Row {
    let kind = text(&value["kind"]);
    let tone = if kind == "refusal" { Tone::Wrong } else { Tone::Quiet };
    let all = value["text"].as_str().unwrap_or_default();
    // Messages and items begin with their number.
    let number = all.strip_prefix('#').and_then(|rest| rest.split_once(' '));
    let number = number.and_then(|(id, rest)| Some((id.parse::<i64>().ok()?, rest)));
    let number = number.filter(|_| matches!(kind.as_str(), "mail" | "work"));
    let (id, words) = number.map_or((String::new(), all), |(id, rest)| (format!("#{id}"), rest));
    let (id, words) = (Cell::Text(id), Cell::Text(visible_line(words)));
    let (state, who, since) =
        (Cell::State(tone, kind.clone()), cell(&value["who"]), Cell::Since(ms(&value["at_ms"])));
    let none = || Cell::Text(String::new());
    let facts = vec![("found", state.clone()), ("agent", who.clone()), ("when", since.clone())];
    Row {
        id: format!("found {n}"),
        cells: match view {
            View::Mail => vec![id, state, who, none(), since, words],
            View::Work => vec![id, state, who, since, none(), words],
            _ => vec![id, since, who, state, none(), words],
        },
        facts,
        text: visible(all),
        to: address(&value["who"]),
        message: number.map(|(id, _)| id).filter(|_| kind == "mail"),
        ..Row::default()
    }
}

fn entry(value: &Value) -> Row {
    let id = ms(&value["id"]);
    let verdict = value["verdict"].as_str().unwrap_or_default();
    let tone = match verdict {
        "deny" | "block" => Tone::Wrong,
        "ask" | "wait" => Tone::Waits,
        "allow" | "context" | "notice" | "export" | "answer" => Tone::Done,
        _ => Tone::Quiet,
    };
    let agent =
        if value["agent"].is_string() { text(&value["agent"]) } else { text(&value["session"]) };
    let event = [text(&value["event"]), text(&value["tool"])].join(" ");
    let words = if value["answer"].is_null() {
        text(&value["input"])
    } else {
        visible_line(&value["answer"].to_string())
    };
    let told = |name: &str| match &value[name] {
        Value::Null => String::new(),
        Value::String(text) => format!("{name}:\n{}\n", visible(text)),
        json => format!(
            "{name}:\n{}\n",
            visible(&serde_json::to_string_pretty(json).unwrap_or_default())
        ),
    };
    let parts: Vec<String> = ["answer", "input", "output", "failures"]
        .into_iter()
        .map(told)
        .filter(|part| !part.is_empty())
        .collect();
    Row {
        id: id.to_string(),
        cells: vec![
            Cell::Text(format!("#{id}")),
            Cell::Clock(ms(&value["at_ms"])),
            Cell::Text(agent.clone()),
            Cell::State(tone, visible_line(verdict)),
            Cell::Text(event.trim().to_owned()),
            Cell::Text(words),
        ],
        facts: vec![
            ("agent", Cell::Text(agent)),
            ("actor", cell(&value["actor"])),
            ("event", Cell::Text(event.trim().to_owned())),
            ("folder", cell(&value["cwd"])),
        ],
        text: parts.join("\n"),
        to: address(&value["agent"]),
        ..Row::default()
    }
}
