//! `substrate task list`, `task show`, `task set`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Local, Output, VerbError};

use super::ops::{self, Task};
use super::verbs_start::root;
use super::{render, words};

/// Rows of a list at the most, and of what is looked through for one.
const MAX_LISTED: i64 = 200;
const MAX_LOOKED_AT: i64 = 10_000;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct List {
    /// Those of every project
    #[arg(long)]
    all: bool,
    /// Only those that have all these words in their keywords, title or folder
    #[arg(long, value_name = "WORDS")]
    find: Option<String>,
}

impl VerbArgs for List {
    const PATH: &'static [&'static str] = &["task", "list"];
    const ABOUT: &'static str =
        "The tasks of the project: folders in which efforts leave their artifacts";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let project = (!self.all && !caller.project.is_empty()).then_some(caller.project.as_str());
        let wanted = self.find.unwrap_or_default();
        let limit = if wanted.is_empty() { MAX_LISTED } else { MAX_LOOKED_AT };
        let mut tasks = ops::tasks(cx.db, project, limit)?;
        tasks.retain(|(task, ..)| fits(task, &wanted));
        tasks.truncate(usize::try_from(MAX_LISTED).unwrap_or(200));
        let line = |(task, n, active): &(Task, i64, i64)| render::task_line(task, *n, *active);
        let text: String = tasks.iter().map(line).collect();
        let json = |(task, n, active): &(Task, i64, i64)| render::task_json(task, *n, *active);
        let list: Vec<_> = tasks.iter().map(json).collect();
        let text = match text.is_empty() {
            true if !wanted.is_empty() => {
                format!(
                    "No task has `{}`. `substrate task list` shows them all.\n",
                    one_line(&wanted, 80)
                )
            }
            true => format!("No tasks here. {}\n", words::how_to_begin(cx.settings)),
            false => text,
        };
        Ok(Output::new(text, json!({"tasks": list})))
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Show {
    /// The task's folder, relative to the working tree
    dir: String,
    #[arg(skip)]
    root: String,
}

impl VerbArgs for Show {
    const PATH: &'static [&'static str] = &["task", "show"];
    const ABOUT: &'static str = "A task and its efforts";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.root = root(local);
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let task = found(cx, caller, &self.root, &self.dir)?;
        let (text, json) = shown(cx, &task)?;
        Ok(Output::new(text, json))
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Set {
    /// The task's folder, relative to the working tree
    dir: String,
    /// What it is about, in one line
    #[arg(long, required_unless_present = "keywords")]
    title: Option<String>,
    /// Words to find it by, with commas
    #[arg(long)]
    keywords: Option<String>,
    #[arg(skip)]
    root: String,
}

impl VerbArgs for Set {
    const PATH: &'static [&'static str] = &["task", "set"];
    const ABOUT: &'static str = "Give a task a title or keywords";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.root = root(local);
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let task = found(cx, caller, &self.root, &self.dir)?;
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
        let task = found(cx, caller, &self.root, &self.dir)?;
        let (text, json) = shown(cx, &task)?;
        Ok(Output::new(text, json))
    }
}

/// Whether a task has all the words, whatever their case.
pub(super) fn fits(task: &Task, words: &str) -> bool {
    let all = format!("{}\n{}\n{}", task.keywords, task.title, task.relative).to_lowercase();
    let wanted = words.to_lowercase();
    wanted.split([',', ' ']).filter(|word| !word.is_empty()).all(|word| all.contains(word))
}

/// The task of a folder, however it is written.
fn found(cx: &mut Cx<'_>, caller: &Caller, root: &str, dir: &str) -> Result<Task, VerbError> {
    let root = match root {
        "" => caller.project_dir.as_deref().unwrap_or(&caller.cwd),
        root => root,
    };
    let dir = dir.trim_end_matches('/');
    let dir = dir.strip_prefix("./").unwrap_or(dir);
    let whole = if dir.starts_with('/') { dir.to_owned() } else { format!("{root}/{dir}") };
    ops::task(cx.db, &whole)?.ok_or_else(|| {
        VerbError::user(
            format!("there is no task `{}`", one_line(dir, 120)),
            "`substrate task list` shows those there are",
        )
    })
}

fn shown(cx: &mut Cx<'_>, task: &Task) -> Result<(String, serde_json::Value), VerbError> {
    let efforts = ops::of_task(cx.db, &task.dir)?;
    let n = i64::try_from(efforts.len()).unwrap_or(i64::MAX);
    let n_active = i64::try_from(efforts.iter().filter(|effort| effort.finished.is_none()).count())
        .unwrap_or(0);
    let mut text = render::task_line(task, n, n_active);
    let mut list = Vec::new();
    for effort in &efforts {
        text.push_str(&render::line(cx, effort)?);
        list.push(render::json(cx, effort)?);
    }
    let mut json = render::task_json(task, n, n_active);
    json["efforts"] = list.into();
    Ok((text, json))
}
