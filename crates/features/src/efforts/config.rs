//! How a skill configures its efforts: `effort.toml` in its folder, or `effort-…` keys in the front matter of `SKILL.md`.
//!
//! The configuration is copied into the effort when it begins. A skill may come with a project, so everything in it is
//! bounded.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use substrate_core::facts::{Place, SkillFolder};
use substrate_core::redact::{names_dotenv, redacted};
use substrate_core::size::Bytes;
use substrate_core::text::{cut, one_line};
use substrate_core::{Local, VerbError, seed};

/// The files that describe a skill and configure its efforts.
const FRONT: &str = "SKILL.md";
const TOML: &str = "effort.toml";

/// Bounds on what a skill may say.
const MAX_PHASES: usize = 32;
const MAX_FILES: usize = 16;
const MAX_TEMPLATES: usize = 8;
const MAX_TEMPLATE: usize = 64 << 10;
/// The bytes of the log template that every subagent is told.
const MAX_LOG: usize = 1_200;
const MAX_GUARDS: usize = 64;
const MAX_GUARD_BYTES: usize = 64 << 10;

/// The name of the template that the log begins with.
pub(super) const LOG: &str = "LOG";

/// The longest name of a phase or template.
const MAX_NAME: usize = 40;

/// An effort's metadata.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Config {
    /// In order. An effort begins with the first.
    pub(super) phases: Vec<String>,
    /// Absolute paths of files that every window of the effort begins with.
    pub(super) preload: Vec<String>,
    pub(super) warn_at: Option<i64>,
    pub(super) block_at: Option<i64>,
    /// The skill's guard rules, as they are written.
    pub(super) guards: Vec<Value>,
    /// The names of the artifacts besides the log, e.g. `1_FIX_PLAN.md`.
    pub(super) artifacts: Vec<String>,
    /// The skill's folder; empty if none was found.
    pub(super) folder: String,
    /// How a log entry looks, for subagents; empty if the skill does not say.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) log: String,
}

/// What a skill's folder says about efforts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SkillSpec {
    pub(super) config: Config,
    /// What artifacts begin with, by name in capitals, e.g. `PLAN`.
    pub(super) templates: BTreeMap<String, String>,
}

/// `effort.toml`, as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct EffortToml {
    phases: Vec<String>,
    preload: Vec<String>,
    warn_at: Option<u32>,
    block_at: Option<u32>,
    templates: BTreeMap<String, String>,
    guards: Vec<Value>,
}

/// Looks a skill up in the project, then among the user's skills. A skill that is not found configures nothing.
pub(super) fn find(skill: &str, root: &str, local: &mut dyn Local) -> Result<SkillSpec, VerbError> {
    let mut folders = vec![(format!("{root}/{}/{skill}", seed::SKILLS), true)];
    folders.extend(local.skills_folder().map(|folder| (format!("{folder}/{skill}"), false)));
    for (folder, is_projects) in folders {
        // Resolve links. A project comes from outside, so files that a link leads out of it don't count.
        let folder = local.place(&folder).path;
        let mut read = |name: &str| {
            let path = format!("{folder}/{name}");
            let may_be = !is_projects || inside(&path, &[root], local).is_some();
            may_be.then(|| local.read(&path).ok()).flatten()
        };
        let (front, toml) = (read(FRONT), read(TOML));
        if front.is_some() || toml.is_some() {
            let texts = (front.as_deref(), toml.as_deref());
            return read_folder(texts, &folder, root, local);
        }
    }
    Ok(SkillSpec::default())
}

/// The same for a folder whose files the host has already read.
pub(super) fn of_folder(found: &SkillFolder) -> Result<SkillSpec, VerbError> {
    let text = |name: &str| found.files.iter().find(|(path, _)| path == name);
    let texts = (text(FRONT).map(|(_, text)| &**text), text(TOML).map(|(_, text)| &**text));
    read_folder(texts, &found.folder, &found.root, &mut SkillFiles(found))
}

/// Whether a skill configures efforts: by an `effort.toml`, or by an `effort-…` key in its front matter.
pub(super) fn says_anything(found: &SkillFolder) -> bool {
    let says = |(path, text): &(String, String)| match path.as_str() {
        TOML => true,
        FRONT => front_matter(text).iter().any(|(key, _)| key.starts_with("effort-")),
        _ => false,
    };
    found.files.iter().any(says)
}

/// A skill's files as the host found them. The host followed no links in the folder, so paths can be resolved as text.
struct SkillFiles<'a>(&'a SkillFolder);

impl Local for SkillFiles<'_> {
    fn read(&mut self, path: &str) -> Result<String, VerbError> {
        let below = path.strip_prefix(&self.0.folder).and_then(|rest| rest.strip_prefix('/'));
        let text = below.and_then(|below| self.0.files.iter().find(|(path, _)| path == below));
        text.map(|(_, text)| text.clone()).ok_or_else(|| VerbError::user("no such file", ""))
    }

    fn place(&mut self, path: &str) -> Place {
        let mut parts: Vec<&str> = Vec::new();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        Place { path: format!("/{}", parts.join("/")), ..Place::default() }
    }
}

fn read_folder(
    (front, toml): (Option<&str>, Option<&str>),
    folder: &str,
    root: &str,
    local: &mut dyn Local,
) -> Result<SkillSpec, VerbError> {
    let written = match (toml, front) {
        (Some(toml), _) => toml::from_str(toml).map_err(|error| {
            let message = one_line(error.message(), 200);
            let line = error.span().map_or(1, |span| line_of(toml, span.start));
            VerbError::user(
                format!("`{folder}/effort.toml`, line {line}: {message}"),
                "it may contain phases, preload, warn_at, block_at, [templates] and [[guards]]",
            )
        })?,
        (None, Some(front)) => in_front_matter(front),
        (None, None) => EffortToml::default(),
    };
    let n_bytes: usize = written.guards.iter().map(|rule| rule.to_string().len()).sum();
    if written.guards.len() > MAX_GUARDS || n_bytes > MAX_GUARD_BYTES {
        return Err(VerbError::user(
            format!("`{folder}/effort.toml` has too many guards"),
            format!("at most {MAX_GUARDS} rules, and {} in all", Bytes::of(MAX_GUARD_BYTES)),
        ));
    }
    Ok(bounded(written, folder, root, local))
}

/// The file that a path leads to, if it is below one of the roots.
pub(super) fn inside(path: &str, roots: &[&str], local: &mut dyn Local) -> Option<String> {
    let place = local.place(path);
    let is_inside = |root: &&str| {
        !root.is_empty()
            && place
                .path
                .strip_prefix(root.trim_end_matches('/'))
                .is_some_and(|rest| rest.starts_with('/'))
    };
    roots.iter().any(is_inside).then_some(place.path)
}

fn bounded(written: EffortToml, folder: &str, root: &str, local: &mut dyn Local) -> SkillSpec {
    let phases = written.phases.iter().map(|phase| one_line(phase, MAX_NAME));
    let phases = phases.filter(|phase| !phase.is_empty()).take(MAX_PHASES).collect();
    let roots = [root, folder];
    let mut preload: Vec<String> = Vec::new();
    for path in written.preload.iter().take(MAX_FILES) {
        let own = inside(&absolute(folder, path), &roots, local);
        let own = own.filter(|path| local.read(path).is_ok());
        preload.extend(own.or_else(|| inside(&absolute(root, path), &roots, local)));
    }
    let mut templates = BTreeMap::new();
    for (name, path) in written.templates.iter().take(MAX_TEMPLATES) {
        let name = capitals(name);
        let Some(file) = inside(&absolute(folder, path), &roots, local) else { continue };
        if let Ok(text) = local.read(&file) {
            // The template goes into a file that may be committed.
            let text = redacted(&text, MAX_TEMPLATE, names_dotenv(&file));
            templates.insert(name, cut(&text, MAX_TEMPLATE).to_owned());
        }
    }
    let config = Config {
        phases,
        preload,
        warn_at: written.warn_at.map(i64::from),
        block_at: written.block_at.map(i64::from),
        guards: written.guards,
        artifacts: Vec::new(),
        folder: folder.to_owned(),
        log: templates
            .get(LOG)
            .map(|text: &String| cut(text, MAX_LOG).to_owned())
            .unwrap_or_default(),
    };
    SkillSpec { config, templates }
}

fn absolute(root: &str, path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{root}/{path}") }
}

/// A name as it appears in file names: `demo:fix-it` becomes `DEMO_FIX_IT`.
pub(super) fn capitals(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    name.chars().take(MAX_NAME).map(plain).collect()
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Reads `effort-phases: a, b`, `effort-preload: [a.md]`, `effort-warn-at: 5` and `effort-block-at: 8`. A list may also stand
/// below its key, with a `-` before each entry. This is not a YAML parser: it takes only the words of a value.
fn in_front_matter(text: &str) -> EffortToml {
    let mut out = EffortToml::default();
    for (key, list) in front_matter(text) {
        let number = || list.first().and_then(|text| text.parse().ok());
        match key.as_str() {
            "effort-phases" => out.phases = list,
            "effort-preload" => out.preload = list,
            "effort-warn-at" => out.warn_at = number(),
            "effort-block-at" => out.block_at = number(),
            _ => {}
        }
    }
    out
}

/// The keys between the first two `---` lines, each with its words.
fn front_matter(text: &str) -> Vec<(String, Vec<String>)> {
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    let mut values: Vec<(String, Vec<String>)> = Vec::new();
    if lines.next().is_none_or(|line| line.trim_end() != "---") {
        return values;
    }
    for line in lines.take_while(|line| line.trim_end() != "---") {
        if let (Some((_, list)), Some(entry)) =
            (values.last_mut(), line.trim_start().strip_prefix("- "))
        {
            list.push(unquoted(entry));
        } else if let Some((key, value)) =
            line.split_once(':').filter(|_| !line.starts_with([' ', '\t']))
        {
            let value = value.trim().trim_start_matches('[').trim_end_matches(']');
            let list = value.split(',').map(unquoted).filter(|one| !one.is_empty()).collect();
            values.push((key.trim().to_owned(), list));
        }
    }
    values
}

fn unquoted(text: &str) -> String {
    let text = text.trim();
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text).to_owned()
}
