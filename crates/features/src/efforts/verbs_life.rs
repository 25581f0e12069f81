//! `substrate effort dehydrate`, `resume`, `finish`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Effect, Local, Output, VerbError};

use super::ops::{self, Effort};
use super::ops_pending::{self, What};
use super::verbs_work::{checked, log_file, read_body};
use super::{ops_windows, render, target, wanted, words};
use crate::identity::book;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Dehydrate {
    /// Goal, decisions, state, open questions, next steps, files
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

impl VerbArgs for Dehydrate {
    const PATH: &'static [&'static str] = &["effort", "dehydrate"];
    const ABOUT: &'static str =
        "Leave what the next session of the effort must know; it is told it once, at its start";
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
        if !worker.who.sub.is_empty() {
            return Err(VerbError::user(
                format!("{} dehydrates its own context, and you are its subagent", worker.who.name),
                "put what you know into your answer, or into `substrate effort log \"…\"`",
            ));
        }
        let window = worker.main_window(cx)?.map_or(0, |standing| standing.window);
        ops_pending::leave(cx.db, effort.id, &text, window, cx.now)?;
        ops_pending::say(cx.db, effort.id, &worker.who.address(), "dehydrate", &text, cx.now)?;
        // A newer one replaces it for the next session; the file keeps them all.
        let name = dehydrated_name(&effort);
        let entry = words::entry(cx.now, &worker.who.address(), &effort.phase, &text);
        let (root, dir) = (effort.task.root.clone(), effort.task.relative.clone());
        cx.effects.push(Effect::Artifact {
            root,
            dir,
            name: name.clone(),
            text: entry,
            fresh: false,
        });
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

fn dehydrated_name(effort: &Effort) -> String {
    words::artifact_name(effort.ordinal, &effort.skill, "DEHYDRATED")
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Resume {
    /// Which effort (default: the one that you worked on last)
    id: Option<i64>,
}

impl VerbArgs for Resume {
    const PATH: &'static [&'static str] = &["effort", "resume"];
    const ABOUT: &'static str =
        "Go on with an effort in this session, or take it over from an agent that is gone";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let (worker, session) = target::agent(cx, caller)?;
        let effort = target::effort(cx, caller, &worker, self.id)?;
        let agent = worker.who.agent;
        if effort.agent != agent {
            let owner = book::name_of(cx.db, effort.agent)?;
            if effort.finished.is_none() && !wanted::is_free(cx, effort.agent, agent)? {
                return Err(VerbError::user(
                    format!("{owner} is there and works on effort {}", effort.id),
                    format!("write to them: `substrate send --to {owner} --subject …`"),
                ));
            }
        } else if effort.finished.is_none()
            && worker.main_window(cx)?.and_then(|standing| standing.effort).map(|now| now.id)
                == Some(effort.id)
        {
            return Ok(answer(cx, &effort, "You are at it already.")?);
        }
        // Whoever may change it may go on with it; a finished one stays finished.
        if effort.finished.is_none() {
            wanted::take(cx, &effort, &worker.who)?;
        } else {
            ops::used(cx.db, effort.id, agent, cx.now)?;
        }
        let effort = target::own(cx, caller, &worker, Some(effort.id))?;
        ops_windows::work_on(cx.db, &session, Some(effort.id))?;
        let who = worker.who.address();
        for file in &effort.config.preload {
            ops_pending::add(cx.db, effort.id, What::Preload, file, &who, cx.now)?;
        }
        ops_pending::say(cx.db, effort.id, &who, "resume", "", cx.now)?;
        Ok(answer(cx, &effort, "You go on with it.")?)
    }
}

fn answer(cx: &mut Cx<'_>, effort: &Effort, how: &str) -> Result<Output, substrate_core::DbError> {
    let logged = ops_pending::said(cx.db, effort.id, "log", 3)?;
    let text = format!("{how}\n{}\n", words::briefing(effort, &logged, true));
    let json = json!({"effort": render::json(cx, effort)?});
    Ok(Output::new(text, json))
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Finish {
    /// Which effort (default: yours)
    id: Option<i64>,
}

impl VerbArgs for Finish {
    const PATH: &'static [&'static str] = &["effort", "finish"];
    const ABOUT: &'static str = "End an effort; nothing is counted any more";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let worker = target::worker(cx)?;
        let effort = target::own(cx, caller, &worker, self.id)?;
        if !worker.who.sub.is_empty() {
            return Err(VerbError::user(
                format!(
                    "effort {} is {}'s to finish, not its subagent's",
                    effort.id, worker.who.name
                ),
                "`substrate effort log \"…\"` says that your part is done",
            ));
        }
        ops::finish(cx.db, effort.id, cx.now)?;
        let who = worker.who.address();
        ops_pending::say(cx.db, effort.id, &who, "finish", "", cx.now)?;
        let entry = words::entry(cx.now, &who, &effort.phase, "Finished.");
        log_file(cx, &effort, entry);
        Ok(Output::new(
            format!("{} is finished.\n", words::capital(&words::named(effort.id, &effort.skill))),
            json!({"effort": effort.id, "finished_ms": cx.now.0}),
        ))
    }
}
