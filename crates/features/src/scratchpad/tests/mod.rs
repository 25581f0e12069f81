//! Stories of subagents and coordinators, with simulated files.

mod closing;
mod ending;
mod opening;
mod paths;

use std::collections::BTreeMap;

use substrate_core::facts::{Daily, DayFile, Found, Room};
use substrate_core::settings::{Layer, Scope};
use substrate_core::{
    Actor, Detail, Event, EventKind, Need, Outcome, SafeId, Settings, StartSource, Timestamp,
    Verdict,
};

use super::policy;
use crate::stage::Stage;

const ON: &str = "[scratchpad]\non = true\n";

const ALL: &str = "# today\n\n## What I did\nthings\n\n## Cross-agent observations\nnone\n\n## Unresolved\nnothing\n";

/// 2026-02-08, noon, UTC.
const NOON: i64 = 1_770_552_000_000;
const HOUR: i64 = 3_600_000;

/// A stage with the files of its projects. `/repo` and `/repo/.claude/worktrees/w` are working trees.
struct Story {
    stage: Stage,
    settings: Settings,
    files: BTreeMap<String, String>,
    /// Folders that can't be listed.
    dark: Vec<String>,
    /// Files that can't be read.
    locked: Vec<String>,
    /// Nothing can be written.
    sealed: bool,
}

impl Story {
    fn new(toml: &str) -> Self {
        let keys = crate::keys();
        let settings = Settings::resolve(&keys, &[&Layer::read(Scope::User, "test", toml, &keys)]);
        let mut stage = Stage::new(toml);
        stage.now = Timestamp(NOON);
        let (files, dark, locked) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { stage, settings, files, dark, locked, sealed: false }
    }

    fn write(&mut self, path: &str, text: &str) {
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/repo/{path}") };
        self.stage.machine.files.insert(path.clone(), self.stage.now.0);
        self.files.insert(path, text.to_owned());
    }

    fn event(&self, kind: EventKind, actor: Actor) -> Event {
        let detail = match kind {
            EventKind::SessionStart => {
                Detail::SessionStart { source: StartSource::Startup, model: None }
            }
            EventKind::Stop | EventKind::SubagentStop | EventKind::Waiter => Detail::Stop {
                again: false,
                last_message: None,
                n_background_tasks: 0,
                transcript: None,
            },
            _ => Detail::Plain,
        };
        let project_dir = Some("/repo".to_owned());
        Event { actor, detail, project_dir, ..self.stage.event(kind, "s1") }
    }

    fn happen(&mut self, event: &Event) -> Outcome {
        for need in policy::gather(event, &self.settings) {
            if let Need::Room { dir, .. } = &need {
                let room = if self.sealed { Room::Nowhere } else { Room::CanBeMade };
                assert!(dir.starts_with("/repo"));
                self.stage.facts.insert(need, Found::Room(room));
            } else if let Some(found) = self.look_up(&need) {
                self.stage.facts.insert(need, Found::Daily(found));
            }
        }
        self.stage.happen(event)
    }

    fn look_up(&self, need: &Need) -> Option<Daily> {
        let Need::Daily { dir, of_tree, below, until, n, .. } = need else { return None };
        let trees = ["/repo/.claude/worktrees/w", "/repo"];
        let tree = trees.into_iter().find(|tree| dir.starts_with(tree)).unwrap_or(dir);
        let folder = format!("{}/{below}", if *of_tree { tree } else { dir });
        if self.dark.contains(&folder) {
            return None;
        }
        let file = |(path, text): (&String, &String)| {
            let day = path.strip_prefix(&format!("{folder}/"))?.strip_suffix(".md")?;
            let text = (!self.locked.contains(path)).then(|| text.clone());
            let day = Some(day).filter(|day| *day <= until.as_str())?;
            let changed_ms = self.stage.machine.files.get(path).copied();
            Some(DayFile { day: day.to_owned(), text, is_folder: false, changed_ms })
        };
        let mut files: Vec<DayFile> = self.files.iter().filter_map(file).collect();
        let files = files.split_off(files.len().saturating_sub(*n));
        Some(Daily { folder, files })
    }

    fn start(&mut self) -> Outcome {
        let event = self.event(EventKind::SessionStart, main());
        self.happen(&event)
    }

    fn spawn(&mut self, id: &str, kind: &str) -> Verdict {
        let event = self.event(EventKind::SubagentStart, sub(id, kind));
        self.happen(&event).verdict
    }

    /// Why the subagent is held, if it is.
    fn end(&mut self, id: &str, kind: &str) -> Option<String> {
        let event = self.event(EventKind::SubagentStop, sub(id, kind));
        self.happen(&event).verdict.block
    }

    /// Why the session is held, if it is.
    fn stop(&mut self) -> Option<String> {
        let event = self.event(EventKind::Stop, main());
        self.happen(&event).verdict.block
    }
}

fn main() -> Actor {
    Actor::Main { kind: None }
}

fn sub(id: &str, kind: &str) -> Actor {
    Actor::Subagent { id: SafeId::new(id).unwrap(), kind: kind.to_owned() }
}

/// The text of this feature's section.
fn section(verdict: &Verdict) -> Option<String> {
    let context = verdict.context.as_deref()?;
    let (_, ours) = context.split_once("[substrate scratchpad] ")?;
    Some(ours.split("\n\n[substrate ").next().unwrap_or_default().to_owned())
}

fn pad(folder: &str, day: &str) -> String {
    format!(".claude/scratchpad/{folder}/{day}.md")
}
