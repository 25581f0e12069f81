//! Every event with every kind of wish: what the client honours, and in which words.

use substrate_core::verdict::Permission;
use substrate_core::{Delivery, Event, EventKind, Verdict, WishKind};

use super::{AT, CLIENT};
use crate::{Answer, Exports};
use Cell::{Exit2, Export, Json, Never, Text};
use EventKind as K;

/// What is expected of one wish at one event. `EVENT` stands for the event's name.
#[derive(Clone, Copy)]
enum Cell {
    /// Not deliverable: nothing is said, even if the verdict holds it.
    Never,
    /// This JSON on stdout, exit code 0.
    Json(&'static str),
    /// This bare text on stdout, exit code 0.
    Text(&'static str),
    /// This text on stderr, exit code 2.
    Exit2(&'static str),
    /// These lines for the session's environment file.
    Export(&'static str),
}

const TELL: Cell =
    Json(r#"{"hookSpecificOutput":{"hookEventName":"EVENT","additionalContext":"the-context"}}"#);
const DENY: Cell = Json(
    r#"{"hookSpecificOutput":{"hookEventName":"EVENT","permissionDecision":"deny","permissionDecisionReason":"the-denial"}}"#,
);
const ASK: Cell = Json(
    r#"{"hookSpecificOutput":{"hookEventName":"EVENT","permissionDecision":"ask","permissionDecisionReason":"the-question"}}"#,
);
const REFUSE: Cell = Json(
    r#"{"hookSpecificOutput":{"hookEventName":"EVENT","decision":{"behavior":"deny","message":"the-denial"}}}"#,
);
const ALLOW: Cell =
    Json(r#"{"hookSpecificOutput":{"hookEventName":"EVENT","decision":{"behavior":"allow"}}}"#);
const BLOCK: Cell = Json(r#"{"decision":"block","reason":"the-block"}"#);
const EXIT2: Cell = Exit2("the-block");
const SHOW: Cell = Json(r#"{"systemMessage":"the-notice"}"#);
const SAVE: Cell = Export("export AGENT_ID='the-export'\n");
const PLAIN: Cell = Text("the-context");

/// In the order of `WishKind::ALL`.
#[rustfmt::skip]
const TABLE: &[(EventKind, [Cell; 7])] = &[
    //                       context  deny    ask    block  notice export answer
    (K::PreToolUse,         [TELL,    DENY,   ASK,   Never, SHOW,  Never, Never]),
    (K::PostToolUse,        [TELL,    Never,  Never, BLOCK, SHOW,  Never, Never]),
    (K::PostToolUseFailure, [TELL,    Never,  Never, BLOCK, SHOW,  Never, Never]),
    (K::PostToolBatch,      [TELL,    Never,  Never, Never, SHOW,  Never, Never]),
    (K::Notification,       [Never,   Never,  Never, Never, Never, Never, Never]),
    (K::UserPromptSubmit,   [TELL,    Never,  Never, BLOCK, SHOW,  Never, Never]),
    (K::UserPromptExpansion,[TELL,    Never,  Never, BLOCK, SHOW,  Never, Never]),
    (K::SessionStart,       [TELL,    Never,  Never, Never, SHOW,  SAVE , Never]),
    (K::SessionEnd,         [Never,   Never,  Never, Never, Never, Never, Never]),
    (K::Stop,               [Never,   Never,  Never, BLOCK, SHOW,  Never, Never]),
    (K::StopFailure,        [Never,   Never,  Never, Never, Never, Never, Never]),
    (K::SubagentStart,      [TELL,    Never,  Never, Never, Never, Never, Never]),
    (K::SubagentStop,       [Never,   Never,  Never, BLOCK, Never, Never, Never]),
    (K::PreCompact,         [PLAIN,   Never,  Never, EXIT2, Never, Never, Never]),
    (K::PostCompact,        [Never,   Never,  Never, Never, Never, Never, Never]),
    (K::PreModelSwitch,     [Never,   Never,  Never, EXIT2, Never, Never, Never]),
    (K::PostModelSwitch,    [TELL,    Never,  Never, Never, SHOW,  Never, Never]),
    (K::PermissionRequest,  [Never,   REFUSE, Never, Never, SHOW,  Never, ALLOW]),
    (K::PermissionDenied,   [Never,   Never,  Never, Never, Never, Never, Never]),
    (K::Setup,              [Never,   Never,  Never, Never, Never, SAVE , Never]),
    (K::TeammateIdle,       [Never,   Never,  Never, EXIT2, Never, Never, Never]),
    (K::TaskCreated,        [Never,   Never,  Never, EXIT2, Never, Never, Never]),
    (K::TaskCompleted,      [Never,   Never,  Never, EXIT2, Never, Never, Never]),
    (K::Elicitation,        [Never,   Never,  Never, Never, Never, Never, Never]),
    (K::ElicitationResult,  [Never,   Never,  Never, Never, Never, Never, Never]),
    (K::ConfigChange,       [Never,   Never,  Never, EXIT2, Never, Never, Never]),
    (K::WorktreeCreate,     [Never,   Never,  Never, Never, Never, Never, Never]),
    (K::WorktreeRemove,     [Never,   Never,  Never, Never, Never, Never, Never]),
    (K::InstructionsLoaded, [Never,   Never,  Never, Never, Never, Never, Never]),
    (K::CwdChanged,         [Never,   Never,  Never, Never, Never, SAVE , Never]),
    (K::FileChanged,        [Never,   Never,  Never, Never, Never, SAVE , Never]),
    (K::DirectoryAdded,     [Never,   Never,  Never, Never, SHOW,  Never, Never]),
    (K::MessageDisplay,     [Never,   Never,  Never, Never, Never, Never, Never]),
    (K::Waiter,             [Never,   Never,  Never, EXIT2, Never, Never, Never]),
    (K::Unknown,            [Never,   Never,  Never, Never, Never, Never, Never]),
    (K::Malformed,          [Never,   Never,  Never, Never, Never, Never, Never]),
];

#[test]
fn the_table_has_every_event_once() {
    let mut kinds: Vec<_> = TABLE.iter().map(|(kind, _)| *kind).collect();
    kinds.retain(|kind| {
        !matches!(kind, K::Waiter | K::Activity | K::ClientLeft | K::Unknown | K::Malformed)
    });
    assert_eq!(kinds, K::ALL);
}

#[test]
fn each_wish_alone_is_said_as_the_table_says() {
    for (kind, cells) in TABLE {
        for (wish, cell) in WishKind::ALL.iter().zip(cells) {
            let answer = (CLIENT.encode)(&event(*kind), &verdict(&[*wish]));
            assert_eq!(answer, expected(*kind, *cell), "{kind:?} {wish:?}");
        }
    }
}

#[test]
fn what_is_claimed_is_what_is_said() {
    for (kind, cells) in TABLE {
        for (wish, cell) in WishKind::ALL.iter().zip(cells) {
            let honoured = !matches!(cell, Never);
            let claimed = (CLIENT.delivers)(*kind, *wish) == Delivery::Delivered;
            assert_eq!(claimed, honoured, "{kind:?} {wish:?}");
        }
    }
}

#[test]
fn a_verdict_that_holds_everything_says_only_what_the_table_lists() {
    for (kind, cells) in TABLE {
        for permission in [WishKind::Deny, WishKind::Ask, WishKind::Answer] {
            let wishes = [
                WishKind::Context,
                permission,
                WishKind::Block,
                WishKind::Notice,
                WishKind::Export,
            ];
            let answer = (CLIENT.encode)(&event(*kind), &verdict(&wishes));
            let said = format!("{answer:?}");
            for (wish, cell) in WishKind::ALL.iter().zip(cells) {
                let may = wishes.contains(wish) && !matches!(cell, Never);
                assert!(may || !said.contains(words(*wish)), "{kind:?} {wish:?}: {said}");
            }
            let is_object = answer.stdout.starts_with('{')
                && serde_json::from_str::<serde_json::Value>(&answer.stdout).is_ok();
            assert!(answer.stdout.is_empty() || is_object, "{kind:?}: {said}");
        }
    }
}

#[test]
fn a_silent_verdict_says_nothing() {
    for (kind, _) in TABLE {
        assert_eq!((CLIENT.encode)(&event(*kind), &Verdict::default()), Answer::default());
    }
}

const FILE: &str = "/home/dev/.claude/session-env/s/sessionstart-hook-0.sh";

fn event(kind: EventKind) -> Event {
    Event { env_file: Some(FILE.to_owned()), ..Event::bare("claude-code", kind, AT) }
}

fn words(wish: WishKind) -> &'static str {
    match wish {
        WishKind::Context => "the-context",
        WishKind::Deny => "the-denial",
        WishKind::Ask => "the-question",
        WishKind::Block => "the-block",
        WishKind::Notice => "the-notice",
        WishKind::Export => "the-export",
        WishKind::Answer => "\"allow\"",
        WishKind::Wait | WishKind::Receipt => "nothing that is said",
    }
}

fn verdict(wishes: &[WishKind]) -> Verdict {
    let mut out = Verdict::default();
    for wish in wishes {
        let words = words(*wish).to_owned();
        match wish {
            WishKind::Context => out.context = Some(words),
            WishKind::Deny => out.permission = Some(Permission::Deny { reason: words }),
            WishKind::Ask => out.permission = Some(Permission::Ask { reason: words }),
            WishKind::Block => out.block = Some(words),
            WishKind::Notice => out.notice = Some(words),
            WishKind::Export => out.exports.push(("AGENT_ID".to_owned(), words)),
            WishKind::Answer => out.permission = Some(Permission::Allow { choices: Vec::new() }),
            WishKind::Wait | WishKind::Receipt => {}
        }
    }
    out
}

fn expected(kind: EventKind, cell: Cell) -> Answer {
    let nothing = Answer::default();
    match cell {
        Never => nothing,
        Json(json) => Answer { stdout: json.replace("EVENT", kind.name()), ..nothing },
        Text(text) => Answer { stdout: text.to_owned(), ..nothing },
        Exit2(text) => Answer { stderr: text.to_owned(), exit: 2, ..nothing },
        Export(text) => {
            let exports = Exports { file: FILE.to_owned(), text: text.to_owned() };
            Answer { exports: Some(exports), ..nothing }
        }
    }
}
