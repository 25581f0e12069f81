//! The user's trust in our hooks, for clients that run no other.

use std::path::{Path, PathBuf};

use substrate_clients::Client;
use substrate_clients::install::{Edited, SettingsError, Trust, TrustedIn};

use super::plan::{read, text};
use super::scope::client_home;
use crate::config::Env;
use crate::error::Result;

/// The hooks of one settings file, and the file that keeps whether they are trusted.
pub(super) struct TrustFile {
    trust: Trust,
    pub(super) path: PathBuf,
    /// `None`: there is no such file.
    pub(super) text: Option<String>,
    settings: String,
}

impl TrustFile {
    /// `None`: the client runs every hook.
    pub(super) fn of(client: &Client, env: &Env, settings: &Path) -> Result<Option<Self>> {
        let Some(trust) = client.install.trust else { return Ok(None) };
        let path = client_home(client, env)?.join(trust.file);
        // The client resolves the links of a folder that a variable names, and of no other.
        let is_named = client.variables.config.is_some_and(|name| env.get(name).is_some());
        let folder = settings.parent().filter(|_| is_named).and_then(|it| it.canonicalize().ok());
        let settings = match (folder, settings.file_name()) {
            (Some(folder), Some(name)) => folder.join(name),
            _ => settings.to_owned(),
        };
        let (text, settings) = (read(&path)?, text(&settings)?);
        Ok(Some(Self { trust, path, text, settings }))
    }

    /// The file with our hooks trusted, given the text of the settings.
    pub(super) fn add(
        &self,
        client: &Client,
        settings: &str,
    ) -> std::result::Result<Edited, SettingsError> {
        let known = self.text.as_deref().unwrap_or("");
        self.about(client, settings, |trusted| (self.trust.add)(trusted, known))
    }

    /// The events whose hooks are not trusted, given the texts of both files.
    pub(super) fn untrusted(&self, client: &Client, settings: &str, known: &str) -> Vec<String> {
        self.about(client, settings, |trusted| (self.trust.untrusted)(trusted, known))
    }

    fn about<T>(
        &self,
        client: &Client,
        settings: &str,
        ask: impl FnOnce(&TrustedIn<'_>) -> T,
    ) -> T {
        let found = (client.install.format.registered)(settings).unwrap_or_default();
        let commands: Vec<&str> = found.iter().map(|one| one.command.as_str()).collect();
        ask(&TrustedIn { path: &self.settings, settings, commands: &commands })
    }
}

/// The events of a settings file whose hooks the client skips, because its user does not trust them.
pub(crate) fn untrusted(client: &Client, env: &Env, settings: &Path) -> Vec<String> {
    let text = read(settings).ok().flatten().unwrap_or_default();
    let file = TrustFile::of(client, env, settings).ok().flatten();
    file.map_or_else(Vec::new, |file| {
        file.untrusted(client, &text, file.text.as_deref().unwrap_or(""))
    })
}
