//! Scratchpads through the real hook and the real commands, with real files.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use substrate_testkit::{TestEnv, write_file};

use crate::house::configure;

const ON: &str = "profile = \"scratchpad\"\n[persist]\nmode = \"off\"\n";

const ALL: &str = "## What I did\nit\n## Cross-agent observations\nnone\n## Unresolved\nnone\n";

fn env(more: &str) -> TestEnv {
    let env = TestEnv::new();
    configure(&env, &format!("{ON}{more}"));
    env
}

/// What the client is answered.
fn answer(env: &TestEnv, event: &str, payload: &Value) -> Value {
    let out = env.hook(event, payload).success();
    if out.is_empty() { Value::Null } else { serde_json::from_str(&out).unwrap() }
}

fn context(answer: &Value) -> &str {
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default()
}

/// The path that a reason names.
fn named(answer: &Value) -> String {
    assert_eq!(answer["decision"], "block", "{answer}");
    let reason = answer["reason"].as_str().unwrap();
    let (_, rest) = reason.split_once("Write to ").unwrap();
    rest.split_once(" with ").or_else(|| rest.split_once(" before ")).unwrap().0.to_owned()
}

fn of(env: &TestEnv, more: &Value) -> Value {
    let mut payload = json!({"session_id": "s1", "cwd": env.project()});
    for (name, value) in more.as_object().unwrap() {
        payload[name] = value.clone();
    }
    payload
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { out.extend(files(&path)) } else { out.push(path) }
    }
    out.sort();
    out
}

#[test]
fn the_chain_from_start_to_stop_with_and_without_a_daemon() {
    for more in ["", "[daemon]\nautostart = false\n"] {
        let env = env(more);
        let writer = json!({"agent_id": "a1", "agent_type": "spec-writer"});
        assert_eq!(
            context(&answer(&env, "SessionStart", &of(&env, &json!({"source": "startup"}))))
                .matches("scratchpad")
                .count(),
            0
        );
        let started = answer(&env, "SubagentStart", &of(&env, &writer));
        let held = answer(&env, "SubagentStop", &of(&env, &writer));
        let path = named(&held);
        assert!(path.starts_with(".claude/scratchpad/spec-writer/20"), "{path}");
        assert!(context(&started).contains(&format!("Your scratchpad is {path}. ")), "{started}");

        write_file(&env.project().join(&path), "## What I did\n## Unresolved\n");
        let held = answer(&env, "SubagentStop", &of(&env, &writer));
        let reason = held["reason"].as_str().unwrap();
        let (first, ending) = reason.split_once('\n').unwrap();
        assert!(first.ends_with("It lacks \"## Cross-agent observations\"."), "{reason}");
        assert!(ending.contains("repeat your complete final answer"), "{reason}");
        write_file(&env.project().join(&path), ALL);
        assert_eq!(answer(&env, "SubagentStop", &of(&env, &writer)), Value::Null);

        let path = named(&answer(&env, "Stop", &of(&env, &json!({}))));
        assert!(path.starts_with(".claude/scratchpad/coordinator/20"), "{path}");
        let other = of(&env, &json!({"session_id": "s2"}));
        assert_eq!(answer(&env, "Stop", &other), Value::Null, "it did not delegate");
        write_file(&env.project().join(&path), "we shipped it\n");
        assert_eq!(answer(&env, "Stop", &of(&env, &json!({}))), Value::Null);

        let fresh = of(&env, &json!({"session_id": "s3", "source": "startup"}));
        let told = answer(&env, "SessionStart", &fresh);
        assert!(context(&told).contains("scratchpad of coordinator"), "{told}");
        assert!(context(&told).contains("\n> we shipped it"), "{told}");
        let resumed = of(&env, &json!({"session_id": "s3", "source": "resume"}));
        assert!(!context(&answer(&env, "SessionStart", &resumed)).contains("shipped"));
    }
}

/// The protocol's own examples, as they are typed by hand.
#[test]
fn a_hook_that_is_tried_by_hand_answers_as_the_protocol_says() {
    let env = env("");
    let writer = json!({"agent_type": "spec-writer"});
    let told = answer(&env, "SubagentStart", &writer);
    assert_eq!(told["hookSpecificOutput"]["hookEventName"], "SubagentStart");
    let held = answer(&env, "SubagentStop", &writer);
    let path = named(&held);
    let expected = format!(
        "Scratchpad missing or incomplete. Write to {path} with all three required sections before completing."
    );
    assert!(held["reason"].as_str().unwrap().starts_with(&expected), "{held}");
    write_file(&env.project().join(&path), ALL);
    assert_eq!(answer(&env, "SubagentStop", &writer), Value::Null);
    assert_eq!(answer(&env, "Stop", &json!({})), Value::Null);
}

#[test]
fn hostile_names_write_nothing_anywhere_and_the_session_goes_on() {
    let long = "x".repeat(10_000);
    for hostile in ["../../x", "/etc/cron.d/x", "a\nb", &long, "..", "\u{202e}\u{1f600}"] {
        let env = env("");
        let outside = |env: &TestEnv| {
            let state = env.state();
            let all = files(env.root());
            all.into_iter().filter(|path| !path.starts_with(&state)).collect::<Vec<_>>()
        };
        let before = outside(&env);
        let payload =
            of(&env, &json!({"session_id": hostile, "agent_id": hostile, "agent_type": hostile}));
        let main = of(&env, &json!({"session_id": hostile, "source": "startup"}));
        answer(&env, "SessionStart", &main);
        answer(&env, "SubagentStart", &payload);
        let path = named(&answer(&env, "SubagentStop", &payload));
        assert!(path.starts_with(".claude/scratchpad/"), "{path}");
        assert_eq!(path.matches('/').count(), 3, "{path}");
        assert_eq!(outside(&env), before, "hooks write nothing into a project");
        write_file(&env.project().join(&path), ALL);
        assert_eq!(answer(&env, "SubagentStop", &payload), Value::Null);
        assert!(named(&answer(&env, "Stop", &main)).contains("/coordinator/"));
        env.substrate(["scratchpad", "init", "--", hostile]).code(1);
        assert_eq!(files(&env.project()).len(), 1, "the same folder, and nothing else");
    }
}

#[test]
fn what_is_not_a_readable_file_holds_no_agent() {
    let env = env("");
    let writer = of(&env, &json!({"agent_id": "a1", "agent_type": "w"}));
    let path = env.project().join(named(&answer(&env, "SubagentStop", &writer)));
    std::fs::create_dir_all(&path).unwrap();
    let held = answer(&env, "SubagentStop", &writer);
    assert!(held["reason"].as_str().unwrap().contains("A folder stands in its place"), "{held}");
    std::fs::remove_dir(&path).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    assert_eq!(answer(&env, "SubagentStop", &writer), Value::Null);
    let start = of(&env, &json!({"source": "startup"}));
    let coordinator = env.project().join(".claude/scratchpad/coordinator/2026-01-01.md");
    write_file(&coordinator, "");
    std::fs::remove_file(&coordinator).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &coordinator).unwrap();
    let told = answer(&env, "SessionStart", &start);
    assert!(!told.to_string().contains("root:"), "no link is followed: {told}");
}

#[test]
fn a_person_begins_checks_and_reads_scratchpads() {
    let env = TestEnv::new();
    let path = env.substrate(["scratchpad", "path", "writer"]).success();
    let path = path.trim_end();
    let expected = env.project().join(".claude/scratchpad/writer/").display().to_string();
    assert!(path.starts_with(&expected), "{path}");
    assert!(env.substrate(["scratchpad"]).success().starts_with("No agent has written"));
    let none = env.substrate(["scratchpad", "show", "writer"]).code(1);
    assert!(none.stderr.contains("`substrate scratchpad init writer`"), "{none}");
    let none = env.substrate(["scratchpad", "check", "writer"]).code(1);
    assert!(none.stderr.contains(&format!("{path} does not exist")), "{none}");

    env.substrate(["scratchpad", "init", "writer"]).success();
    let begun = std::fs::read_to_string(path).unwrap();
    assert!(begun.contains("\n## What I did\n\n\n## Cross-agent observations\n"), "{begun}");
    let untouched = env.substrate(["scratchpad", "check", "writer"]).code(1);
    assert!(untouched.stderr.contains("lacks: words under its headings"), "{untouched}");
    write_file(Path::new(path), format!("{begun}none\n"));
    let said = env.substrate(["scratchpad", "check", "writer"]).success();
    assert_eq!(said, format!("complete: {path}\n"));
    write_file(Path::new(path), "## What I did\n\u{1b}[2Jmine\n");
    let again = env.substrate(["scratchpad", "init", "writer"]).code(1);
    assert!(again.stderr.contains("exists already"), "{again}");
    let lacks = env.substrate(["scratchpad", "check", "writer", "--format", "json"]).code(1);
    let lacks: Value = serde_json::from_str(&lacks.stdout).unwrap();
    assert_eq!(lacks["lacks"], json!(["Cross-agent observations", "Unresolved"]));
    let shown = env.substrate(["scratchpad", "show", "writer"]).success();
    assert_eq!(shown, format!("{path}\n\n## What I did\n [2Jmine\n"), "and no escapes");

    env.substrate(["scratchpad", "check"]).code(1);
    let coordinator = env.substrate(["scratchpad", "path"]).success();
    write_file(Path::new(coordinator.trim_end()), "a plan\n");
    env.substrate(["scratchpad", "check"]).success();
    let overview = env.substrate(["scratchpad"]).success();
    assert!(overview.contains(":\n> a plan\n"), "{overview}");
    assert!(overview.ends_with(": coordinator, writer\n"), "{overview}");
}

/// The client drops what is said when a subagent ends.
#[test]
fn what_was_not_checked_is_told_at_the_end_of_the_turn() {
    let env = env("");
    let writer = of(&env, &json!({"agent_id": "a1", "agent_type": "w"}));
    answer(&env, "SubagentStart", &writer);
    let path = env.project().join(named(&answer(&env, "SubagentStop", &writer)));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(env.command("mkfifo").arg(&path).status().unwrap().success());
    answer(&env, "SubagentStop", &writer);
    let told = answer(&env, "Stop", &of(&env, &json!({})));
    let said = told["systemMessage"].as_str().unwrap_or_default();
    assert!(said.contains("subagent w: the scratchpad was not checked"), "{told}");
    let again = answer(&env, "Stop", &of(&env, &json!({"stop_hook_active": true})));
    assert!(!again.to_string().contains("not checked"), "{again}");
}

/// An agent type does not set the acting agent.
#[test]
fn a_typed_name_is_a_type_and_not_the_acting_agent() {
    let env = TestEnv::new();
    let path = env.substrate(["scratchpad", "path", "unknown-name"]).success();
    assert!(path.contains("/scratchpad/unknown-name/"), "{path}");
    let acts = env.substrate(["scratchpad", "path", "w", "--agent", "unknown-name"]);
    let plain = env.substrate(["scratchpad", "path", "w"]).success();
    assert!(plain.contains("/scratchpad/w/") && !acts.stdout.contains("unknown-name"), "{acts}");
}

#[test]
fn a_long_scratchpad_is_read_from_its_beginning() {
    let env = env("");
    let writer = of(&env, &json!({"agent_id": "a1", "agent_type": "w"}));
    answer(&env, "SubagentStart", &writer);
    let path = env.project().join(named(&answer(&env, "SubagentStop", &writer)));
    write_file(&path, format!("{ALL}{}", "more and more\n".repeat(20_000)));
    assert_eq!(answer(&env, "SubagentStop", &writer), Value::Null);
}

/// The daemon was started in a time zone 24 hours away, where it is the day before or after.
#[test]
fn a_file_of_the_agents_own_day_counts() {
    for (daemon, agent) in [("AAA-12", "BBB12"), ("BBB12", "AAA-12")] {
        let env = env("");
        env.substrate_with(["daemon", "start"], &[("TZ", daemon)]).success();
        let writer = of(&env, &json!({"agent_id": "a1", "agent_type": "w"}));
        answer(&env, "SubagentStart", &writer);
        let path = env.substrate_with(["scratchpad", "path", "w"], &[("TZ", agent)]).success();
        let told = named(&answer(&env, "SubagentStop", &writer));
        assert!(!path.trim_end().ends_with(&told), "another day: {path}");
        write_file(Path::new(path.trim_end()), ALL);
        assert_eq!(answer(&env, "SubagentStop", &writer), Value::Null);
        env.substrate_with(["scratchpad", "check", "w"], &[("TZ", daemon)]).success();
    }
}

#[test]
fn a_day_is_what_the_users_clock_says_for_hooks_daemon_and_commands() {
    let mut days = Vec::new();
    // 25 hours apart: never the same day.
    for zone in ["AAA-14", "BBB11"] {
        let (env, zone) = (env(""), [("TZ", zone)]);
        let path = env.substrate_with(["scratchpad", "path", "w"], &zone).success();
        env.substrate(["daemon", "stop"]).success();
        for starts_daemon in [false, true] {
            if starts_daemon {
                env.substrate_with(["daemon", "start"], &zone).success();
            }
            let held = env.hook_with("SubagentStop", json!({"agent_type": "w"}), &zone).success();
            let named = named(&serde_json::from_str(&held).unwrap());
            assert!(path.trim_end().ends_with(&named), "{named} is not {path}");
        }
        days.push(path.trim_end().rsplit_once('/').unwrap().1.to_owned());
    }
    assert_ne!(days[0], days[1]);
}
