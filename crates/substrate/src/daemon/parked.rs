//! A parked hook's event, complete and packed. There may be ten thousand.

use substrate_core::event::Pane;
use substrate_core::{Actor, Detail, Dialect, Event, EventKind, RequestId, SafeId, Timestamp};

use crate::clock;
use crate::host::{Decoded, Route};

/// How many texts an event has beside its detail.
const N_TEXTS: usize = 17;

/// The length that stands for a missing text.
const ABSENT: u32 = u32::MAX;

/// Everything that features may ask of the event, in one allocation and a few numbers.
pub(super) struct ParkedEvent {
    route: Route,
    client: &'static str,
    kind: EventKind,
    client_pid: Option<u32>,
    attended: Option<bool>,
    block_cap: u32,
    wanted_effort: Option<i64>,
    since: Timestamp,
    n_bytes: usize,
    n_unknown_fields: usize,
    is_subagent: bool,
    dialect: &'static Dialect,
    is_planning: bool,
    lens: [u32; N_TEXTS],
    texts: Box<str>,
    detail: PackedDetail,
}

/// Nearly all that wait are waiters beside a session. The others' details are large.
enum PackedDetail {
    Waiter(EventKind),
    Other(Box<Detail>),
}

// Ten thousand of them: a field that is large belongs behind a box.
const _: () = assert!(size_of::<ParkedEvent>() <= 240);

impl ParkedEvent {
    pub(super) fn of(decoded: Decoded) -> Self {
        let (event, route) = decoded.split();
        // No `..` here: a new field has to be packed before this compiles.
        let Event {
            client,
            dialect,
            at,
            kind,
            name,
            session,
            actor,
            cwd,
            project_dir,
            transcript,
            prompt_id,
            permission_mode,
            is_planning,
            client_pid,
            attended,
            env_file,
            block_cap,
            wanted_agent,
            wanted_persist,
            wanted_effort,
            tasks_dir,
            config_dir,
            pane,
            project,
            waiting_since,
            detail,
            n_bytes,
            n_unknown_fields,
        } = event;
        let (actor_id, actor_kind, is_subagent) = match actor {
            Actor::Main { kind } => (None, kind, false),
            Actor::Subagent { id, kind } => (Some(id.as_str().to_owned()), Some(kind), true),
        };
        let (pane_socket, pane_id) = pane.map(|Pane { socket, id }| (socket, id)).unzip();
        let all: [Option<String>; N_TEXTS] = [
            Some(name),
            session.map(|id| id.as_str().to_owned()),
            actor_id,
            actor_kind,
            Some(cwd),
            project_dir,
            transcript,
            prompt_id,
            permission_mode,
            env_file,
            wanted_agent,
            wanted_persist,
            tasks_dir,
            config_dir,
            pane_socket,
            pane_id,
            Some(project),
        ];
        let lens = all.each_ref().map(|text| {
            text.as_ref().map_or(ABSENT, |text| u32::try_from(text.len()).unwrap_or(ABSENT))
        });
        let texts = all.into_iter().flatten().collect::<String>().into_boxed_str();
        Self {
            route,
            client,
            kind,
            client_pid,
            attended,
            block_cap,
            wanted_effort,
            since: waiting_since.unwrap_or(at),
            n_bytes,
            n_unknown_fields,
            is_subagent,
            dialect,
            is_planning,
            lens,
            texts,
            detail: match detail {
                Detail::Waiter { beside } => PackedDetail::Waiter(beside),
                detail => PackedDetail::Other(Box::new(detail)),
            },
        }
    }

    pub(super) fn session(&self) -> Option<&str> {
        self.text(1)
    }

    pub(super) const fn kind(&self) -> EventKind {
        self.kind
    }

    /// The request that this is the event of.
    pub(super) const fn request(&self) -> RequestId {
        self.route.request()
    }

    /// The event that a waiter was started beside.
    pub(super) const fn beside(&self) -> Option<EventKind> {
        match self.detail {
            PackedDetail::Waiter(beside) => Some(beside),
            PackedDetail::Other(_) => None,
        }
    }

    pub(super) const fn client_pid(&self) -> Option<u32> {
        self.client_pid
    }

    /// Unpacks the event.
    pub(super) fn again(self) -> Decoded {
        let text = |at: usize| self.text(at).map(str::to_owned);
        let actor = match text(2).as_deref().and_then(SafeId::new) {
            Some(id) if self.is_subagent => {
                Actor::Subagent { id, kind: text(3).unwrap_or_default() }
            }
            _ => Actor::Main { kind: text(3) },
        };
        let pane = text(14).zip(text(15)).map(|(socket, id)| Pane { socket, id });
        let event = Event {
            client: self.client,
            at: clock::now(),
            kind: self.kind,
            name: text(0).unwrap_or_default(),
            session: self.session().and_then(SafeId::new),
            actor,
            cwd: text(4).unwrap_or_default(),
            project_dir: text(5),
            transcript: text(6),
            prompt_id: text(7),
            permission_mode: text(8),
            client_pid: self.client_pid,
            attended: self.attended,
            env_file: text(9),
            block_cap: self.block_cap,
            wanted_agent: text(10),
            wanted_persist: text(11),
            wanted_effort: self.wanted_effort,
            tasks_dir: text(12),
            config_dir: text(13),
            dialect: self.dialect,
            is_planning: self.is_planning,
            pane,
            project: text(16).unwrap_or_default(),
            waiting_since: Some(self.since),
            n_bytes: self.n_bytes,
            n_unknown_fields: self.n_unknown_fields,
            detail: match self.detail {
                PackedDetail::Waiter(beside) => Detail::Waiter { beside },
                PackedDetail::Other(detail) => *detail,
            },
        };
        Decoded::join(event, self.route, clock::micros())
    }

    fn text(&self, at: usize) -> Option<&str> {
        let is_there = |len: &&u32| **len != ABSENT;
        let from: u32 = self.lens[..at].iter().filter(is_there).sum();
        let (from, len) = (from as usize, self.lens[at]);
        if len == ABSENT { None } else { self.texts.get(from..from + len as usize) }
    }
}

#[cfg(test)]
mod tests {
    use ipc::HookRequest;
    use serde_json::json;
    use substrate_core::{Db, Settings};
    use substrate_store::{Durability, Writer};

    use super::*;
    use crate::host::{self, Host, Prepared};
    use crate::machine::Machine;

    /// Every event that the client can send, with everything that a payload and its surroundings may contain.
    fn decoded(event: &str, flag: &str) -> Decoded {
        let stdin = json!({
            "session_id": "s1", "cwd": "/home/dev/app", "hook_event_name": event,
            "transcript_path": "/t/s1.jsonl", "prompt_id": "p7", "permission_mode": "plan",
            "agent_id": if event.starts_with("Subagent") { Some("sub1") } else { None },
            "agent_type": "reviewer", "stop_hook_active": true, "last_assistant_message": "done",
            "background_tasks": [], "source": "startup", "reason": "other", "trigger": "auto",
            "prompt": "go on", "message": "m", "notification_type": "idle_prompt",
            "tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "ls"}, "tool_response": {},
        })
        .to_string();
        let args = format!("claude-code\0{event}\0{flag}\0");
        let request = HookRequest {
            id: [7; 16],
            args: args.as_bytes(),
            cwd: b"/home/dev/app",
            env: b"AGENT_ID=NobleLion\0SUBSTRATE_PERSIST=poll\0SUBSTRATE_EFFORT=3\0CLAUDE_PID=41\0CLAUDE_CODE_SESSION_ATTENDED=1\0CLAUDE_PROJECT_DIR=/home/dev/app\0CLAUDE_CONFIG_DIR=/home/x/.claude\0CLAUDE_ENV_FILE=/e\0TMUX=/tmp/t,1,0\0TMUX_PANE=%3\0",
            stdin: stdin.as_bytes(),
            ..HookRequest::default()
        };
        host::decode(&request, Timestamp(1_000), 0)
    }

    fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
        let plain = EventKind::ALL.iter().map(|kind| (kind.name(), ""));
        plain.chain([("Stop", "--wake"), ("SessionStart", "--wake")])
    }

    #[test]
    fn a_parked_event_loses_nothing() {
        for (event, flag) in kinds() {
            let before = decoded(event, flag).event;
            let mut after = ParkedEvent::of(decoded(event, flag)).again().event;
            assert_eq!(after.waiting_since, Some(before.at), "{event}");
            (after.at, after.waiting_since) = (before.at, before.waiting_since);
            assert_eq!(after, before, "{event} {flag}");
        }
    }

    /// The answer to an event in a new database.
    fn answer(decoded: Decoded) -> substrate_clients::Answer {
        let mut db = Writer::in_memory(&host::schema(), Timestamp(0)).unwrap();
        let rule = |event: &str| {
            format!(
                "[[guards.rules]]\nname = \"{event}\"\nevent = \"{event}\"\nwhen = \"true\"\naction = \"deny\"\nreason = \"not yet\"\nnext = \"Wait.\"\n"
            )
        };
        let layer = &format!("{}{}[scratchpad]\non = true\n", rule("Stop"), rule("PreToolUse"));
        let keys = substrate_features::keys();
        let layer = substrate_core::settings::Layer::read(
            substrate_core::settings::Scope::User,
            "config.toml",
            layer,
            &keys,
        );
        let settings = std::sync::Arc::new(Settings::resolve(&keys, &[&layer]));
        let prepared = Prepared::new(decoded, settings);
        let mut tx = db.begin(Durability::Normal).unwrap();
        let tx: &mut dyn Db = &mut tx;
        host::consider(tx, &prepared, &Machine::default(), Host::USUAL).answer
    }

    #[test]
    fn a_woken_event_is_answered_as_if_it_had_been_considered_at_once() {
        for (event, flag) in kinds() {
            let at_once = answer(decoded(event, flag));
            let mut woken = ParkedEvent::of(decoded(event, flag)).again();
            (woken.event.at, woken.event.waiting_since) = (Timestamp(1_000), None);
            assert_eq!(answer(woken), at_once, "{event} {flag}");
        }
    }
}
