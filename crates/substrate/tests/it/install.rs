//! An installation writes what it uses, says what it does, and leaves nothing behind.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use substrate_testkit::{Running, TestEnv, write_file};

use crate::fleet::Agent;
use crate::house::{SOON, bytes, configure, journal, plain, told};
use crate::pane::Pane;
use crate::tmux::Tmux;

fn settings(env: &TestEnv) -> Value {
    serde_json::from_slice(&bytes(&env.config().join("settings.json"))).unwrap()
}

/// Every file below a folder, by its path from there.
fn files(folder: &Path) -> Vec<String> {
    let mut out = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten().flatten() {
            let path = entry.path();
            match path.is_dir() && !path.is_symlink() {
                true => folders.push(path),
                false => out.push(path.strip_prefix(folder).unwrap().display().to_string()),
            }
        }
    }
    out.sort();
    out
}

fn git(env: &TestEnv, dir: &Path, args: &[&str]) {
    let mut command = env.command("git");
    command.current_dir(dir).env("GIT_CONFIG_NOSYSTEM", "1").args(args);
    Running::start(command, Vec::new()).finish(SOON).success();
}

/// How the hooks of an event are called.
fn calls(env: &TestEnv, event: &str) -> Vec<String> {
    let groups = settings(env)["hooks"][event].as_array().cloned().unwrap_or_default();
    let hooks = groups.iter().flat_map(|group| group["hooks"].as_array().cloned().unwrap());
    hooks.map(|hook| hook["command"].as_str().unwrap_or_default().to_owned()).collect()
}

fn is_script(command: &str) -> bool {
    command.contains("/hooks/substrate/") && command.trim_end_matches('\'').ends_with(".sh")
}

#[test]
fn the_standard_profile_gets_the_settings_and_one_skill() {
    let env = TestEnv::new();
    env.substrate(["hooks", "install"]).success();
    assert_eq!(files(&env.config()), ["settings.json", "skills/substrate/SKILL.md"]);
}

#[test]
fn scripts_come_where_they_are_called_and_a_plain_reinstallation_keeps_the_choice() {
    let env = TestEnv::new();
    let scripts = || files(&env.config().join("hooks/substrate")).len();
    env.substrate(["hooks", "install", "--scripts"]).success();
    assert!(is_script(&calls(&env, "PreToolUse")[0]) && scripts() == 30);
    for _ in 0..2 {
        let again = env.substrate(["hooks", "install"]).code(0);
        assert!(again.stderr.contains("nothing was changed"), "{again}");
        assert!(is_script(&calls(&env, "PreToolUse")[0]) && scripts() == 30);
        // Even without a manifest.
        std::fs::remove_dir_all(env.state().join("manifests")).unwrap();
        env.substrate(["hooks", "install"]).success();
    }
    let edited = env.config().join("hooks/substrate/stop.sh");
    write_file(&edited, "#!/bin/sh\n# mine\n");
    env.substrate(["hooks", "install", "--no-scripts"]).success();
    assert!(!is_script(&calls(&env, "PreToolUse")[0]));
    assert_eq!(files(&env.config().join("hooks")), ["substrate/stop.sh"], "what was edited stays");
    std::fs::remove_dir_all(env.config().join("hooks")).unwrap();
    env.substrate(["hooks", "install"]).success();
    assert_eq!(files(&env.config()), ["settings.json", "skills/substrate/SKILL.md"]);
}

#[test]
fn a_persistent_agent_s_five_events_are_scripts_that_can_be_edited() {
    let env = TestEnv::new();
    env.substrate(["hooks", "install", "--profile", "persistent"]).success();
    let names = ["pre_compact", "session_start", "stop", "subagent_stop", "user_prompt"];
    let expected: Vec<String> = names.iter().map(|name| format!("{name}.sh")).collect();
    assert_eq!(
        files(&env.config().join("hooks")),
        expected.iter().map(|name| format!("substrate/{name}")).collect::<Vec<_>>()
    );
    for event in ["PreCompact", "SessionStart", "Stop", "SubagentStop", "UserPromptSubmit"] {
        assert_eq!(calls(&env, event).iter().filter(|call| is_script(call)).count(), 1, "{event}");
    }
    for event in ["PreToolUse", "PostToolUse", "PermissionRequest"] {
        assert!(!calls(&env, event).iter().any(|call| is_script(call)), "{event}");
    }
    // What the user writes into one is what happens.
    let stop = env.config().join("hooks/substrate/stop.sh");
    let text = String::from_utf8(bytes(&stop)).unwrap();
    write_file(&stop, text.replace("exec ", "echo edited >\"$HOME/ran\"\nexec "));
    env.substrate(["hooks", "install"]).success();
    let mut command = env.command("/bin/sh");
    command.args(["-c", &calls(&env, "Stop")[0]]);
    let input = json!({"session_id": "test-123"}).to_string().into_bytes();
    Running::start(command, input).finish(SOON).success();
    assert_eq!(bytes(&env.home().join("ran")), b"edited\n");
    // Without the profile they are removed, except for the one that is the user's now.
    env.substrate(["hooks", "install", "--profile", "standard", "--only"]).success();
    assert_eq!(files(&env.config().join("hooks")), ["substrate/stop.sh"]);
}

/// An earlier version wrote all of them, whether they were used or not.
#[test]
fn what_an_earlier_version_left_unused_goes_with_a_reinstallation() {
    let env = TestEnv::new();
    env.substrate(["hooks", "install", "--scripts", "--profile", "reminders"]).success();
    assert!(files(&env.config()).len() > 38);
    let manifests = env.state().join("manifests");
    let manifest = std::fs::read_dir(&manifests).unwrap().next().unwrap().unwrap().path();
    let mut kept: Value = serde_json::from_slice(&bytes(&manifest)).unwrap();
    kept.as_object_mut().unwrap().remove("scripts");
    write_file(&manifest, kept.to_string());
    configure(&env, "");
    let program = settings(&env).to_string();
    assert!(program.contains("pre_tool_use.sh"));
    // It registered the program itself.
    let exec = TestEnv::new();
    exec.substrate(["hooks", "install"]).success();
    write_file(&env.config().join("settings.json"), bytes(&exec.config().join("settings.json")));
    env.substrate(["hooks", "install"]).success();
    assert_eq!(files(&env.config()), ["settings.json", "skills/substrate/SKILL.md"]);
    env.substrate(["hooks", "uninstall"]).success();
    assert_eq!(files(&env.home()), [""; 0]);
}

#[test]
fn the_library_stays_where_hooks_of_the_user_s_own_read_it() {
    let env = TestEnv::new();
    env.substrate(["hooks", "install", "--scripts"]).success();
    write_file(&env.config().join("hooks/scripts/mine.sh"), "#!/bin/sh\n");
    env.substrate(["hooks", "install", "--no-scripts"]).success();
    let left = files(&env.config().join("hooks"));
    assert!(left.contains(&"scripts/lib/hook-utils.sh".to_owned()), "{left:?}");
    assert!(!left.iter().any(|file| file.starts_with("substrate/")), "{left:?}");
}

#[test]
fn up_sums_up_asks_once_and_says_what_to_try() {
    let env = TestEnv::new();
    let pane = Pane::start(&env);
    pane.resize("160", "60");
    pane.line("substrate up");
    pane.wait("Install? [y/N]");
    let screen = pane.screen();
    let shown: Vec<&str> =
        screen.lines().skip_while(|line| !line.starts_with("Substrate for")).collect();
    let shown: Vec<&str> =
        shown.iter().take_while(|line| !line.starts_with("Install?")).copied().collect();
    assert!((5..=15).contains(&shown.len()), "{screen}");
    let text = shown.join("\n");
    for part in [
        "~/.claude/settings.json",
        "~/.claude/skills/substrate/SKILL.md",
        "28 events",
        "standard (always on: names, mail, leases, guards",
        "substrate hooks uninstall",
        "substrate uninstall",
        "--dry-run",
    ] {
        assert!(text.replace("\n", " ").contains(part), "no {part:?} in {screen}");
    }
    pane.line("y");
    pane.wait("Try first:");
    pane.wait("$ ");
    let screen = pane.screen();
    assert_eq!(screen.matches("[y/N]").count(), 1, "{screen}");
    assert!(
        screen.contains("--allow-commands") && screen.contains("substrate send NAME"),
        "{screen}"
    );
    assert!(settings(&env)["permissions"].is_null());
    // The same without a person. What is there already is not reported again.
    let again = env.substrate(["up", "--yes"]);
    assert!(again.stderr.contains("the hooks are registered"), "{again}");
    assert!(!again.stderr.contains("Substrate for"), "{again}");
}

#[test]
fn an_uninstall_leaves_nothing_that_acts_and_says_what_went() {
    let env = TestEnv::new();
    let before = b"{\n  \"statusLine\": {\"type\": \"command\", \"command\": \"substrate statusline\"},\n  \"model\": \"opus\"\n}\n";
    write_file(&env.config().join("settings.json"), before);
    let [known, elsewhere] = ["known", "elsewhere"].map(|name| env.root().join(name));
    for dir in [&known, &elsewhere] {
        std::fs::create_dir(dir).unwrap();
        git(&env, dir, &["init", "-q", "-b", "main"]);
    }
    env.substrate(["hooks", "install", "--profile", "all"]).success();
    env.substrate(["daemon", "start"]).success();
    let tmux = Tmux::start(&env, "left", "sleep 600");
    tmux.run(&["set-hook", "-g", "pane-focus-in", "display-message mine"]);
    let var = tmux.var();
    let lion = Agent::begin(&env, "s1", "NobleLion", &[("TMUX", &var), ("TMUX_PANE", "%0")]);
    lion.event("UserPromptSubmit", json!({"prompt": "go"}));
    env.substrate_with(["tmux", "on"], &[("TMUX", &var)]).success();
    let dir = elsewhere.to_str().unwrap();
    env.substrate(["locks", "guard", "install", "--project-dir", dir]).success();
    // An unrecorded one, in a project that a session was in.
    git(&env, &known, &["config", "core.hooksPath", ".hooks"]);
    env.substrate(["locks", "guard", "install", "--project-dir", known.to_str().unwrap()])
        .success();
    write_file(&env.state().join("git-guards"), format!("{dir}/.git/hooks\n"));
    let mut start = plain("s2", "SessionStart");
    start["cwd"] = known.to_str().unwrap().into();
    env.hook("SessionStart", start).success();

    let run = env.substrate(["uninstall", "--delete-data", "--yes"]).code(0);
    for part in [
        "settings.json: our hooks are gone",
        "settings.json: our status line is gone",
        "skills/substrate/SKILL.md: deleted",
        "hooks/substrate/stop.sh: deleted",
        "elsewhere/.git/hooks: our commit hook is gone",
        "known/.hooks: our commit hook is gone",
        ": our hooks and colours are gone",
        "the daemon has stopped",
        "your data is deleted",
    ] {
        assert!(run.stderr.contains(part), "no {part:?} in {run}");
    }
    assert_eq!(files(&env.home()), [".claude/settings.json"]);
    assert_eq!(bytes(&env.config().join("settings.json")), b"{\n  \"model\": \"opus\"\n}\n");
    assert!(!env.config().join("hooks").exists() && !env.config().join("skills").exists());
    assert!(!known.join(".hooks/pre-commit").exists());
    assert!(!elsewhere.join(".git/hooks/pre-commit").exists());
    tmux.is_clean();
    // Turning to panes runs nothing of ours.
    tmux.run(&["new-window", "sleep 600"]);
    tmux.run(&["select-window", "-t", ":0"]);
    tmux.run(&["run-shell", "true"]);
    assert!(!env.state().exists(), "the state home is back: {:?}", files(&env.state()));
}

/// A client that runs tells its hooks, which it still has, that its settings have changed.
#[test]
fn the_last_word_of_a_client_that_runs_starts_no_daemon() {
    let env = TestEnv::new();
    env.substrate(["hooks", "install"]).success();
    env.substrate(["uninstall", "--yes"]).code(0);
    let changed = plain("s1", "ConfigChange");
    env.hook("ConfigChange", changed.clone()).success();
    env.substrate(["daemon", "status"]).code(3);
    let doctor = env.substrate(["doctor"]);
    assert!(doctor.stdout.contains("no hook left a trace of a failure"), "{doctor}");
    // A client with settings of its own goes on calling our hooks until it notices.
    write_file(&env.config().join("settings.json"), "{\"model\": \"opus\"}\n");
    env.substrate(["uninstall", "--yes", "--delete-data"]).code(0);
    for event in ["PreToolUse", "Stop", "ConfigChange"] {
        assert_eq!(env.hook(event, plain("s1", event)).success(), "");
        assert!(!env.state().exists(), "{event}");
    }
    // A daemon that runs hears of it.
    env.substrate(["daemon", "start"]).success();
    env.hook("ConfigChange", changed).success();
    assert_eq!(told(&journal(&env)), ["ConfigChange"]);
}

/// A server that was unreachable during the uninstall still has our hooks. They do nothing.
#[test]
fn a_forgotten_hook_of_tmux_starts_nothing() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let tmux = Tmux::start(&env, "forgotten", "sleep 600");
    env.substrate_with(["tmux", "on"], &[("TMUX", &tmux.var())]).success();
    let hook = tmux.run(&["show-hooks", "-g", "session-window-changed"]);
    let line = hook.split_once("run-shell -b \"").unwrap().1.rsplit_once('"').unwrap().0;
    let line = line.replace("\\\"", "\"").replace("\\$", "$").replace("#{pane_id}", "%0");
    env.substrate(["daemon", "stop"]).success();
    std::fs::remove_dir_all(env.state()).unwrap();
    let mut command = env.command("/bin/sh");
    command.args(["-c", &line]);
    Running::start(command, Vec::new()).finish(SOON).success();
    assert!(!env.state().exists(), "{line}");
    // Neither do those of an earlier version, a status line, nor a guard in a repository.
    let pane = ["fleet", "check", "--pane", "%0", "--socket", "/tmp/x"];
    for args in [&pane[..], &["statusline"], &["locks", "guard", "run"]] {
        let mut command = env.command(substrate_testkit::bin("substrate"));
        command.args(args);
        let input = json!({"session_id": "a"}).to_string().into_bytes();
        let _whatever_it_says = Running::start(command, input).finish(SOON);
        assert!(!env.state().exists(), "{args:?}");
    }
}

#[test]
fn the_doctor_finds_what_an_uninstall_by_hand_left() {
    let env = TestEnv::new();
    git(&env, &env.project(), &["init", "-q", "-b", "main"]);
    env.substrate(["hooks", "install", "--profile", "reminders"]).success();
    env.substrate(["locks", "guard", "install"]).success();
    let healthy = env.substrate(["doctor"]);
    assert!(!healthy.stdout.contains("left over"), "{healthy}");
    // The user removes the hooks from the settings and forgets the rest.
    let status_line = r#"{"statusLine": {"type": "command", "command": "substrate statusline"}}"#;
    write_file(&env.config().join("settings.json"), status_line);
    std::fs::remove_dir_all(env.state().join("manifests")).unwrap();
    let run = env.substrate(["doctor"]).code(1);
    for part in ["skills/reflect/SKILL.md", ".git/hooks", "settings.json", "`substrate uninstall`"]
    {
        let is_told = run.stdout.lines().any(|line| line.contains(part));
        assert!(is_told && run.stdout.contains("left over"), "no {part:?} in {run}");
    }
    env.substrate(["uninstall", "--yes"]).code(0);
    let run = env.substrate(["doctor"]);
    assert!(!run.stdout.contains("left over"), "{run}");
    assert_eq!(files(&env.home()), [".claude/settings.json"]);
    assert_eq!(settings(&env), json!({}));
}

/// What a hostile repository can put at the paths that we write to.
#[test]
fn a_project_s_links_are_not_followed() {
    let victims = |env: &TestEnv| -> Vec<(PathBuf, Vec<u8>)> {
        let all = [env.config().join("settings.json"), env.state().join("config.toml")];
        all.into_iter().map(|path| (path.clone(), bytes(&path))).collect()
    };
    let cases: [(&str, &[&str]); 5] = [
        (".claude", &["hooks", "install", "--project"]),
        (".claude/settings.json", &["hooks", "install", "--project"]),
        (".claude/settings.local.json", &["hooks", "install", "--local"]),
        (".substrate.toml", &["hooks", "install", "--project", "--profile", "locks"]),
        (".substrate.toml", &["config", "set", "--project", "locks.mirror", "true"]),
    ];
    for (link, command) in cases {
        let env = TestEnv::new();
        env.substrate(["hooks", "install", "--profile", "locks"]).success();
        std::fs::create_dir(env.project().join(".git")).unwrap();
        let path = env.project().join(link);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let target = match link {
            ".claude" => env.config(),
            ".substrate.toml" => env.state().join("config.toml"),
            _ => env.config().join("settings.json"),
        };
        std::os::unix::fs::symlink(&target, &path).unwrap();
        let (before, project) = (victims(&env), files(&env.project()));
        let run = env.substrate(command).code(1);
        assert!(run.stderr.contains("is a link, and a project's files are not edited"), "{run}");
        assert!(run.stderr.contains("nothing was changed"), "{run}");
        assert_eq!((victims(&env), files(&env.project())), (before, project), "{link}");
        assert!(path.is_symlink());
    }
}

/// It was a file when we wrote it. A pull has replaced it by a link to the user's own file.
#[test]
fn an_uninstall_does_not_follow_a_link_that_came_later() {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    env.substrate(["hooks", "install"]).success();
    env.substrate(["hooks", "install", "--project"]).success();
    let mine = bytes(&env.config().join("settings.json"));
    std::fs::remove_dir_all(env.project().join(".claude")).unwrap();
    std::os::unix::fs::symlink(env.config(), env.project().join(".claude")).unwrap();
    let run = env.substrate(["hooks", "uninstall", "--project"]).code(0);
    assert!(run.stderr.contains("behind a link now, so it stays"), "{run}");
    assert_eq!(bytes(&env.config().join("settings.json")), mine);
    // Even without a manifest.
    env.substrate(["hooks", "uninstall", "--project"]).code(1);
    assert_eq!(bytes(&env.config().join("settings.json")), mine);
}
