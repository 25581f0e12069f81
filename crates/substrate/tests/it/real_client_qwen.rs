//! The real Qwen Code spawns the real hook, and the scripted model records what it was sent.

use serde_json::json;
use substrate_testkit::{ModelServer, OtherClient, Script, TestEnv, Turn, bin, write_file};

use crate::house::{bytes, configure, journal, rule, told};

fn shell(command: &str) -> Turn {
    let input = json!({"command": command, "is_background": false, "description": "a step"});
    Turn::tool("run_shell_command", input)
}

fn write(env: &TestEnv, file: &str) -> Turn {
    Turn::tool("write_file", json!({"file_path": env.project().join(file), "content": "two\n"}))
}

/// What a session is told, what it is refused, and that a held turn goes on: it starts slowly, so all in one run.
#[test]
fn a_session_is_journaled_told_refused_and_held_as_the_table_says() {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    write_file(&env.project().join("a.txt"), b"one\n");
    let model = ModelServer::start(Script::new([
        shell("echo hi"),
        write(&env, "new.txt"),
        write(&env, "a.txt"),
        Turn::text("all done"),
        Turn::text("please"),
    ]));
    env.substrate(["hooks", "install", "--client", "qwen"]).success();
    let words = ["SessionStart", "UserPromptSubmit", "PostToolUse"];
    let rules: String = words.map(|event| rule(event, "inject", &format!("WORD-{event}"))).concat();
    configure(&env, &format!("{rules}{}", rule("Stop", "deny", "say please")));
    // Another client's agent holds the file.
    let edit = |event: &str| {
        json!({
            "session_id": "s1", "cwd": env.project(), "hook_event_name": event, "tool_name": "Edit",
            "tool_input": {"file_path": env.project().join("a.txt")}, "tool_use_id": "t1",
        })
    };
    env.hook("PreToolUse", edit("PreToolUse")).code(0);
    env.hook("PostToolUse", edit("PostToolUse")).code(0);
    let run = OtherClient::qwen(&env, &model).run("begin");
    assert!(run.success().contains("please"));
    let entries: Vec<_> =
        journal(&env).into_iter().filter(|entry| entry["client"] == "qwen").collect();
    let all = told(&entries);
    for event in [
        "SessionStart",
        "PreToolUse run_shell_command",
        "PostToolUse run_shell_command",
        "PostToolUse write_file",
    ] {
        assert_eq!(all.iter().filter(|told| *told == event).count(), 1, "{event} in {all:?}");
    }
    assert_eq!(all.iter().filter(|told| *told == "Stop").count(), 2, "held once: {all:?}");
    assert!(entries.iter().all(|entry| entry["n_unknown_fields"] == 0), "{entries:?}");
    let main = model.main_requests();
    for (at, word) in [(0, "SessionStart"), (0, "UserPromptSubmit"), (1, "PostToolUse")] {
        assert!(main[at].news().contains(&format!("WORD-{word}")), "{word}: {}", main[at].news());
    }
    let refused = &main[3].tool_results()[0].text;
    assert!(refused.contains("`a.txt` is leased by "), "{refused}");
    assert!(main[4].news().contains("say please"), "the turn went on");
    let text = |file| std::fs::read_to_string(env.project().join(file)).unwrap();
    assert_eq!((text("new.txt"), text("a.txt")), ("two\n".to_owned(), "one\n".to_owned()));
}

#[test]
fn an_uninstall_restores_every_byte_and_without_our_programs_the_client_goes_on() {
    let env = TestEnv::new();
    let model = ModelServer::start(Script::new([shell("echo hi"), Turn::text("done")]));
    let settings = env.home().join(".qwen/settings.json");
    let own = "{\n\t\"hooks\": {},\n\t\"general\": {\"vimMode\": false} }";
    write_file(&settings, own);
    let programs = env.root().join("programs");
    std::fs::create_dir(&programs).unwrap();
    for name in ["substrate", "substrate-hook"] {
        std::fs::copy(bin(name), programs.join(name)).unwrap();
    }
    let mut install = env.command(programs.join("substrate"));
    assert!(install.args(["hooks", "install", "--client", "qwen"]).status().unwrap().success());
    let away = env.root().join("away");
    std::fs::rename(&programs, &away).unwrap();
    let run = OtherClient::qwen(&env, &model).run("begin");
    assert!(run.success().contains("done"));
    assert!(model.main_requests()[1].tool_results()[0].text.contains("hi"));
    std::fs::rename(&away, &programs).unwrap();
    env.substrate(["hooks", "uninstall", "--client", "qwen"]).success();
    // The client itself may have written to its settings meanwhile: nothing of ours is left.
    let left = String::from_utf8(bytes(&settings)).unwrap();
    assert!(left == own || !left.contains("substrate"), "{left}");
}
