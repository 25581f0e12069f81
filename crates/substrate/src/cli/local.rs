//! What only the caller's own process has: its files and its standard input.

use std::io::{IsTerminal as _, Read};

use substrate_core::dialect::ClientStatus;
use substrate_core::facts::Place;
use substrate_core::{Facts, Local, Need, VerbError};

use super::{Context, call};
use crate::config::{Env, SettingsFiles};
use crate::{gather, hooks, ui};

/// The most that is read of any text.
const MAX: u64 = 4 << 20;

/// The process that runs the command.
pub(super) struct ThisProcess<'a> {
    context: &'a Context,
    /// Where relative paths start, if it is not the current folder.
    dir: Option<String>,
}

impl<'a> ThisProcess<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        Self { context, dir: None }
    }

    /// With relative paths that start elsewhere.
    pub(super) fn from(self, dir: Option<String>) -> Self {
        Self { dir, ..self }
    }
}

impl Local for ThisProcess<'_> {
    fn read(&mut self, path: &str) -> Result<String, VerbError> {
        let text = if path == "-" {
            bounded(std::io::stdin().lock())
        } else if path.starts_with("/dev/") || path.starts_with("/proc/") {
            // `<(…)` of a shell is a pipe that has a writer.
            std::fs::File::open(path).and_then(bounded)
        } else {
            plain(path).and_then(bounded)
        };
        text.map_err(|error| {
            VerbError::user(format!("`{path}` could not be read: {error}"), "`-` is standard input")
        })
    }

    fn place(&mut self, path: &str) -> Place {
        let mut here = std::env::current_dir().unwrap_or_default();
        here.extend(&self.dir);
        let found = gather::place(path, &here.display().to_string());
        Place { is_folder: std::path::Path::new(&found.path).is_dir(), ..found }
    }

    fn project_dirs(&mut self) -> Vec<String> {
        let dir = call::dir(self.context);
        let (_, project) = SettingsFiles::new(self.context.home.config()).around(dir);
        let mut out = vec![dir.display().to_string()];
        out.extend(Some(project.as_ref().to_owned()).filter(|project| *project != out[0]));
        out
    }

    fn look_up(&mut self, needs: Vec<Need>) -> Facts {
        gather::gather(needs)
    }

    fn client_status(&mut self, text: &str) -> Option<ClientStatus> {
        substrate_clients::ALL.iter().find_map(|client| (client.status)(text))
    }

    fn status_line(&mut self) -> Option<String> {
        let known = substrate_clients::status_line::ALL.first()?;
        Some((known.text)(&std::env::current_exe().ok()?.display().to_string()))
    }

    fn skills_folder(&mut self) -> Option<String> {
        let env = Env::of_this_process();
        let home = hooks::client_home(substrate_clients::DEFAULT, &env).ok()?;
        home.join("skills").to_str().map(str::to_owned)
    }

    fn screen(&self) -> Option<(u16, u16)> {
        ui::screen()
    }

    fn is_terminal(&self) -> bool {
        std::io::stdout().is_terminal()
    }
}

/// Regular files only: a fifo without a writer would block.
fn plain(path: &str) -> std::io::Result<std::fs::File> {
    gather::open(path).map(|(file, _)| file)
}

fn bounded(from: impl Read) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    from.take(MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
