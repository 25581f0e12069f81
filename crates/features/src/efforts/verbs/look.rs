//! `substrate effort show`, `effort list`, `task …`, `session …`

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Local, Output, SafeId, VerbError};

use super::super::ops::{self, Effort, Task, messages, windows};
use super::super::words;
use super::{
    effort, effort_json, effort_line, message_json, message_text, task_json, task_line,
    window_json, window_line, worker, working_tree,
};
use crate::context;
use crate::listing::{MAX_ROWS, Page, Scope, aligned};

/// The tasks that `--find` searches.
const MAX_SEARCHED: i64 = 10_000;

/// The messages that are shown without and with `--messages`.
const N_MESSAGES: i64 = 5;
const MAX_MESSAGES: i64 = 200;

/// The files of an effort or a window that are named.
const MAX_FILES: i64 = 100;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct ShowEffort {
    /// The effort's number (default: yours)
    id: Option<i64>,
    /// Show only what an earlier session left, all of it
    #[arg(long)]
    dehydrated: bool,
    /// Show everything that was logged, asked and injected
    #[arg(long)]
    messages: bool,
}

impl VerbArgs for ShowEffort {
    const PATH: &'static [&'static str] = &["effort", "show"];
    const ABOUT: &'static str =
        "Show an effort: its phase, task, artifacts, windows and latest entries";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let worker = worker(cx, caller)?;
        let effort = effort(cx, caller, &worker, self.id)?;
        if self.dehydrated {
            return dehydrated(&effort);
        }
        let n = if self.messages { MAX_MESSAGES } else { N_MESSAGES };
        let messages = messages::said(cx.db, effort.id, "", n)?;
        let n_pending = messages::n_open(cx.db, effort.id)?;
        let mut text = format!("{}\n", words::briefing(&effort, &[], false));
        text.push_str(&aligned(&effort_line(cx, &effort)?));
        if let Some(at) = effort.payload_at {
            let told =
                if effort.payload_told.is_some() { "told" } else { "waits for the next session" };
            let _infallible = writeln!(text, "Dehydrated {}: {told}.", words::ago(cx.now, at));
        }
        match n_pending {
            0 => {}
            1 => text.push_str("1 injection waits.\n"),
            n => {
                let _infallible = writeln!(text, "{n} injections wait.");
            }
        }
        for file in &effort.config.preload {
            let _infallible = writeln!(text, "Preloads `{file}`.");
        }
        let files = windows::files_of_effort(cx.db, effort.id, MAX_FILES)?;
        if !files.is_empty() {
            let _infallible = writeln!(text, "Read or changed: {}", files.join(", "));
        }
        let mut shown: Vec<Value> = Vec::new();
        text.push_str("Windows:\n");
        let mut lines = String::new();
        for window in &windows::of_effort(cx.db, effort.id)? {
            lines.push_str(&window_line(cx, window, true)?);
            shown.push(window_json(cx, window)?);
        }
        text.push_str(&aligned(&lines));
        if !messages.is_empty() {
            text.push_str("Latest:\n");
        }
        for message in &messages {
            text.push_str(&message_text(message, cx.now));
        }
        let json = json!({
            "effort": effort_json(cx, &effort)?,
            "pending": n_pending,
            "windows": shown,
            "loaded_files": files,
            "messages": messages.iter().map(message_json).collect::<Vec<_>>(),
        });
        Ok(Output::new(text, json))
    }
}

fn dehydrated(effort: &Effort) -> Result<Output, VerbError> {
    let Some(text) = &effort.payload else {
        return Err(VerbError::user(
            format!("no session has left anything for effort {}", effort.id),
            "`substrate effort dehydrate` leaves something for the next one",
        ));
    };
    let json =
        json!({"effort": effort.id, "dehydrated": text, "at_ms": effort.payload_at.map(|at| at.0)});
    Ok(Output::new(format!("{text}\n"), json))
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct ListEfforts {
    #[command(flatten)]
    #[serde(flatten)]
    scope: Scope,
}

impl VerbArgs for ListEfforts {
    const PATH: &'static [&'static str] = &["effort", "list"];
    const ABOUT: &'static str = "List the project's unfinished efforts";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let mut page = Page::default();
        for effort in &ops::list(cx.db, self.scope.project(caller), self.scope.all, MAX_ROWS)? {
            page.push(&effort_line(cx, effort)?, effort_json(cx, effort)?);
        }
        let hint = words::how_to_begin(cx.settings);
        Ok(page.output("efforts", || format!("No efforts here. {hint}\n")))
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct ListTasks {
    #[command(flatten)]
    #[serde(flatten)]
    scope: Scope,
    /// List only tasks with all these words in their keywords, title or folder
    #[arg(long, value_name = "WORDS")]
    find: Option<String>,
}

impl VerbArgs for ListTasks {
    const PATH: &'static [&'static str] = &["task", "list"];
    const ABOUT: &'static str =
        "List the project's tasks, the folders that hold efforts' artifacts";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let wanted = self.find.unwrap_or_default();
        let limit = if wanted.is_empty() { MAX_ROWS } else { MAX_SEARCHED };
        let mut tasks = ops::tasks(cx.db, self.scope.project(caller), limit)?;
        tasks.retain(|(task, ..)| fits(task, &wanted));
        tasks.truncate(usize::try_from(MAX_ROWS).unwrap_or(200));
        let mut page = Page::default();
        for (task, n, n_active) in &tasks {
            let json = task_json(task, *n, *n_active);
            page.push(&task_line(task, *n, *n_active), json);
        }
        let hint = words::how_to_begin(cx.settings);
        Ok(page.output("tasks", || match wanted.is_empty() {
            true => format!("No tasks here. {hint}\n"),
            false => format!(
                "No task has `{}`. `substrate effort task list` shows them all.\n",
                one_line(&wanted, 80)
            ),
        }))
    }
}

/// A task, named by its folder.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
struct TaskFolder {
    /// The task's folder, relative to the working tree
    dir: String,
    #[arg(skip)]
    root: String,
}

impl TaskFolder {
    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.root = working_tree(local);
        Ok(())
    }

    /// The task of the folder, however the folder is written.
    fn find(&self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Task, VerbError> {
        let root = match self.root.as_str() {
            "" => caller.project_dir.as_deref().unwrap_or(&caller.cwd),
            root => root,
        };
        let dir = self.dir.trim_end_matches('/');
        let dir = dir.strip_prefix("./").unwrap_or(dir);
        let whole = if dir.starts_with('/') { dir.to_owned() } else { format!("{root}/{dir}") };
        ops::task(cx.db, &whole)?.ok_or_else(|| {
            VerbError::user(
                format!("there is no task `{}`", one_line(dir, 120)),
                "`substrate effort task list` shows the project's tasks",
            )
        })
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct ShowTask {
    #[command(flatten)]
    #[serde(flatten)]
    folder: TaskFolder,
}

impl VerbArgs for ShowTask {
    const PATH: &'static [&'static str] = &["task", "show"];
    const ABOUT: &'static str = "Show a task and its efforts";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.folder.complete(local)
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let task = self.folder.find(cx, caller)?;
        shown(cx, &task)
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct SetTask {
    #[command(flatten)]
    #[serde(flatten)]
    folder: TaskFolder,
    /// What the task is about, in one line
    #[arg(long, required_unless_present = "keywords")]
    title: Option<String>,
    /// Words to find it by, separated by commas
    #[arg(long)]
    keywords: Option<String>,
}

impl VerbArgs for SetTask {
    const PATH: &'static [&'static str] = &["task", "set"];
    const ABOUT: &'static str = "Give a task a title or keywords";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.folder.complete(local)
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let task = self.folder.find(cx, caller)?;
        let title = self.title.map(|title| one_line(&title, 200));
        let keywords = self.keywords.map(|words| {
            let words: Vec<String> = words
                .split(',')
                .map(|word| one_line(word, 60))
                .filter(|word| !word.is_empty())
                .take(32)
                .collect();
            words.join(", ")
        });
        ops::set_task(cx.db, &task.dir, title.as_deref(), keywords.as_deref())?;
        let task = self.folder.find(cx, caller)?;
        shown(cx, &task)
    }
}

/// Whether a task has all the words, ignoring case.
pub(crate) fn fits(task: &Task, words: &str) -> bool {
    let all = format!("{}\n{}\n{}", task.keywords, task.title, task.relative).to_lowercase();
    let wanted = words.to_lowercase();
    wanted.split([',', ' ']).filter(|word| !word.is_empty()).all(|word| all.contains(word))
}

fn shown(cx: &mut Cx<'_>, task: &Task) -> Result<Output, VerbError> {
    let efforts = ops::of_task(cx.db, &task.dir)?;
    let n = i64::try_from(efforts.len()).unwrap_or(i64::MAX);
    let n_active = i64::try_from(efforts.iter().filter(|effort| effort.finished.is_none()).count())
        .unwrap_or(0);
    let (mut lines, mut list) = (String::new(), Vec::new());
    for effort in &efforts {
        lines.push_str(&effort_line(cx, effort)?);
        list.push(effort_json(cx, effort)?);
    }
    let mut json = task_json(task, n, n_active);
    json["efforts"] = list.into();
    let text = aligned(&task_line(task, n, n_active)) + &aligned(&lines);
    Ok(Output::new(text, json))
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct ListSessions {
    #[command(flatten)]
    #[serde(flatten)]
    scope: Scope,
}

impl VerbArgs for ListSessions {
    const PATH: &'static [&'static str] = &["session", "list"];
    const ABOUT: &'static str =
        "List the open context windows of the project's sessions and their subagents";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let project = self.scope.project(caller);
        let mut page = Page::default();
        for window in &windows::list(cx.db, project, !self.scope.all, MAX_ROWS)? {
            page.push(&window_line(cx, window, true)?, window_json(cx, window)?);
        }
        Ok(page.output("windows", || {
            "No session is open here. Sessions are recorded while `efforts.on` is true.\n"
                .to_owned()
        }))
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct ShowSession {
    /// The session's id (default: your own)
    session: Option<String>,
}

impl VerbArgs for ShowSession {
    const PATH: &'static [&'static str] = &["session", "show"];
    const ABOUT: &'static str = "Show the context windows of a session, oldest first";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let named = self.session.as_deref().and_then(SafeId::new);
        let Some(session) = named.or_else(|| caller.session_id()) else {
            return Err(VerbError::user(
                "can't tell which session you mean",
                "name one: `substrate effort session list --all` shows them",
            ));
        };
        let windows = windows::of_session(cx.db, session.as_str())?;
        if windows.is_empty() {
            return Err(VerbError::user(
                format!("no window of session `{}` is known", one_line(session.as_str(), 60)),
                "`substrate effort session list --all` shows the known ones; sessions are recorded while `efforts.on` is true",
            ));
        }
        let usage = context::face::reported(cx, session.as_str())?;
        let (mut text, mut list) = (String::new(), Vec::new());
        for window in &windows {
            let files = windows::files_of_window(cx.db, window.id, MAX_FILES)?;
            text.push_str(&window_line(cx, window, false)?);
            if !files.is_empty() {
                let names: Vec<String> = files.iter().map(|path| one_line(path, 240)).collect();
                let _infallible = writeln!(text, "         read or changed: {}", names.join(", "));
            }
            let mut json = window_json(cx, window)?;
            json["loaded_files"] = json!(files);
            list.push(json);
        }
        if let Some(usage) = usage {
            let _infallible = writeln!(
                text,
                "The client last reported that its context was {} % full.",
                usage.percent_of_window
            );
        }
        let percent = usage.map(|usage| usage.percent_of_window);
        let json = json!({"session": session.as_str(), "windows": list, "percent": percent});
        Ok(Output::new(aligned(&text), json))
    }
}
