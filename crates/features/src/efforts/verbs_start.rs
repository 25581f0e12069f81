//! `substrate effort start`

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Local, Output, VerbError};

use super::config::{self, Found};
use super::make::{self, Beginning};
use super::ops::{self, Task};
use super::{render, target, words};

/// How deep below its working tree a task may be.
const MAX_DEPTH: usize = 8;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Start {
    /// The skill, e.g. `brainstorm`
    skill: String,
    /// The task's folder, relative to the working tree (default: `tasks/<date>-<skill>`)
    #[arg(long)]
    task: Option<String>,
    /// How the skill is used, in a word
    #[arg(long)]
    mode: Option<String>,
    /// What the task is about, if it is new
    #[arg(long)]
    title: Option<String>,
    /// The working tree.
    #[arg(skip)]
    root: String,
    /// What the skill says.
    #[arg(skip)]
    found: Found,
}

impl VerbArgs for Start {
    const PATH: &'static [&'static str] = &["effort", "start"];
    const ABOUT: &'static str =
        "Begin an effort: one use of a skill, with a log that outlives your context";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        // What is wrong with its name, `run` says, where efforts are on.
        if checked_skill(&self.skill).is_err() {
            return Ok(());
        }
        self.root = root(local);
        self.found = config::find(&self.skill, &self.root, local)?;
        if let Some(task) = &self.task {
            // Links are followed here, where the caller sees them; nothing is written through one later.
            let wanted =
                if task.starts_with('/') { task.clone() } else { format!("{}/{task}", self.root) };
            let Some(path) = config::inside(&wanted, &[&self.root], local) else {
                return Err(outside(task));
            };
            self.task = path.strip_prefix(&format!("{}/", self.root)).map(str::to_owned);
        }
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let (worker, session) = target::agent(cx, caller)?;
        checked_skill(&self.skill)?;
        let agent = worker.who.agent;
        let task = self.task(cx, caller)?;
        if !cx.takes_artifact(&task.root, &task.relative, "0.md") {
            return Err(VerbError::user(
                format!("`{}` can't be a task's folder", one_line(&task.relative, 120)),
                "it is a file, a link, or not yours to write: name another one, e.g. `--task tasks/login`",
            ));
        }
        let before = ops::active(cx.db, agent, &caller.project)?;
        let beginning = Beginning {
            who: worker.who,
            session,
            project: caller.project.clone(),
            skill: self.skill,
            mode: one_line(self.mode.as_deref().unwrap_or_default(), 40),
            task,
            found: self.found,
        };
        let effort = beginning.begin(cx)?;
        let id = effort.id;
        let mut text =
            format!("Effort {id} has begun.\n{}\n", words::briefing(&effort, &[], false));
        if effort.config.folder.is_empty() {
            text.push_str("No folder of such a skill was found: it has no phases, templates or files of its own.\n");
        }
        if let Some(before) = before {
            let _infallible = writeln!(
                text,
                "Effort {before} stays open: `substrate effort resume {before}` goes back to it, `substrate effort finish {before}` ends it."
            );
        }
        let json = json!({"effort": render::json(cx, &effort)?, "before": before});
        Ok(Output::new(text, json))
    }
}

impl Start {
    fn task(&self, cx: &Cx<'_>, caller: &Caller) -> Result<Task, VerbError> {
        let root = match self.root.as_str() {
            "" => caller.project_dir.clone().unwrap_or_else(|| caller.cwd.clone()),
            root => root.to_owned(),
        };
        let relative = self.task.clone().unwrap_or_else(|| make::usual_task(cx.now, &self.skill));
        let relative = relative.trim_matches('/').to_owned();
        let parts: Vec<&str> = relative.split('/').collect();
        let is_odd = |part: &&str| {
            matches!(*part, "" | "." | ".." | ".git") || part.chars().any(char::is_control)
        };
        if parts.len() > MAX_DEPTH || parts.iter().any(is_odd) || relative.len() > 240 {
            return Err(outside(&relative));
        }
        let title = self.title.as_deref().unwrap_or_default();
        Ok(make::task(root, relative, title, cx.now))
    }
}

/// The working tree that a command is run in, or else its folder.
pub(super) fn root(local: &mut dyn Local) -> String {
    let here = local.place("-");
    match here.root.is_empty() {
        true => here.path.strip_suffix("/-").unwrap_or(&here.path).to_owned(),
        false => here.root,
    }
}

fn checked_skill(skill: &str) -> Result<(), VerbError> {
    if make::is_skill(skill) {
        return Ok(());
    }
    Err(VerbError::user(
        format!("`{}` is no name of a skill", one_line(skill, 60)),
        "it has letters, digits, `-` and `_`, e.g. `substrate effort start brainstorm`",
    ))
}

fn outside(task: &str) -> VerbError {
    VerbError::user(
        format!("`{}` can't be a task's folder", one_line(task, 120)),
        "name a folder inside the working tree, at most 8 levels deep, e.g. `--task tasks/login`",
    )
}
