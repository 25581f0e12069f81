//! Everything that the doctor looks at, gathered before anything is judged.

use std::path::Path;

use ipc::ConnError;
use substrate_core::Timestamp;
use substrate_core::settings::Problem;

use super::access::{self, Access};
use super::client::{self, Client};
use super::daemon::{self, Daemon};
use super::database::{self, Database};
use super::finding::{Area, Finding};
use super::hooks::{self, Journal};
use super::programs::{self, Programs};
use super::registered;
use super::sessions::{self, Session};
use super::settings::{self, Scopes};
use super::trace::{self, Trace};
use crate::config::{Env, Home, SettingsFiles};
use crate::daemon::Status;

/// Whom the doctor looks at.
pub(crate) struct Patient<'a> {
    pub(crate) env: &'a Env,
    pub(crate) home: &'a Home,
    /// The folder whose project counts.
    pub(crate) dir: &'a Path,
    pub(crate) now: Timestamp,
    /// Asks the daemon how it is.
    pub(crate) ping: &'a dyn Fn() -> Result<Status, ConnError>,
}

/// What was seen.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(super) now: Timestamp,
    pub(super) programs: Programs,
    pub(super) access: Vec<Access>,
    pub(super) daemon: Daemon,
    pub(super) database: Database,
    /// Of Substrate's own settings files.
    pub(super) problems: Vec<Problem>,
    pub(super) client: Client,
    pub(super) scopes: Scopes,
    pub(super) journal: Journal,
    pub(super) sessions: Vec<Session>,
    pub(super) trace: Option<Trace>,
}

/// Looks at everything, and changes nothing.
pub(crate) fn gather(patient: &Patient<'_>) -> Facts {
    let settings = SettingsFiles::new(patient.home.config()).at(patient.dir);
    let programs = programs::look(patient.env);
    let daemon = daemon::look(patient, settings.on("daemon.autostart"));
    let database = database::look(patient);
    let scopes = settings::look(patient.env, patient.dir, &programs.hook.path);
    let journal = hooks::look(patient, &database);
    let sessions = sessions::look(patient.env, &journal, &programs.hook.path);
    Facts {
        now: patient.now,
        access: access::look(patient.home),
        client: client::look(patient.env),
        trace: trace::look(patient.home),
        problems: settings.problems.clone(),
        programs,
        daemon,
        database,
        scopes,
        journal,
        sessions,
    }
}

/// What the facts mean.
pub(crate) fn judge(facts: &Facts) -> Vec<Finding> {
    let mut out = Vec::new();
    programs::judge(&facts.programs, &mut out);
    daemon::judge(&facts.daemon, facts.now, &mut out);
    access::judge(&facts.access, &mut out);
    database::judge(&facts.database, &mut out);
    judge_problems(&facts.problems, &mut out);
    client::judge(&facts.client, &mut out);
    registered::judge(&facts.scopes, &mut out);
    sessions::judge(&facts.sessions, facts.now, &mut out);
    hooks::judge(&facts.journal, facts.now, &mut out);
    trace::judge(facts.trace.as_ref(), facts.now, &mut out);
    out
}

fn judge_problems(problems: &[Problem], out: &mut Vec<Finding>) {
    for problem in problems {
        let message = problem.to_string();
        out.push(Area::Settings.warning("settings-problem", message).next(&problem.hint));
    }
    if problems.is_empty() {
        out.push(Area::Settings.ok("settings-fine", "Substrate's own settings files are fine"));
    }
}
