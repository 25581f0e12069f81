//! `substrate doctor` finds what is wrong, says what to do, and breaks nothing itself.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use substrate_testkit::{Run, TestEnv, bin, write_file};

use crate::house::{bytes, configure, daemon_pid, journal, plain, rule, signal};

/// What the doctor found.
struct Found(Value);

impl Found {
    fn of(run: &Run) -> Self {
        let json: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run}"));
        let is_healthy = json["healthy"].as_bool().unwrap();
        assert_eq!(run.status, Some(i32::from(!is_healthy)), "{run}");
        assert_eq!(run.stderr, "", "the report is all there is to say");
        Self(json)
    }

    fn all(&self) -> &[Value] {
        self.0["findings"].as_array().unwrap()
    }

    #[track_caller]
    fn get(&self, id: &str) -> &Value {
        let found = self.all().iter().find(|finding| finding["id"] == id);
        found.unwrap_or_else(|| panic!("no `{id}` in {:#}", self.0))
    }

    #[track_caller]
    fn severity(&self, id: &str) -> &str {
        self.get(id)["severity"].as_str().unwrap()
    }

    /// What is wrong, apart from hooks that a test did not install.
    fn wrong(&self) -> Vec<&str> {
        let is_bad =
            |finding: &&Value| ["warning", "error"].iter().any(|bad| finding["severity"] == *bad);
        let ids = self.all().iter().filter(is_bad).map(|finding| finding["id"].as_str().unwrap());
        ids.filter(|id| !["hooks-not-installed", "hooks-incomplete"].contains(id)).collect()
    }
}

fn doctor(env: &TestEnv) -> Found {
    Found::of(&env.substrate(["doctor", "--format", "json"]))
}

fn fixed(env: &TestEnv) -> Found {
    Found::of(&env.substrate(["doctor", "--fix", "--format", "json"]))
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_healthy_installation_has_nothing_wrong() {
    let env = TestEnv::new();
    env.substrate(["hooks", "install"]).success();
    env.substrate(["daemon", "start"]).success();
    env.hook("SessionStart", plain("aaaa-1", "SessionStart")).success();
    let found = doctor(&env);
    assert_eq!(found.wrong(), [""; 0], "{:#}", found.0);
    for id in [
        "hook-fine",
        "daemon-answers",
        "permissions-fine",
        "database-fine",
        "disk-fine",
        "settings-fine",
        "client-settings-fine",
        "hooks-fast",
        "features-fine",
        "no-trace",
    ] {
        assert_eq!(found.severity(id), "ok");
    }
    assert!(found.get("stop-cap")["message"].as_str().unwrap().contains("after 8 "));
    let text = env.substrate_with(["doctor"], &[("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "0")]).stdout;
    assert!(text.starts_with("programs\n  ok    version "), "{text}");
    let agents = env.substrate(["agent", "list", "--all", "--format", "json"]).success();
    let agents: Value = serde_json::from_str(&agents).unwrap();
    let agent = agents[0]["name"].as_str().unwrap();
    assert!(
        text.contains("\nsessions\n") && text.contains(&format!("{agent} in `/home/dev/app`: ")),
        "{text}"
    );
    assert!(text.contains("has no cap on blocked Stops\n        next: "), "{text}");
    assert_eq!(journal(&env).len(), 1, "looking leaves no trace");
}

#[test]
fn an_installation_is_whole_until_an_entry_is_removed_by_hand() {
    let env = TestEnv::new();
    env.substrate(["hooks", "install"]).success();
    env.hook("SessionStart", plain("aaaa-1", "SessionStart")).success();
    let found = doctor(&env);
    assert_eq!(found.0["healthy"], true, "{:#}", found.0);
    let file = env.config().join("settings.json");
    let mut settings: Value = serde_json::from_slice(&bytes(&file)).unwrap();
    settings["hooks"].as_object_mut().unwrap().remove("PreToolUse");
    write_file(&file, settings.to_string());
    let found = doctor(&env);
    assert_eq!(found.severity("hooks-incomplete"), "warning");
    assert!(
        found.get("hooks-incomplete")["message"].as_str().unwrap().contains("PreToolUse"),
        "{:#}",
        found.0
    );
    assert!(
        found.get("hooks-incomplete")["next"].as_str().unwrap().contains("substrate hooks install")
    );
}

#[test]
fn a_settings_file_that_the_client_drops_is_found() {
    let env = TestEnv::new();
    env.substrate(["hooks", "install"]).success();
    let file = env.config().join("settings.json");
    let mut settings: Value = serde_json::from_slice(&bytes(&file)).unwrap();
    settings["hooks"]["PreToolUse"][0]["matcher"] = json!({});
    write_file(&file, serde_json::to_string_pretty(&settings).unwrap());
    let found = doctor(&env);
    assert_eq!(found.severity("client-settings-dropped"), "error");
    assert!(
        found.get("client-settings-dropped")["message"].as_str().unwrap().contains("line "),
        "{:#}",
        found.0
    );
}

#[test]
fn where_nothing_is_written_into_a_folder_the_doctor_says_why() {
    let env = TestEnv::new();
    configure(&env, "profile = [\"locks\", \"reminders\"]\n");
    let session = |event: &str| {
        let payload = json!({"session_id": "s", "hook_event_name": event, "cwd": env.project(), "source": "startup"});
        env.hook(event, payload).success();
    };
    let written = || {
        let has = |path: &str| env.project().join(path).exists();
        (has(".claude/coordination/hook-debug.log"), has("logs/sessions/s/session-start.jsonl"))
    };
    session("SessionStart");
    assert_eq!(written(), (false, false));
    let found = doctor(&env);
    assert_eq!(found.severity("nothing-written-here"), "info");
    let message = found.get("nothing-written-here")["message"].as_str().unwrap();
    assert!(message.contains("`locks.mirror` and `journal.project_logs`"), "{message}");
    // The step that it names helps, and so does the same for the user alone.
    for scope in ["--project", "--local"] {
        env.substrate(["hooks", "install", scope, "--profile", "locks"]).success();
        session("SessionStart");
        assert_eq!(written(), (true, true), "{scope}");
        assert!(doctor(&env).all().iter().all(|found| found["id"] != "nothing-written-here"));
        env.substrate(["hooks", "uninstall", scope]).success();
        for folder in [".claude", "logs"] {
            std::fs::remove_dir_all(env.project().join(folder)).unwrap();
        }
    }
}

#[test]
fn where_nothing_was_ever_started_nothing_is_made() {
    let env = TestEnv::new();
    let home = env.root().join("missing/state");
    let vars = [("SUBSTRATE_HOME", home.to_str().unwrap())];
    let found = Found::of(&env.substrate_with(["doctor", "--format", "json"], &vars));
    assert_eq!(found.wrong(), [""; 0], "{:#}", found.0);
    assert_eq!(found.severity("daemon-not-running"), "info");
    assert_eq!(found.severity("database-absent"), "info");
    assert!(!home.exists(), "looking makes nothing");
}

#[test]
fn a_frozen_daemon_is_found_and_so_is_that_it_was_replaced() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    signal(&env, "-STOP", daemon_pid(&env));
    let found = fixed(&env);
    assert_eq!(found.severity("daemon-frozen"), "error");
    let next = found.get("daemon-frozen")["next"].as_str().unwrap();
    assert!(!cfg!(target_os = "linux") || next.contains("`kill -CONT "), "{next}");
    env.hook("Stop", plain("a", "Stop")).success();
    let found = doctor(&env);
    assert_eq!(found.severity("daemon-answers"), "ok");
    let trace = found.get("trace-mended")["message"].as_str().unwrap();
    assert!(trace.contains("replaced a daemon that did not answer"), "{trace}");
}

#[test]
fn a_missing_hook_client_is_found() {
    let env = TestEnv::new();
    let alone = env.root().join("alone/substrate");
    std::fs::create_dir(alone.parent().unwrap()).unwrap();
    std::fs::copy(bin("substrate"), &alone).unwrap();
    let run = |args: &[&str]| {
        let out = env.command(&alone).args(args).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run {
            status: out.status.code(),
            stdout: text(out.stdout),
            stderr: text(out.stderr),
            what: "doctor".to_owned(),
        }
    };
    let found = Found::of(&run(&["doctor", "--format", "json"]));
    assert_eq!(found.severity("hook-missing"), "error");
    let told = run(&["doctor"]).code(1).stdout;
    assert!(told.contains("  FAIL  ") && told.contains("\nnot healthy: 1 failure"), "{told}");
    write_file(
        &alone.with_file_name("substrate-hook"),
        "#!/bin/sh\necho substrate-hook 0.0.9 >&2\n",
    );
    let found = Found::of(&run(&["doctor", "--format", "json"]));
    assert_eq!(found.severity("hook-not-executable"), "error");
    set_mode(&alone.with_file_name("substrate-hook"), 0o755);
    let found = Found::of(&run(&["doctor", "--format", "json"]));
    assert_eq!(found.severity("hook-version"), "warning");
}

#[test]
fn wrong_permissions_are_found_and_mended() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let socket = env.state().join("daemon.sock");
    set_mode(&env.state(), 0o755);
    set_mode(&socket, 0o644);
    let found = doctor(&env);
    assert_eq!(found.wrong(), ["home-permissions", "socket-permissions"], "{:#}", found.0);
    assert_eq!((mode(&env.state()), mode(&socket)), (0o755, 0o644), "looking changes nothing");
    let found = fixed(&env);
    assert_eq!(found.wrong(), [""; 0], "{:#}", found.0);
    assert_eq!(found.0["mended"].as_array().unwrap().len(), 2);
    assert_eq!((mode(&env.state()), mode(&socket)), (0o700, 0o600));
}

#[test]
fn the_fix_starts_a_daemon() {
    let env = TestEnv::new();
    let found = fixed(&env);
    assert_eq!(found.severity("daemon-answers"), "ok");
    env.substrate(["daemon", "status"]).success();
}

#[test]
fn a_damaged_database_is_found_and_left_alone() {
    let env = TestEnv::new();
    env.hook("Stop", plain("a", "Stop")).success();
    env.substrate(["daemon", "start"]).success();
    env.substrate(["daemon", "stop"]).success();
    let garbage = vec![0x5a; 50_000];
    for name in ["subtrate.db-wal", "subtrate.db-shm"] {
        std::fs::remove_file(env.state().join(name)).ok();
    }
    write_file(&env.state().join("subtrate.db"), &garbage);
    let found = doctor(&env);
    assert_eq!(found.severity("database-damaged"), "error");
    assert!(found.get("database-damaged")["next"].as_str().unwrap().contains("backups/"));
    assert_eq!(found.severity("journal-not-asked"), "info");
    assert!(bytes(&env.state().join("subtrate.db")) == garbage, "the file was changed");
}

#[test]
fn a_database_that_another_program_locks_is_reported() {
    let env = TestEnv::new();
    configure(&env, "daemon.autostart = false\n");
    env.hook("Stop", plain("a", "Stop")).success();
    let hold = "import sqlite3,sys,time; c=sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('pragma locking_mode=exclusive'); c.execute('begin exclusive'); print('held', flush=True); time.sleep(60)";
    let mut holder = env.command("python3");
    holder
        .args(["-c", hold])
        .arg(env.state().join("subtrate.db"))
        .stdout(std::process::Stdio::piped());
    let mut holder = holder.spawn().unwrap();
    let mut line = String::new();
    let mut out = std::io::BufReader::new(holder.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    let found = doctor(&env);
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!((line.as_str(), found.severity("database-busy")), ("held\n", "warning"));
    assert_eq!(doctor(&env).severity("database-fine"), "ok");
}

#[test]
fn what_failed_is_told_with_where_to_look() {
    let env = TestEnv::new();
    let fails = rule("Stop", "deny", "never").replace("\"true\"", "\"input.nothing == 1\"");
    configure(&env, &format!("[jurnal]\nx = 1\n{fails}"));
    env.hook("Stop", plain("a", "Stop")).success();
    env.hook("Stop", "not json").success();
    write_file(&env.state().join("logs/hook-trace.log"), "hand-over failed (absent): on purpose\n");
    write_file(&env.project().join(".claude/settings.local.json"), "{,}");
    let found = doctor(&env);
    let wrong = ["settings-problem", "client-settings-dropped", "trace", "feature-failed"];
    for id in wrong {
        assert!(found.wrong().contains(&id), "{id}: {:#}", found.0);
    }
    assert_eq!(
        found.get("feature-failed")["next"],
        "`substrate journal show 1` shows the last one"
    );
    assert!(found.get("settings-problem")["message"].as_str().unwrap().contains("config.toml:2: "));
    assert!(found.get("trace")["message"].as_str().unwrap().contains("on purpose"));
    assert_eq!(found.severity("malformed"), "info");
}

/// Changes the journal as if these events had been that slow, that long ago.
fn slow_events(env: &TestEnv, n: usize, spent_us: i64, ago_ms: i64) {
    const CHANGE: &str = r#"
import sqlite3, sys
path, n, spent, ago = sys.argv[1], *map(int, sys.argv[2:])
db = sqlite3.connect(path)
columns = [row[1] for row in db.execute("pragma table_info(journal)") if row[1] != "id"]
names = ", ".join(columns)
for _ in range(n):
    db.execute(f"insert into journal ({names}) select {names} from journal where id = 1")
db.execute("update journal set spent_us = ?, at_ms = at_ms - ?", (spent, ago))
db.commit()
"#;
    let mut change = env.command("python3");
    let numbers = [n.to_string(), spent_us.to_string(), ago_ms.to_string()];
    change.args(["-c", CHANGE]).arg(env.state().join("subtrate.db")).args(numbers);
    assert!(change.status().unwrap().success());
}

#[test]
fn hooks_that_were_slow_while_the_machine_was_busy_are_only_a_note() {
    let env = TestEnv::new();
    env.substrate(["up", "--yes"]).success();
    env.hook("SessionStart", plain("a", "SessionStart")).success();
    env.substrate(["daemon", "stop"]).success();
    slow_events(&env, 200, 300_000, 3_600_000);
    let found = doctor(&env);
    assert_eq!(found.severity("hooks-slow"), "info");
    let message = found.get("hooks-slow")["message"].as_str().unwrap();
    assert!(message.contains("99 of 100 within 300ms"), "{message}");
    assert!(message.contains("; starting a program takes "), "{message}");
    assert_eq!(found.0["healthy"], true, "{:#}", found.0);
    env.substrate(["doctor"]).success();
    env.substrate(["up"]).success();
}
