//! `substrate effort phase`, `log`, `inject`, `preload`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::redact::redacted;
use substrate_core::size::Bytes;
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Effect, Local, Output, VerbError};

use super::config::{self, Config};
use super::ops::{self, Effort};
use super::ops_pending::{self, What};
use super::verbs_start::root;
use super::{ops_windows, target, words};

/// The longest text of an entry or injection.
const MAX_TEXT: usize = 64 << 10;

/// How many injections may wait.
const MAX_WAITING: i64 = 50;

/// How many files an effort may begin with.
const MAX_FILES: usize = 16;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Phase {
    /// The phase that begins; without it, the next one
    phase: Option<String>,
    /// Which effort (default: yours)
    #[arg(long)]
    effort: Option<i64>,
}

impl VerbArgs for Phase {
    const PATH: &'static [&'static str] = &["effort", "phase"];
    const ABOUT: &'static str = "Go to the next phase of an effort, or to the one that you name";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let worker = target::worker(cx)?;
        let effort = target::own(cx, caller, &worker, self.effort)?;
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
        ops_pending::say(cx.db, effort.id, &who, "phase", &next, cx.now)?;
        let entry = words::entry(cx.now, &who, &next, &format!("Phase `{next}` begins."));
        log_file(cx, &effort, entry);
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
pub(super) struct Log {
    /// What you did, found or decided, and what comes next
    #[arg(required_unless_present_any = ["body", "body_file"], allow_hyphen_values = true)]
    text: Option<String>,
    /// The same as a flag
    #[arg(long, conflicts_with_all = ["text", "body_file"], allow_hyphen_values = true)]
    #[serde(default, skip_serializing)]
    body: Option<String>,
    /// The file with the text; `-` is standard input
    #[arg(long, conflicts_with = "text")]
    body_file: Option<String>,
    /// Which effort (default: yours)
    #[arg(long)]
    effort: Option<i64>,
}

impl VerbArgs for Log {
    const PATH: &'static [&'static str] = &["effort", "log"];
    const ABOUT: &'static str =
        "Add an entry to the effort's log; the count of tool calls begins anew";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.text = self.text.take().or(self.body.take());
        read_body(&mut self.text, &mut self.body_file, local)
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let worker = target::worker(cx)?;
        let text = checked(self.text.as_deref().unwrap_or_default())?;
        let effort = target::own(cx, caller, &worker, self.effort)?;
        let who = worker.who.address();
        ops_pending::say(cx.db, effort.id, &who, "log", &text, cx.now)?;
        if !worker.is_person() {
            ops::used(cx.db, effort.id, worker.who.agent, cx.now)?;
        }
        if let Some((session, actor)) = &worker.seat {
            ops_windows::logged(cx.db, session, actor)?;
        }
        let entry = words::entry(cx.now, &who, &effort.phase, &text);
        let name = words::log_name(&effort);
        let is_written = cx.takes_artifact(&effort.task.root, &effort.task.relative, &name);
        log_file(cx, &effort, entry);
        let file = one_line(&format!("{}/{name}", effort.task.relative), 240);
        let text = match is_written {
            true => format!("Logged in `{file}`.\n"),
            false => format!(
                "The entry is kept (`substrate effort show {} --messages`), but `{file}` could not be written: it is no plain file, or not yours to write.\n",
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
pub(super) struct Inject {
    /// What the agent shall know
    #[arg(required_unless_present = "body_file", allow_hyphen_values = true)]
    text: Option<String>,
    /// The file with the text; `-` is standard input
    #[arg(long, conflicts_with = "text")]
    body_file: Option<String>,
    /// Which effort (default: yours)
    #[arg(long)]
    effort: Option<i64>,
}

impl VerbArgs for Inject {
    const PATH: &'static [&'static str] = &["effort", "inject"];
    const ABOUT: &'static str =
        "Tell whoever works on an effort something, once, after its next tool call";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        read_body(&mut self.text, &mut self.body_file, local)
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let worker = target::worker(cx)?;
        let text = checked(self.text.as_deref().unwrap_or_default())?;
        let effort = target::effort(cx, caller, &worker, self.effort)?;
        if effort.finished.is_some() {
            return Err(VerbError::user(
                format!("effort {} is finished: nobody would be told", effort.id),
                "`substrate effort list` shows those that are not",
            ));
        }
        if ops_pending::n_open(cx.db, effort.id)? >= MAX_WAITING {
            return Err(VerbError::user(
                format!("{MAX_WAITING} injections wait for effort {} already", effort.id),
                "they are told with its agent's next tool calls",
            ));
        }
        let who = worker.who.address();
        ops_pending::add(cx.db, effort.id, What::Inject, &text, &who, cx.now)?;
        ops_pending::say(cx.db, effort.id, &who, "inject", &text, cx.now)?;
        Ok(Output::new(
            format!("Effort {} is told after its agent's next tool call.\n", effort.id),
            json!({"effort": effort.id}),
        ))
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Preload {
    /// Files of the working tree
    #[arg(required = true)]
    files: Vec<String>,
    /// Which effort (default: yours)
    #[arg(long)]
    effort: Option<i64>,
}

impl VerbArgs for Preload {
    const PATH: &'static [&'static str] = &["effort", "preload"];
    const ABOUT: &'static str =
        "Name files that every session of the effort begins with; this one is shown them now";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        let root = root(local);
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
        let worker = target::worker(cx)?;
        let effort = target::own(cx, caller, &worker, self.effort)?;
        let mut preload = effort.config.preload.clone();
        for file in &self.files {
            if cx.changed(file).is_some_and(|found| found.itself.is_none()) {
                return Err(VerbError::user(
                    format!("there is no file `{}`", one_line(file, 200)),
                    "name files that are there",
                ));
            }
            if !preload.contains(file) {
                preload.push(file.clone());
            }
        }
        if preload.len() > MAX_FILES {
            return Err(VerbError::user(
                format!("an effort begins with {MAX_FILES} files at the most"),
                "`substrate effort show` names those it has",
            ));
        }
        let who = worker.who.address();
        for file in &self.files {
            ops_pending::add(cx.db, effort.id, What::Preload, file, &who, cx.now)?;
        }
        let n = self.files.len();
        let config = Config { preload, ..effort.config.clone() };
        ops::set_config(cx.db, effort.id, &config)?;
        let files = if n == 1 { "1 file".to_owned() } else { format!("{n} files") };
        Ok(Output::new(
            format!(
                "Effort {} is shown {files} with its next tool call, and at the start of each session.\n",
                effort.id
            ),
            json!({"effort": effort.id, "preload": config.preload}),
        ))
    }
}

pub(super) fn log_file(cx: &mut Cx<'_>, effort: &Effort, text: String) {
    let (root, dir) = (effort.task.root.clone(), effort.task.relative.clone());
    let name = words::log_name(effort);
    cx.effects.push(Effect::Artifact { root, dir, name, text, fresh: false });
}

/// Somebody's text, without secrets: it goes into a file that may be committed.
pub(super) fn checked(text: &str) -> Result<String, VerbError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(VerbError::user(
            "there is no text",
            "put it in quotes, or use `--body-file -`",
        ));
    }
    if text.len() > MAX_TEXT {
        return Err(VerbError::user(
            format!("the text is longer than {}", Bytes::of(MAX_TEXT)),
            "leave the details in a file, and name it",
        ));
    }
    let plain: String =
        text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect();
    Ok(redacted(&plain, MAX_TEXT, false).into_owned())
}

/// The text of a file instead of its name.
pub(super) fn read_body(
    text: &mut Option<String>,
    file: &mut Option<String>,
    local: &mut dyn Local,
) -> Result<(), VerbError> {
    if let Some(path) = file.take() {
        *text = Some(local.read(&path)?);
    }
    Ok(())
}
