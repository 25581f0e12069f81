//! An effort begins: by a command, or because its skill is run.

use substrate_core::text::one_line;
use substrate_core::{Cx, DbError, Effect, Timestamp, Who};

use super::config::{Config, Found, LOG};
use super::ops::{self, Effort, New, Task};
use super::ops_pending::{self, What};
use super::{ops_windows, render, words};

/// Everything that is known of an effort before it begins.
#[derive(Debug)]
pub(super) struct Beginning {
    pub(super) who: Who,
    pub(super) session: String,
    pub(super) project: String,
    pub(super) skill: String,
    pub(super) mode: String,
    pub(super) task: Task,
    pub(super) found: Found,
}

impl Beginning {
    /// After how many calls its agent is warned, and which is refused.
    pub(super) fn limits(&self, cx: &Cx<'_>) -> (i64, i64) {
        let Config { warn_at, block_at, .. } = &self.found.config;
        let at = |own: &Option<i64>, key: &str| own.unwrap_or_else(|| cx.settings.int(key));
        let block_at = match at(block_at, "efforts.block_at") {
            // Each call would be refused, also the one right after an entry.
            1 => 2,
            block_at => block_at,
        };
        (at(warn_at, "efforts.warn_at"), block_at)
    }

    pub(super) fn phase(&self) -> &str {
        self.found.config.phases.first().map_or("", String::as_str)
    }

    /// Begins it. Its session works on it from now on.
    pub(super) fn begin(self, cx: &mut Cx<'_>) -> Result<Effort, DbError> {
        ops::ensure_task(cx.db, &self.task, &self.project)?;
        let (warn_at, block_at) = self.limits(cx);
        let new = New {
            task: &self.task.dir,
            project: &self.project,
            agent: self.who.agent,
            skill: &self.skill,
            mode: &self.mode,
            phase: self.phase(),
            config: &self.found.config,
            warn_at,
            block_at,
        };
        let id = ops::begin(cx.db, &new, cx.now)?;
        let made = ops::one(cx.db, id)?;
        let made = made.ok_or(DbError::Other { detail: "the effort was not made".to_owned() })?;
        let Found { config, mut templates } = self.found;
        let title = format!("# {} · {}\n\n", made.skill, render::task_title(&made.task));
        let log = templates.remove(LOG).map_or(title, |text| format!("{}\n\n", text.trim_end()));
        artifact(cx, &made.task, &words::log_name(&made), log);
        let mut artifacts = Vec::new();
        for (name, text) in templates {
            let name = words::artifact_name(made.ordinal, &made.skill, &name);
            artifact(cx, &made.task, &name, text);
            artifacts.push(name);
        }
        let config = Config { artifacts, ..config };
        ops::set_config(cx.db, id, &config)?;
        ops_windows::work_on(cx.db, &self.session, Some(id))?;
        let who = self.who.address();
        for file in &config.preload {
            ops_pending::add(cx.db, id, What::Preload, file, &who, cx.now)?;
        }
        ops_pending::say(cx.db, id, &who, "start", &self.mode, cx.now)?;
        Ok(Effort { config, ..made })
    }
}

/// The task of an effort that names none.
pub(super) fn usual_task(now: Timestamp, skill: &str) -> String {
    format!("tasks/{}-{}", words::day(now), skill.replace(':', "-"))
}

/// A folder below a working tree as a task.
pub(super) fn task(root: String, relative: String, title: &str, now: Timestamp) -> Task {
    Task {
        dir: format!("{root}/{relative}"),
        root,
        relative,
        title: one_line(title, 200),
        keywords: String::new(),
        made: now,
    }
}

/// Letters, digits, `-`, `_` and `:`, and a letter or digit first: fit to be in a path.
pub(super) fn is_skill(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b':');
    let is_plain = (1..=64).contains(&name.len()) && name.bytes().all(plain);
    is_plain && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn artifact(cx: &mut Cx<'_>, task: &Task, name: &str, text: String) {
    let (root, dir) = (task.root.clone(), task.relative.clone());
    cx.effects.push(Effect::Artifact { root, dir, name: name.to_owned(), text, fresh: true });
}
