//! A project's own logs: fifty writers at once, hostile ids, links, rotation.

use std::collections::BTreeSet;
use std::fs::{FileTimes, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use substrate_testkit::{Running, TestEnv, wait_until, write_file};

use crate::house::{SOON, configure};

const ON: &str = "[journal]\nproject_logs = true\n";
const N: usize = 50;

/// A working tree: nothing is logged anywhere else.
fn project() -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    env
}

fn with_daemon() -> TestEnv {
    let env = project();
    configure(&env, ON);
    env.substrate(["daemon", "start"]).success();
    env
}

fn logs(env: &TestEnv) -> PathBuf {
    env.project().join("logs/sessions")
}

fn payload(env: &TestEnv, event: &str, session: &str, more: &Value) -> Value {
    let mut out = json!({"session_id": session, "cwd": env.project(), "hook_event_name": event});
    out.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    out
}

/// The same event of fifty subagents, all at once.
fn all_at_once(env: &TestEnv, event: &str, again: bool) {
    let running: Vec<Running> = (0..N)
        .map(|i| {
            let more = json!({"agent_id": format!("a{i}"), "agent_type": "worker", "stop_hook_active": again});
            env.start_hook(event, payload(env, event, "many", &more), &[])
        })
        .collect();
    for one in running {
        one.finish(Duration::from_secs(30)).success();
    }
}

/// Every line of a file, each whole.
fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    assert!(text.is_empty() || text.ends_with('\n'), "{}: {text}", path.display());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn is_complete(env: &TestEnv, n_stops: usize) -> bool {
    (0..N).all(|i| {
        let folder = logs(env).join(format!("many/a{i}"));
        lines(&folder.join("agent-start.jsonl")).len() == 1
            && lines(&folder.join("agent-stop.jsonl")).len() == n_stops
    })
}

#[test]
fn fifty_subagents_that_end_at_once_leave_whole_lines() {
    let env = with_daemon();
    all_at_once(&env, "SubagentStart", false);
    all_at_once(&env, "SubagentStop", false);
    all_at_once(&env, "SubagentStop", true);
    assert!(is_complete(&env, 2), "written before the hooks ended");
    let stops = lines(&logs(&env).join("many/a7/agent-stop.jsonl"));
    let phases: Vec<&Value> = stops.iter().map(|line| &line["phase"]).collect();
    assert_eq!(phases, ["end", "end"], "no agent was reminded");
    let timeline = std::fs::read_to_string(logs(&env).join("many/events.log")).unwrap();
    assert_eq!(timeline.lines().count(), 3 * N);
    for line in timeline.lines() {
        assert!(line.starts_with("[20") && line.contains("] [Subagent"), "{line}");
        assert!(line.contains(" session=many agent=a"), "{line}");
    }
    let end = payload(&env, "SessionEnd", "many", &json!({"reason": "other"}));
    env.hook("SessionEnd", end).success();
    let end = lines(&logs(&env).join("many/session-end.jsonl"));
    assert_eq!((&end[0]["agent_count"], &end[0]["reason"]), (&json!(N), &json!("other")));
}

#[test]
fn without_a_daemon_they_do_too() {
    let env = project();
    configure(&env, &format!("{ON}[daemon]\nautostart = false\n"));
    all_at_once(&env, "SubagentStart", false);
    all_at_once(&env, "SubagentStop", false);
    // A hook that could not reach the database has left its event for the next daemon.
    env.substrate(["daemon", "start"]).success();
    wait_until(SOON, "every agent's files", || is_complete(&env, 1));
}

#[test]
fn hostile_ids_lead_nowhere_and_the_session_goes_on() {
    let env = with_daemon();
    let long = "y".repeat(10_240);
    let ids =
        ["../../x", "/etc/cron.d/x", "a\nb", "..", "ünï 🦀", "events.log", "-rf", "a/../b", &long];
    let around = |env: &TestEnv| -> BTreeSet<PathBuf> {
        [env.root().to_owned(), env.home(), env.project()]
            .iter()
            .flat_map(|folder| folder.read_dir().unwrap())
            .map(|entry| entry.unwrap().path())
            .collect()
    };
    let mut before = around(&env);
    for id in ids {
        for event in ["SessionStart", "SubagentStart", "SubagentStop", "SessionEnd"] {
            let more = match event {
                "SubagentStart" | "SubagentStop" => json!({"agent_id": id, "agent_type": id}),
                _ => json!({"agent_type": id, "reason": id, "source": id}),
            };
            let run = env.hook(event, payload(&env, event, id, &more)).code(0);
            if !run.stdout.is_empty() {
                let said: Value = serde_json::from_str(&run.stdout).unwrap();
                let text = said["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
                assert!(!text.contains("system-reminder>"), "{text}");
            }
        }
    }
    before.insert(env.project().join("logs"));
    assert_eq!(around(&env), before, "nothing else came to be");
    assert_eq!(std::fs::read_to_string(logs(&env).join(".gitignore")).unwrap(), "*\n");
    let is_folder = |entry: &std::io::Result<std::fs::DirEntry>| {
        entry.as_ref().is_ok_and(|entry| entry.path().is_dir())
    };
    let sessions: Vec<_> = logs(&env).read_dir().unwrap().filter(is_folder).collect();
    assert_eq!(sessions.len(), ids.len(), "each has its own");
    for session in sessions {
        let session = session.unwrap().path();
        assert_eq!(session.read_dir().unwrap().count(), 4, "{}", session.display());
        assert_eq!(lines(&session.join("session-end.jsonl")).len(), 1);
        let timeline = std::fs::read_to_string(session.join("events.log")).unwrap();
        assert_eq!(timeline.lines().count(), 4, "{timeline}");
    }
}

#[test]
fn nothing_is_written_through_a_link_of_the_project() {
    let without = project();
    configure(&without, &format!("{ON}[daemon]\nautostart = false\n"));
    for env in [with_daemon(), without] {
        let elsewhere = env.root().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, env.project().join("logs")).unwrap();
        for event in ["SessionStart", "Setup", "Stop", "SessionEnd"] {
            let more = json!({"trigger": "init"});
            let said = env.hook(event, payload(&env, event, "s1", &more)).success();
            assert!(!said.contains("Log:") && !said.contains("initialized"), "{said}");
        }
        assert_eq!(elsewhere.read_dir().unwrap().count(), 0);
        assert!(env.project().join(".serena/memories").is_dir(), "the other one is made");
    }
}

#[test]
fn a_folder_that_only_happens_to_be_worked_in_is_left_as_it_is() {
    let env = TestEnv::new();
    configure(&env, ON);
    let start = |cwd: PathBuf| {
        let payload = json!({"session_id": "s1", "cwd": cwd, "source": "startup"});
        env.hook("SessionStart", payload).success()
    };
    // Not even a home that is a working tree.
    std::fs::create_dir(env.home().join(".git")).unwrap();
    for folder in [env.project(), env.home()] {
        let said = start(folder.clone());
        assert!(!folder.join("logs").exists() && !said.contains("Log:"), "{said}");
    }
    write_file(&env.project().join(".substrate.toml"), b"");
    assert!(start(env.project()).contains("Log:"));
    assert!(logs(&env).join("s1").is_dir());
}

#[test]
fn a_full_disk_leaves_no_half_line() {
    let env = project();
    let mut command = env.command("bash");
    // A size limit instead of a full disk: a write that reaches it is cut short in the same way.
    command.args(["-c", "ulimit -f 1; for i in 1 2 3 4 5 6 7 8; do echo \"$0\" | substrate session-log session-start; done"]);
    command.arg(payload(&env, "SessionStart", "s1", &json!({})).to_string());
    let run = Running::start(command, Vec::new()).finish(Duration::from_secs(20)).code(0);
    assert!(run.stderr.contains("could not be written"), "{run}");
    let whole = lines(&logs(&env).join("s1/session-start.jsonl"));
    assert!((1..8).contains(&whole.len()), "{whole:?}");
}

#[test]
fn setup_makes_folders_rotates_and_is_told_at_the_next_start() {
    let env = with_daemon();
    let setup = |trigger: &str| payload(&env, "Setup", "s0", &json!({"trigger": trigger}));
    assert_eq!(env.hook("Setup", setup("init")).success(), "", "no one would hear it");
    assert!(logs(&env).is_dir() && env.project().join(".serena/memories").is_dir());
    let start = |session: &str| {
        let start = payload(&env, "SessionStart", session, &json!({"source": "startup"}));
        let said: Value = serde_json::from_str(&env.hook("SessionStart", start).success()).unwrap();
        said["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
    };
    let told = start("s1");
    assert!(told.contains("[SessionStart] session=s1\nLog: logs/sessions/s1/\n[Setup:init] Project project initialized\n- Log directory: logs/sessions/\n- Memory directory: .serena/memories/"), "{told}");
    assert!(!start("s2").contains("Setup"));

    let old = logs(&env).join("old");
    let theirs = logs(&env).join("theirs");
    for file in ["session-start.jsonl", "events.log"] {
        std::fs::create_dir_all(&old).unwrap();
        write_file(&old.join(file), b"{}\n");
    }
    std::fs::create_dir(&theirs).unwrap();
    write_file(&theirs.join("notes.md"), b"mine\n");
    let now = logs(&env).join("s1/events.log").metadata().unwrap().modified().unwrap();
    let long_ago = now - Duration::from_secs(31 * 86_400);
    let times = FileTimes::new().set_modified(long_ago);
    for path in [
        old.join("session-start.jsonl"),
        old.join("events.log"),
        theirs.join("notes.md"),
        old.clone(),
        theirs.clone(),
    ] {
        OpenOptions::new().read(true).open(path).unwrap().set_times(times).unwrap();
    }
    env.hook("Setup", setup("maintenance")).success();
    wait_until(SOON, "the rotation", || !old.exists());
    assert!(theirs.join("notes.md").exists() && logs(&env).join("s1").is_dir());
    assert!(start("s3").contains("[Setup:maintenance] Project project maintained"));
}
