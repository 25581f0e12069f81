//! The scripts and skills that an installation writes, and how to recognise them.

use std::path::{Path, PathBuf};

use substrate_clients::Client;
use substrate_clients::install::script_command;

use super::manifest::FileKind;
use super::plan::{Change, read, scripts_folder};
use super::scope::client_home;
use super::{library, skill};
use crate::config::Env;
use crate::error::Result;

/// A script or skill that an installation writes.
pub(super) struct Own {
    pub(super) path: PathBuf,
    pub(super) purpose: Purpose,
    /// Its text, split where the program is named.
    parts: Vec<String>,
    /// The program as the text names it, given the hook.
    program: fn(&str) -> String,
    mode: u32,
}

/// What one of our files is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A hook, if this command is registered.
    Hook { command: String },
    /// For the user's own hooks.
    Library,
    /// Teaches an agent about us.
    Skill,
    /// Skills that reminders tell an agent to invoke.
    Reminders,
}

/// Which of our files an installation uses.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    /// The registered command lines.
    pub(super) commands: Vec<String>,
    pub(super) library: bool,
    pub(super) skill: bool,
    pub(super) reminders: bool,
}

impl Uses {
    pub(super) fn has(&self, file: &Own) -> bool {
        match &file.purpose {
            Purpose::Hook { command } => self.commands.contains(command),
            Purpose::Library => self.library,
            Purpose::Skill => self.skill,
            Purpose::Reminders => self.reminders,
        }
    }
}

/// The skills of the project itself, for everyone who works on it.
pub(super) fn skills_of_project(client: &Client, root: &Path) -> Vec<Own> {
    skills(&root.join(client.install.places.project))
        .filter(|own| own.purpose == Purpose::Reminders)
        .collect()
}

/// All of our files.
pub(super) fn own_files(client: &Client, env: &Env) -> Result<Vec<Own>> {
    Ok(own_files_in(client, &client_home(client, env)?, &scripts_folder(client, env)?))
}

/// Those that exist, word for word as we write them.
pub(crate) fn own_files_there(env: &Env) -> Vec<PathBuf> {
    let is_there = |own: &Own| {
        let text = read(&own.path).ok().flatten();
        text.is_some_and(|text| own.is_ours(&text))
    };
    let all = substrate_clients::ALL.iter().filter_map(|client| own_files(client, env).ok());
    all.flatten().filter(is_there).map(|own| own.path).collect()
}

fn own_files_in(client: &Client, home: &Path, scripts: &Path) -> Vec<Own> {
    let parts = |text: &str| text.split(PROGRAM).map(str::to_owned).collect::<Vec<_>>();
    let mut out: Vec<Own> = (client.install.scripts)(PROGRAM)
        .into_iter()
        .map(|(name, text)| Own {
            purpose: Purpose::Hook {
                command: script_command(&scripts.display().to_string(), &name),
            },
            path: scripts.join(name),
            // It is quoted already.
            parts: parts(&text.replace(&format!("'{PROGRAM}'"), PROGRAM)),
            program: library::quoted,
            mode: 0o755,
        })
        .collect();
    out.extend(library::FILES.iter().map(|file| Own {
        path: home.join(file.path),
        purpose: Purpose::Library,
        parts: parts(&file.text.replace("@SUBSTRATE@", PROGRAM)),
        program: library::program,
        mode: file.mode,
    }));
    out.extend(skills(home));
    out
}

fn skills(home: &Path) -> impl Iterator<Item = Own> {
    skill::ALL.iter().enumerate().map(move |(n, (path, text))| Own {
        path: home.join(path),
        purpose: if n == 0 { Purpose::Skill } else { Purpose::Reminders },
        parts: vec![(*text).to_owned()],
        program: library::quoted,
        mode: 0o644,
    })
}

/// Stands for the program in a text.
const PROGRAM: &str = "\u{1}";

impl Own {
    pub(super) fn change(&self, hook: &str) -> Result<Change> {
        let before = read(&self.path)?;
        let is_ours = before.as_deref().is_some_and(|text| self.is_ours(text));
        let after = self.parts.join(&(self.program)(hook));
        let (path, mode) = (self.path.clone(), self.mode);
        Ok(Change { path, before, after, mode, kind: FileKind::Own, is_ours })
    }

    /// Whether we wrote this text, whatever the program is called. One changed letter makes it the user's own.
    pub(super) fn is_ours(&self, text: &str) -> bool {
        let Some((first, rest)) = self.parts.split_first() else { return false };
        let Some(mut left) = text.strip_prefix(first.as_str()) else { return false };
        for part in rest {
            // One quoted word.
            let Some(end) = left.find(part.as_str()).filter(|_| left.starts_with('\'')) else {
                return false;
            };
            let word = &left[..end];
            if word.len() < 2 || !word.ends_with('\'') || word.contains('\n') {
                return false;
            }
            left = &left[end + part.len()..];
        }
        left.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_we_write_word_for_word_is_ours() {
        let folder = tempfile::tempdir().unwrap();
        let files =
            own_files_in(substrate_clients::DEFAULT, folder.path(), &folder.path().join("scripts"));
        assert!(files.len() > 30);
        for file in &files {
            let change = file.change("/opt/it's here/substrate-hook").unwrap();
            let (text, path) = (change.after, file.path.display());
            assert!(!text.contains(PROGRAM) && !text.contains("@SUBSTRATE@"), "{path}");
            assert!(file.is_ours(&text), "{path}");
            let other = file.change("/elsewhere/substrate-hook").unwrap().after;
            assert!(file.is_ours(&other), "{path}");
            for edited in [
                format!("{text}# mine\n"),
                text.replacen('e', "E", 1),
                format!("# substrate-hook\n{text}"),
                "# substrate-hook\necho mine\n".to_owned(),
                String::new(),
            ] {
                assert!(!file.is_ours(&edited), "{path}");
            }
        }
    }
}
