//! Commands as people type them: what a person at a terminal sees, and what a pipe gets.

use substrate_testkit::TestEnv;

use crate::house::{answered, bash, bytes, journal, plain, told};
use crate::pane::Pane;

#[test]
fn the_journal_shows_what_happened() {
    let env = TestEnv::new();
    env.hook("SessionStart", plain("aaaa-1", "SessionStart")).success();
    env.hook("PreToolUse", bash("aaaa-1", "ls -la")).success();
    env.hook("PreToolUse", bash("bbbb-2", "rm x")).success();
    env.hook("Stop", plain("aaaa-1", "Stop")).success();
    assert_eq!(
        told(&journal(&env)),
        ["SessionStart", "PreToolUse Bash", "PreToolUse Bash", "Stop"]
    );

    let only = |args: &[&str]| {
        env.substrate([&["journal", "list"], args].concat()).success().lines().count()
    };
    assert_eq!(only(&["--session", "aaaa"]), 3);
    assert_eq!(only(&["--session", "bbbb-2", "--tool", "Bash"]), 1);
    assert_eq!(only(&["--event", "Stop"]), 1);
    assert_eq!(only(&["--actor", "main", "-n", "2"]), 2);
    assert_eq!(only(&["--since", "1h"]), 4);
    let name = journal(&env)[0]["agent"].as_str().unwrap().to_owned();
    assert_eq!(only(&["--agent", &name]), 3);
    let list = env.substrate(["journal", "list", "--agent", &name]).success();
    assert!(list.lines().all(|line| line.contains(&name)), "{list}");
    for (filter, word, near) in [("--event", "Stpo", "`Stop`"), ("--tool", "Bsh", "`Bash`")] {
        let said = env.substrate(["journal", "list", filter, word]).code(1).stderr;
        assert!(said.contains(word) && said.matches(near).count() == 1, "{said}");
    }
    let said = env.substrate(["journal", "list", "--agent", &format!("{name}x")]).code(1).stderr;
    assert!(said.contains(&format!("`{name}`")), "{said}");
    assert_eq!(only(&["--verdict", "deny"]), 0);
    assert_eq!(
        env.substrate(["journal"]).success().lines().count(),
        4,
        "the group alone means `list`"
    );

    let shown = env.substrate(["journal", "show", "2"]).success();
    assert!(shown.contains("PreToolUse") && shown.contains("ls -la"), "{shown}");
    let stats = env.substrate(["journal", "stats"]).success();
    assert!(stats.contains("PreToolUse                    2"), "{stats}");
}

#[test]
fn secrets_do_not_reach_the_disk() {
    let env = TestEnv::new();
    let secret = format!("sk-{}-{}", "ant", "abcdefgh".repeat(4));
    env.hook("PreToolUse", bash("a", &format!("curl -H 'x-api-key: {secret}' host"))).success();
    env.substrate(["journal"]).success();
    env.substrate(["daemon", "stop"]).success();
    for file in std::fs::read_dir(env.state()).unwrap().flatten() {
        if file.file_type().unwrap().is_file() {
            let bytes = std::fs::read(file.path()).unwrap();
            assert!(
                !bytes.windows(20).any(|part| part == &secret.as_bytes()[..20]),
                "{}",
                file.path().display()
            );
        }
    }
}

#[test]
fn what_goes_wrong_is_told_with_a_hint_and_an_exit_code() {
    let env = TestEnv::new();
    let missing = env.substrate(["journal", "show", "7"]).code(1);
    assert_eq!(
        missing.stderr,
        "error: there is no entry 7\nhint: `substrate journal list` shows the newest entries\n"
    );
    let wrong = env.substrate(["journal", "list", "--since", "soon"]).code(1);
    assert!(wrong.stderr.contains("`soon` is not a duration"), "{}", wrong.stderr);
    let usage = env.substrate(["jurnal"]).code(2);
    assert!(usage.stderr.contains("journal"), "a near miss is suggested: {}", usage.stderr);
    env.substrate(["journal", "list", "--limit", "0"]).code(2);
}

#[test]
fn the_database_can_be_found_checked_and_copied() {
    let env = TestEnv::new();
    let path = env.substrate(["db", "path"]).success();
    assert_eq!(path.trim(), env.state().join("subtrate.db").display().to_string());
    env.substrate(["db", "backup"]).code(1);
    env.hook("Stop", plain("a", "Stop")).success();
    assert!(env.substrate(["db", "check"]).success().starts_with("ok: "));
    let copy = env.root().join("copy.db");
    env.substrate(["db", "backup", copy.to_str().unwrap()]).success();
    assert!(copy.metadata().unwrap().len() > 4096);
    env.substrate(["db", "backup", copy.to_str().unwrap()]).code(4);
}

#[test]
fn a_follower_sees_what_comes() {
    let env = TestEnv::new();
    env.hook("SessionStart", plain("a", "SessionStart")).success();
    let mut command = env.command(substrate_testkit::bin("substrate"));
    command.args(["journal", "tail", "--format", "json"]).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    assert!(lines.next().unwrap().unwrap().contains("SessionStart"));
    env.hook("Stop", plain("a", "Stop")).success();
    assert!(lines.next().unwrap().unwrap().contains("\"Stop\""));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_people_type_is_understood() {
    let env = TestEnv::new();
    assert!(env.substrate(["version"]).success().starts_with("substrate "));
    env.substrate(["send", "User", "see you\nat noon"]).success();
    let inbox = env.substrate(["inbox"]).success();
    assert!(inbox.contains("see you"), "{inbox}");
    env.substrate(["reply", "1", "at one"]).success();
    assert!(env.substrate(["read", "2"]).success().contains("at one"));
    let said = env.substrate(["reply", "1", "--body", " "]).code(1).stderr;
    assert!(said.contains("the text is empty"), "{said}");
}

#[test]
fn durations_and_sizes_are_printed_as_people_write_them() {
    let env = TestEnv::new();
    let get = |key: &str| env.substrate(["config", "get", key]).success();
    assert_eq!(get("journal.max_age"), "\"14d\"\n");
    env.substrate(["config", "set", "journal.max_age", "36h"]).success();
    assert_eq!(get("journal.max_age"), "\"1d12h\"\n");
    env.substrate(["config", "set", "journal.max_size", "64MB"]).success();
    assert_eq!(get("journal.max_size"), "\"64MB\"\n");
    let list = env.substrate(["config"]).success();
    assert!(list.contains("= \"64MB\" "), "{list}");
    let json = env.substrate(["config", "get", "journal.max_size", "--format", "json"]).success();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["value"], &json["written"]), (&(64 << 20).into(), &"64MB".into()));
    env.hook("Stop", plain("a", "Stop")).success();
    let shown = env.substrate(["journal", "show", "1"]).success();
    let line = |name: &str| {
        let found = shown.lines().find(|line| line.starts_with(name));
        found.unwrap_or_else(|| panic!("{name}: {shown}")).to_owned()
    };
    assert!(line("cost").contains("µs by") || line("cost").contains("ms by"), "{shown}");
    assert!(line("payload").ends_with(" B"), "{shown}");
    // A feature is named only where it took a millisecond or more.
    let is_plain = |line: &str| !line.starts_with("per feature") || !line.contains('[');
    assert!(shown.lines().all(is_plain), "{shown}");
}

#[test]
fn an_agent_with_unread_mail_is_deleted_only_after_confirmation() {
    let env = TestEnv::new();
    let begin = |session: &str, agent: &str| {
        let start =
            env.hook_with("SessionStart", plain(session, "SessionStart"), &[("AGENT_ID", agent)]);
        let _context = start.code(0);
        env.hook("SessionEnd", plain(session, "SessionEnd")).success();
    };
    begin("s1", "Lead");
    env.substrate(["send", "Lead", "the door is open"]).success();
    let refused = env.substrate(["agent", "delete", "Lead"]).code(1);
    assert_eq!(
        refused.stderr,
        "error: Lead has 1 unread message, which would be lost\n\
         hint: `substrate inbox --agent Lead --peek` shows the mail; `substrate agent delete Lead --yes` deletes it too\n"
    );
    let peek = env.substrate(["inbox", "--agent", "Lead", "--peek"]).success();
    assert!(peek.contains("the door is open"), "the hint works: {peek}");
    let (code, told) = answered(&env, &["agent", "delete", "Lead"], "n");
    assert!(code == 1 && told.contains("nothing was changed"), "{told}");
    let (code, told) = answered(&env, &["agent", "delete", "Lead"], "y");
    assert!(told.contains("Lead has 1 unread message. Delete Lead anyway? [y/N]"), "{told}");
    assert!(code == 0 && told.contains("Deleted Lead. Its name is free again."), "{told}");
    begin("s2", "Other");
    env.substrate(["send", "Other", "x"]).success();
    env.substrate(["agent", "delete", "Other", "--yes"]).success();
    begin("s3", "Third");
    env.substrate(["agent", "delete", "Third"]).success();
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let env = TestEnv::new();
    let nowhere = env.root().join("nowhere");
    let nowhere = nowhere.to_str().unwrap();
    let said = env.substrate(["--project-dir", nowhere, "inbox"]).code(1).stderr;
    assert!(said.contains("there is no folder"), "{said}");
    env.substrate(["send", "User", "x"]).success();
    let file = format!("{nowhere}/copy.db");
    let said = env.substrate(["db", "backup", &file]).code(1).stderr;
    assert!(said.contains("there is no folder"), "{said}");
    assert!(!std::path::Path::new(nowhere).exists());
}

#[test]
fn one_setting_is_changed_and_the_rest_of_the_file_stays() {
    let env = TestEnv::new();
    let file = env.state().join("config.toml");
    substrate_testkit::write_file(&file, b"# mine\nlocks.mirror = false # not yet\n");
    env.substrate(["config", "set", "locks.mirror", "true"]).success();
    assert_eq!(bytes(&file), b"# mine\nlocks.mirror = true # not yet\n");
    assert_eq!(env.substrate(["config", "get", "locks.mirror"]).success(), "true\n");
    for (key, value, message) in [
        ("locks.miror", "true", "did you mean `locks.mirror`?"),
        ("locks.mirror", "perhaps", "must be"),
        ("journal.max_age", "soon", "must be"),
    ] {
        let said = env.substrate(["config", "set", key, value]).code(1).stderr;
        assert!(said.contains(message), "{said}");
    }
    assert_eq!(bytes(&file), b"# mine\nlocks.mirror = true # not yet\n");
}

/// Runs a line on an empty screen and waits for its end.
fn typed(pane: &Pane<'_>, line: &str, end: &str) {
    pane.line(&format!("clear; {line}; echo {end}"));
    pane.wait(end);
}

#[test]
fn long_lists_go_through_a_pager_on_a_terminal_only() {
    let env = TestEnv::new();
    let pane = Pane::start(&env);
    pane.line("export PAGER='sed s/^/paged:/'");
    typed(&pane, "substrate config list", "end-1");
    assert!(pane.screen().contains("paged:"), "{}", pane.screen());
    typed(&pane, "substrate config list | tail -1", "end-2");
    assert!(!pane.screen().contains("paged:"), "{}", pane.screen());
    typed(&pane, "substrate db path", "end-3");
    assert!(!pane.screen().contains("paged:"), "it fits: {}", pane.screen());
    typed(&pane, "PAGER=no-such-pager substrate config list 2>/dev/null", "end-4");
    assert!(pane.screen().contains("# default"), "it is printed then: {}", pane.screen());
}

#[test]
fn colours_are_for_terminals_and_not_with_no_color() {
    let env = TestEnv::new();
    let pane = Pane::start(&env);
    for (n, (line, coloured)) in [
        ("substrate read x", true),
        ("NO_COLOR=1 substrate read x", false),
        ("TERM=dumb substrate read x", false),
        ("substrate read x 2>&1 | cat", false),
        ("substrate --help", true),
        ("NO_COLOR=1 substrate --help", false),
        ("substrate --help | cat", false),
    ]
    .into_iter()
    .enumerate()
    {
        typed(&pane, line, &format!("end-{n}"));
        assert_eq!(pane.colours().contains("\u{1b}["), coloured, "{line}: {}", pane.colours());
    }
}
