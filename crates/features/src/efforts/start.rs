//! An effort begins: by a command, or because its skill is run.
//!
//! When a skill is run, the effort is planned while the event is considered, because the model is told its number. It
//! begins when the event is recorded, so a prompt that is refused begins nothing.

use substrate_core::facts::SkillFolder;
use substrate_core::text::one_line;
use substrate_core::{
    Actor, Cx, DbError, Detail, Effect, Event, EventKind, FeatureError, Need, Settings, Timestamp,
    VerbError, Who, Wish,
};

use super::config::{self, Config, LOG, SkillSpec};
use super::ops::messages::{self, PendingKind};
use super::ops::{self, Effort, NewEffort, Task, windows};
use super::{begin, words};

/// A prompt and its expansion arrive within this time. It matters for clients that don't number their prompts.
const SAME_MS: i64 = 10_000;

/// A use of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SkillUse {
    pub(super) skill: String,
    /// The prompt it belongs to. A later event with the same prompt reports the same use.
    pub(super) prompt: String,
    /// The client ran the skill, so it exists somewhere.
    pub(super) is_run: bool,
}

/// The use of a skill that an event reports.
pub(super) fn skill_use(event: &Event, settings: &Settings) -> Option<SkillUse> {
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
    (is_asked && is_skill(&name)).then_some(SkillUse { skill: name, prompt, is_run })
}

/// The name at the start of a prompt such as `/fix the door`.
fn typed(text: &str) -> Option<&str> {
    text.trim_start().strip_prefix('/')?.split(char::is_whitespace).next()
}

pub(super) fn gather(event: &Event, settings: &Settings) -> Vec<Need> {
    skill_use(event, settings).map(|used| need(event, &used.skill)).into_iter().collect()
}

fn need(event: &Event, skill: &str) -> Need {
    let dir = event.project_dir.as_deref().unwrap_or(&event.cwd);
    Need::SkillFolder { name: skill.to_owned(), dir: dir.to_owned(), own: event.config_dir.clone() }
}

/// What decides whether a use begins an effort.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UseFacts {
    /// `efforts.skills` names the skill.
    pub(super) is_listed: bool,
    /// The skill configures efforts.
    pub(super) says_so: bool,
    /// There is such a skill or command.
    pub(super) is_there: bool,
    /// An earlier event reported the same use.
    pub(super) is_known: bool,
    /// An unfinished effort of that skill, of this agent or of one that is gone.
    pub(super) open: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Nothing,
    Begins,
    /// A person decides whether that one goes on.
    IsOpen(i64),
}

pub(super) const fn decide(facts: &UseFacts) -> Decision {
    let works_in_efforts = facts.says_so || (facts.is_listed && facts.is_there);
    match facts.open {
        _ if facts.is_known || !works_in_efforts => Decision::Nothing,
        Some(id) => Decision::IsOpen(id),
        None => Decision::Begins,
    }
}

/// What the event is going to do.
#[derive(Debug)]
pub(super) enum Plan {
    Begins(Box<Beginning>),
    IsOpen(Box<Effort>),
    /// No effort can begin, for this reason.
    Fails(String),
}

/// The plan for an event. It stays the same when it is made again in one transaction.
pub(super) fn plan(cx: &mut Cx<'_>, event: &Event) -> Result<Option<Plan>, FeatureError> {
    let Some(used) = skill_use(event, cx.settings) else { return Ok(None) };
    let (Some(session), Some(who)) = (&event.session, cx.who.clone()) else { return Ok(None) };
    let folder = cx.facts.skill_folder(&need(event, &used.skill)).cloned();
    let is_found = folder.as_ref().is_some_and(|folder| !folder.is_missing);
    let mut facts = UseFacts {
        is_listed: cx.settings.texts("efforts.skills").contains(&used.skill),
        says_so: folder.as_ref().is_some_and(config::says_anything),
        is_there: is_found || used.is_run,
        ..UseFacts::default()
    };
    // Most commands have nothing to do with efforts, so the database is not asked about them.
    if decide(&facts) == Decision::Nothing {
        return Ok(None);
    }
    facts.is_known = is_known(cx, event, &used)?;
    facts.open = open(cx, event, &used.skill, who.agent)?;
    match decide(&facts) {
        Decision::Nothing => return Ok(None),
        Decision::IsOpen(id) => {
            return Ok(ops::one(cx.db, id)?.map(|effort| Plan::IsOpen(Box::new(effort))));
        }
        Decision::Begins => {}
    }
    let found = match folder.as_ref().map(config::of_folder) {
        None => SkillSpec::default(),
        Some(Ok(found)) => found,
        Some(Err(VerbError::Db(error))) => return Err(error.into()),
        Some(Err(error)) => return Ok(Some(Plan::Fails(error.to_string()))),
    };
    let root = root(event, folder.as_ref());
    let task = task(root, usual_task(cx.now, &used.skill), "", cx.now);
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

/// The working tree for the artifacts.
fn root(event: &Event, folder: Option<&SkillFolder>) -> String {
    match folder {
        Some(folder) => folder.root.clone(),
        None => event.project_dir.clone().unwrap_or_else(|| event.cwd.clone()),
    }
}

/// Whether an earlier event of the same turn reported this use.
fn is_known(cx: &mut Cx<'_>, event: &Event, used: &SkillUse) -> Result<bool, DbError> {
    let Some(session) = &event.session else { return Ok(false) };
    let Some(before) = windows::last_skill(cx.db, session.as_str())? else { return Ok(false) };
    let is_near = event.kind == EventKind::UserPromptExpansion && cx.now.since(before.at) < SAME_MS;
    Ok(before.skill == used.skill
        && before.prompt == used.prompt
        && (!used.prompt.is_empty() || is_near))
}

/// The latest effort of that skill that this agent may go on with.
fn open(cx: &mut Cx<'_>, event: &Event, skill: &str, agent: i64) -> Result<Option<i64>, DbError> {
    for (id, owner) in ops::unfinished(cx.db, &event.project, Some(skill))? {
        if begin::is_free(cx, owner, agent)? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// What the model is told about the plan.
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

/// Carries the plan out, once the prompt was not refused.
pub(super) fn carry_out(cx: &mut Cx<'_>, event: &Event) -> Result<(), FeatureError> {
    let Some(plan) = plan(cx, event)? else { return Ok(()) };
    let Some(used) = skill_use(event, cx.settings) else { return Ok(()) };
    if begin::ensured(cx, event)?.is_none() {
        return Ok(());
    }
    if let Plan::Begins(new) = plan {
        new.begin(cx)?;
    }
    if let Some(session) = &event.session {
        windows::used_skill(cx.db, session.as_str(), &used.skill, &used.prompt, cx.now)?;
    }
    Ok(())
}

/// An effort that is about to begin.
#[derive(Debug)]
pub(super) struct Beginning {
    pub(super) who: Who,
    pub(super) session: String,
    pub(super) project: String,
    pub(super) skill: String,
    pub(super) mode: String,
    pub(super) task: Task,
    pub(super) found: SkillSpec,
}

impl Beginning {
    /// After how many calls its agent is warned, and which call is refused.
    pub(super) fn limits(&self, cx: &Cx<'_>) -> (i64, i64) {
        let Config { warn_at, block_at, .. } = &self.found.config;
        let at = |own: &Option<i64>, key: &str| own.unwrap_or_else(|| cx.settings.int(key));
        let block_at = match at(block_at, "efforts.block_at") {
            // With 1 every call would be refused, even right after an entry.
            1 => 2,
            block_at => block_at,
        };
        (at(warn_at, "efforts.warn_at"), block_at)
    }

    pub(super) fn phase(&self) -> &str {
        self.found.config.phases.first().map_or("", String::as_str)
    }

    /// Begins the effort. The session works on it from now on.
    pub(super) fn begin(self, cx: &mut Cx<'_>) -> Result<Effort, DbError> {
        ops::ensure_task(cx.db, &self.task, &self.project)?;
        let (warn_at, block_at) = self.limits(cx);
        let new = NewEffort {
            task: &self.task.dir,
            project: &self.project,
            agent: self.who.agent,
            skill: &self.skill,
            mode: &self.mode,
            phase: self.phase(),
            config: &self.found.config,
            warn_at,
            block_at,
        };
        let id = ops::begin(cx.db, &new, cx.now)?;
        let made = ops::one(cx.db, id)?;
        let made = made.ok_or(DbError::Other { detail: "the effort was not made".to_owned() })?;
        let SkillSpec { config, mut templates } = self.found;
        let title = format!("# {} · {}\n\n", made.skill, words::task_title(&made.task));
        let log = templates.remove(LOG).map_or(title, |text| format!("{}\n\n", text.trim_end()));
        artifact(cx, &made.task, &words::log_name(&made), log);
        let mut artifacts = Vec::new();
        for (name, text) in templates {
            let name = words::artifact_name(made.ordinal, &made.skill, &name);
            artifact(cx, &made.task, &name, text);
            artifacts.push(name);
        }
        let config = Config { artifacts, ..config };
        ops::set_config(cx.db, id, &config)?;
        windows::work_on(cx.db, &self.session, Some(id))?;
        let who = self.who.address();
        for file in &config.preload {
            messages::add(cx.db, id, PendingKind::Preload, file, &who, cx.now)?;
        }
        messages::say(cx.db, id, &who, "start", &self.mode, cx.now)?;
        Ok(Effort { config, ..made })
    }
}

/// The task of an effort that names none.
pub(super) fn usual_task(now: Timestamp, skill: &str) -> String {
    format!("tasks/{}-{}", words::day(now), skill.replace(':', "-"))
}

/// A folder below a working tree as a task.
pub(super) fn task(root: String, relative: String, title: &str, now: Timestamp) -> Task {
    Task {
        dir: format!("{root}/{relative}"),
        root,
        relative,
        title: one_line(title, 200),
        keywords: String::new(),
        made: now,
    }
}

/// Letters, digits, `-`, `_` and `:`, starting with a letter or digit: safe in a path.
pub(super) fn is_skill(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b':');
    let is_plain = (1..=64).contains(&name.len()) && name.bytes().all(plain);
    is_plain && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn artifact(cx: &mut Cx<'_>, task: &Task, name: &str, text: String) {
    let (root, dir) = (task.root.clone(), task.relative.clone());
    cx.effects.push(Effect::Artifact { root, dir, name: name.to_owned(), text, fresh: true });
}
