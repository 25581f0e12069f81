//! Installing and removing, with the real program and real files.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use rstest::rstest;
use serde_json::Value;
use substrate_testkit::{TestEnv, bin, write_file};

use crate::house::{bytes, journal, plain, told};

fn settings(env: &TestEnv) -> PathBuf {
    env.config().join("settings.json")
}

fn json(env: &TestEnv) -> Value {
    serde_json::from_slice(&bytes(&settings(env))).unwrap()
}

const FOREIGN: &str = "{\r\n\t\"model\": \"opus\",\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [{\"matcher\":\"\",\"hooks\":[{\"type\":\"command\",\"command\":\"say done\",\"once\":true}]}]\r\n\t},\r\n\t\"x\": [1,  2]\r\n}";

#[test]
fn what_was_there_is_there_again() {
    for before in [None, Some(""), Some("{}"), Some(FOREIGN), Some("{\"hooks\":{}}\n")] {
        let env = TestEnv::new();
        if let Some(text) = before {
            write_file(&settings(&env), text.as_bytes());
        }
        env.substrate(["hooks", "install", "--allow-commands", "--profile", "all"]).success();
        let first = bytes(&settings(&env));
        assert!(
            json(&env)["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
                .as_str()
                .unwrap()
                .ends_with("/substrate-hook")
        );
        let rules = allowed(&env);
        for rule in ["Bash(substrate inbox:*)", "Bash(substrate effort:*)", "Bash(substrate locks)"]
        {
            assert!(rules.iter().any(|known| known == rule), "{rules:?}");
        }
        for user in
            ["run", "hooks install", "hooks uninstall", "down", "up", "uninstall", "daemon stop"]
        {
            let line = format!("substrate {user} -- x");
            assert!(!rules.iter().any(|rule| fits(rule, &line)), "{user}: {rules:?}");
        }
        if before == Some(FOREIGN) {
            assert!(String::from_utf8_lossy(&first).contains("{\"matcher\":\"\",\"hooks\":[{\"type\":\"command\",\"command\":\"say done\",\"once\":true}]}"));
        }
        let again =
            env.substrate(["hooks", "install", "--allow-commands", "--profile", "all"]).code(0);
        assert!(again.stderr.contains("nothing was changed"), "{}", again.stderr);
        assert_eq!(bytes(&settings(&env)), first, "twice is once");
        env.substrate(["hooks", "uninstall"]).success();
        match before {
            Some(text) => assert_eq!(bytes(&settings(&env)), text.as_bytes()),
            None => assert!(!settings(&env).exists()),
        }
        assert!(
            !env.config().join("hooks").exists() && !env.config().join("skills").exists(),
            "what we made is gone"
        );
        assert!(!env.state().join("config.toml").exists());
    }
}

#[test]
fn profiles_add_up_and_an_uninstall_takes_out_those_it_brought() {
    let env = TestEnv::new();
    let file = env.state().join("config.toml");
    let text = || String::from_utf8(bytes(&file)).unwrap();
    let install = |flags: &[&str]| {
        env.substrate(["hooks", "install"].iter().chain(flags)).success();
        text()
    };
    write_file(&file, b"profile = \"locks\" # the user's own\n");
    assert_eq!(
        install(&["--profile", "engine"]),
        "profile = [\"locks\", \"engine\"] # the user's own\n"
    );
    let three = "profile = [\"locks\", \"engine\", \"persistent\"] # the user's own\n";
    assert_eq!(install(&["--profile", "persistent,locks"]), three);
    assert_eq!(install(&[]), three);
    write_file(&file, format!("{three}[journal]\n").as_bytes());
    env.substrate(["hooks", "uninstall"]).success();
    assert_eq!(text(), "profile = \"locks\" # the user's own\n[journal]\n");
    assert_eq!(
        install(&["--profile", "scratchpad", "--only"]),
        "profile = \"scratchpad\" # the user's own\n[journal]\n"
    );
    env.substrate(["hooks", "install", "--only"]).code(2);
    let help = env.substrate(["hooks", "install", "--help"]).success();
    for profile in ["standard", "persistent", "scratchpad", "engine", "locks", "reminders", "all"] {
        let lines = help.lines().filter(|line| line.trim().starts_with(&format!("- {profile}:")));
        assert_eq!(lines.count(), 1, "{profile}: {help}");
    }
}

/// The permission rules.
fn allowed(env: &TestEnv) -> Vec<String> {
    let rules = json(env)["permissions"]["allow"].as_array().cloned().unwrap_or_default();
    rules.iter().map(|rule| rule.as_str().unwrap().to_owned()).collect()
}

/// As generous as a client can be: `:*` matches anything.
fn fits(rule: &str, line: &str) -> bool {
    let words = rule.strip_prefix("Bash(").and_then(|rule| rule.strip_suffix(')')).unwrap();
    words.strip_suffix(":*").map_or(words == line, |begin| line.starts_with(begin))
}

#[rstest]
#[case::after_a_new_installation(true)]
#[case::at_once(false)]
fn the_broad_rule_of_an_earlier_version_is_replaced_and_taken_out(#[case] reinstalls: bool) {
    let env = TestEnv::new();
    write_file(&settings(&env), b"{\"permissions\":{\"allow\":[\"Read\"]}}");
    env.substrate(["hooks", "install"]).success();
    // As an earlier version left them.
    let text = String::from_utf8(bytes(&settings(&env))).unwrap();
    let broad = text.replace("\"Read\"", "\"Read\",\"Bash(substrate:*)\"");
    write_file(&settings(&env), broad.as_bytes());
    let mut manifests = std::fs::read_dir(env.state().join("manifests")).unwrap();
    let manifest = manifests.next().unwrap().unwrap().path();
    let mut kept: Value = serde_json::from_slice(&bytes(&manifest)).unwrap();
    kept["allow"] = "Bash(substrate:*)".into();
    write_file(&manifest, kept.to_string().as_bytes());
    if reinstalls {
        // What was allowed stays allowed, by name, whether the user asks again or not.
        env.substrate(["hooks", "install"]).success();
        let rules = allowed(&env);
        assert_eq!(rules[0], "Read");
        assert!(!rules.iter().any(|rule| rule == "Bash(substrate:*)"), "{rules:?}");
        assert!(rules.iter().any(|rule| rule == "Bash(substrate send:*)"), "{rules:?}");
    }
    env.substrate(["hooks", "uninstall"]).success();
    assert_eq!(allowed(&env), ["Read"]);
}

#[test]
fn an_edit_in_between_is_kept() {
    let env = TestEnv::new();
    write_file(&settings(&env), FOREIGN.as_bytes());
    env.substrate(["hooks", "install", "--scripts"]).success();
    let edited =
        String::from_utf8(bytes(&settings(&env))).unwrap().replace("\"opus\"", "\"haiku\"");
    write_file(&settings(&env), edited.as_bytes());
    let script = env.config().join("hooks/substrate/stop.sh");
    write_file(&script, b"#!/bin/sh\n# mine now\n");
    let run = env.substrate(["hooks", "uninstall"]).code(0);
    assert!(run.stderr.contains("you edited it, so it stays"), "{}", run.stderr);
    assert_eq!(bytes(&settings(&env)), FOREIGN.replace("\"opus\"", "\"haiku\"").as_bytes());
    assert!(script.exists());
}

#[test]
fn a_rule_that_was_there_before_us_stays() {
    let env = TestEnv::new();
    let before = "{\"permissions\":{\"allow\":[\"Bash(substrate:*)\"]}}";
    write_file(&settings(&env), before.as_bytes());
    env.substrate(["hooks", "install", "--allow-commands"]).success();
    let edited = String::from_utf8(bytes(&settings(&env)))
        .unwrap()
        .replace("{\"permissions\"", "{\"model\":\"opus\",\"permissions\"");
    write_file(&settings(&env), edited.as_bytes());
    env.substrate(["hooks", "uninstall"]).success();
    assert_eq!(json(&env)["permissions"]["allow"][0], "Bash(substrate:*)");
    assert!(json(&env)["hooks"].is_null());
}

#[test]
fn links_and_modes_stay() {
    let env = TestEnv::new();
    let real = env.root().join("dotfiles-settings.json");
    write_file(&real, b"{}\n");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&real, settings(&env)).unwrap();
    env.substrate(["hooks", "install"]).success();
    assert!(settings(&env).symlink_metadata().unwrap().is_symlink());
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert!(json(&env)["hooks"]["Stop"].is_array());
    env.substrate(["hooks", "uninstall"]).success();
    assert_eq!(bytes(&real), b"{}\n");
}

#[test]
fn a_file_that_must_not_be_edited_is_left_alone_in_words() {
    let env = TestEnv::new();
    for (text, word) in [
        ("{ \"a\": 1, }", "settings.json:1:"),
        ("// no\n{}", "settings.json:1:"),
        ("{\n \"hooks\": []\n}", "settings.json:2:"),
    ] {
        write_file(&settings(&env), text.as_bytes());
        let told = env.substrate(["hooks", "install"]).code(1);
        assert!(
            told.stderr.contains(word) && told.stderr.contains("hint: "),
            "{text}: {}",
            told.stderr
        );
        assert_eq!(bytes(&settings(&env)), text.as_bytes());
        assert!(!env.config().join("hooks").exists(), "nothing at all was changed");
    }
    write_file(&settings(&env), b"{}");
    std::fs::set_permissions(settings(&env), std::fs::Permissions::from_mode(0o444)).unwrap();
    let told = env.substrate(["hooks", "install"]).code(1);
    assert!(told.stderr.contains("read-only"), "{}", told.stderr);
    assert_eq!(bytes(&settings(&env)), b"{}");
}

#[test]
fn a_dry_run_changes_nothing() {
    let env = TestEnv::new();
    let shown = env.substrate(["hooks", "install", "--dry-run"]).success();
    assert!(
        shown.contains("new") && shown.contains("settings.json") && shown.contains("SessionStart"),
        "{shown}"
    );
    assert!(!settings(&env).exists() && !env.state().join("manifests").exists());
}

#[test]
fn many_at_once_are_one() {
    let env = TestEnv::new();
    write_file(&settings(&env), FOREIGN.as_bytes());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| env.substrate(["hooks", "install"]).success());
        }
    });
    assert_eq!(json(&env)["hooks"]["PreToolUse"].as_array().unwrap().len(), 1);
    env.substrate(["hooks", "uninstall"]).success();
    assert_eq!(bytes(&settings(&env)), FOREIGN.as_bytes());
}

#[test]
fn a_crash_at_any_moment_loses_nothing() {
    let env = TestEnv::new();
    write_file(&settings(&env), FOREIGN.as_bytes());
    for round in 0..40 {
        let action = if round % 2 == 0 { "install" } else { "uninstall" };
        let mut child = env
            .command(bin("substrate"))
            .args(["hooks", action])
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(400 * (round % 23)));
        child.kill().unwrap();
        child.wait().unwrap();
        let text = String::from_utf8(bytes(&settings(&env))).unwrap();
        assert!(
            text.contains("say done") && serde_json::from_str::<Value>(&text).is_ok(),
            "round {round}: {text}"
        );
    }
    env.substrate(["hooks", "install"]).success();
    env.substrate(["hooks", "uninstall"]).success();
    assert_eq!(bytes(&settings(&env)), FOREIGN.as_bytes());
}

#[test]
fn an_installation_that_ended_before_its_last_write_can_be_undone() {
    let env = TestEnv::new();
    write_file(&settings(&env), b" ");
    env.substrate(["hooks", "install"]).success();
    write_file(&settings(&env), b" ");
    env.substrate(["hooks", "install"]).success();
    env.substrate(["hooks", "uninstall"]).success();
    assert_eq!(bytes(&settings(&env)), b" ");
}

#[test]
fn an_edit_during_an_installation_is_not_lost() {
    let env = TestEnv::new();
    for round in 0..25_u64 {
        write_file(&settings(&env), FOREIGN.as_bytes());
        let child = env
            .command(bin("substrate"))
            .args(["hooks", "install"])
            .stderr(std::process::Stdio::null())
            .spawn();
        std::thread::sleep(Duration::from_millis(round));
        let edited = String::from_utf8(bytes(&settings(&env)))
            .unwrap()
            .replace("\"opus\"", &format!("\"edit-{round}\""));
        let part = env.root().join("edited");
        write_file(&part, edited.as_bytes());
        std::fs::rename(&part, settings(&env)).unwrap();
        child.unwrap().wait().unwrap();
        assert_eq!(json(&env)["model"], format!("edit-{round}"));
        env.substrate(["hooks", "uninstall"]).success();
    }
}

#[test]
fn an_edited_script_stays_through_a_new_installation() {
    let env = TestEnv::new();
    env.substrate(["hooks", "install", "--scripts"]).success();
    let script = env.config().join("hooks/substrate/stop.sh");
    write_file(&script, b"#!/bin/sh\n# mine now\n");
    let again = env.substrate(["hooks", "install", "--scripts"]).code(0);
    assert!(again.stderr.contains("stop.sh: you edited it, so it stays"), "{}", again.stderr);
    assert_eq!(bytes(&script), b"#!/bin/sh\n# mine now\n");
}

/// Even through an uninstall, after which nothing remembers what was ours.
#[test]
fn an_edited_file_stays_whatever_comes_and_goes() {
    let env = TestEnv::new();
    let install = ["hooks", "install", "--scripts", "--profile", "reminders"];
    env.substrate(install).success();
    let edited: Vec<PathBuf> =
        ["hooks/scripts/remind-reflect.sh", "skills/reflect/SKILL.md", "hooks/substrate/stop.sh"]
            .iter()
            .map(|path| env.config().join(path))
            .collect();
    for path in &edited {
        let text = String::from_utf8(bytes(path)).unwrap();
        write_file(path, format!("{text}# mine: substrate-hook\n"));
    }
    for _ in 0..2 {
        let run = env.substrate(["hooks", "uninstall"]).code(0);
        let said = run.stderr.matches("you edited it, so it stays").count();
        let run = env.substrate(install).code(0);
        let kept = run.stderr.matches("it is not ours, so it stays as it is").count();
        assert!(matches!(said, 0 | 3) && kept == 3, "{said} {run}");
        for path in &edited {
            assert!(bytes(path).ends_with(b"# mine: substrate-hook\n"), "{}", path.display());
        }
    }
    env.substrate(["hooks", "uninstall"]).success();
    assert!(edited.iter().all(|path| path.exists()));
    assert!(!env.config().join("hooks/scripts/remind-validate.sh").exists());
}

#[test]
fn a_foreign_library_keeps_our_scripts_away() {
    let env = TestEnv::new();
    let library = env.config().join("hooks/scripts/lib/hook-utils.sh");
    let mine = env.config().join("hooks/scripts/inject-context.sh");
    write_file(&library, b"# mine\n");
    write_file(&mine, b"# calls substrate-hook\n");
    let run = env.substrate(["hooks", "install", "--scripts"]).code(0);
    let line = "remind-reflect.sh: not written, because `lib/hook-utils.sh` beside it is not ours";
    assert!(run.stderr.contains(line), "{run}");
    assert!(run.stderr.contains("inject-context.sh: it is not ours"), "{run}");
    assert!(!env.config().join("hooks/scripts/remind-reflect.sh").exists());
    env.substrate(["hooks", "uninstall"]).success();
    assert_eq!(
        (bytes(&library), bytes(&mine)),
        (b"# mine\n".to_vec(), b"# calls substrate-hook\n".to_vec())
    );
}

#[test]
fn every_edited_file_is_copied_before_it_changes() {
    let env = TestEnv::new();
    env.substrate(["hooks", "install"]).success();
    let mut edited = json(&env);
    edited["precious"] = Value::from(1);
    edited["hooks"].as_object_mut().unwrap().remove("Stop");
    write_file(&settings(&env), edited.to_string().as_bytes());
    env.substrate(["hooks", "install"]).success();
    let copies = std::fs::read_dir(env.state().join("backups/settings")).unwrap().flatten();
    assert!(
        copies
            .into_iter()
            .any(|copy| String::from_utf8_lossy(&bytes(&copy.path())).contains("precious"))
    );
}

#[test]
fn without_a_manifest_what_is_ours_is_recognised() {
    let env = TestEnv::new();
    write_file(&settings(&env), FOREIGN.as_bytes());
    env.substrate(["hooks", "install"]).success();
    std::fs::remove_dir_all(env.state()).unwrap();
    env.substrate(["hooks", "uninstall"]).success();
    assert_eq!(bytes(&settings(&env)), FOREIGN.as_bytes());
    assert!(!env.config().join("hooks/substrate").exists());
    // The same if another installation happens in between.
    env.substrate(["hooks", "install"]).success();
    std::fs::remove_dir_all(env.state()).unwrap();
    env.substrate(["hooks", "install"]).success();
    env.substrate(["hooks", "uninstall"]).success();
    assert_eq!(bytes(&settings(&env)), FOREIGN.as_bytes());
    assert!(!env.config().join("hooks/substrate").exists());
}

#[test]
fn what_another_scope_needs_stays() {
    let env = TestEnv::new();
    env.substrate(["hooks", "install", "--local"]).success();
    env.substrate(["hooks", "install", "--scripts"]).success();
    env.substrate(["hooks", "uninstall", "--local"]).success();
    assert!(env.config().join("hooks/substrate/stop.sh").exists());
    env.substrate(["hooks", "uninstall"]).success();
    assert!(!env.config().join("hooks").exists());
}

#[test]
fn a_dangling_link_stays_and_its_target_goes() {
    let env = TestEnv::new();
    let target = env.root().join("not-yet.json");
    std::os::unix::fs::symlink(&target, settings(&env)).unwrap();
    env.substrate(["hooks", "install"]).success();
    assert!(target.exists());
    env.substrate(["hooks", "uninstall"]).success();
    assert!(!target.exists() && settings(&env).is_symlink());
}

#[test]
fn one_scope_that_cannot_be_undone_does_not_keep_the_others() {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    env.substrate(["hooks", "install"]).success();
    env.substrate(["hooks", "install", "--project"]).success();
    write_file(&settings(&env), b"{,");
    env.substrate(["uninstall", "--delete-data", "--yes"]).code(1);
    assert!(!env.project().join(".claude/settings.json").exists());
    assert!(env.state().join("manifests").exists(), "what is known of the other is not deleted");
}

#[test]
fn the_scripts_can_be_tried_by_hand() {
    let env = TestEnv::new();
    env.substrate(["hooks", "install", "--scripts"]).success();
    let script = env.config().join("hooks/substrate/stop.sh");
    let command =
        json(&env)["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap().to_owned();
    assert!(command.contains("hooks/substrate/stop.sh"), "{command}");
    let line = format!("echo '{{\"session_id\": \"test-123\"}}' | '{}'", script.display());
    assert!(env.command("/bin/sh").args(["-c", &line]).status().unwrap().success());
    let entries = journal(&env);
    assert_eq!(told(&entries), ["Stop"]);
    assert_eq!(entries[0]["session"], "test-123");
    env.substrate(["hooks", "uninstall"]).success();
    assert!(!script.exists());
}

#[test]
fn the_projects_form_is_portable() {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    env.substrate(["hooks", "install", "--project", "--profile", "reminders"]).success();
    let file = env.project().join(".claude/settings.json");
    let text = String::from_utf8(bytes(&file)).unwrap();
    assert!(!text.contains(env.root().to_str().unwrap()), "no path of this machine: {text}");
    let json: Value = serde_json::from_str(&text).unwrap();
    let kinds: Vec<_> = json["hooks"]["Stop"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|group| group["hooks"].as_array().unwrap())
        .map(|hook| hook["type"].as_str().unwrap())
        .collect();
    assert!(kinds.contains(&"prompt") && kinds.contains(&"command"), "{kinds:?}");
    let command = json["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    let without =
        env.command("/bin/sh").args(["-c", command]).env("PATH", "/usr/bin:/bin").output().unwrap();
    assert!(
        without.status.success() && without.stdout.is_empty(),
        "nothing happens where it is not installed"
    );
    env.substrate(["hooks", "uninstall", "--project"]).success();
    assert!(
        !file.exists()
            && !env.project().join(".claude").exists()
            && !env.project().join(".substrate.toml").exists()
    );
}

#[test]
fn up_and_down_and_away() {
    let env = TestEnv::new();
    let up = env.substrate(["up", "--yes"]);
    assert!(
        up.stderr.contains("the hooks are registered") && up.stderr.contains("Try first:"),
        "{}",
        up.stderr
    );
    env.substrate(["daemon", "status"]).success();
    env.hook("SessionStart", plain("s1", "SessionStart")).success();
    assert!(env.state().join("identities/by-session/s1.json").exists());
    env.substrate(["down"]).success();
    env.substrate(["daemon", "status"]).code(3);
    env.substrate(["uninstall"]).success();
    assert!(!settings(&env).exists());
    assert!(env.state().join("subtrate.db").exists(), "data stays unless it is asked for");
    env.substrate(["uninstall", "--delete-data", "--yes"]).success();
    assert!(!env.state().exists());
}

#[test]
fn there_are_completions() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = env.substrate(["completions", shell, "--static"]).success();
        assert!(script.contains("journal"), "{shell}");
    }
}
