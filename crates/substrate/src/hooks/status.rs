//! What is registered where, and whether the client will use it.

use std::path::{Path, PathBuf};

use serde::Serialize;
use substrate_clients::Client;
use substrate_clients::install::{Drops, Form};

use super::manifest::Manifest;
use super::plan::read;
use super::scope::Scope;
use crate::config::{Env, Home};
use crate::doctor::quoted;
use crate::error::Result;

/// One scope's settings file.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct State {
    pub(crate) scope: &'static str,
    pub(crate) settings: PathBuf,
    pub(crate) exists: bool,
    /// The events with hooks of ours.
    pub(crate) events: Vec<String>,
    /// Events that this version would register, and that are missing.
    pub(crate) missing: Vec<String>,
    /// Programs that the entries name and that don't exist.
    pub(crate) gone: Vec<String>,
    /// What the client would drop, with the line.
    pub(crate) problems: Vec<String>,
    /// The client would drop the whole file.
    pub(crate) is_dropped: bool,
    /// We have a manifest for it.
    pub(crate) installed_by_us: bool,
}

impl State {
    /// Nothing is missing, and the client will use it.
    pub(crate) fn is_whole(&self) -> bool {
        !self.events.is_empty()
            && self.missing.is_empty()
            && self.gone.is_empty()
            && !self.is_dropped
    }
}

pub(crate) fn status(
    client: &'static Client,
    env: &Env,
    home: &Home,
    dir: &Path,
) -> Result<Vec<State>> {
    Scope::of(client).map(|scope| one(client, env, home, (scope, dir))).collect()
}

fn one(
    client: &'static Client,
    env: &Env,
    home: &Home,
    (scope, dir): (Scope, &Path),
) -> Result<State> {
    let settings = scope.settings(client, env, dir)?;
    let install = &client.install;
    let text = read(&settings)?;
    let exists = text.is_some();
    let text = text.unwrap_or_default();
    let findings =
        if text.trim().is_empty() { Vec::new() } else { (install.format.findings)(&text) };
    let registered = (install.format.registered)(&text).unwrap_or_default();
    let mut events: Vec<String> = registered.iter().map(|found| found.event.clone()).collect();
    events.dedup();
    let all = (install.entries)(Form::Project);
    let is_missing =
        |event: &&str| !events.is_empty() && !events.iter().any(|found| found == event);
    let mut missing: Vec<String> =
        all.iter().map(|entry| entry.event).filter(is_missing).map(str::to_owned).collect();
    missing.dedup();
    let file = |command: &str| quoted(command).unwrap_or_else(|| PathBuf::from(command));
    let mut gone: Vec<String> = registered
        .iter()
        .map(|found| file(&found.command))
        .filter(|path| path.is_absolute() && !path.exists())
        .map(|path| path.display().to_string())
        .collect();
    gone.sort();
    gone.dedup();
    Ok(State {
        scope: scope.name(),
        exists,
        events,
        missing,
        gone,
        is_dropped: findings.iter().any(|finding| finding.drops == Drops::File),
        problems: findings
            .iter()
            .map(|finding| format!("line {}: {}", finding.line, finding.message))
            .collect(),
        installed_by_us: Manifest::load(home, &settings)?.is_some(),
        settings,
    })
}
