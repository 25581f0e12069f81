//! `substrate locks`, `locks show`, `locks history`, `locks check`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Local, Output, VerbError};

use super::life::Lives;
use super::owner::Owner;
use super::render::{self, Shown};
use super::standing::{self, Standing};
use super::targets::{self, Target};
use super::{globs, ops, ops_globs, ops_history, within, words};

/// Rows of a list at the most.
const MAX_LISTED: i64 = 500;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct List {
    /// Those of every project
    #[arg(long)]
    all: bool,
}

impl VerbArgs for List {
    const PATH: &'static [&'static str] = &["locks", "list"];
    const ABOUT: &'static str = "Who holds which files";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let all = self.all || caller.project.is_empty();
        let leases = if all {
            ops::all(cx.db, MAX_LISTED)?
        } else {
            ops::in_project(cx.db, &caller.project, MAX_LISTED)?
        };
        let mut lives = Lives::default();
        let mut shown: Vec<Shown> = Vec::new();
        for lease in &leases {
            shown.extend(render::lease(cx, &mut lives, lease)?);
        }
        for glob in ops_globs::all(cx.db, MAX_LISTED)? {
            if all || glob.project == caller.project {
                shown.extend(render::reserved(cx, &mut lives, &glob)?);
            }
        }
        let (text, list) = joined(shown);
        let text = if text.is_empty() { "Nobody holds a file.\n".to_owned() } else { text };
        Ok(Output::new(text, json!({ "locks": list })))
    }
}

fn joined(shown: Vec<Shown>) -> (String, Vec<Value>) {
    let text = shown.iter().map(|one| one.line.as_str()).collect();
    (text, shown.into_iter().map(|one| one.json).collect())
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Show {
    /// The file, folder or glob
    path: String,
    #[arg(skip)]
    #[serde(default)]
    found: Vec<Target>,
}

impl VerbArgs for Show {
    const PATH: &'static [&'static str] = &["locks", "show"];
    const ABOUT: &'static str = "Who holds a file, and what happened to it lately";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.found = targets::here(std::slice::from_ref(&self.path), local);
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let target = one_target(&self.path, &self.found, caller);
        let mut lives = Lives::default();
        let mut shown: Vec<Shown> = Vec::new();
        let (leases, globs) = if target.is_glob {
            within::all(cx, &target)?
        } else {
            let mut globs = ops_globs::in_root(cx.db, &target.root)?;
            globs.retain(|glob| globs::matches(&glob.glob, &target.relative));
            (ops::same(cx.db, &target.path, target.file.as_deref())?, globs)
        };
        for lease in &leases {
            shown.extend(render::lease(cx, &mut lives, lease)?);
        }
        for glob in &globs {
            shown.extend(render::reserved(cx, &mut lives, glob)?);
        }
        let entries = ops_history::of(cx.db, &target.path, 5)?;
        let (history, entries) = render::history(&entries, cx.now);
        let (mut text, list) = joined(shown);
        if text.is_empty() {
            text = format!("`{}` is free.\n", words::path(&target.relative));
        }
        let json = json!({"path": target.path, "locks": list, "history": entries});
        Ok(Output::new(format!("{text}{history}"), json))
    }
}

fn one_target(path: &str, found: &[Target], caller: &Caller) -> Target {
    targets::known(&[path.to_owned()], found, caller).into_iter().next().unwrap_or_default()
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct History {
    /// The file
    path: String,
    /// How many entries at the most
    #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=1_000))]
    #[serde(default = "fifty")]
    limit: i64,
    #[arg(skip)]
    #[serde(default)]
    found: Vec<Target>,
}

fn fifty() -> i64 {
    50
}

impl VerbArgs for History {
    const PATH: &'static [&'static str] = &["locks", "history"];
    const ABOUT: &'static str = "Who held a file, who was refused it, newest first";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.found = targets::here(std::slice::from_ref(&self.path), local);
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let target = one_target(&self.path, &self.found, caller);
        let entries = ops_history::of(cx.db, &target.path, self.limit.clamp(1, 1_000))?;
        let (text, list) = render::history(&entries, cx.now);
        Ok(Output::new(text, json!({"path": target.path, "history": list})))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Check {
    /// The files
    #[arg(required = true)]
    paths: Vec<String>,
    /// Only list those that others hold, and don't fail
    #[arg(long)]
    #[serde(default)]
    list: bool,
    #[arg(skip)]
    #[serde(default)]
    found: Vec<Target>,
}

impl VerbArgs for Check {
    const PATH: &'static [&'static str] = &["locks", "check"];
    const ABOUT: &'static str = "Fails when others hold any of these files; for git hooks";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.found = targets::here(&self.paths, local);
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        // Whoever is not known holds nothing, and so everybody who does is somebody else.
        let me = match Owner::of_caller(cx) {
            Err(VerbError::User { .. }) => Owner::nobody(),
            known => known?,
        };
        let (mut text, mut list, mut named) = (String::new(), Vec::new(), Vec::new());
        for target in targets::known(&self.paths, &self.found, caller) {
            let holder = if target.is_glob {
                within::other(cx, &me, &target)?.map(|(holder, ..)| holder)
            } else {
                match standing::of(cx, &me, &target.place())? {
                    Standing::Taken(holder) => Some(holder),
                    Standing::Own(_) | Standing::Free { .. } => None,
                }
            };
            if let Some(holder) = holder {
                let who = holder.claim.owner.address(cx)?;
                text.push_str(&words::held(cx, &target.relative, &holder)?);
                text.push('\n');
                named.push(format!("`{}` ({who})", words::path(&target.relative)));
                list.push(json!({"path": target.path, "file": target.relative, "holder": who}));
            }
        }
        if !named.is_empty() && !self.list {
            named.truncate(10);
            return Err(VerbError::user(
                format!("held by others: {}", named.join(", ")),
                "leave these files out, or wait: `substrate locks wait PATH`",
            ));
        }
        Ok(Output::new(text, json!({ "held": list })))
    }
}
