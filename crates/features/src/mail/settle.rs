//! Whether a message that was put into an answer reached the model: one pure table.

use substrate_core::{Detail, Event, EventKind, StartSource};

/// What an event says about an introduction that is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// The model was asked since, so the words were before it.
    Seen,
    /// The words never arrived, so it is shown again.
    Lost,
    /// Nothing is proven yet.
    InFlight,
}

/// On which of the client's channels the words went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Channel {
    Start,
    Prompt,
    Tool,
    Stop,
    Waiter,
}

/// What an event proves, whatever the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// The model has answered, and wants a tool.
    Tool,
    /// A call is done.
    ToolDone,
    /// It wants to end: a new turn's end, or once more after a block.
    Stop {
        again: bool,
    },
    Prompt {
        from_person: bool,
    },
    /// A conversation begins (a compaction does not count).
    Start,
    End,
    Nothing,
}

/// What the event says about words that went out at an event of the name `channel`, of the same actor.
pub(super) fn settled(channel: &str, event: &Event) -> Settled {
    let Some(channel) = Channel::named(channel) else { return Settled::InFlight };
    match (channel, sign(event)) {
        // The calls of one message run one after the other, and no request is between them.
        (Channel::Tool, Sign::Tool | Sign::ToolDone) => Settled::InFlight,
        (_, Sign::Tool | Sign::ToolDone) => Settled::Seen,
        (_, Sign::Start | Sign::End) => Settled::Lost,
        // Had the block been honoured, the client would say that it stops again.
        (Channel::Stop, Sign::Stop { again: false }) => Settled::Lost,
        (_, Sign::Stop { .. }) => Settled::Seen,
        // A person's prompt overtook the turn that a block or a waiter asked for. Another turn may still bring it.
        (Channel::Stop | Channel::Waiter, Sign::Prompt { from_person: true }) => Settled::Lost,
        (Channel::Stop | Channel::Waiter, Sign::Prompt { from_person: false }) => Settled::InFlight,
        (Channel::Prompt | Channel::Tool, Sign::Prompt { .. }) => Settled::Lost,
        // What was said at the start goes out with the first prompt.
        (Channel::Start, Sign::Prompt { .. }) => Settled::InFlight,
        (_, Sign::Nothing) => Settled::InFlight,
    }
}

impl Channel {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "SessionStart" => Self::Start,
            "UserPromptSubmit" => Self::Prompt,
            "PostToolUse" | "PostToolUseFailure" => Self::Tool,
            "Stop" | "SubagentStop" => Self::Stop,
            "Waiter" => Self::Waiter,
            _ => return None,
        })
    }
}

fn sign(event: &Event) -> Sign {
    match (event.kind, &event.detail) {
        (EventKind::PreToolUse | EventKind::PermissionRequest, _) => Sign::Tool,
        (EventKind::PostToolUse | EventKind::PostToolUseFailure, _) => Sign::ToolDone,
        (EventKind::Stop | EventKind::SubagentStop, Detail::Stop { again, .. }) => {
            Sign::Stop { again: *again }
        }
        (EventKind::Stop | EventKind::SubagentStop, _) => Sign::Stop { again: false },
        (EventKind::UserPromptSubmit, Detail::Prompt { from_person, .. }) => {
            Sign::Prompt { from_person: *from_person }
        }
        (EventKind::UserPromptSubmit, _) => Sign::Prompt { from_person: true },
        (EventKind::SessionStart, Detail::SessionStart { source: StartSource::Compact, .. }) => {
            Sign::Nothing
        }
        (EventKind::SessionStart, _) => Sign::Start,
        (EventKind::SessionEnd, _) => Sign::End,
        _ => Sign::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use substrate_core::Timestamp;

    fn event(name: &str) -> Event {
        let (kind, detail) = match name {
            "stop" | "stop again" => (
                EventKind::Stop,
                Detail::Stop {
                    again: name == "stop again",
                    last_message: None,
                    n_background_tasks: 0,
                    transcript: None,
                },
            ),
            "person" | "notification" => (
                EventKind::UserPromptSubmit,
                Detail::Prompt { text: String::new(), from_person: name == "person" },
            ),
            "startup" | "compact" => {
                let source =
                    if name == "compact" { StartSource::Compact } else { StartSource::Startup };
                (EventKind::SessionStart, Detail::SessionStart { source, model: None })
            }
            other => (EventKind::named(other), Detail::Plain),
        };
        assert_ne!(kind, EventKind::Unknown, "{name}");
        Event { detail, ..Event::bare("test", kind, Timestamp(0)) }
    }

    // The columns: what the next event is. S seen, L lost, f still in flight.
    const COLUMNS: [&str; 13] = [
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PermissionRequest",
        "stop",
        "stop again",
        "person",
        "notification",
        "startup",
        "compact",
        "SessionEnd",
        "Notification",
        "PreCompact",
    ];

    #[rstest]
    #[case("SessionStart", "SSSS SS ff LfL ff")]
    #[case("UserPromptSubmit", "SSSS SS LL LfL ff")]
    #[case("PostToolUse", "ffff SS LL LfL ff")]
    #[case("PostToolUseFailure", "ffff SS LL LfL ff")]
    #[case("Stop", "SSSS LS Lf LfL ff")]
    #[case("SubagentStop", "SSSS LS Lf LfL ff")]
    #[case("Waiter", "SSSS SS Lf LfL ff")]
    #[case("something new", "ffff ff ff fff ff")]
    fn what_went_out_at(#[case] channel: &str, #[case] expected: &str) {
        let got: String = COLUMNS
            .iter()
            .map(|name| match settled(channel, &event(name)) {
                Settled::Seen => 'S',
                Settled::Lost => 'L',
                Settled::InFlight => 'f',
            })
            .collect();
        assert_eq!(got, expected.replace(' ', ""));
    }
}
