//! `substrate scratchpad path`, which the commands that read or write scratchpads ask where they are, and what an agent's
//! story says about them.

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::verb::VerbArgs;
use substrate_core::view::{Moment, MomentKind, StoryOf};
use substrate_core::{Access, Audience, Caller, Cx, FeatureError, Local, Output, VerbError};

use super::day;
use super::ops::{self, Worker};
use super::whereabouts::{BASE, COORDINATOR, folder_of};
use crate::identity::book::{self, MAIN};

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Path {
    /// The type of agent (default: your own, or `coordinator`)
    #[arg(value_name = "AGENT")]
    whose: Option<String>,
    /// The working tree that the caller is in.
    #[arg(skip)]
    tree: String,
}

impl VerbArgs for Path {
    const PATH: &'static [&'static str] = &["scratchpad", "path"];
    const ABOUT: &'static str =
        "Print the path of an agent's scratchpad of today, whether it exists or not";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.tree = local.place("-").root;
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let (worker, session_root) = known(cx)?;
        let typed = self.whose.as_deref().map(str::trim).filter(|whose| !whose.is_empty());
        let own = worker.as_ref().filter(|_| typed.is_none());
        let folder = match (typed, own) {
            (Some(typed), _) => folder_of(typed),
            (None, Some(worker)) => worker.folder.clone(),
            (None, None) => COORDINATOR.to_owned(),
        };
        // A named project is meant even from inside another working tree.
        let tree = if caller.project_dir.is_some() { "" } else { self.tree.as_str() };
        let root = root(tree, &session_root, caller);
        let today = day::day(cx.now, caller.tz_offset_s);
        // Everything that an agent wrote since it started counts.
        let started = match own {
            Some(own) => Some(own.started),
            None => ops::latest_start(cx.db, &root, &folder)?,
        };
        let since =
            started.map_or_else(|| today.clone(), |started| day::day(started, caller.tz_offset_s));
        let path = format!("{root}/{BASE}/{folder}/{today}.md");
        let json = json!({
            "path": path, "root": root, "tree": tree, "folder": folder, "day": today, "since": since,
            "started_ms": started.map(|started| started.0),
        });
        Ok(Output::new(format!("{path}\n"), json))
    }
}

/// The calling agent, if it is known, and the project of its session.
fn known(cx: &mut Cx<'_>) -> Result<(Option<Worker>, String), VerbError> {
    let Some(who) = cx.who.clone() else { return Ok((None, String::new())) };
    let Some((session, actor)) = book::seat(cx.db, &who)? else { return Ok((None, String::new())) };
    let worker = ops::worker(cx.db, &session, &actor)?;
    let root = worker.as_ref().map(|worker| worker.root.clone()).unwrap_or_default();
    Ok((worker, root))
}

/// The project that was named, or that of the session (whose shell may be anywhere), or the one around the caller.
fn root(tree: &str, of_session: &str, caller: &Caller) -> String {
    let project = Some(caller.project.as_str())
        .filter(|project| !project.is_empty() && is_below(&caller.cwd, project));
    let named = caller.project_dir.as_deref().filter(|dir| !dir.is_empty()).map(|dir| {
        if dir.starts_with('/') { dir.to_owned() } else { format!("{}/{dir}", caller.cwd) }
    });
    let known = [named.as_deref(), Some(of_session), Some(tree), project, Some(&caller.cwd)];
    let root = known.into_iter().flatten().find(|root| !root.is_empty()).unwrap_or("/");
    root.trim_end_matches('/').to_owned()
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The sessions that a story looks at.
const MAX_SESSIONS: usize = 20;

/// Which subagents and coordinators had to write a scratchpad, and whether they did: for an agent's story.
pub(super) fn story(cx: &mut Cx<'_>, of: &StoryOf) -> Result<Vec<Moment>, FeatureError> {
    let mut out = Vec::new();
    for session in of.sessions.iter().take(MAX_SESSIONS) {
        for one in ops::of_session(cx.db, session, of.limit)? {
            let (wrote, unheard) = (one.wrote, one.unheard.as_str());
            // The main thread only writes one if it delegated.
            if !of.covers(one.started.0, one.started.0) || (one.actor == MAIN && !wrote) {
                continue;
            }
            let title = match (wrote, unheard.is_empty()) {
                (true, _) => "Scratchpad written",
                (false, false) => "Ended without a look at its scratchpad",
                (false, true) => "Has a scratchpad to write",
            };
            out.push(Moment {
                at_ms: one.started.0,
                kind: MomentKind::Scratchpad,
                actor: one.actor,
                title: title.to_owned(),
                text: match unheard {
                    "" => format!("{BASE}/{}", one.folder),
                    why => format!("{BASE}/{}: {why}", one.folder),
                },
                ..Moment::default()
            });
        }
    }
    Ok(out)
}
