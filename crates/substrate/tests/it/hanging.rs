//! Projects whose files never answer: agents elsewhere don't wait for them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use substrate_testkit::{Running, TestEnv, bin, wait_until, write_file};

use crate::house::{SOON, configure, daemon_pid};

/// How long a hook may take at the most.
const LIMIT: Duration = Duration::from_secs(10);

/// How much others may be delayed.
const BAR: Duration = Duration::from_millis(50);

/// Rounds of the agent that is measured.
const ROUNDS: usize = 40;

/// Starts the daemon in a mount namespace of its own, in which `dir` is a file system without a server: a process that
/// touches it hangs until the daemon ends. `None`, loudly, where that is not possible.
fn daemon_with_a_dead_mount(env: &TestEnv, dir: &Path) -> Option<Running> {
    std::fs::create_dir_all(dir).unwrap();
    let options = "fd=9,rootmode=40000,user_id=0,group_id=0";
    let script = format!(
        "exec 9<>/dev/fuse && mount -i -t fuse dead \"$0\" -o {options} && exec \"$1\" daemon run"
    );
    let mut command = env.command("unshare");
    command.args(["-m", "sh", "-c", &script]).arg(dir).arg(bin("substrate"));
    let mut daemon = Running::start(command, Vec::new());
    let socket = env.state().join("daemon.sock");
    let mut ended = false;
    wait_until(SOON, "the daemon, or its end", || {
        ended = !daemon.is_running();
        ended || socket.exists()
    });
    if ended {
        let said = daemon.finish(SOON);
        eprintln!(
            "NOT RUN: no mount that hangs can be made here (needs root and /dev/fuse): {said}"
        );
        return None;
    }
    Some(daemon)
}

/// Runs a hook of that session in that folder. Returns how long it took.
fn hook(env: &TestEnv, session: &str, dir: &Path, event: &str, tool: &str) -> (Duration, String) {
    let payload = json!({
        "session_id": session, "cwd": dir, "hook_event_name": event, "source": "startup",
        "tool_name": tool, "tool_input": {"file_path": dir.join("a.rs"), "command": "make"},
        "tool_response": {}, "tool_use_id": "toolu_1", "stop_hook_active": true,
    });
    let begun = Instant::now();
    let project = dir.display().to_string();
    let run = env.hook_with(event, payload, &[("CLAUDE_PROJECT_DIR", &project)]);
    (begun.elapsed(), run.success())
}

/// An agent's usual work.
const EVENTS: [(&str, &str); 7] = [
    ("SessionStart", ""),
    ("PreToolUse", "Write"),
    ("PostToolUse", "Write"),
    ("PreToolUse", "Bash"),
    ("PostToolUse", "Bash"),
    ("PreToolUse", "Read"),
    ("Stop", ""),
];

/// The median of some rounds of an agent in a healthy folder.
fn median(env: &TestEnv, dir: &Path) -> Duration {
    let mut took: Vec<Duration> = (0..ROUNDS)
        .map(|n| {
            let (event, tool) = EVENTS[n % EVENTS.len()];
            hook(env, "well", dir, event, tool).0
        })
        .collect();
    took.sort_unstable();
    took[ROUNDS / 2]
}

fn n_threads(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().count()
}

/// All settings that make hooks read a project, or write to it.
const SETTINGS: &str = "profile = \"all\"\n[persist]\nmode = \"off\"\n[todos]\nblock = false\n";

#[test]
fn a_mount_that_hangs_delays_no_other_agent() {
    let env = TestEnv::new();
    configure(&env, SETTINGS);
    let dead = env.root().join("dead");
    let Some(_daemon) = daemon_with_a_dead_mount(&env, &dead) else { return };
    let well = env.root().join("well");
    write_file(&well.join(".git/HEAD"), "ref: refs/heads/main\n");
    for (event, tool) in EVENTS {
        hook(&env, "well", &well, event, tool);
    }
    let pid = daemon_pid(&env);
    let quiet = median(&env, &well);
    let is_over = AtomicBool::new(false);
    let beside = std::thread::scope(|scope| {
        for n in 0..2 {
            let (env, dead, is_over) = (&env, &dead, &is_over);
            scope.spawn(move || {
                for round in 0.. {
                    let session = format!("dead-{n}-{}", round % 8);
                    for (event, tool) in EVENTS {
                        if is_over.load(Ordering::Relaxed) {
                            return;
                        }
                        let (took, _) = hook(env, &session, dead, event, tool);
                        assert!(took < LIMIT, "{event} took {took:?}");
                    }
                }
            });
        }
        // The first ones hang by now.
        wait_until(SOON, "a thread that hangs", || n_threads(pid) > 4);
        let beside = median(&env, &well);
        is_over.store(true, Ordering::Relaxed);
        beside
    });
    assert!(beside < quiet + BAR, "{beside:?} beside a mount that hangs, {quiet:?} without");
    assert!(n_threads(pid) < 40, "{} threads", n_threads(pid));
    // If it is unknown whether others hold a file, an edit of it is refused.
    let (_, said) = hook(&env, "dead-0-0", &dead, "PreToolUse", "Write");
    assert!(said.contains("could not be taken just now"), "{said}");
    // It is answered at once by now: no further lookup is started.
    let (took, _) = hook(&env, "dead-0-0", &dead, "PreToolUse", "Write");
    assert!(took < quiet + BAR * 4, "{took:?}");
}

#[test]
fn pipes_where_files_should_be_delay_no_agent() {
    let env = TestEnv::new();
    configure(&env, SETTINGS);
    env.substrate(["daemon", "start"]).success();
    let pipes = |name: &str, files: &[&str]| -> PathBuf {
        let dir = env.root().join(name);
        for file in files {
            let file = dir.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            assert!(env.command("mkfifo").arg(&file).status().unwrap().success());
        }
        dir
    };
    let odd = [
        pipes("settings", &[".substrate.toml", ".substrate.local.toml", "a.rs", "AGENTS.md"]),
        pipes("git", &[".git", "a.rs", ".gitignore", "logs/sessions/x/tools.log"]),
        pipes(
            "inside",
            &[".git/commondir", ".git/info/exclude", ".claude/coordination/hook-debug.log"],
        ),
    ];
    let exports = pipes("exports", &["env"]).join("env").display().to_string();
    let well = env.root().join("well");
    write_file(&well.join(".git/HEAD"), "ref: refs/heads/main\n");
    hook(&env, "well", &well, "SessionStart", "");
    let quiet = median(&env, &well);
    for dir in &odd {
        for (event, tool) in EVENTS {
            let (took, _) = hook(&env, "odd", dir, event, tool);
            assert!(took < LIMIT, "{} {event}: {took:?}", dir.display());
        }
    }
    let start = json!({
        "session_id": "exports", "cwd": well, "hook_event_name": "SessionStart", "source": "startup",
    });
    let hung = env.start_hook("SessionStart", start, &[("CLAUDE_ENV_FILE", &exports)]);
    let beside = median(&env, &well);
    hung.finish(SOON).success();
    assert!(beside < quiet + BAR, "{beside:?} beside pipes, {quiet:?} without");
}
