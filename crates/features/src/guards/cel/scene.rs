//! What a condition can see of an event, as plain data.

use std::sync::Arc;

use serde_json::Value as Json;
use substrate_core::text::cut;
use substrate_core::{Actor, Cx, Detail, Event, ToolClass};

use crate::guards::dangers::own_files::OwnFiles;
use crate::guards::dangers::paths;
use crate::shell::{self, Line};

/// The most elements of a list, characters of a text and levels in a tool's input.
const MAX_ITEMS: usize = 256;
const MAX_TEXT: usize = 64 << 10;
const MAX_DEPTH: usize = 8;

/// What other features know about the actor's work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::guards) struct ActorWork {
    /// The skill of its effort; empty where it has none.
    pub(in crate::guards) effort: String,
    pub(in crate::guards) phase: String,
    pub(in crate::guards) n_calls_since_log: i64,
    /// 100 is where the client compacts. 0 if unknown.
    pub(in crate::guards) context_percent: i64,
}

/// Which parts a rule reads. Only these are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::guards) struct SceneParts {
    pub(in crate::guards) input: bool,
    pub(in crate::guards) line: bool,
    /// Which files are our own.
    pub(in crate::guards) own: bool,
    /// How full the context is. The rest of the actor's work costs nothing to know.
    pub(in crate::guards) usage: bool,
}

/// One event.
#[derive(Clone, Debug, Default)]
pub(in crate::guards) struct Scene {
    pub(in crate::guards) event: &'static str,
    pub(in crate::guards) tool: String,
    pub(in crate::guards) input: Json,
    pub(in crate::guards) command: String,
    pub(in crate::guards) line: Arc<Line>,
    pub(in crate::guards) files: Vec<String>,
    pub(in crate::guards) is_edit: bool,
    /// Our own files and the client's settings, as `own_files` compares them; empty where nothing names them.
    pub(in crate::guards) own: Vec<String>,
    pub(in crate::guards) cwd: String,
    pub(in crate::guards) project: String,
    /// The trees that must not be lost as a whole.
    pub(in crate::guards) roots: Vec<String>,
    pub(in crate::guards) is_subagent: bool,
    pub(in crate::guards) agent_type: String,
    pub(in crate::guards) agent: String,
    pub(in crate::guards) mode: String,
    pub(in crate::guards) prompt: String,
    pub(in crate::guards) around: ActorWork,
}

#[cfg(test)]
thread_local! {
    /// How many scenes this thread has made for conditions.
    pub(in crate::guards) static N_MADE: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl Scene {
    pub(in crate::guards) fn of(
        cx: &Cx<'_>,
        event: &Event,
        around: ActorWork,
        wanted: SceneParts,
        line: Option<Arc<Line>>,
    ) -> Arc<Self> {
        #[cfg(test)]
        N_MADE.set(N_MADE.get() + 1);
        let agent = cx.who.as_ref().map(substrate_core::Who::address).unwrap_or_default();
        let own = OwnFiles::of(event, cx.world.state_home());
        let own = if wanted.own { own.all() } else { Vec::new() };
        Arc::new(Self { own, ..Self::new(event, agent, around, wanted, line) })
    }

    pub(in crate::guards) fn new(
        event: &Event,
        agent: String,
        around: ActorWork,
        wanted: SceneParts,
        line: Option<Arc<Line>>,
    ) -> Self {
        let call = event.tool();
        let command = call.and_then(|call| call.command.as_deref()).unwrap_or_default();
        let input =
            call.filter(|_| wanted.input).and_then(|call| serde_json::from_str(&call.input).ok());
        let prompt = match &event.detail {
            Detail::Prompt { text, .. } | Detail::Expansion { text, .. } => cut(text, MAX_TEXT),
            _ => "",
        };
        let mut roots: Vec<String> = [Some(event.project.clone()), event.project_dir.clone()]
            .into_iter()
            .flatten()
            .filter(|root| root.starts_with('/') && root.len() > 1)
            .collect();
        if roots.is_empty() && event.cwd.len() > 1 {
            roots.push(event.cwd.clone());
        }
        Self {
            event: event.kind.name(),
            tool: call.map(|call| call.name.clone()).unwrap_or_default(),
            input: bounded(input.unwrap_or_default(), MAX_DEPTH),
            line: match line {
                Some(line) => line,
                None if wanted.line && !command.is_empty() => shell::read(command),
                None => Arc::default(),
            },
            command: cut(command, MAX_TEXT).to_owned(),
            is_edit: call.is_some_and(|call| call.class == ToolClass::Edit),
            own: if wanted.own { OwnFiles::of(event, None).all() } else { Vec::new() },
            files: call
                .map(|call| call.files.iter().take(MAX_ITEMS).cloned().collect())
                .unwrap_or_default(),
            cwd: event.cwd.clone(),
            project: event.project.clone(),
            roots,
            is_subagent: matches!(event.actor, Actor::Subagent { .. }),
            agent_type: event.actor.kind().unwrap_or_default().to_owned(),
            agent,
            mode: event.permission_mode.clone().unwrap_or_default(),
            prompt: prompt.to_owned(),
            around,
        }
    }

    /// The text that a condition can read, in bytes.
    pub(super) fn n_bytes(&self) -> usize {
        let commands = self.line.commands.iter().map(|made| {
            let words = made.words.iter().chain(&made.writes).map(|word| word.text.len());
            words.sum::<usize>() + made.stdin.len()
        });
        let texts = [&self.command, &self.prompt, &self.cwd, &self.project].map(String::len);
        let files = self.files.iter().map(String::len);
        commands.chain(texts).chain(files).sum::<usize>() + n_bytes_of(&self.input)
    }

    pub(in crate::guards) fn is_whole(&self, path: &str) -> bool {
        paths::is_whole(path, &self.roots)
    }
}

fn n_bytes_of(value: &Json) -> usize {
    match value {
        Json::String(text) => text.len(),
        Json::Array(items) => items.iter().map(n_bytes_of).sum(),
        Json::Object(map) => map.iter().map(|(name, one)| name.len() + n_bytes_of(one)).sum(),
        _ => 8,
    }
}

/// Bounds what a condition can loop over.
fn bounded(value: Json, depth: usize) -> Json {
    match value {
        Json::String(text) if text.len() > MAX_TEXT => {
            Json::String(cut(&text, MAX_TEXT).to_owned())
        }
        Json::Array(_) | Json::Object(_) if depth == 0 => Json::Null,
        Json::Array(items) => {
            items.into_iter().take(MAX_ITEMS).map(|item| bounded(item, depth - 1)).collect()
        }
        Json::Object(map) => map
            .into_iter()
            .take(MAX_ITEMS)
            .map(|(name, value)| (name, bounded(value, depth - 1)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other,
    }
}
