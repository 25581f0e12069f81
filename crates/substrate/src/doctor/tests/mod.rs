//! Every finding, from made-up facts.

mod areas;
mod settings;

use std::path::PathBuf;

use substrate_core::Timestamp;
use substrate_features::journal::{Health, Recent, Seen, SessionHealth};

use super::access::{Access, StateFile};
use super::client::{Client, Installed};
use super::daemon::{self, Daemon};
use super::database::{self, Database};
use super::facts::{Facts, judge};
use super::finding::{Finding, Severity};
use super::hooks::Journal;
use super::programs::{OnPath, Program, Programs, Works};
use super::sessions::Session;
use super::settings::{Content, Hook, Read, Runs, Scope, Scopes};
use crate::daemon::Status;
use crate::remnants::Remnants;

const NOW: Timestamp = Timestamp(1_000_000_000_000);
const MINUTE: i64 = 60_000;
const OURS: &str = env!("CARGO_PKG_VERSION");

/// Facts of a healthy installation.
fn healthy() -> Facts {
    let found = |path: &str| {
        let state = Works::Version(OURS.to_owned());
        Some(OnPath { path: PathBuf::from(path), is_ours: true, state })
    };
    let access =
        |what, mode| Access { what, path: PathBuf::from("/home/dev/x"), mode, is_mine: true };
    let events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"];
    Facts {
        plugin: None,
        now: NOW,
        programs: Programs {
            substrate: PathBuf::from("/opt/substrate"),
            hook: Program {
                path: PathBuf::from("/opt/substrate-hook"),
                state: Works::Version(OURS.to_owned()),
            },
            hook_on_path: found("/opt/substrate-hook"),
            substrate_on_path: found("/opt/substrate"),
        },
        access: vec![
            access(StateFile::Home, 0o700),
            access(StateFile::Socket, 0o600),
            access(StateFile::Database, 0o600),
        ],
        daemon: Daemon {
            state: daemon::State::Answers { status: status(), program: daemon::Program::Ours },
            autostart: true,
            logs: PathBuf::from("/home/dev/x/logs"),
        },
        database: Database {
            path: PathBuf::from("/home/dev/x/subtrate.db"),
            size: Some(1 << 20),
            log_size: 0,
            is_writable: true,
            state: database::State::Intact { n_missing_steps: 0 },
            free_space: Some(1 << 33),
            has_home: true,
            home: PathBuf::from("/home/x/.subtrate"),
        },
        problems: vec![],
        unread_rules: vec![],
        unwritten: None,
        client: Client {
            kind: substrate_clients::DEFAULT,
            installed: Installed::Version("2.1.325 (Claude Code)".to_owned()),
            is_here: true,
            cap: None,
        },
        scopes: Scopes {
            client: substrate_clients::DEFAULT,
            plan: vec!["Stop", "Stop", "PreToolUse"],
            all: vec![scope("user", &["Stop", "Stop", "PreToolUse"])],
        },
        remnants: None,
        journal: Journal::Read(Health {
            n_events: 10_000,
            p50_us: 900,
            p99_us: 4_000,
            recent: Recent { n_events: 100, p99_us: 4_000 },
            ..Health::default()
        }),
        spawn_us: Some(1_000),
        sessions: vec![session(&events.map(|event| (event, 7)))],
        trace: None,
        notifications: None,
        team: None,
    }
}

fn status() -> Status {
    Status {
        pid: 7,
        version: OURS.to_owned(),
        started_ms: NOW.0 - 5 * MINUTE,
        home: "/home/dev/x".to_owned(),
        program: "/opt/substrate".to_owned(),
        n_hooks: 1,
        n_commands: 1,
        n_commits: 1,
        n_failures: 0,
        n_waiting: 0,
        is_brief: false,
        trouble: None,
    }
}

fn scope(name: &'static str, events: &[&str]) -> Scope {
    let hook = |event: &&str| Hook { event: (*event).to_owned(), program: Runs::Ours };
    let hooks = events.iter().map(hook).collect();
    let file = PathBuf::from(format!("/home/dev/{name}/settings.json"));
    Scope { name, file, content: Content::Read(Read { hooks, ..Read::default() }) }
}

fn session(events: &[(&str, usize)]) -> Session {
    let seen = |(event, n): &(&str, usize)| ((*event).to_owned(), Seen { n: *n, n_refused: 0 });
    let seen = SessionHealth {
        session: "7ac89518-7bff".to_owned(),
        agent: Some("NobleLion".to_owned()),
        cwd: "/home/dev/app".to_owned(),
        first_at: NOW.plus_ms(-30 * MINUTE),
        last_at: NOW.plus_ms(-20 * MINUTE),
        last_event: events.last().map_or("", |(event, _)| event).to_owned(),
        has_start: Some(events.iter().any(|(event, _)| *event == "SessionStart")),
        events: events.iter().map(seen).collect(),
    };
    Session { seen, is_installed: true }
}

/// The findings after a change of the healthy facts.
fn found(change: impl Fn(&mut Facts)) -> Vec<Finding> {
    let mut facts = healthy();
    change(&mut facts);
    judge(&facts)
}

/// A change of the healthy facts, and the one finding that it must cause.
type Case = (&'static str, Severity, fn(&mut Facts));

/// Each case causes its finding. A warning or failure has a next step, and nothing else is wrong.
fn assert_each(cases: &[Case]) {
    for (id, severity, change) in cases {
        let findings = found(change);
        let Some(finding) = findings.iter().find(|finding| finding.id == *id) else {
            panic!("no `{id}` in {findings:#?}");
        };
        assert_eq!(finding.severity, *severity, "{finding:?}");
        assert!(finding.severity < Severity::Warning || finding.next.is_some(), "{finding:?}");
        let others: Vec<_> = findings
            .iter()
            .filter(|other| other.severity >= Severity::Warning && other.id != *id)
            .collect();
        assert!(others.is_empty(), "`{id}` brings others: {others:#?}");
    }
}

#[test]
fn healthy_facts_have_nothing_wrong() {
    let findings = judge(&healthy());
    assert!(findings.iter().all(|finding| finding.severity <= Severity::Info), "{findings:#?}");
    let ids: Vec<_> = findings.iter().map(|finding| finding.id).collect();
    for id in [
        "hook-fine",
        "daemon-answers",
        "permissions-fine",
        "database-fine",
        "disk-fine",
        "settings-fine",
        "client-settings-fine",
        "session-fine",
        "hooks-fast",
        "features-fine",
        "no-trace",
    ] {
        assert!(ids.contains(&id), "{id}: {ids:?}");
    }
    let told = findings.iter().find(|finding| finding.id == "session-fine").unwrap();
    assert_eq!(
        told.message,
        "NobleLion in `/home/dev/app`: installed, loaded; 35 events; fired: SessionStart UserPromptSubmit PreToolUse PostToolUse Stop; last Stop 20m ago"
    );
}
