//! The commit hook in real repositories, with real git.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use substrate_testkit::{Run, Running, TestEnv, wait_until, write_file};

use crate::house::bytes;

fn git_in(env: &TestEnv, dir: &Path, args: &[&str]) -> Run {
    let mut command = env.command("git");
    let who = ["-c", "user.name=dev", "-c", "user.email=dev@example.org"];
    command.current_dir(dir).env("GIT_CONFIG_NOSYSTEM", "1").args(who).args(args);
    Running::start(command, Vec::new()).finish(Duration::from_secs(20))
}

fn git(env: &TestEnv, args: &[&str]) -> Run {
    git_in(env, &env.project(), args)
}

/// A repository with one commit.
fn repository() -> TestEnv {
    let env = TestEnv::new();
    git(&env, &["init", "-q", "-b", "main"]).success();
    git(&env, &["commit", "-q", "--allow-empty", "-m", "first"]).success();
    env
}

fn hook(env: &TestEnv) -> PathBuf {
    env.project().join(".git/hooks/pre-commit")
}

/// The user's own hook.
fn put_hook(path: &Path, script: &str, mode: u32) {
    write_file(path, script);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn it_comes_and_goes_and_twice_is_once() {
    let env = repository();
    let said = |args: &[&str]| env.substrate([&["locks", "guard"], args].concat()).success();
    assert!(said(&["status"]).starts_with("not installed, and there is no other"));
    assert!(said(&["install"]).starts_with("installed: "));
    let written = bytes(&hook(&env));
    assert_eq!(mode(&hook(&env)), 0o755);
    assert!(said(&["install"]).starts_with("already installed: "));
    assert!(said(&["status", "--format", "json"]).contains("\"installed\": true"));
    assert_eq!(bytes(&hook(&env)), written);
    assert!(said(&["uninstall"]).starts_with("uninstalled: "));
    assert!(!hook(&env).exists());
    assert!(said(&["uninstall"]).starts_with("not installed: "));
}

#[test]
fn a_hook_that_was_there_runs_first_decides_and_comes_back_byte_for_byte() {
    let env = repository();
    let script = "#!/bin/sh\n# mine, with no newline at the end\necho \"$#\" >> ran\ntest ! -e stop || exit 7";
    put_hook(&hook(&env), script, 0o750);
    let said = env.substrate(["locks", "guard", "install"]).success();
    assert!(said.starts_with("installed; the earlier hook runs first"), "{said}");
    assert!(env.substrate(["locks", "guard", "install"]).success().starts_with("already"));

    git(&env, &["commit", "-q", "--allow-empty", "-m", "second"]).success();
    assert_eq!(bytes(&env.project().join("ran")), b"0\n");
    write_file(&env.project().join("stop"), "");
    let refused = git(&env, &["commit", "-q", "--allow-empty", "-m", "third"]);
    assert_ne!(refused.status, Some(0), "{refused}");

    env.substrate(["locks", "guard", "uninstall"]).success();
    assert_eq!(bytes(&hook(&env)), script.as_bytes());
    assert_eq!(mode(&hook(&env)), 0o750);
    assert!(!env.project().join(".git/hooks/pre-commit.before-substrate").exists());
}

#[test]
fn a_link_comes_back_as_a_link_and_what_git_would_not_run_does_not_run() {
    let env = repository();
    put_hook(&env.project().join("tools/check"), "#!/bin/sh\nexit 7\n", 0o644);
    let _sample = std::fs::remove_file(hook(&env));
    std::fs::create_dir_all(hook(&env).parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("../../tools/check", hook(&env)).unwrap();
    env.substrate(["locks", "guard", "install"]).success();
    git(&env, &["commit", "-q", "--allow-empty", "-m", "second"]).success();
    env.substrate(["locks", "guard", "uninstall"]).success();
    assert_eq!(std::fs::read_link(hook(&env)).unwrap(), Path::new("../../tools/check"));
}

#[test]
fn it_works_from_a_worktree_for_all_trees() {
    let env = repository();
    let tree = env.root().join("tree");
    git(&env, &["worktree", "add", "-q", tree.to_str().unwrap(), "-b", "other"]).success();
    let dir = tree.to_str().unwrap();
    env.substrate(["locks", "guard", "install", "--project-dir", dir]).success();
    assert!(hook(&env).is_file(), "the hooks of a repository are shared");
    put_hook(
        &env.project().join(".git/hooks/pre-commit.before-substrate"),
        "#!/bin/sh\npwd > ran\n",
        0o755,
    );
    git_in(&env, &tree, &["commit", "-q", "--allow-empty", "-m", "second"]).success();
    assert_eq!(bytes(&tree.join("ran")), format!("{dir}\n").as_bytes());
}

#[test]
fn the_folder_that_the_settings_name_is_used() {
    let env = repository();
    git(&env, &["config", "core.hooksPath", ".hooks"]).success();
    let below = env.project().join("src");
    std::fs::create_dir_all(&below).unwrap();
    env.substrate(["locks", "guard", "install", "--project-dir", below.to_str().unwrap()])
        .success();
    assert!(env.project().join(".hooks/pre-commit").is_file() && !hook(&env).exists());
    assert_eq!(env.substrate(["locks", "guard", "status"]).code(0).stderr, "");
    env.substrate(["locks", "guard", "uninstall"]).success();
    assert!(!env.project().join(".hooks/pre-commit").exists());
    let shared = env.root().join("shared");
    git(&env, &["config", "core.hooksPath", shared.to_str().unwrap()]).success();
    let noted = env.substrate(["locks", "guard", "install"]).code(0);
    assert!(shared.join("pre-commit").is_file() && noted.stderr.contains("every repository"));
}

#[test]
fn what_can_not_be_chained_is_left_alone() {
    let env = repository();
    put_hook(&hook(&env), "#!/bin/sh\n. \"$(dirname \"$0\")/h\"\n", 0o755);
    write_file(&env.project().join(".git/hooks/h"), "");
    let husky = env.substrate(["locks", "guard", "install"]).code(1);
    assert!(
        husky.stderr.contains("`.husky/pre-commit` instead: `if command -v substrate"),
        "{husky}"
    );
    // The line passes for people without Substrate.
    let line = husky.stderr.rsplit_once("instead: `").unwrap().1.rsplit_once('`').unwrap().0;
    let mut alone = env.command("/bin/sh");
    alone.env("PATH", "/usr/bin:/bin").args(["-ec", line]);
    Running::start(alone, Vec::new()).finish(Duration::from_secs(20)).success();
    std::fs::remove_file(env.project().join(".git/hooks/h")).unwrap();
    let kept = env.project().join(".git/hooks/pre-commit.before-substrate");
    write_file(&kept, "older");
    env.substrate(["locks", "guard", "install"]).code(1);
    assert_eq!(bytes(&kept), b"older");
    assert!(bytes(&hook(&env)).ends_with(b"/h\"\n"));

    let nowhere = TestEnv::new();
    let outside = nowhere.substrate(["locks", "guard", "install"]).code(1);
    assert!(outside.stderr.contains("--project-dir"), "{outside}");
}

#[test]
fn a_commit_passes_where_nothing_is_held_or_substrate_can_not_say() {
    let env = repository();
    env.substrate(["locks", "guard", "install"]).success();
    for (n, path) in ["/usr/bin:/bin", "own"].iter().enumerate() {
        let mut command = env.command("git");
        if *path != "own" {
            command.env("PATH", path);
        }
        write_file(&env.project().join("a file"), format!("{n}"));
        git(&env, &["add", "a file"]).success();
        let who = ["-c", "user.name=dev", "-c", "user.email=dev@example.org"];
        command.args(who).args(["commit", "-q", "-m", "more"]);
        Running::start(command, Vec::new()).finish(Duration::from_secs(20)).success();
    }
    // An impossible state home.
    write_file(&env.root().join("file"), "");
    let mut command = env.command("git");
    let no_home = env.root().join("file/state");
    command.env("SUBSTRATE_HOME", no_home).args(["-c", "user.name=d", "-c", "user.email=d@e.org"]);
    command.args(["commit", "-q", "--allow-empty", "-m", "more"]);
    Running::start(command, Vec::new()).finish(Duration::from_secs(20)).success();
}

/// Only one of our words makes the hook stop a commit.
#[test]
fn a_refusal_stops_a_commit_and_a_broken_substrate_does_not() {
    let env = repository();
    env.substrate(["locks", "guard", "install"]).success();
    for (code, passes) in [(0, true), (1, false), (2, true), (70, true)] {
        let folder = env.root().join(format!("bin{code}"));
        let script =
            format!("#!/bin/sh\necho \"$*\" >> '{}'\nexit {code}\n", folder.join("ran").display());
        put_hook(&folder.join("substrate"), &script, 0o755);
        let mut command = env.command("git");
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display()));
        command.args(["-c", "user.name=d", "-c", "user.email=d@e.org"]);
        command.args(["commit", "-q", "--allow-empty", "-m", "more"]);
        let run = Running::start(command, Vec::new()).finish(Duration::from_secs(20));
        assert_eq!(run.status == Some(0), passes, "exit code {code}: {run}");
        assert_eq!(bytes(&folder.join("ran")), b"locks guard run\n");
    }
}

/// One session edits a file; another wants to commit it, then commits it once the first is done.
#[test]
fn files_that_others_hold_are_not_committed_until_they_are_free() {
    let env = repository();
    env.substrate(["locks", "guard", "install"]).success();
    let project = env.project().display().to_string();
    let file = env.project().join("a file.rs");
    write_file(&file, "x");
    let payload = |session: &str, event: &str| {
        serde_json::json!({
            "session_id": session, "cwd": project, "hook_event_name": event, "tool_use_id": "t1",
            "tool_name": "Edit", "tool_input": {"file_path": file}, "tool_response": {},
            "source": "startup",
        })
    };
    for session in ["a", "b"] {
        let _briefing = env.hook("SessionStart", payload(session, "SessionStart")).success();
    }
    // On a machine whose disk is busy, an agent may be told to try again.
    wait_until(Duration::from_secs(20), "the edit is allowed", || {
        env.hook("PreToolUse", payload("a", "PreToolUse")).success().is_empty()
    });
    assert_eq!(env.hook("PostToolUse", payload("a", "PostToolUse")).success(), "");
    git(&env, &["add", "."]).success();
    let commit = |session: &str, args: &[&str]| {
        let mut command = env.command("git");
        command.env("CLAUDE_SESSION_ID", session).env("CLAUDECODE", "1");
        command.args(["-c", "user.name=d", "-c", "user.email=d@e.org", "commit", "-q", "-m", "x"]);
        command.args(args);
        Running::start(command, Vec::new()).finish(Duration::from_secs(20))
    };
    let refused = commit("b", &[]).code(1);
    assert!(refused.stderr.contains("1 staged file(s) are held by others"), "{refused}");
    assert!(refused.stderr.contains("a file.rs`: "), "{refused}");
    // An unknown caller counts as another agent.
    assert!(commit("unknown", &[]).code(1).stderr.contains("held by others"));
    let mut unknown = env.command("git");
    unknown.env("AGENT_ID", "Unknown").args(["-c", "user.name=d", "-c", "user.email=d@e.org"]);
    unknown.args(["commit", "-q", "-m", "x"]);
    Running::start(unknown, Vec::new()).finish(Duration::from_secs(20)).code(1);
    // A link to a held file is not that file.
    std::os::unix::fs::symlink("a file.rs", env.project().join("link.rs")).unwrap();
    git(&env, &["add", "link.rs"]).success();
    commit("b", &["link.rs"]).success();
    // An index of its own: only the named files are committed.
    write_file(&env.project().join("free.rs"), "");
    git(&env, &["add", "free.rs"]).success();
    commit("b", &["free.rs"]).success();
    commit("a", &[]).success();
    write_file(&file, "y");
    commit("b", &["-a"]).code(1);
    let _ended = env.hook("SessionEnd", payload("a", "SessionEnd")).success();
    commit("b", &["-a"]).success();
}
