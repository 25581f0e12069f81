//! `substrate effort phase`, `log`, `inject`, `preload`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Local, Output, VerbError};

use super::super::config::{self, Config};
use super::super::ops::messages::{self, PendingKind};
use super::super::ops::{self, windows};
use super::super::words;
use super::{EffortFlag, EntryText, append, effort, own, worker, working_tree};

/// How many injections may wait.
const MAX_WAITING: i64 = 50;

/// How many files an effort may begin with.
const MAX_FILES: usize = 16;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct Phase {
    /// The phase to begin (default: the next one)
    phase: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    which: EffortFlag,
}

impl VerbArgs for Phase {
    const PATH: &'static [&'static str] = &["effort", "phase"];
    const ABOUT: &'static str = "Go to the next phase of an effort, or to the one you name";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let worker = worker(cx, caller)?;
        let effort = own(cx, caller, &worker, self.which.effort)?;
        let phases = &effort.config.phases;
        let at = phases.iter().position(|phase| *phase == effort.phase);
        let next = match self.phase.as_deref().map(|phase| one_line(phase, 40)) {
            Some(phase) if phase.is_empty() => None,
            Some(phase) if phases.is_empty() || phases.contains(&phase) => Some(phase),
            Some(_) => None,
            None => phases.get(at.map_or(0, |at| at + 1)).cloned(),
        };
        let Some(next) = next else {
            let hint = match phases.is_empty() {
                true => "this skill has no phases of its own: name one".to_owned(),
                false => format!("the phases of {} are {}", effort.skill, phases.join(", ")),
            };
            let message = match &self.phase {
                Some(phase) => format!("there is no phase `{}`", one_line(phase, 60)),
                None => format!("there is no phase after `{}`", effort.phase),
            };
            return Err(VerbError::user(message, hint));
        };
        ops::set_phase(cx.db, effort.id, &next)?;
        let who = worker.who.address();
        messages::say(cx.db, effort.id, &who, "phase", &next, cx.now)?;
        let entry = words::entry(cx.now, &who, &next, &format!("Phase `{next}` begins."));
        append(cx, &effort, words::log_name(&effort), entry);
        let was = if effort.phase.is_empty() {
            String::new()
        } else {
            format!(" (was `{}`)", effort.phase)
        };
        Ok(Output::new(
            format!("Effort {}: phase `{next}`{was}.\n", effort.id),
            json!({"effort": effort.id, "phase": next, "was": effort.phase}),
        ))
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct Log {
    #[command(flatten)]
    #[serde(flatten)]
    entry: EntryText,
    #[command(flatten)]
    #[serde(flatten)]
    which: EffortFlag,
}

impl VerbArgs for Log {
    const PATH: &'static [&'static str] = &["effort", "log"];
    const ABOUT: &'static str =
        "Log what you did, found or decided, and what comes next; resets the count of tool calls";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.entry.complete(local)
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let worker = worker(cx, caller)?;
        let text = self.entry.checked()?;
        let effort = own(cx, caller, &worker, self.which.effort)?;
        let who = worker.who.address();
        messages::say(cx.db, effort.id, &who, "log", &text, cx.now)?;
        if !worker.is_person() {
            ops::used(cx.db, effort.id, worker.who.agent, cx.now)?;
        }
        if let Some((session, actor)) = &worker.seat {
            windows::logged(cx.db, session, actor)?;
        }
        let entry = words::entry(cx.now, &who, &effort.phase, &text);
        let name = words::log_name(&effort);
        let is_written = cx.takes_artifact(&effort.task.root, &effort.task.relative, &name);
        let file = one_line(&format!("{}/{name}", effort.task.relative), 240);
        append(cx, &effort, name, entry);
        let text = match is_written {
            true => format!("Logged in `{file}`.\n"),
            false => format!(
                "The entry is kept (`substrate effort show {} --messages`), but `{file}` could not be written: it is not a plain file, or you may not write it.\n",
                effort.id
            ),
        };
        let json =
            json!({"effort": effort.id, "file": file, "written": is_written, "at_ms": cx.now.0});
        Ok(Output::new(text, json))
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct Inject {
    #[command(flatten)]
    #[serde(flatten)]
    message: EntryText,
    #[command(flatten)]
    #[serde(flatten)]
    which: EffortFlag,
}

impl VerbArgs for Inject {
    const PATH: &'static [&'static str] = &["effort", "inject"];
    const ABOUT: &'static str = "Tell an effort's agent something, once, after its next tool call";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.message.complete(local)
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let worker = worker(cx, caller)?;
        let text = self.message.checked()?;
        let effort = effort(cx, caller, &worker, self.which.effort)?;
        if effort.finished.is_some() {
            return Err(VerbError::user(
                format!("effort {} is finished, so no agent would be told", effort.id),
                "`substrate effort list` shows the open ones",
            ));
        }
        if messages::n_open(cx.db, effort.id)? >= MAX_WAITING {
            return Err(VerbError::user(
                format!("{MAX_WAITING} injections already wait for effort {}", effort.id),
                "its agent is told them with its next tool calls",
            ));
        }
        let who = worker.who.address();
        messages::add(cx.db, effort.id, PendingKind::Inject, &text, &who, cx.now)?;
        messages::say(cx.db, effort.id, &who, "inject", &text, cx.now)?;
        Ok(Output::new(
            format!("The agent of effort {} will be told after its next tool call.\n", effort.id),
            json!({"effort": effort.id}),
        ))
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct Preload {
    /// Files in the working tree
    #[arg(required = true)]
    files: Vec<String>,
    #[command(flatten)]
    #[serde(flatten)]
    which: EffortFlag,
}

impl VerbArgs for Preload {
    const PATH: &'static [&'static str] = &["effort", "preload"];
    const ABOUT: &'static str =
        "Show files to this session now, and at the start of every later session of the effort";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        let root = working_tree(local);
        for file in &mut self.files {
            let found = config::inside(file, &[&root], local);
            *file = found.ok_or_else(|| {
                VerbError::user(
                    format!("`{}` is not in the working tree", one_line(file, 200)),
                    "only files of the project can be preloaded",
                )
            })?;
        }
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let worker = worker(cx, caller)?;
        let effort = own(cx, caller, &worker, self.which.effort)?;
        let mut preload = effort.config.preload.clone();
        for file in &self.files {
            if cx.changed(file).is_some_and(|found| found.itself.is_none()) {
                return Err(VerbError::user(
                    format!("there is no file `{}`", one_line(file, 200)),
                    "name files that exist",
                ));
            }
            if !preload.contains(file) {
                preload.push(file.clone());
            }
        }
        if preload.len() > MAX_FILES {
            return Err(VerbError::user(
                format!("an effort can preload at most {MAX_FILES} files"),
                "`substrate effort show` names the ones it has",
            ));
        }
        let who = worker.who.address();
        for file in &self.files {
            messages::add(cx.db, effort.id, PendingKind::Preload, file, &who, cx.now)?;
        }
        let n = self.files.len();
        let config = Config { preload, ..effort.config.clone() };
        ops::set_config(cx.db, effort.id, &config)?;
        let files = if n == 1 { "1 file".to_owned() } else { format!("{n} files") };
        Ok(Output::new(
            format!(
                "You will see {files} of effort {} with your next tool call, and at the start of each session.\n",
                effort.id
            ),
            json!({"effort": effort.id, "preload": config.preload}),
        ))
    }
}
