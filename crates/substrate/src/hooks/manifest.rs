//! What an installation added, recorded in the state home: one file per settings file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use substrate_clients::Client;
use substrate_core::ids::checksum;

use crate::config::Home;
use crate::error::{AppError, Kind, Result};
use crate::fsx;

/// One installation into one settings file.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) client: String,
    pub(crate) scope: String,
    /// The settings file. It is among `files` too.
    pub(crate) settings: PathBuf,
    pub(crate) version: String,
    pub(crate) installed_ms: i64,
    /// The permission rules that were added. Earlier versions added one at the most.
    #[serde(default, deserialize_with = "one_or_many")]
    pub(crate) allow: Vec<String>,
    /// Whether the user asked for scripts or against them. A new installation keeps that choice.
    #[serde(default)]
    pub(crate) scripts: Option<bool>,
    /// The profiles that were added to our own settings. Earlier versions did not record them, and added one at the
    /// most.
    #[serde(default)]
    pub(crate) profiles: Option<Vec<String>>,
    pub(crate) files: Vec<Touched>,
    /// Folders that did not exist before, outermost first.
    pub(crate) folders: Vec<PathBuf>,
}

/// A file that we wrote or edited.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Touched {
    pub(crate) path: PathBuf,
    /// The state before us. `None`: it can't be restored byte for byte.
    pub(crate) before: Option<Before>,
    /// The checksum of what we wrote.
    pub(crate) after: String,
    /// Ours alone, or another's file with entries of ours.
    pub(crate) kind: FileKind,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Before {
    /// The file did not exist.
    Absent,
    /// A copy of it.
    Copy(PathBuf),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FileKind {
    /// The client's settings: only our entries are removed.
    Settings,
    /// Our own settings: only the added profiles are removed.
    Profile,
    /// The client's record of which hooks its user trusts: only ours are removed.
    Trust,
    /// One of our scripts or skills.
    Own,
}

impl Manifest {
    /// The client that the settings belong to. Old manifests don't say: there was only one.
    pub(crate) fn client(&self) -> &'static Client {
        substrate_clients::named(&self.client).unwrap_or(substrate_clients::DEFAULT)
    }

    /// The manifest for that settings file.
    pub(crate) fn load(home: &Home, settings: &Path) -> Result<Option<Self>> {
        Self::read(&place(home, settings))
    }

    /// All manifests.
    pub(crate) fn all(home: &Home) -> Result<Vec<Self>> {
        let Ok(entries) = std::fs::read_dir(folder(home)) else { return Ok(Vec::new()) };
        let mut paths: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .collect();
        paths.sort();
        let mut out = Vec::new();
        for path in paths {
            out.extend(Self::read(&path)?);
        }
        Ok(out)
    }

    fn read(path: &Path) -> Result<Option<Self>> {
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(AppError::from_error(Kind::State, &error)),
        };
        serde_json::from_slice(&text).map(Some).map_err(|error| {
            AppError::from_error(Kind::State, &error).hint(format!(
                "`{}` is not as we wrote it; move it away, and take our entries out by hand",
                path.display()
            ))
        })
    }

    pub(crate) fn save(&self, home: &Home) -> Result<()> {
        let fail = |error: &std::io::Error| AppError::from_error(Kind::State, error);
        fsx::create_folders(&folder(home)).map_err(|error| fail(&error))?;
        let json = serde_json::to_vec_pretty(self).unwrap_or_default();
        fsx::replace(&place(home, &self.settings), &json, 0o600).map_err(|error| fail(&error))
    }

    pub(crate) fn forget(&self, home: &Home) -> Result<()> {
        match std::fs::remove_file(place(home, &self.settings)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(AppError::from_error(Kind::State, &error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Whether both are equal except for their time.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Self { installed_ms: 0, ..self.clone() } == Self { installed_ms: 0, ..other.clone() }
    }

    pub(crate) fn touched(&self, path: &Path) -> Option<&Touched> {
        self.files.iter().find(|file| file.path == path)
    }
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> std::result::Result<Vec<String>, D::Error> {
    let rules = match serde_json::Value::deserialize(from)? {
        serde_json::Value::Array(rules) => rules,
        one => vec![one],
    };
    Ok(rules.iter().filter_map(|rule| Some(rule.as_str()?.to_owned())).collect())
}

fn folder(home: &Home) -> PathBuf {
    home.root().join("manifests")
}

fn place(home: &Home, settings: &Path) -> PathBuf {
    let name = &checksum(&settings.display().to_string())[..16];
    folder(home).join(format!("{name}.json"))
}
