//! Who is in the story, and what a hook gets from them.

use serde_json::{Map, Value, json};

/// One session of a client.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) name: &'static str,
    pub(super) id: &'static str,
}

pub(super) const OTTER: Session = Session { name: "otter", id: "otter-5f0c-4a52-9d61-2b7e" };
pub(super) const HERON: Session = Session { name: "heron", id: "heron-91d3-47be-8f02-c6aa" };

/// Everybody, in the order of the summary.
pub(super) const ACTORS: &[(&Session, &str)] =
    &[(&OTTER, "main"), (&OTTER, "reviewer"), (&OTTER, "tester"), (&HERON, "main")];

/// Who does something: a session's main thread, or one of its subagents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Actor {
    pub(super) session: &'static Session,
    /// Id and kind of a subagent.
    pub(super) subagent: Option<(&'static str, &'static str)>,
}

impl Actor {
    pub(super) const fn main(session: &'static Session) -> Self {
        Self { session, subagent: None }
    }

    pub(super) const fn subagent(
        session: &'static Session,
        id: &'static str,
        kind: &'static str,
    ) -> Self {
        Self { session, subagent: Some((id, kind)) }
    }

    /// As the story calls them.
    pub(super) fn called(&self) -> String {
        self.subagent.map_or_else(
            || self.session.name.to_owned(),
            |(_, kind)| format!("{}/{kind}", self.session.name),
        )
    }

    /// The payload of an event, as the client writes it.
    pub(super) fn payload(&self, event: &str, cwd: &str, more: Value) -> Vec<u8> {
        let mut fields: Map<String, Value> = Map::new();
        fields.insert("session_id".to_owned(), json!(self.session.id));
        fields.insert("cwd".to_owned(), json!(cwd));
        fields.insert("hook_event_name".to_owned(), json!(event));
        if let Some((id, kind)) = self.subagent {
            fields.insert("agent_id".to_owned(), json!(id));
            fields.insert("agent_type".to_owned(), json!(kind));
        }
        if let Value::Object(more) = more {
            fields.extend(more);
        }
        format!("{}\n", Value::Object(fields)).into_bytes()
    }
}
