//! One case per finding of the programs, the daemon, the database, the sessions and the hooks.

use std::path::PathBuf;

use rstest::rstest;
use substrate_core::settings::Problem;
use substrate_features::journal::{FailedFeature, Health};

use super::super::daemon::{Holder, Program, State};
use super::super::database::{self, Trouble};
use super::super::project::Unwritten;
use super::super::trace::Trace;
use super::Severity::{Error, Info, Ok, Warning};
use super::*;

fn health(facts: &mut Facts) -> &mut Health {
    match &mut facts.journal {
        Journal::Read(health) => health,
        Journal::NotAsked | Journal::Unreadable(_) => panic!("the healthy facts have a journal"),
    }
}

fn other(version: &str) -> Option<OnPath> {
    let state = Works::Version(version.to_owned());
    Some(OnPath { path: PathBuf::from("/usr/bin/x"), is_ours: false, state })
}

fn answers(change: impl Fn(&mut Status), program: Program) -> State {
    let mut status = status();
    change(&mut status);
    State::Answers { status, program }
}

#[test]
fn programs() {
    assert_each(&[
        ("hook-missing", Error, |f| f.programs.hook.state = Works::Missing),
        ("hook-not-executable", Error, |f| f.programs.hook.state = Works::NotExecutable),
        ("hook-broken", Error, |f| f.programs.hook.state = Works::Silent),
        ("hook-version", Warning, |f| f.programs.hook.state = Works::Version("0.0.9".to_owned())),
        ("hook-not-on-path", Info, |f| f.programs.hook_on_path = None),
        ("other-program-on-path", Info, |f| f.programs.hook_on_path = other(OURS)),
        ("other-version-on-path", Warning, |f| f.programs.hook_on_path = other("0.0.9")),
        ("substrate-not-on-path", Warning, |f| f.programs.substrate_on_path = None),
        ("other-version-on-path", Warning, |f| f.programs.substrate_on_path = other("0.0.9")),
    ]);
}

#[test]
fn daemon() {
    assert_each(&[
        ("daemon-frozen", Error, |f| f.daemon.state = State::Frozen { holder: None }),
        ("daemon-unreachable", Error, |f| f.daemon.state = State::Unreachable { holder: None }),
        ("daemon-foreign", Error, |f| f.daemon.state = State::Foreign),
        ("daemon-not-running", Info, |f| f.daemon.state = State::NotRunning),
        ("daemon-version", Warning, |f| {
            f.daemon.state =
                answers(|status| "0.0.9".clone_into(&mut status.version), Program::Other);
        }),
        ("daemon-program-other", Info, |f| f.daemon.state = answers(|_| (), Program::Other)),
        ("daemon-program-gone", Warning, |f| f.daemon.state = answers(|_| (), Program::Gone)),
        ("daemon-failures", Warning, |f| {
            f.daemon.state = answers(|status| status.n_failures = 3, Program::Ours);
        }),
        ("home-permissions", Warning, |f| f.access[0].mode = 0o755),
        ("home-permissions", Error, |f| f.access[0].mode = 0o777),
        ("home-permissions", Error, |f| f.access[0].mode = 0o500),
        ("socket-permissions", Warning, |f| f.access[1].mode = 0o644),
        ("database-permissions", Error, |f| f.access[2].mode = 0o666),
        ("owner", Error, |f| f.access[0].is_mine = false),
    ]);
}

#[test]
fn a_stopped_daemon_is_woken_and_a_hanging_one_ended() {
    let next = |is_stopped| {
        let holder = Some(Holder { pid: 42, is_stopped });
        let findings = found(|f| f.daemon.state = State::Frozen { holder });
        findings
            .into_iter()
            .find_map(|finding| finding.next.filter(|_| finding.id == "daemon-frozen"))
            .unwrap()
    };
    assert!(next(true).contains("`kill -CONT 42`"), "{}", next(true));
    assert!(next(false).contains("`kill 42`"), "{}", next(false));
}

#[test]
fn only_what_the_fix_mends_is_called_fixable() {
    let fixable =
        |change: fn(&mut Facts)| found(change).iter().filter(|finding| finding.fixable).count();
    assert_eq!(fixable(|_| ()), 0);
    assert_eq!(fixable(|f| f.access[0].mode = 0o755), 1);
    assert_eq!(fixable(|f| (f.access[0].mode, f.access[0].is_mine) = (0o755, false)), 0);
    assert_eq!(fixable(|f| f.daemon.state = State::NotRunning), 1);
    assert_eq!(fixable(|f| f.daemon.state = State::Frozen { holder: None }), 0);
}

#[test]
fn database() {
    assert_each(&[
        ("database-absent", Info, |f| f.database.state = database::State::Absent),
        ("schema-old", Info, |f| f.database.state = database::State::Intact { n_missing_steps: 2 }),
        ("database-damaged", Error, |f| {
            f.database.state = database::State::Damaged { how: "x".to_owned() }
        }),
        ("database-busy", Warning, |f| f.database.state = database::State::Busy),
        ("schema-refused", Error, |f| {
            let (message, hint) = ("newer".to_owned(), "install the newer one".to_owned());
            f.database.state = database::State::Refused(Trouble { message, hint });
        }),
        ("database-unreadable", Error, |f| {
            let (message, hint) = ("no".to_owned(), String::new());
            f.database.state = database::State::Unreadable(Trouble { message, hint });
        }),
        ("home-unwritable", Error, |f| f.database.has_home = false),
        ("database-unwritable", Error, |f| f.database.is_writable = false),
        ("log-long", Warning, |f| f.database.log_size = 1 << 28),
        ("disk-low", Warning, |f| f.database.free_space = Some(150 << 20)),
        ("disk-full", Error, |f| f.database.free_space = Some(19 << 20)),
        ("settings-problem", Warning, |f| {
            let [file, message, hint] =
                ["config.toml", "unknown key `x`", "remove it"].map(str::to_owned);
            f.problems = vec![Problem { file, line: 3, message, hint }];
        }),
        ("ignore-rules", Warning, |f| f.unread_rules = vec!["/p/.gitignore".into()]),
        ("nothing-written-here", Info, |f| {
            let (root, keys) = ("/p".into(), vec!["locks.mirror"]);
            f.unwritten = Some(Unwritten { root, keys, profile: "locks" });
        }),
    ]);
}

#[test]
fn client() {
    assert_each(&[
        ("client-version", Info, |_| ()),
        ("client-absent", Info, |f| f.client.installed = Installed::NotOnPath),
        ("client-silent", Info, |f| f.client.installed = Installed::Silent),
        ("stop-cap", Info, |_| ()),
        ("stop-cap", Info, |f| f.client.cap = Some("0".to_owned())),
        ("stop-cap-unreadable", Warning, |f| f.client.cap = Some("many".to_owned())),
    ]);
    let cap = |value: Option<&str>| {
        let findings = found(|f| f.client.cap = value.map(str::to_owned));
        findings.into_iter().find(|finding| finding.id == "stop-cap").unwrap().message
    };
    assert!(cap(None).contains("after 8 blocked Stops") && cap(None).contains("default"));
    assert!(cap(Some("20")).contains("after 20 blocked Stops"));
    assert!(cap(Some("0")).contains("no cap"));
}

#[test]
fn sessions() {
    assert_each(&[
        ("no-sessions", Info, |f| f.sessions.clear()),
        ("session-fine", Ok, |f| {
            f.sessions = vec![session(&[("SessionStart", 1), ("UserPromptSubmit", 1)])];
        }),
        ("session-inert", Info, |f| f.sessions = vec![session(&[("SessionStart", 1)])]),
        ("session-late", Info, |f| {
            f.sessions = vec![session(&[("UserPromptSubmit", 1), ("Stop", 1)])];
        }),
        ("session-uninstalled", Info, |f| f.sessions[0].is_installed = false),
        ("session-partial", Warning, |f| f.sessions = vec![session(&[("Stop", 9)])]),
        ("session-partial", Warning, |f| {
            f.sessions = vec![session(&[("SessionStart", 1), ("PreToolUse", 9)])];
        }),
        ("session-partial", Warning, |f| f.sessions = vec![session(&[("PostToolUse", 9)])]),
        ("session-partial", Warning, |f| {
            f.sessions = vec![session(&[("SessionStart", 1), ("UserPromptSubmit", 9)])];
        }),
        ("session-fine", Ok, |f| {
            f.sessions = vec![session(&[("SessionStart", 1), ("PreToolUse", 9)])];
            f.sessions[0].seen.events.get_mut("PreToolUse").unwrap().n_refused = 9;
        }),
    ]);
}

#[test]
fn hooks_and_features() {
    assert_each(&[
        ("journal-not-asked", Info, |f| f.journal = Journal::NotAsked),
        ("journal-unreadable", Warning, |f| f.journal = Journal::Unreadable("no".to_owned())),
        ("hooks-silent", Info, |f| f.journal = Journal::Read(Health::default())),
        ("hooks-fast", Ok, |f| health(f).n_late = 10),
        ("deadline-missed", Warning, |f| health(f).n_late = 11),
        ("deadline-missed", Info, |f| (health(f).n_late, f.spawn_us) = (11, Some(9_000))),
        ("hooks-fast", Ok, |f| (health(f).n_events, health(f).n_late) = (10, 4)),
        ("feature-failed", Warning, |f| {
            let failed =
                FailedFeature { feature: "mail".to_owned(), n: 2, ..FailedFeature::default() };
            health(f).failures = vec![failed];
        }),
        ("malformed", Info, |f| health(f).n_malformed = 9),
        ("malformed", Warning, |f| health(f).n_malformed = 101),
        ("unknown-fields", Info, |f| health(f).n_with_unknown_fields = 4),
        ("trace", Warning, |f| f.trace = trace(-MINUTE)),
        ("trace-old", Info, |f| f.trace = trace(-86_400_000)),
        ("trace-mended", Info, |f| {
            f.trace = trace(-MINUTE).map(|trace| Trace { is_mended: true, ..trace });
        }),
    ]);
}

fn trace(age: i64) -> Option<Trace> {
    let (path, lines) = (PathBuf::from("/x/hook-trace.log"), vec!["hand-over failed".to_owned()]);
    Some(Trace { path, at: NOW.plus_ms(age), lines, is_mended: false })
}

#[test]
fn remnants() {
    assert_each(&[
        ("left-in-tmux", Warning, |f| {
            let tmux = vec!["/tmp/tmux/x".to_owned()];
            f.remnants = Some(Remnants { tmux, ..Remnants::default() });
        }),
        ("left-in-git", Warning, |f| {
            let guards = vec![PathBuf::from("/repo/.git/hooks")];
            f.remnants = Some(Remnants { commit_hooks: guards, ..Remnants::default() });
        }),
        ("left-status-line", Warning, |f| {
            let status_lines =
                vec![(substrate_clients::DEFAULT, PathBuf::from("/home/dev/settings.json"))];
            f.remnants = Some(Remnants { status_lines, ..Remnants::default() });
        }),
        ("left-files", Warning, |f| {
            let files = vec![PathBuf::from("/home/dev/skills/x"); 9];
            f.remnants = Some(Remnants { files, ..Remnants::default() });
        }),
    ]);
    let none = found(|f| f.remnants = Some(Remnants::default()));
    assert!(none.iter().all(|finding| !finding.id.starts_with("left-")));
}

/// The 99th percentile of a day and of the last minutes, beside the time the machine takes to start a program.
#[rstest]
#[case::fast(4_000, (100, 4_000), Some(1_000), ("hooks-fast", Ok))]
#[case::too_few(SLOW + 1, (99, SLOW + 1), Some(1_000), ("hooks-slow", Info))]
#[case::slow_by_itself(SLOW + 1, (100, SLOW + 1), Some(1_000), ("hooks-slow", Warning))]
#[case::the_machine_is_busy(SLOW + 1, (100, SLOW + 1), Some(2_501), ("hooks-slow", Info))]
#[case::slow_even_for_a_busy_machine(SLOW + 1, (100, 200_001), Some(10_000), ("hooks-slow", Warning))]
#[case::the_machine_was_busy(400_000, (100, 4_000), Some(1_000), ("hooks-slow", Info))]
#[case::the_machine_was_busy_when_it_was_used(400_000, (0, 0), Some(1_000), ("hooks-slow", Info))]
#[case::the_machine_is_unknown(SLOW + 1, (100, SLOW + 1), None, ("hooks-slow", Warning))]
fn slow_hooks_are_judged_beside_the_machine(
    #[case] p99_us: i64,
    #[case] (n_events, recent_us): (usize, i64),
    #[case] spawn_us: Option<i64>,
    #[case] expected: (&str, Severity),
) {
    let findings = found(|f| {
        f.spawn_us = spawn_us;
        health(f).p99_us = p99_us;
        health(f).recent = Recent { n_events, p99_us: recent_us };
    });
    let told = findings.iter().find(|finding| finding.id.starts_with("hooks-")).unwrap();
    assert_eq!((told.id, told.severity), expected, "{told:?}");
}

const SLOW: i64 = 50_000;
