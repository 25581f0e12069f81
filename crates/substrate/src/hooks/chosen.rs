//! What the user or the project has chosen: profiles, and whether hooks run through scripts. This determines what is
//! registered.

use std::path::Path;

use substrate_clients::Client;
use substrate_clients::install::{Entry, Form, What};
use substrate_core::Settings;
use substrate_core::settings::{self, Layer};

use super::plan::{Change, Request, program, read, scripts_folder, text};
use super::profiles;
use super::scope::Scope;
use crate::config::{Env, Home};
use crate::error::Result;

/// What the settings file of the scope asks for, including a profile that is being added.
pub(super) struct Chosen {
    pub(super) profiles: Vec<String>,
    /// Its five events can be edited as scripts.
    pub(super) persists: bool,
    /// Agents are told to invoke the skills of the reminders.
    pub(super) reminds: bool,
    /// The project itself wants the prompts of the reminders.
    pub(super) prompts: bool,
}

impl Chosen {
    pub(super) fn of(home: &Home, request: &Request<'_>, profile: Option<&Change>) -> Self {
        let text = |file: &Path| match profile.filter(|change| change.path == file) {
            Some(change) => Some(change.after.clone()),
            // An unreadable file asks for nothing. The error is reported elsewhere.
            None => read(file).ok().flatten(),
        };
        let own = text(&profiles::file(home, request)).unwrap_or_default();
        // A project is shared: one person's own settings apply only to that person.
        let users = match request.scope {
            Scope::User | Scope::Project => None,
            Scope::Local => text(&home.config()),
        };
        let keys = substrate_features::keys();
        let read = |text: &String| Layer::read(settings::Scope::User, "", text, &keys);
        let layers: Vec<Layer> = users.iter().chain([&own]).map(read).collect();
        let settings = Settings::resolve(&keys, &layers.iter().collect::<Vec<_>>());
        let profiles = profiles::named_in(&own);
        let has = |name: &str| profiles.iter().any(|profile| profile == name || profile == "all");
        let persists = request.scope == Scope::User && has("persistent");
        let prompts = request.scope == Scope::Project && has("reminders");
        Self { persists, reminds: settings.on("reminders.on"), prompts, profiles }
    }
}

/// The hooks to register.
pub(super) fn entries(
    env: &Env,
    request: &Request<'_>,
    chosen: &Chosen,
    scripts: Option<bool>,
) -> Result<Vec<Entry>> {
    let (program, folder) = (program(env)?, text(&scripts_folder(request.client, env)?)?);
    let (program, folder) = (program.as_str(), folder.as_str());
    let install = &request.client.install;
    let mut entries = (install.entries)(match (request.scope, scripts) {
        (Scope::Project, _) => Form::Project,
        (Scope::User, Some(true)) => Form::Scripts { folder },
        (Scope::User, None) if chosen.persists => Form::Persistent { program, folder },
        (Scope::User | Scope::Local, _) => Form::User { program },
    });
    if request.scope == Scope::Local {
        // Marks the scope, so that the same event from the user's own registration is recognised.
        for entry in &mut entries {
            if let What::Exec { args, .. } = &mut entry.what {
                args.push("--local".to_owned());
            }
        }
    }
    if chosen.prompts {
        // The model is asked at the end of a turn. This works for colleagues who have nothing installed.
        entries.extend((install.prompts)());
    }
    Ok(entries)
}

pub(super) fn command_line(entry: &Entry) -> Option<String> {
    match &entry.what {
        What::Shell { command, .. } => Some(command.clone()),
        What::Exec { .. } | What::Prompt { .. } => None,
    }
}

/// Whether the hooks of tool calls are registered as scripts. Only `--scripts` does that.
pub(super) fn calls_scripts(client: &Client, settings: Option<&str>) -> bool {
    let found = (client.install.format.registered)(settings.unwrap_or("")).unwrap_or_default();
    found.iter().any(|one| one.event == "PreToolUse" && one.command.contains("/pre_tool_use.sh"))
}
