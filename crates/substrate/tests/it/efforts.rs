//! An effort from its beginning to its end, as a transcript: commands, hooks, and the files that are left.

use std::io::{Seek as _, SeekFrom, Write as _};

use serde_json::{Value, json};
use substrate_testkit::{Run, Running, TestEnv, bin, write_file};

use crate::house::{SOON, configure};

/// A repository with a skill, and the session `s1` in it.
fn house() -> TestEnv {
    house_with("")
}

fn house_with(settings: &str) -> TestEnv {
    let env = TestEnv::new();
    configure(&env, &format!("profile = \"engine\"\n{settings}"));
    let put = |path: &str, text: &str| {
        let file = env.project().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        write_file(&file, text.as_bytes());
    };
    std::fs::create_dir(env.project().join(".git")).unwrap();
    put(".claude/skills/brainstorm/SKILL.md", "---\nname: brainstorm\n---\n");
    put(
        ".claude/skills/brainstorm/effort.toml",
        "phases = [\"explore\", \"choose\"]\npreload = [\"docs/guide.md\"]\n[templates]\nplan = \"plan.md\"\n",
    );
    put(".claude/skills/brainstorm/plan.md", "# The plan\n");
    put("docs/guide.md", "Doors before windows.\n");
    put("src/AGENTS.md", "Only tabs.\n");
    put("src/a.txt", "one\n");
    hook(&env, "SessionStart", &json!({"source": "startup"})).success();
    env
}

fn payload(env: &TestEnv, event: &str, more: &Value) -> Value {
    let mut out = json!({
        "session_id": "s1", "hook_event_name": event, "cwd": env.project(),
        "transcript_path": env.root().join("s1.jsonl"),
    });
    out.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    out
}

fn hook(env: &TestEnv, event: &str, more: &Value) -> Run {
    env.hook(event, payload(env, event, more))
}

fn glob(env: &TestEnv) -> String {
    let more = json!({"tool_name": "Glob", "tool_input": {"pattern": "*"}, "tool_use_id": "t"});
    hook(env, "PreToolUse", &more).success()
}

/// As the session's own shell runs it.
fn effort(env: &TestEnv, args: &[&str]) -> Run {
    let vars = [("CLAUDE_SESSION_ID", "s1"), ("CLAUDECODE", "1")];
    env.substrate_with([&["effort"], args].concat(), &vars)
}

fn text(env: &TestEnv, path: &str) -> String {
    std::fs::read_to_string(env.project().join(path)).unwrap_or_default()
}

#[test]
fn an_effort_from_its_beginning_to_its_end() {
    let env = house();
    let begun = effort(&env, &["start", "brainstorm", "--task", "tasks/login"]).success();
    assert!(begun.starts_with("Effort 1 has begun.\nYou are working on effort 1: skill `brainstorm`, phase `explore` (explore → choose)."), "{begun}");
    assert_eq!(text(&env, "tasks/login/1_BRAINSTORM_LOG.md"), "# brainstorm · tasks/login\n\n");
    assert_eq!(text(&env, "tasks/login/1_BRAINSTORM_PLAN.md"), "# The plan\n");

    let first = glob(&env);
    assert!(first.contains("Doors before windows."), "{first}");
    let quiet = (2..=9).map(|_| glob(&env)).collect::<String>();
    assert!(!quiet.contains("deny") && quiet.contains("7 tool calls of effort 1"), "{quiet}");
    let refused = glob(&env);
    assert!(refused.contains("\"deny\"") && refused.contains("substrate effort log"), "{refused}");
    assert_eq!(
        effort(&env, &["log", "two doors, one window"]).success(),
        "Logged in `tasks/login/1_BRAINSTORM_LOG.md`.\n"
    );
    assert_eq!(glob(&env), "");
    let log = text(&env, "tasks/login/1_BRAINSTORM_LOG.md");
    assert!(log.contains("· explore\n\ntwo doors, one window\n"), "{log}");

    effort(&env, &["phase"]).success();
    effort(&env, &["dehydrate", "Goal: the door on the left."]).success();
    let compacted = hook(&env, "SessionStart", &json!({"source": "compact"})).success();
    assert!(compacted.contains("> Goal: the door on the left."), "{compacted}");
    let cleared = hook(&env, "SessionStart", &json!({"source": "clear"})).success();
    assert!(
        !cleared.contains("Goal") && cleared.contains("Read `tasks/login/1_BRAINSTORM_LOG.md`"),
        "{cleared}"
    );

    let shown: Value =
        serde_json::from_str(&effort(&env, &["show", "--format", "json"]).success()).unwrap();
    assert_eq!(
        (&shown["effort"]["phase"], shown["windows"].as_array().unwrap().len()),
        (&json!("choose"), 3)
    );
    assert_eq!(effort(&env, &["finish"]).success(), "Effort 1 (brainstorm) is finished.\n");
    let again = effort(&env, &["log", "more"]).code(1);
    assert!(again.stderr.contains("has no effort"), "{}", again.stderr);
    let outside = effort(&env, &["start", "brainstorm", "--task", "../elsewhere"]).code(1);
    assert!(outside.stderr.contains("can't be a task's folder"), "{}", outside.stderr);
    let tasks = env.substrate(["task", "list"]).success();
    assert!(tasks.starts_with("tasks/login") && tasks.contains("dormant"), "{tasks}");
}

/// What a hook prints for a session without an agent's name in its surroundings.
fn hook_of(env: &TestEnv, session: &str, event: &str, more: &Value) -> String {
    let mut body = payload(env, event, more);
    body["session_id"] = json!(session);
    env.hook(event, body).success()
}

#[test]
fn a_skill_is_run_and_the_next_session_takes_its_effort() {
    let env = house();
    let used = |name: &str, prompt: &str| {
        let more = json!({"command_name": name, "expansion_type": "slash_command", "command_args": "",
            "prompt": format!("/{name}"), "prompt_id": prompt});
        hook_of(&env, "s1", "UserPromptExpansion", &more)
    };
    assert_eq!(used("greet", "p0"), "", "any other command");
    let begun = used("brainstorm", "p1");
    assert!(begun.contains("Effort 1 has begun: skill `brainstorm`, phase `explore`"), "{begun}");
    assert!(!begun.contains("\\n"), "one line: {begun}");
    let task = std::fs::read_dir(env.project().join("tasks")).unwrap().flatten().next().unwrap();
    let plan = task.path().join("1_BRAINSTORM_PLAN.md");
    assert_eq!(std::fs::read_to_string(plan).unwrap(), "# The plan\n");
    assert_eq!(used("brainstorm", "p1"), "", "the same use");
    assert!(used("brainstorm", "p2").contains("Ask the user whether to continue it"));
    assert!(glob(&env).contains("Doors before windows."), "it is counted, and has its files");

    effort(&env, &["dehydrate", "Goal: the door on the left."]).success();
    let start =
        |session: &str| hook_of(&env, session, "SessionStart", &json!({"source": "startup"}));
    assert_eq!(start("s2").matches("ffort").count(), 0, "its agent is there");
    hook_of(&env, "s1", "SessionEnd", &json!({"reason": "other"}));
    for session in ["s3", "s4"] {
        let offered = start(session);
        assert!(offered.contains("Unfinished here: effort 1 of skill `brainstorm`"), "{offered}");
    }
    let resume = |session: &str| {
        let vars = [("CLAUDE_SESSION_ID", session), ("CLAUDECODE", "1")];
        env.substrate_with(["effort", "resume", "1"], &vars)
    };
    resume("s3").success();
    let refused = resume("s4").code(1);
    assert!(refused.stderr.contains("is running and works on effort 1"), "{refused}");
    let more = json!({"tool_name": "Bash", "tool_input": {"command": "true"}, "tool_response": {}, "tool_use_id": "t"});
    let told = hook_of(&env, "s3", "PostToolUse", &more);
    assert!(told.contains("> Goal: the door on the left."), "{told}");
}

#[test]
fn of_sixteen_sessions_that_start_at_once_one_takes_the_effort() {
    let env = house_with("[efforts]\nadopt = \"auto\"\n");
    effort(&env, &["start", "brainstorm"]).success();
    hook_of(&env, "s1", "SessionEnd", &json!({"reason": "other"}));
    let told: Vec<String> = std::thread::scope(|scope| {
        let start = |n: usize| {
            let env = &env;
            scope.spawn(move || {
                hook_of(env, &format!("n{n}"), "SessionStart", &json!({"source": "startup"}))
            })
        };
        let all: Vec<_> = (0..16).map(start).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let n_took = told.iter().filter(|text| text.contains("You are working on effort 1")).count();
    assert_eq!(n_took, 1, "{told:?}");
    let windows = env.substrate(["session", "list", "--format", "json"]).success();
    assert_eq!(windows.matches("\"effort\": 1,").count(), 1, "{windows}");
}

#[test]
fn a_transcript_of_half_a_gigabyte_is_read_from_its_end() {
    let env = house();
    effort(&env, &["start", "brainstorm"]).success();
    glob(&env);
    let mut file = std::fs::File::create(env.root().join("s1.jsonl")).unwrap();
    file.set_len(512 << 20).unwrap();
    file.seek(SeekFrom::End(0)).unwrap();
    let line = json!({"type": "assistant", "isSidechain": false, "message": {"model": "claude-opus-5-5", "usage": {
        "input_tokens": 4, "cache_read_input_tokens": 150_000, "output_tokens": 9}}});
    file.write_all(format!("\n{line}\n").as_bytes()).unwrap();
    let told = glob(&env);
    assert!(told.contains("Overflow: your context is at 90 %"), "{told}");
    let windows = env.substrate(["session", "list", "--format", "json"]).success();
    let windows: Value = serde_json::from_str(&windows).unwrap();
    assert_eq!(windows["windows"][0]["context_used"], 150_004);
}

#[test]
fn the_status_line_says_what_the_client_says() {
    let env = house();
    effort(&env, &["start", "brainstorm"]).success();
    let status = json!({"session_id": "s1", "context_window": {
        "context_window_size": 200_000, "current_usage": {"input_tokens": 100, "cache_read_input_tokens": 77_900}}});
    let mut command = env.command(bin("substrate"));
    command.arg("statusline");
    let line = Running::start(command, status.to_string().into_bytes()).finish(SOON).success();
    assert!(line.ends_with(" · brainstorm/explore · 39 %\n"), "{line}");
    let mut command = env.command(bin("substrate"));
    command.arg("statusline");
    let odd = Running::start(command, b"not json".to_vec()).finish(SOON).code(1);
    assert!(odd.stderr.contains("is not what a client tells its status line"), "{}", odd.stderr);
}

#[test]
fn directions_beside_a_file_are_told_once() {
    let env = house();
    let read = || {
        let input = json!({"file_path": env.project().join("src/a.txt")});
        let more = json!({"tool_name": "Read", "tool_input": input, "tool_response": {}, "tool_use_id": "t"});
        hook(&env, "PostToolUse", &more).success()
    };
    assert!(read().contains("> Only tabs."));
    assert_eq!(read(), "");
}

/// What comes with a repository, and what happens in it later, opens no file of the user's.
#[test]
fn nothing_from_outside_of_the_project_is_read_through_its_links() {
    let env = house();
    let outside = env.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    write_file(&outside.join("hosts.yml"), b"note: PRIVATE-OUTSIDE\n");
    let skill = env.project().join(".claude/skills/review");
    std::fs::create_dir(&skill).unwrap();
    std::os::unix::fs::symlink(outside.join("SKILL.md"), skill.join("SKILL.md")).unwrap();
    let toml = b"preload = [\"hosts.yml\"]\n[templates]\nplan = \"hosts.yml\"\n";
    write_file(&skill.join("effort.toml"), toml);
    effort(&env, &["start", "review", "--task", "tasks/r"]).success();
    assert!(!glob(&env).contains("PRIVATE"));
    assert_eq!(text(&env, "tasks/r/1_REVIEW_PLAN.md"), "");

    let notes = env.project().join("notes.md");
    write_file(&notes, b"NOTES");
    effort(&env, &["preload", "notes.md"]).success();
    std::fs::remove_file(&notes).unwrap();
    std::os::unix::fs::symlink(outside.join("hosts.yml"), &notes).unwrap();
    let told = glob(&env);
    assert!(told.contains("can't be shown") && !told.contains("PRIVATE"), "{told}");
    let told = hook(&env, "SessionStart", &json!({"source": "clear"})).success();
    assert!(told.contains("can't be shown") && !told.contains("PRIVATE"), "{told}");
}

#[test]
fn what_is_no_plain_file_is_neither_waited_for_nor_said_to_be_written() {
    let env = house();
    let pipe = |path: &str| {
        let file = env.project().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        assert!(env.command("mkfifo").arg(file).status().unwrap().success());
    };
    pipe(".claude/skills/fix/SKILL.md");
    effort(&env, &["start", "fix", "--task", "tasks/x"]).success();
    let log = env.project().join("tasks/x/1_FIX_LOG.md");
    std::fs::remove_file(&log).unwrap();
    pipe("tasks/x/1_FIX_LOG.md");
    let said = effort(&env, &["log", "found it"]).success();
    assert!(said.contains("`tasks/x/1_FIX_LOG.md` could not be written"), "{said}");
    let shown = effort(&env, &["show", "--messages"]).success();
    assert!(shown.contains("found it"), "{shown}");
    write_file(&env.project().join(".env"), b"A=b\n");
    let run = effort(&env, &["start", "fix", "--task", ".env"]).code(1);
    assert!(run.stderr.contains("`.env` can't be a task's folder"), "{run}");
}
