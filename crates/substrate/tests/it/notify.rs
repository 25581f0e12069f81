//! Notifications with real programs: told once, together, without a shell, and never in the way.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use substrate_testkit::{TestEnv, wait_until, write_file};

use crate::house::{SOON, configure};

/// A program that appends each of its arguments to `args`, and its input as a line to `input`.
fn script(env: &TestEnv, name: &str, more: &str) -> PathBuf {
    let file = env.root().join("bin").join(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let root = env.root().display();
    let text = format!(
        "#!/bin/sh\nfor arg; do printf '%s\\n' \"$arg\" >> {root}/args; done\ncat >> {root}/input\necho >> {root}/input\n{more}\n"
    );
    write_file(&file, text);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    file
}

fn notifying(env: &TestEnv, program: &Path) {
    let program = program.display();
    configure(env, &format!("[notify]\ncommand = [\"{program}\", \"--mine\"]\nafter = \"2s\"\n"));
    env.substrate(["daemon", "start"]).success();
}

fn lines(env: &TestEnv, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(env.root().join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The ids of the rows of each notification.
fn told(env: &TestEnv) -> Vec<Vec<String>> {
    let ids = |line: &String| -> Vec<String> {
        let json: Value = serde_json::from_str(line).unwrap();
        let needs = json["needs"].as_array().unwrap();
        let mut ids: Vec<String> =
            needs.iter().map(|need| need["id"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    };
    lines(env, "input").iter().map(ids).collect()
}

fn status(env: &TestEnv) -> Value {
    let out = env.substrate(["notify", "status", "--format", "json"]).success();
    serde_json::from_str(&out).unwrap()
}

#[test]
fn what_waits_is_told_once_even_after_a_restart_and_no_shell_reads_it() {
    let env = TestEnv::new();
    notifying(&env, &script(&env, "mine", ""));
    let hostile = "$(touch pwned) `touch pwned`; touch pwned \u{1b}]0;x\u{7}";
    env.substrate(["send", "User", hostile]).success();
    wait_until(SOON, "a notification", || !lines(&env, "input").is_empty());
    wait_until(SOON, "its outcome", || status(&env)["sent"][0]["done"] == true);
    let args = lines(&env, "args");
    assert_eq!((args.len(), args[0].as_str()), (3, "--mine"), "{args:?}");
    assert!(args[1].starts_with("User: #1 $(touch pwned)"), "{args:?}");
    assert!(
        args[2].starts_with("$(touch pwned) `touch pwned`") && !args[2].contains('\u{1b}'),
        "{args:?}"
    );
    // The next daemon knows what was told. What the user has read by then is not told at all.
    env.substrate(["daemon", "restart"]).success();
    env.substrate(["send", "User", "read at once"]).success();
    env.substrate(["inbox"]).success();
    env.substrate(["send", "User", "second"]).success();
    env.substrate(["send", "User", "third"]).success();
    wait_until(SOON, "the next notification", || lines(&env, "input").len() > 1);
    let told = told(&env);
    let expected = [vec!["mail:1".to_owned()], vec!["mail:3".to_owned(), "mail:4".to_owned()]];
    assert_eq!(told, expected, "two came together");
    assert!(!env.root().join("pwned").exists() && !env.project().join("pwned").exists());
}

#[test]
fn a_program_that_hangs_is_killed_with_its_children_and_delays_nothing() {
    let env = TestEnv::new();
    let pids = env.root().join("pids");
    let hang = format!("sleep 600 & echo $! $$ > {}\nwait", pids.display());
    notifying(&env, &script(&env, "hangs", &hang));
    env.substrate(["send", "User", "first"]).success();
    wait_until(SOON, "the program", || pids.exists() && lines(&env, "pids").len() == 1);
    // Commands and events go on meanwhile.
    let begun = Instant::now();
    env.substrate(["work", "add", "something"]).success();
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    wait_until(SOON, "its end", || !status(&env)["sent"][0]["error"].is_null());
    let error = status(&env)["sent"][0]["error"].as_str().unwrap().to_owned();
    assert!(error.contains("did not end within 10 s, and was killed"), "{error}");
    for pid in lines(&env, "pids")[0].split(' ') {
        let stat = format!("/proc/{pid}/stat");
        wait_until(SOON, "the processes are gone", || {
            std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z"))
        });
    }
    let doctor = env.substrate(["doctor"]);
    assert!(
        doctor.stdout.contains("the last notification") && doctor.stdout.contains("was killed"),
        "{}",
        doctor.stdout
    );
}

#[test]
fn the_desktop_is_told_by_its_own_program() {
    let env = TestEnv::new();
    let folder = script(&env, "notify-send", "").parent().unwrap().to_owned();
    let vars = env.vars();
    let path = vars.iter().find(|(name, _)| name == "PATH").map_or("", |(_, path)| path);
    let path = format!("{}:{path}", folder.display());
    let off = env.substrate(["notify", "test"]).code(1).stderr;
    assert!(off.contains("notifications are off"), "{off}");
    configure(&env, "[notify]\ndesktop = true\n");
    env.substrate(["daemon", "stop"]).success();
    env.substrate_with(["daemon", "start"], &[("PATH", path.as_str())]).success();
    assert_eq!(env.substrate(["notify", "test"]).success(), "desktop: told\n");
    let args = lines(&env, "args");
    assert_eq!(args[..2], ["--app-name=Substrate", "--"]);
    assert_eq!(args[2], "Substrate: this is a test");
    script(&env, "notify-send", "echo no bus here >&2; exit 1");
    let failed = env.substrate(["notify", "test"]).code(1);
    assert!(failed.stdout.contains("no bus here"), "{}", failed.stdout);
}

#[test]
fn a_project_can_not_name_a_program() {
    let env = TestEnv::new();
    script(&env, "evil", "");
    let evil = env.root().join("bin/evil");
    write_file(
        &env.project().join(".substrate.toml"),
        format!("[notify]\ncommand = [\"{}\"]\ndesktop = true\n", evil.display()),
    );
    env.substrate(["daemon", "start"]).success();
    let said = env.substrate(["notify", "status"]).success();
    assert!(said.contains("Notifications are off"), "{said}");
    let said = env.substrate(["notify", "test"]).code(1).stderr;
    assert!(said.contains("notifications are off"), "{said}");
}
