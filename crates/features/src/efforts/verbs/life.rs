//! `substrate effort start`, `dehydrate`, `resume`, `finish`

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, DbError, Local, Output, VerbError};

use super::super::config::{self, SkillSpec};
use super::super::ops::messages::{self, PendingKind};
use super::super::ops::{self, Effort, Task, windows};
use super::super::start::{self, Beginning};
use super::super::{begin, words};
use super::{EffortFlag, EntryText, agent, append, effort, effort_json, own, worker, working_tree};
use crate::identity::book;

/// How deep below its working tree a task may be.
const MAX_DEPTH: usize = 8;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct Start {
    /// The skill, e.g. `brainstorm`
    skill: String,
    /// The task's folder, relative to the working tree (default: `tasks/<date>-<skill>`)
    #[arg(long)]
    task: Option<String>,
    /// How the skill is used, in one word
    #[arg(long)]
    mode: Option<String>,
    /// What the task is about, if it is new
    #[arg(long)]
    title: Option<String>,
    /// The working tree.
    #[arg(skip)]
    root: String,
    /// What the skill's folder says.
    #[arg(skip)]
    found: SkillSpec,
}

impl VerbArgs for Start {
    const PATH: &'static [&'static str] = &["effort", "start"];
    const ABOUT: &'static str =
        "Begin an effort: one use of a skill, with a log that outlives your context";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        // `run` reports a bad name, but only where efforts are on.
        if checked_skill(&self.skill).is_err() {
            return Ok(());
        }
        self.root = working_tree(local);
        self.found = config::find(&self.skill, &self.root, local)?;
        if let Some(task) = &self.task {
            // Links are followed here, where the caller sees them. Later nothing is written through one.
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
        let (worker, session) = agent(cx, caller)?;
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
            text.push_str(
                "No such skill was found, so this effort has no phases, templates or files.\n",
            );
        }
        if let Some(before) = before {
            let _infallible = writeln!(
                text,
                "Effort {before} stays open: `substrate effort resume {before}` goes back to it, `substrate effort finish {before}` ends it."
            );
        }
        let json = json!({"effort": effort_json(cx, &effort)?, "before": before});
        Ok(Output::new(text, json))
    }
}

impl Start {
    fn task(&self, cx: &Cx<'_>, caller: &Caller) -> Result<Task, VerbError> {
        let root = match self.root.as_str() {
            "" => caller.project_dir.clone().unwrap_or_else(|| caller.cwd.clone()),
            root => root.to_owned(),
        };
        let relative = self.task.clone().unwrap_or_else(|| start::usual_task(cx.now, &self.skill));
        let relative = relative.trim_matches('/').to_owned();
        let parts: Vec<&str> = relative.split('/').collect();
        let is_odd = |part: &&str| {
            matches!(*part, "" | "." | ".." | ".git") || part.chars().any(char::is_control)
        };
        if parts.len() > MAX_DEPTH || parts.iter().any(is_odd) || relative.len() > 240 {
            return Err(outside(&relative));
        }
        let title = self.title.as_deref().unwrap_or_default();
        Ok(start::task(root, relative, title, cx.now))
    }
}

fn checked_skill(skill: &str) -> Result<(), VerbError> {
    if start::is_skill(skill) {
        return Ok(());
    }
    Err(VerbError::user(
        format!("`{}` can't be the name of a skill", one_line(skill, 60)),
        "use letters, digits, `-` and `_`, e.g. `substrate effort start brainstorm`",
    ))
}

fn outside(task: &str) -> VerbError {
    VerbError::user(
        format!("`{}` can't be a task's folder", one_line(task, 120)),
        "name a folder inside the working tree, at most 8 levels deep, e.g. `--task tasks/login`",
    )
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct Dehydrate {
    #[command(flatten)]
    #[serde(flatten)]
    payload: EntryText,
    #[command(flatten)]
    #[serde(flatten)]
    which: EffortFlag,
}

impl VerbArgs for Dehydrate {
    const PATH: &'static [&'static str] = &["effort", "dehydrate"];
    const ABOUT: &'static str = "Leave the next session what it must know: goal, decisions, state, open questions, next steps, files";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.payload.complete(local)
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let worker = worker(cx, caller)?;
        let text = self.payload.checked()?;
        let effort = own(cx, caller, &worker, self.which.effort)?;
        if !worker.who.sub.is_empty() {
            return Err(VerbError::user(
                format!("{} dehydrates its own context, and you are its subagent", worker.who.name),
                "put what you know into your answer, or into `substrate effort log \"…\"`",
            ));
        }
        let window = worker.main_window(cx)?.map_or(0, |window| window.id);
        messages::leave(cx.db, effort.id, &text, window, cx.now)?;
        messages::say(cx.db, effort.id, &worker.who.address(), "dehydrate", &text, cx.now)?;
        // The next session gets only the newest payload. The file keeps them all.
        let name = words::artifact_name(effort.ordinal, &effort.skill, "DEHYDRATED");
        let entry = words::entry(cx.now, &worker.who.address(), &effort.phase, &text);
        append(cx, &effort, name.clone(), entry);
        if !effort.config.artifacts.contains(&name) {
            let mut config = effort.config.clone();
            config.artifacts.push(name);
            ops::set_config(cx.db, effort.id, &config)?;
        }
        let n_chars = text.chars().count();
        Ok(Output::new(
            format!(
                "Kept {n_chars} characters: the next session of {} begins with them. This one may end or be compacted.\n",
                words::named(effort.id, &effort.skill)
            ),
            json!({"effort": effort.id, "characters": n_chars}),
        ))
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct Resume {
    /// The effort's number (default: the one you worked on last)
    id: Option<i64>,
}

impl VerbArgs for Resume {
    const PATH: &'static [&'static str] = &["effort", "resume"];
    const ABOUT: &'static str =
        "Go on with an effort in this session, or take it over from an agent that is gone";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let (worker, session) = agent(cx, caller)?;
        let effort = effort(cx, caller, &worker, self.id)?;
        let agent = worker.who.agent;
        if effort.agent != agent {
            let owner = book::name_of(cx.db, effort.agent)?;
            if effort.finished.is_none() && !begin::is_free(cx, effort.agent, agent)? {
                return Err(VerbError::user(
                    words::is_busy(&owner, effort.id),
                    format!("write to {owner}: `substrate send --to {owner} --subject …`"),
                ));
            }
        } else if effort.finished.is_none()
            && worker.main_window(cx)?.and_then(|window| window.effort).map(|now| now.id)
                == Some(effort.id)
        {
            return Ok(answer(cx, &effort, "You already work on it.")?);
        }
        // A finished effort stays finished: `own` refuses it below.
        if effort.finished.is_none() {
            begin::take(cx, &effort, &worker.who)?;
        } else {
            ops::used(cx.db, effort.id, agent, cx.now)?;
        }
        let effort = own(cx, caller, &worker, Some(effort.id))?;
        windows::work_on(cx.db, &session, Some(effort.id))?;
        let who = worker.who.address();
        for file in &effort.config.preload {
            messages::add(cx.db, effort.id, PendingKind::Preload, file, &who, cx.now)?;
        }
        messages::say(cx.db, effort.id, &who, "resume", "", cx.now)?;
        Ok(answer(cx, &effort, "You go on with it.")?)
    }
}

fn answer(cx: &mut Cx<'_>, effort: &Effort, how: &str) -> Result<Output, DbError> {
    let logged = messages::said(cx.db, effort.id, "log", 3)?;
    let text = format!("{how}\n{}\n", words::briefing(effort, &logged, true));
    let json = json!({"effort": effort_json(cx, effort)?});
    Ok(Output::new(text, json))
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct Finish {
    /// The effort's number (default: yours)
    id: Option<i64>,
}

impl VerbArgs for Finish {
    const PATH: &'static [&'static str] = &["effort", "finish"];
    const ABOUT: &'static str = "End an effort and stop counting its tool calls";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let worker = worker(cx, caller)?;
        let effort = own(cx, caller, &worker, self.id)?;
        if !worker.who.sub.is_empty() {
            return Err(VerbError::user(
                format!(
                    "effort {} is {}'s to finish, not its subagent's",
                    effort.id, worker.who.name
                ),
                "say that your part is done: `substrate effort log \"…\"`",
            ));
        }
        ops::finish(cx.db, effort.id, cx.now)?;
        let who = worker.who.address();
        messages::say(cx.db, effort.id, &who, "finish", "", cx.now)?;
        let entry = words::entry(cx.now, &who, &effort.phase, "Finished.");
        append(cx, &effort, words::log_name(&effort), entry);
        Ok(Output::new(
            format!("{} is finished.\n", words::capital(&words::named(effort.id, &effort.skill))),
            json!({"effort": effort.id, "finished_ms": cx.now.0}),
        ))
    }
}
