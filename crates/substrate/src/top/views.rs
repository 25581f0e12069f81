//! The six views: which read verb each shows, and in which columns.

use serde_json::{Value, json};

/// How much of each kind is found at the most.
const MAX_FOUND: i64 = 200;

/// A view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Needs,
    Fleet,
    Mail,
    Locks,
    Work,
    Journal,
}

impl View {
    pub(super) const ALL: [Self; 6] =
        [Self::Needs, Self::Fleet, Self::Mail, Self::Locks, Self::Work, Self::Journal];

    pub(super) const fn at(self) -> usize {
        self as usize
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Needs => "Needs you",
            Self::Fleet => "Fleet",
            Self::Mail => "Mail",
            Self::Locks => "Locks",
            Self::Work => "Work",
            Self::Journal => "Journal",
        }
    }

    /// The verb and its first body. The journal's says itself how to go on.
    pub(super) fn asks(self) -> (&'static [&'static str], Value) {
        match self {
            Self::Needs => (&["needs"], json!({})),
            Self::Fleet => (&["fleet", "list"], json!({})),
            Self::Mail => (&["mail", "list"], json!({"n": 100})),
            Self::Locks => (&["locks", "list"], json!({"all": true})),
            Self::Work => (&["work", "list"], json!({"all": true, "limit": 200})),
            Self::Journal => (&["journal", "tail"], json!({"which": {}, "limit": 200})),
        }
    }

    /// What finds words in all that the view could show. The other views show all there is anyway.
    pub(super) fn finds(self, words: &str) -> Option<(&'static [&'static str], Value)> {
        let mut body =
            json!({"words": words.split_whitespace().collect::<Vec<_>>(), "limit": MAX_FOUND});
        match self {
            Self::Needs | Self::Fleet | Self::Locks => return None,
            Self::Mail => body["kind"] = json!("mail"),
            Self::Work => body["kind"] = json!("work"),
            Self::Journal => {}
        }
        Some((&["journal", "search"], body))
    }

    pub(super) const fn columns(self) -> &'static [Column] {
        match self {
            Self::Needs => NEEDS,
            Self::Fleet => FLEET,
            Self::Mail => MAIL,
            Self::Locks => LOCKS,
            Self::Work => WORK,
            Self::Journal => JOURNAL,
        }
    }

    /// What a view without rows says.
    pub(super) const fn empty(self) -> &'static str {
        match self {
            Self::Needs => "Nothing waits for you.",
            Self::Fleet => "No agents yet. An agent appears here with its first event.",
            Self::Mail => "No messages. `substrate send NAME \"TEXT\"` writes to an agent.",
            Self::Locks => "No files are held.",
            Self::Work => "No work yet. `substrate work add \"TITLE\"` adds an item.",
            Self::Journal => {
                "No events yet. `substrate hooks status` shows whether clients report them."
            }
        }
    }
}

/// A column of a view.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) title: &'static str,
    /// Its width. 0: what the others leave.
    pub(super) width: u16,
    /// A list that is narrower than this leaves it out.
    pub(super) from: u16,
}

const fn column(title: &'static str, width: u16, from: u16) -> Column {
    Column { title, width, from }
}

const NEEDS: &[Column] = &[
    column("what", 12, 0),
    column("agent", 18, 0),
    column("for", 4, 0),
    column("project", 16, 100),
    column("why", 0, 0),
];

const FLEET: &[Column] = &[
    column("status", 11, 0),
    column("agent", 22, 0),
    column("for", 4, 0),
    column("project", 16, 100),
    column("mail", 4, 90),
    column("files", 5, 90),
    column("doing", 0, 0),
];

const MAIL: &[Column] = &[
    column("message", 7, 0),
    column("state", 9, 0),
    column("from", 18, 0),
    column("to", 18, 90),
    column("ago", 4, 0),
    column("subject", 0, 0),
];

const LOCKS: &[Column] = &[
    column("state", 9, 0),
    column("holder", 22, 0),
    column("for", 4, 0),
    column("ends", 5, 76),
    column("project", 16, 100),
    column("file", 0, 0),
];

const WORK: &[Column] = &[
    column("item", 6, 0),
    column("state", 8, 0),
    column("agent", 20, 0),
    column("for", 4, 0),
    column("project", 16, 90),
    column("title", 0, 0),
];

const JOURNAL: &[Column] = &[
    column("entry", 7, 0),
    column("time", 8, 0),
    column("agent", 16, 0),
    column("answer", 7, 0),
    column("event", 24, 90),
    column("what", 0, 0),
];
