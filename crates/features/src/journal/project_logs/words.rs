//! What agents are told about the logs. Nothing from outside can add a line or a tag. Our own words contain no tags,
//! because the client would escape them.

use substrate_core::text::one_line;
use substrate_core::time::written_span;
use substrate_core::{Actor, Event, EventKind};

use super::entry;

/// The longest name, type or word that is told or written.
pub const MAX_WORD: usize = 200;

/// Where the logs of a new session or subagent are. `None` without a session.
pub fn whereabouts(event: &Event) -> Option<String> {
    let session = event.session.as_ref()?;
    let name = event.kind.name();
    let (said, folder) = match (&event.actor, event.kind) {
        (Actor::Subagent { id, kind }, EventKind::SubagentStart) => {
            let said = format!("[{name}] session={session} agent={id} type={}", plain(kind));
            (said, format!("{session}/{}", entry::agent_folder(id)))
        }
        (actor, EventKind::SessionStart) => {
            let kind = actor.kind().map(|kind| format!(" type={}", plain(kind)));
            let said = format!("[{name}] session={session}{}", kind.unwrap_or_default());
            (said, session.to_string())
        }
        _ => return None,
    };
    Some(format!("{said}\nLog: logs/sessions/{folder}/"))
}

/// What a Setup did. `None` if it does nothing for that trigger.
pub fn set_up(trigger: &str, root: &str, max_age_ms: i64) -> Option<String> {
    let project = project(root);
    Some(match trigger {
        "init" => format!(
            "[Setup:init] Project {project} initialized\n- Log directory: logs/sessions/\n- Memory directory: .serena/memories/"
        ),
        "maintenance" => format!(
            "[Setup:maintenance] Project {project} maintained\n- Log directory: logs/sessions/ (logs older than {} are removed)",
            written_span(max_age_ms)
        ),
        _ => return None,
    })
}

/// The project's name: the name of its folder.
pub fn project(root: &str) -> String {
    let name = root.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    plain(if name.is_empty() { "/" } else { name })
}

/// Words from outside, as one line without tags.
pub fn plain(text: &str) -> String {
    one_line(text, MAX_WORD).replace(['<', '>'], "_")
}
