//! Which prompts get a suggestion, where skills are looked for, and what is said.

use substrate_core::facts::Skill;
use substrate_core::text::one_line;
use substrate_core::{
    Actor, Cx, Detail, Event, EventKind, FeatureError, Need, Settings, Wish, seed,
};

use super::score::{Keywords, best};

/// The characters of a description.
const MAX_DESCRIPTION: usize = 100;

/// The characters of a name and of a path.
const MAX_NAME: usize = 64;
const MAX_PATH: usize = 300;

pub(super) fn gather(event: &Event, settings: &Settings) -> Vec<Need> {
    asked(event, settings).map(|_| need(event)).into_iter().collect()
}

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    let Some(prompt) = asked(event, cx.settings) else { return Ok(Vec::new()) };
    let skills = cx.facts.skills(&need(event)).unwrap_or_default();
    let keywords = Keywords::read(cx.settings.texts("skills.keywords"));
    let found = best(prompt, skills, &keywords);
    let text = suggestion(&found, &event.cwd);
    Ok(text.map(|text| Wish::context(text, None)).into_iter().collect())
}

/// A person's prompt to the main thread, if suggestions are on.
fn asked<'a>(event: &'a Event, settings: &Settings) -> Option<&'a str> {
    let is_main = matches!(event.actor, Actor::Main { .. });
    match &event.detail {
        Detail::Prompt { text, from_person: true }
            if event.kind == EventKind::UserPromptSubmit
                && is_main
                && settings.on("skills.suggest") =>
        {
            Some(text)
        }
        _ => None,
    }
}

/// The project's skills come before the user's. A client that names no project is inside it.
fn need(event: &Event) -> Need {
    let here = || vec![event.cwd.as_str(), event.project.as_str()];
    let projects = event.project_dir.as_deref().map_or_else(here, |dir| vec![dir]);
    let mut projects: Vec<String> = projects
        .into_iter()
        .filter(|dir| !dir.is_empty())
        .map(|dir| dir.trim_end_matches('/').to_owned())
        .collect();
    projects.dedup();
    let own = event.config_dir.as_ref().map(|dir| format!("{dir}/skills"));
    Need::Skills { projects, below: seed::SKILLS, own }
}

/// One line that names the skills and their files.
fn suggestion(found: &[&Skill], cwd: &str) -> Option<String> {
    let named = |skill: &&Skill| {
        let name = one_line(&skill.name, MAX_NAME);
        match one_line(&skill.description, MAX_DESCRIPTION) {
            about if about.is_empty() => name,
            about => format!("{name} ({about})"),
        }
    };
    let path = |skill: &&Skill| {
        let below = skill.path.strip_prefix(cwd).and_then(|path| path.strip_prefix('/'));
        one_line(below.unwrap_or(&skill.path), MAX_PATH)
    };
    let names: Vec<String> = found.iter().map(named).collect();
    let paths: Vec<String> = found.iter().map(path).collect();
    let text = || format!("Skills that may help: {}; read {}", names.join(", "), paths.join(", "));
    (!found.is_empty()).then(text)
}
