//! All facts that the doctor judges, gathered first.

use std::path::{Path, PathBuf};

use ipc::ConnError;
use substrate_clients::DEFAULT;
use substrate_core::Timestamp;
use substrate_core::settings::Problem;

use super::access::{self, Access};
use super::client::{self, Client};
use super::daemon::{self, Daemon};
use super::database::{self, Database};
use super::finding::Finding;
use super::hooks::{self, Journal};
use super::notify::{self, Notifications};
use super::plugin::{self, Carrier};
use super::programs::{self, Programs};
use super::project::{self, Unwritten};
use super::registered;
use super::sessions::{self, Session};
use super::settings::{self, Scopes};
use super::team::{self, Team};
use super::trace::{self, Trace};
use super::try_out::spawn_us;
use crate::config::{Env, Home, settings_at};
use crate::daemon::Status;
use crate::remnants::Remnants;

/// What the doctor examines.
pub(crate) struct Patient<'a> {
    pub(crate) env: &'a Env,
    pub(crate) home: &'a Home,
    /// The folder whose project is examined.
    pub(crate) dir: &'a Path,
    pub(crate) now: Timestamp,
    /// Asks the daemon for its status.
    pub(crate) ping: &'a dyn Fn() -> Result<Status, ConnError>,
}

/// What the doctor saw.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(super) now: Timestamp,
    pub(super) programs: Programs,
    pub(super) access: Vec<Access>,
    pub(super) daemon: Daemon,
    pub(super) database: Database,
    /// From Substrate's own settings files.
    pub(super) problems: Vec<Problem>,
    /// The project's ignore files that are too long to use.
    pub(super) unread_rules: Vec<PathBuf>,
    pub(super) unwritten: Option<Unwritten>,
    pub(super) client: Client,
    pub(super) scopes: Scopes,
    /// `None`: no client has our plugin.
    pub(super) plugin: Option<Carrier>,
    /// `None`: the hooks are installed.
    pub(super) remnants: Option<Remnants>,
    pub(super) journal: Journal,
    /// How long this machine takes to start the smallest program, in microseconds. `None`: unknown.
    pub(super) spawn_us: Option<i64>,
    pub(super) sessions: Vec<Session>,
    pub(super) trace: Option<Trace>,
    /// `None`: notifications are off.
    pub(super) notifications: Option<Notifications>,
    /// `None`: this machine is in no team.
    pub(super) team: Option<Team>,
}

/// Gathers all facts, and changes nothing.
pub(crate) fn gather(patient: &Patient<'_>) -> Facts {
    let settings = settings_at(&patient.home.config(), patient.dir);
    let programs = programs::look(patient.env);
    let daemon = daemon::look(patient, settings.on("daemon.autostart"));
    let database = database::look(patient);
    let scopes = settings::look(DEFAULT, patient.env, patient.dir, &programs.hook.path);
    let journal = hooks::look(patient, &database);
    let sessions = sessions::look(patient.env, &journal, &programs.hook.path);
    Facts {
        now: patient.now,
        access: access::look(patient.home),
        client: client::look(DEFAULT, patient.env),
        plugin: plugin::look(patient.env),
        trace: trace::look(patient.home),
        spawn_us: spawn_us(patient.env),
        problems: settings.problems.clone(),
        unread_rules: project::unread_rules(patient.dir),
        remnants: registered::left_over(patient, &scopes),
        unwritten: project::look(&settings, patient.dir),
        notifications: notify::look(&settings, &database),
        team: team::look(patient.home, &database),
        programs,
        daemon,
        database,
        scopes,
        journal,
        sessions,
    }
}

/// Turns the facts into findings.
pub(crate) fn judge(facts: &Facts) -> Vec<Finding> {
    let mut out = Vec::new();
    programs::judge(&facts.programs, &mut out);
    daemon::judge(&facts.daemon, facts.now, &mut out);
    access::judge(&facts.access, &mut out);
    database::judge(&facts.database, &mut out);
    project::judge_problems(&facts.problems, &mut out);
    project::judge_rules(&facts.unread_rules, &mut out);
    project::judge(facts.unwritten.as_ref(), &mut out);
    client::judge(&facts.client, &mut out);
    registered::judge(&facts.scopes, facts.client.is_here, &mut out);
    plugin::judge(facts.plugin.as_ref(), facts.scopes.has_hooks(), &mut out);
    registered::judge_left_over(facts.remnants.as_ref(), &mut out);
    sessions::judge(&facts.sessions, facts.now, &mut out);
    hooks::judge(&facts.journal, facts.spawn_us, facts.now, &mut out);
    trace::judge(facts.trace.as_ref(), facts.now, &mut out);
    notify::judge(facts.notifications.as_ref(), facts.now, &mut out);
    team::judge(facts.team.as_ref(), facts.now, &mut out);
    out
}
