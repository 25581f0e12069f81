//! Somebody runs a skill that works in efforts: one begins, or the model is told of the one that is open.
//!
//! What is going to happen is planned when the event is considered, since the model is told its number, and happens when it
//! is recorded: a prompt that is refused begins nothing.

use substrate_core::facts::SkillFolder;
use substrate_core::text::one_line;
use substrate_core::{
    Actor, Cx, DbError, Detail, Event, EventKind, FeatureError, Need, Settings, VerbError, Wish,
};

use super::config::{self, Found};
use super::make::{self, Beginning};
use super::ops::{self, Effort};
use super::{begin, ops_windows, wanted, words};

/// A prompt and its expansion come right after each other; this is for clients that number no prompts.
const SAME_MS: i64 = 10_000;

/// A use of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) skill: String,
    /// By what the same use is known again: the prompt that it belongs to.
    pub(super) prompt: String,
    /// The client has run it, so it is there, wherever that is.
    pub(super) is_run: bool,
}

/// What an event says about a use of a skill.
pub(super) fn of(event: &Event, settings: &Settings) -> Option<Use> {
    let (name, is_run) = match (event.kind, &event.detail) {
        (EventKind::UserPromptSubmit, Detail::Prompt { text, from_person: true }) => {
            (typed(text)?.to_owned(), false)
        }
        (EventKind::UserPromptExpansion, Detail::Expansion { command, .. }) => {
            (command.clone(), true)
        }
        (EventKind::PostToolUse, Detail::ToolAfter { call, .. }) => (call.skill.clone()?, true),
        _ => return None,
    };
    let is_asked = matches!(event.actor, Actor::Main { .. }) && settings.on("efforts.on");
    let prompt = event.prompt_id.clone().unwrap_or_default();
    (is_asked && make::is_skill(&name)).then_some(Use { skill: name, prompt, is_run })
}

/// `/fix the door`: the name that a prompt begins with.
fn typed(text: &str) -> Option<&str> {
    text.trim_start().strip_prefix('/')?.split(char::is_whitespace).next()
}

pub(super) fn gather(event: &Event, settings: &Settings) -> Vec<Need> {
    of(event, settings).map(|used| need(event, &used.skill)).into_iter().collect()
}

fn need(event: &Event, skill: &str) -> Need {
    let dir = event.project_dir.as_deref().unwrap_or(&event.cwd);
    Need::SkillFolder { name: skill.to_owned(), dir: dir.to_owned(), own: event.config_dir.clone() }
}

/// What is known of a use.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// `efforts.skills` names the skill.
    pub(super) is_listed: bool,
    /// The skill says something about efforts.
    pub(super) says_so: bool,
    /// There is such a skill or command.
    pub(super) is_there: bool,
    /// An earlier event told of the same use.
    pub(super) is_known: bool,
    /// An effort of that skill that is not finished, of this agent or of one that is gone.
    pub(super) open: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Nothing,
    Begins,
    /// Whether that one goes on, a person decides.
    IsOpen(i64),
}

pub(super) const fn decide(seen: &Seen) -> Decision {
    let works_in_efforts = seen.says_so || (seen.is_listed && seen.is_there);
    match seen.open {
        _ if seen.is_known || !works_in_efforts => Decision::Nothing,
        Some(id) => Decision::IsOpen(id),
        None => Decision::Begins,
    }
}

/// What is going to happen.
#[derive(Debug)]
pub(super) enum Plan {
    Begins(Box<Beginning>),
    IsOpen(Box<Effort>),
    /// No effort can begin, and why.
    Fails(String),
}

/// The plan for an event. The same each time that it is asked in one transaction.
pub(super) fn plan(cx: &mut Cx<'_>, event: &Event) -> Result<Option<Plan>, FeatureError> {
    let Some(used) = of(event, cx.settings) else { return Ok(None) };
    let (Some(session), Some(who)) = (&event.session, cx.who.clone()) else { return Ok(None) };
    let folder = cx.facts.skill_folder(&need(event, &used.skill)).cloned();
    let is_found = folder.as_ref().is_some_and(|folder| !folder.is_missing);
    let mut seen = Seen {
        is_listed: cx.settings.texts("efforts.skills").contains(&used.skill),
        says_so: folder.as_ref().is_some_and(config::says_anything),
        is_there: is_found || used.is_run,
        ..Seen::default()
    };
    // Most commands work in no effort: the database is not asked about them.
    if decide(&seen) == Decision::Nothing {
        return Ok(None);
    }
    seen.is_known = is_known(cx, event, &used)?;
    seen.open = open(cx, event, &used.skill, who.agent)?;
    match decide(&seen) {
        Decision::Nothing => return Ok(None),
        Decision::IsOpen(id) => {
            return Ok(ops::one(cx.db, id)?.map(|effort| Plan::IsOpen(Box::new(effort))));
        }
        Decision::Begins => {}
    }
    let found = match folder.as_ref().map(config::of_folder) {
        None => Found::default(),
        Some(Ok(found)) => found,
        Some(Err(VerbError::Db(error))) => return Err(error.into()),
        Some(Err(error)) => return Ok(Some(Plan::Fails(error.to_string()))),
    };
    let root = root(event, folder.as_ref());
    let task = make::task(root, make::usual_task(cx.now, &used.skill), "", cx.now);
    if !cx.takes_artifact(&task.root, &task.relative, "0.md") {
        let why = format!("`{}` can't be written", one_line(&task.relative, 120));
        return Ok(Some(Plan::Fails(why)));
    }
    Ok(Some(Plan::Begins(Box::new(Beginning {
        who,
        session: session.as_str().to_owned(),
        project: event.project.clone(),
        skill: used.skill,
        mode: String::new(),
        task,
        found,
    }))))
}

/// Where its artifacts go.
fn root(event: &Event, folder: Option<&SkillFolder>) -> String {
    match folder {
        Some(folder) => folder.root.clone(),
        None => event.project_dir.clone().unwrap_or_else(|| event.cwd.clone()),
    }
}

/// Whether an earlier event of the same turn told of this use.
fn is_known(cx: &mut Cx<'_>, event: &Event, used: &Use) -> Result<bool, DbError> {
    let Some(session) = &event.session else { return Ok(false) };
    let Some(before) = ops_windows::skill_use(cx.db, session.as_str())? else { return Ok(false) };
    let is_near = event.kind == EventKind::UserPromptExpansion && cx.now.since(before.at) < SAME_MS;
    Ok(before.skill == used.skill
        && before.prompt == used.prompt
        && (!used.prompt.is_empty() || is_near))
}

/// The latest effort of that skill that this agent may go on with.
fn open(cx: &mut Cx<'_>, event: &Event, skill: &str, agent: i64) -> Result<Option<i64>, DbError> {
    for (id, owner) in ops::unfinished(cx.db, &event.project, Some(skill))? {
        if wanted::is_free(cx, owner, agent)? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// The one line for the model.
pub(super) fn told(cx: &mut Cx<'_>, plan: &Plan) -> Result<Wish, DbError> {
    let text = match plan {
        Plan::Begins(new) => {
            let id = ops::next_id(cx.db)?;
            let before = match ops::active(cx.db, new.who.agent, &new.project)? {
                Some(id) => ops::one(cx.db, id)?,
                None => None,
            };
            words::begun(id, new, new.limits(cx).1, before.as_ref())
        }
        Plan::IsOpen(effort) => words::is_open(cx.now, effort),
        Plan::Fails(why) => words::cannot_begin(why),
    };
    Ok(Wish::context(text, Some("substrate effort show".to_owned())))
}

/// It happened: the prompt was not refused.
pub(super) fn carry_out(cx: &mut Cx<'_>, event: &Event) -> Result<(), FeatureError> {
    let Some(plan) = plan(cx, event)? else { return Ok(()) };
    let Some(used) = of(event, cx.settings) else { return Ok(()) };
    if begin::ensured(cx, event)?.is_none() {
        return Ok(());
    }
    if let Plan::Begins(new) = plan {
        new.begin(cx)?;
    }
    if let Some(session) = &event.session {
        ops_windows::used_skill(cx.db, session.as_str(), &used.skill, &used.prompt, cx.now)?;
    }
    Ok(())
}
