//! The real Codex spawns the real hook, and the scripted model records what it was sent.

use std::path::Path;

use serde_json::{Value, json};
use substrate_testkit::{
    Client, ModelServer, OtherClient, Recorded, Script, TestEnv, Turn, bin, wait_until, write_file,
};

use crate::house::{LONG, bytes, configure, journal, once, rule, told};

fn shell(command: &str) -> Turn {
    Turn::tool("exec_command", json!({"cmd": command}))
}

fn patch(text: &str) -> Turn {
    Turn::tool("apply_patch", json!(format!("*** Begin Patch\n{text}\n*** End Patch\n")))
}

/// A repository with two files.
fn repository() -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    for name in ["a.txt", "b.txt"] {
        write_file(&env.project().join(name), b"one\n");
    }
    env
}

/// The same with our hooks, which the user trusts.
fn installed(model: &ModelServer) -> TestEnv {
    let env = repository();
    drop(OtherClient::codex(&env, model));
    env.substrate(["hooks", "install", "--client", "codex", "--trust"]).success();
    env.substrate(["daemon", "start"]).success();
    env
}

fn text(env: &TestEnv, file: &str) -> String {
    std::fs::read_to_string(env.project().join(file)).unwrap_or_default()
}

#[test]
fn a_session_with_tools_and_a_subagent_is_journaled_and_told_what_the_table_says() {
    let script = Script::new([
        shell("echo \"<$CODEX_SESSION_ID>\""),
        patch("*** Add File: new.txt\n+line\n*** Update File: a.txt\n@@\n-one\n+two"),
        Turn::tool(
            "multi_agent_v1/spawn_agent",
            json!({"message": "look around", "agent_type": "explorer"}),
        ),
        Turn::from_request(|request| {
            let said = request.tool_results().pop().map(|result| result.text).unwrap_or_default();
            let said: Value = serde_json::from_str(&said).unwrap_or_default();
            let wait = json!({"targets": [said["agent_id"]], "timeout_ms": 30_000});
            Turn::tool("multi_agent_v1/wait_agent", wait)
        }),
        Turn::text("all done"),
        Turn::text("please"),
    ])
    .subagent("look around", [shell("echo from sub"), Turn::text("looked")]);
    let model = ModelServer::start(script);
    let env = installed(&model);
    let words = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart"];
    let rules: String = words.map(|event| rule(event, "inject", &format!("WORD-{event}"))).concat();
    configure(&env, &format!("{rules}{}", rule("Stop", "deny", "say please")));
    let run = OtherClient::codex(&env, &model).run("begin");
    assert!(run.success().ends_with("please\n"));
    let entries = journal(&env);
    let all = told(&entries);
    for event in [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse Bash",
        "PostToolUse Bash",
        "PreToolUse apply_patch",
        "PostToolUse apply_patch",
        "SubagentStart explorer",
        "PreToolUse Bash explorer",
        "PostToolUse Bash explorer",
        "SubagentStop explorer",
    ] {
        assert_eq!(all.iter().filter(|told| *told == event).count(), 1, "{event} in {all:?}");
    }
    assert_eq!(all.iter().filter(|told| *told == "Stop").count(), 2, "held once: {all:?}");
    assert!(
        entries.iter().all(|entry| entry["n_unknown_fields"] == 0 && entry["client"] == "codex")
    );
    let sessions: std::collections::BTreeSet<String> =
        entries.iter().map(|entry| entry["session"].to_string()).collect();
    assert_eq!(sessions.len(), 1, "a subagent has its parent's session: {sessions:?}");
    let main = model.main_requests();
    for (at, word) in
        [(0, "SessionStart"), (0, "UserPromptSubmit"), (1, "PreToolUse"), (1, "PostToolUse")]
    {
        assert!(main[at].news().contains(&format!("WORD-{word}")), "{word}: {}", main[at].news());
    }
    assert!(model.subagent_requests()[0].news().contains("WORD-SubagentStart"));
    assert!(main.last().unwrap().news().contains("say please"), "the turn went on");
    assert_eq!((text(&env, "new.txt").as_str(), text(&env, "a.txt").as_str()), ("line\n", "two\n"));
}

#[test]
fn a_refusal_is_the_tools_result_and_so_is_a_question() {
    let model = ModelServer::start(Script::new([shell("touch made"), Turn::text("refused")]));
    for action in ["deny", "ask"] {
        let env = installed(&model);
        configure(&env, &rule("PreToolUse", action, "red-owl holds it"));
        assert!(OtherClient::codex(&env, &model).run("begin").success().ends_with("refused\n"));
        let result = &model.main_requests().pop().unwrap().tool_results()[0].text;
        assert!(result.contains("red-owl holds it"), "{action}: {result}");
        assert!(!env.project().join("made").exists(), "{action}");
        assert!(journal(&env).iter().any(|entry| entry["verdict"] == "deny"), "{action}");
    }
}

/// The client says nothing about hooks that it skips.
#[test]
fn hooks_run_only_once_they_are_trusted_and_doctor_says_so() {
    let env = repository();
    let model = ModelServer::start(Script::new([shell("echo hi"), Turn::text("done")]));
    let client = OtherClient::codex(&env, &model);
    let said = env.substrate(["hooks", "install", "--client", "codex"]);
    assert!(said.stderr.contains("only once you trust them"), "{said}");
    client.run("begin").success();
    assert_eq!(told(&journal(&env)), [] as [&str; 0]);
    let doctor = env.substrate(["doctor"]);
    assert!(doctor.stdout.contains("skips 12 of our hooks"), "{doctor}");
    env.substrate(["hooks", "install", "--client", "codex", "--trust"]).success();
    client.run("begin").success();
    assert!(told(&journal(&env)).contains(&"PreToolUse Bash".to_owned()));
    let doctor = env.substrate(["doctor"]);
    assert!(!doctor.stdout.contains("of our hooks, because you don't trust"), "{doctor}");
}

#[test]
fn an_uninstall_restores_every_byte_and_without_our_programs_the_client_goes_on() {
    let env = repository();
    let script = || Script::new([shell("echo hi"), Turn::text("done")]);
    let model = ModelServer::start(script());
    let client = OtherClient::codex(&env, &model);
    let (config, hooks) =
        (env.home().join(".codex/config.toml"), env.home().join(".codex/hooks.json"));
    let own = r#"{"description": "mine","hooks":{"Stop":[ {"hooks":[{"type":"command","command":"true"}]} ]}}"#;
    write_file(&hooks, own);
    let before = bytes(&config);
    // Programs that can be taken away.
    let programs = env.root().join("programs");
    std::fs::create_dir(&programs).unwrap();
    for name in ["substrate", "substrate-hook"] {
        std::fs::copy(bin(name), programs.join(name)).unwrap();
    }
    let mut install = env.command(programs.join("substrate"));
    install.args(["hooks", "install", "--client", "codex", "--trust"]);
    assert!(install.output().unwrap().status.success());
    client.run("begin").success();
    let n = journal(&env).len();
    assert!(n > 4, "{n}");
    let away = env.root().join("away");
    std::fs::rename(&programs, &away).unwrap();
    let run = client.run("begin");
    assert!(!run.stdout.contains("Failed") && !run.stderr.contains("Failed"), "{run}");
    assert!(run.success().ends_with("done\n"));
    assert_eq!(
        model.main_requests().last().unwrap().tool_results()[0].text.lines().last(),
        Some("hi")
    );
    std::fs::rename(&away, &programs).unwrap();
    env.substrate(["hooks", "uninstall", "--client", "codex"]).success();
    assert_eq!(String::from_utf8(bytes(&hooks)).unwrap(), own);
    assert_eq!(bytes(&config), before);
    assert!(!env.home().join(".codex/skills/substrate").exists());
    client.run("begin").success();
    assert_eq!(journal(&env).len(), n, "after the uninstall none fires");
}

#[test]
fn mail_at_the_end_of_a_turn_continues_it() {
    // The model answers once the mail was sent.
    let folder = TestEnv::new();
    let sent = folder.root().join("sent");
    let model = ModelServer::start(Script::new([
        once(&sent, Turn::text("nothing to do")),
        Turn::text("read it"),
    ]));
    let env = installed(&model);
    let codex = OtherClient::codex(&env, &model).start("begin");
    wait_until(LONG, "the first request", || !model.main_requests().is_empty());
    let fleet = env.substrate(["fleet", "--format", "json"]).success();
    let fleet: Value = serde_json::from_str(&fleet).unwrap();
    let name = fleet["actors"][0]["agent"].as_str().unwrap().to_owned();
    env.substrate(["send", &name, "look at b.txt"]).success();
    write_file(&sent, b"");
    assert!(codex.finish(LONG).success().ends_with("read it\n"));
    assert!(model.main_requests()[1].news().contains("look at b.txt"));
}

/// A shell that waits until that file is there.
fn until(file: &Path) -> String {
    format!("while [ ! -e {} ]; do sleep 0.05; done", file.display())
}

/// The word behind these words in what is new to the model.
fn word_after(request: &Recorded, words: &str) -> String {
    let news = request.news();
    let rest = news.split_once(words).map(|(_, rest)| rest).unwrap_or_default();
    rest.chars().take_while(|c| c.is_alphanumeric()).collect()
}

/// One tree, two clients: leases hold between them, mail crosses, and both are in one fleet.
#[test]
fn two_clients_in_one_tree_exclude_each_other_and_are_one_fleet() {
    let program = bin("substrate").display().to_string();
    let env = repository();
    let asked = env.project().join(".git/asked");
    let bash = |command: &str| Turn::tool("Bash", json!({"command": command, "description": "x"}));
    let file = env.project().join("a.txt");
    let claude_model = ModelServer::start(Script::new([
        Turn::tool("Read", json!({"file_path": file})),
        Turn::tool("Edit", json!({"file_path": file, "old_string": "one", "new_string": "two"})),
        bash(&until(&asked)),
        // Mail that is not urgent comes when the turn ends.
        Turn::text("edited"),
        Turn::text("claude has read it"),
    ]));
    let ask = {
        let asked = asked.display().to_string();
        move |request: &Recorded| {
            let name = word_after(request, "`a.txt` is leased by ");
            shell(&format!("{program} send {name} FROM-CODEX && touch {asked}"))
        }
    };
    let codex_model = ModelServer::start(Script::new([
        patch("*** Update File: b.txt\n@@\n-one\n+two\n*** Update File: a.txt\n@@\n-two\n+three"),
        Turn::from_request(ask),
        patch("*** Update File: b.txt\n@@\n-one\n+two"),
        Turn::text("codex done"),
    ]));
    drop(OtherClient::codex(&env, &codex_model));
    env.substrate(["hooks", "install"]).success();
    env.substrate(["hooks", "install", "--client", "codex", "--trust"]).success();
    env.substrate(["daemon", "start"]).success();
    let claude = Client::new(&env, &claude_model).start_print("begin", &[]);
    wait_until(LONG, "the first edit", || text(&env, "a.txt") == "two\n");
    let codex = OtherClient::codex(&env, &codex_model).start("begin");
    wait_until(LONG, "the question", || asked.exists());
    let fleet = env.substrate(["fleet", "--format", "json"]).success();
    assert!(fleet.contains("\"codex\"") && fleet.contains("\"claude-code\""), "{fleet}");
    codex.finish(LONG).success();
    claude.finish(LONG).success();
    let results = |at: usize| codex_model.main_requests()[at].tool_results()[0].text.clone();
    assert!(results(1).contains("`a.txt` is leased by "), "{}", results(1));
    assert!(results(3).contains("Success"), "the other file was never taken: {}", results(3));
    assert_eq!((text(&env, "a.txt").as_str(), text(&env, "b.txt").as_str()), ("two\n", "two\n"));
    assert!(claude_model.request_containing("FROM-CODEX").is_some(), "{}", results(2));
}
