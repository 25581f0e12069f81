//! Leases on real files: which file a path means, where files are leased at all, and what hostile files can't do.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;
use substrate_testkit::{Run, TestEnv, write_file};

use crate::house::{SOON, bytes, configure};

fn git(env: &TestEnv, args: &[&str]) {
    let who = ["-c", "user.name=dev", "-c", "user.email=dev@example.org"];
    let done = env.command("git").args(who).args(args).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

fn pipe(env: &TestEnv, path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(env.command("mkfifo").arg(path).status().unwrap().success());
}

fn hook(env: &TestEnv, session: &str, event: &str, file: &str) -> Run {
    let payload = json!({
        "session_id": session, "cwd": env.project(), "hook_event_name": event, "source": "startup",
        "tool_name": "Write", "tool_input": {"file_path": env.project().join(file), "content": "x"},
        "tool_response": {}, "tool_use_id": "toolu_1",
    });
    env.hook(event, payload)
}

/// Whether an edit is allowed.
fn edits(env: &TestEnv, session: &str, file: &str) -> bool {
    let said = hook(env, session, "PreToolUse", file).success();
    if said.contains("\"deny\"") {
        assert!(said.contains("leased by"), "{said}");
        return false;
    }
    hook(env, session, "PostToolUse", file).success();
    true
}

fn two(settings: &str) -> TestEnv {
    let env = TestEnv::new();
    configure(&env, settings);
    env.substrate(["daemon", "start"]).success();
    for session in ["a", "b"] {
        let _briefing = hook(&env, session, "SessionStart", "").success();
    }
    env
}

fn two_in_a_repository(settings: &str) -> TestEnv {
    let env = two(settings);
    git(&env, &["init", "-q"]);
    env
}

#[test]
fn a_folder_without_git_is_a_project_too() {
    let env = two("");
    assert!(edits(&env, "a", "src/x.rs") && !edits(&env, "b", "./src/../src/x.rs"));
    let list = env.substrate(["locks"]).success();
    assert!(list.starts_with("src/x.rs  "), "{list}");
    let held = env.substrate(["locks", "check", "src/x.rs"]).code(1);
    assert!(held.stderr.contains("held by others"), "{held}");
    env.substrate(["locks", "acquire", "docs/"]).success();
    let said = hook(&env, "b", "PreToolUse", "docs/y.md").success();
    assert!(said.contains("reserved by User"), "{said}");
}

/// Home, links and trees that the line itself creates: only the machine knows.
#[test]
fn a_command_is_refused_only_where_it_would_really_sweep() {
    let env = two_in_a_repository("guards.on = false\n");
    let (home, project) = (env.home().display().to_string(), env.project().display().to_string());
    git(&env, &["init", "-q", &format!("{home}/other")]);
    symlink(env.project(), env.home().join("link")).unwrap();
    assert!(edits(&env, "a", "src/x.rs") && edits(&env, "a", ".claude/scratchpad/t/2026-02-08.md"));
    let said = |command: &str| {
        let payload = json!({
            "session_id": "b", "cwd": env.project(), "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "toolu_2",
        });
        env.hook("PreToolUse", payload).success()
    };
    for command in [
        "git stash",
        "cd ~/link && git stash",
        "rm \"$HOME\"/link/src/x.rs",
        "cd ~/other && git -C ~/link reset --hard",
        &format!(
            "cd ~/other; cd {project}/src; cd $(git rev-parse --show-toplevel); git restore src"
        ),
    ] {
        let said = said(command);
        assert!(said.contains("\"deny\"") && said.contains("`src/x.rs`"), "{command}: {said}");
        assert!(!said.contains("scratchpad"), "{said}");
    }
    for command in [
        "cd ~/other && git stash",
        "git -C \"$HOME/other\" reset --hard",
        "git worktree add wt && cd wt && git reset --hard",
        "rm -rf ~/other/src docs",
        "D=$(mktemp -d); cd $D && git stash",
    ] {
        let said = said(command);
        assert!(!said.contains("\"deny\""), "{command}: {said}");
    }
    assert!(edits(&env, "b", ".claude/scratchpad/t/2026-02-08.md"));
}

#[test]
fn a_link_to_a_file_that_is_not_there_yet_is_one_file() {
    let env = two_in_a_repository("");
    symlink("new.rs", env.project().join("link.rs")).unwrap();
    assert!(edits(&env, "a", "link.rs") && !edits(&env, "b", "new.rs"));
    // A link that leads elsewhere a moment later is another file.
    for version in ["v1", "v2"] {
        std::fs::create_dir(env.project().join(version)).unwrap();
    }
    let current = env.project().join("cur");
    symlink("v1", &current).unwrap();
    assert!(edits(&env, "a", "cur/f.rs"));
    std::fs::remove_file(&current).unwrap();
    symlink("v2", &current).unwrap();
    assert!(edits(&env, "a", "cur/f.rs"));
    assert!(!edits(&env, "b", "v1/f.rs") && !edits(&env, "b", "v2/f.rs"));
}

#[test]
fn what_the_users_own_rules_ignore_is_not_leased_and_a_rule_that_is_a_pipe_is_none() {
    let env = two_in_a_repository("");
    write_file(&env.home().join(".config/git/ignore"), "*.scratch\n");
    assert!(edits(&env, "a", "x.scratch") && edits(&env, "b", "x.scratch"));
    pipe(&env, &env.project().join("deep/.gitignore"));
    assert!(edits(&env, "a", "deep/x.rs") && !edits(&env, "b", "deep/x.rs"));
    let shown = env.substrate(["locks", "show", "deep/x.rs"]).success();
    assert!(shown.starts_with("deep/x.rs  "), "{shown}");
    let project = env.project().display().to_string();
    let mut elsewhere = env.command(substrate_testkit::bin("substrate"));
    elsewhere.current_dir(env.home()).args([
        "locks",
        "show",
        "deep/x.rs",
        "--project-dir",
        &project,
    ]);
    let shown = substrate_testkit::Running::start(elsewhere, Vec::new()).finish(SOON).success();
    assert!(shown.starts_with("deep/x.rs  "), "{shown}");
}

/// With a daemon and without one.
#[test]
fn a_mirror_that_is_a_pipe_holds_no_agent_up() {
    let env = two_in_a_repository("[locks]\nmirror = true\n");
    let folder = env.project().join(".claude/coordination");
    pipe(&env, &folder.join("hook-debug.log"));
    assert!(edits(&env, "a", "x.rs") && !edits(&env, "b", "x.rs"));
    assert!(String::from_utf8_lossy(&bytes(&folder.join("file-locks.json"))).contains("x.rs"));
    configure(&env, "[locks]\nmirror = true\n[daemon]\nautostart = false\n");
    env.substrate(["daemon", "stop"]).success();
    assert!(edits(&env, "a", "y.rs") && !edits(&env, "b", "y.rs"));
    std::fs::remove_file(folder.join("hook-debug.log")).unwrap();
    assert!(edits(&env, "a", "y.rs"));
    assert!(!bytes(&folder.join("hook-debug.log")).is_empty());
    let status = env.command("git").args(["status", "--short"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&status.stdout), "", "git offers nothing for a commit");
}

#[test]
fn a_folder_and_a_file_that_git_ignores_are_held_when_an_agent_takes_them() {
    let env = two_in_a_repository("");
    write_file(&env.project().join(".gitignore"), "*.gen\n");
    write_file(&env.project().join("src/c.rs"), "");
    let said = env.substrate(["locks", "acquire", "src", "x.gen"]).success();
    assert_eq!(said, "You hold `src/**`, `x.gen` for 10m.\n");
    for (file, by) in [("src/c.rs", "reserved by User"), ("x.gen", "leased by User")] {
        let said = hook(&env, "a", "PreToolUse", file).success();
        assert!(said.contains(by), "{said}");
    }
    let waits =
        env.substrate(["locks", "wait", "src/c.rs", "--timeout", "1s", "--session-id", "a"]);
    assert!(waits.code(1).stderr.contains("is still held by User"));
    assert_eq!(
        env.substrate(["locks", "release", "src", "x.gen"]).success(),
        "Released 1 file and 1 glob.\n"
    );
    assert!(edits(&env, "a", "src/c.rs"));
    let held = env.substrate(["locks", "wait", "src", "--timeout", "1s"]).code(1);
    assert!(held.stderr.contains("`src/**` is still held by"), "{held}");
}
