//! Other real clients spawn the real hook, and the scripted model records what it was sent. Some start slowly, so each is
//! run twice: one session in which everything happens, and one without our programs.

use std::net::{TcpListener, TcpStream};

use rstest::rstest;
use serde_json::{Value, json};
use substrate_testkit::{
    ModelServer, OTHERS, OtherClient, OtherKind, Script, TestEnv, Turn, bin, wait_until, write_file,
};

use crate::house::{LONG, bytes, configure, journal, once, rule, told};

/// A client, with its settings in the home and a text of the user's own that is in them.
struct Case {
    name: &'static str,
    settings: (&'static str, &'static str),
}

const QWEN: Case = Case {
    name: "qwen",
    settings: (".qwen/settings.json", "{\n\t\"hooks\": {},\n\t\"general\": {\"vimMode\": false} }"),
};

const GEMINI: Case = Case {
    name: "gemini",
    settings: (
        ".gemini/settings.json",
        "{\"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}},\n \"hooks\": {} }",
    ),
};

const OPENCODE: Case =
    Case { name: "opencode", settings: (".config/opencode/plugins/substrate.js", "") };

const COPILOT: Case = Case { name: "copilot", settings: (".copilot/hooks/substrate.json", "") };

impl Case {
    fn kind(&self) -> &'static OtherKind {
        OTHERS.iter().find(|kind| kind.name == self.name).unwrap()
    }
}

/// The repository, with one file that an agent of another client has leased.
fn repository() -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    let file = env.project().join("a.txt");
    write_file(&file, b"one\n");
    let edit = |event: &str| {
        json!({
            "session_id": "s1", "cwd": env.project(), "hook_event_name": event, "tool_name": "Edit",
            "tool_input": {"file_path": file}, "tool_use_id": "t1",
        })
    };
    env.hook("PreToolUse", edit("PreToolUse")).code(0);
    env.hook("PostToolUse", edit("PostToolUse")).code(0);
    env
}

/// The agent of the session that this client has begun.
fn agent_of(env: &TestEnv, client: &str) -> String {
    let fleet = env.substrate(["fleet", "--format", "json"]).success();
    let fleet: Value = serde_json::from_str(&fleet).unwrap();
    let actors = fleet["actors"].as_array().unwrap();
    let its = actors.iter().find(|actor| actor["client"] == client);
    its.unwrap_or_else(|| panic!("{fleet}"))["agent"].as_str().unwrap().to_owned()
}

#[rstest]
#[case::copilot(&COPILOT)]
#[case::gemini(&GEMINI)]
#[case::opencode(&OPENCODE)]
#[case::qwen(&QWEN)]
fn a_session_is_journaled_told_refused_and_gets_its_mail(#[case] case: &Case) {
    let kind = case.kind();
    let env = repository();
    let (project, sent) = (env.project(), env.root().join("sent"));
    let model = ModelServer::start(Script::new([
        (kind.shell)("echo hi"),
        (kind.write)(&project.join("new.txt")),
        (kind.write)(&project.join("a.txt")),
        (kind.shell)("git reset --hard"),
        once(&sent, Turn::text("all done")),
        Turn::text("read it"),
    ]));
    let mut client = (kind.client)(&env, &model);
    env.substrate(["hooks", "install", "--client", kind.name]).success();
    // One that prompts a session to go on must still be there for it.
    let server = (kind.name == "opencode").then(|| {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        (OtherClient::opencode_server(&env, &model, port), port)
    });
    if let Some((_, port)) = &server {
        wait_until(LONG, "the server", || TcpStream::connect(("127.0.0.1", *port)).is_ok());
        client = client.args(&["--attach", &format!("http://127.0.0.1:{port}")]);
    }
    let words = ["SessionStart", "UserPromptSubmit", "PostToolUse"];
    let rules: String = words.map(|event| rule(event, "inject", &format!("WORD-{event}"))).concat();
    configure(&env, &rules);
    let running = client.start("begin");
    wait_until(LONG, "the last request", || model.main_requests().len() > 4);
    env.substrate(["send", &agent_of(&env, kind.name), "look at b.txt"]).success();
    write_file(&sent, b"");
    let run = running.finish(LONG).success();
    wait_until(LONG, "the turn goes on", || model.main_requests().len() > 5);
    let n_stops = || told(&journal(&env)).iter().filter(|told| *told == "Stop").count();
    wait_until(LONG, "the end of it", || n_stops() >= 2);
    assert!(server.is_some() || run.contains("read it"), "{run}");
    let entries: Vec<_> =
        journal(&env).into_iter().filter(|entry| entry["client"] == kind.name).collect();
    let all = told(&entries);
    let [shell, write] = kind.tools;
    for (event, n) in [
        ("SessionStart".to_owned(), 1),
        (format!("PreToolUse {shell}"), 2),
        (format!("PostToolUse {shell}"), 1),
        (format!("PreToolUse {write}"), 2),
        (format!("PostToolUse {write}"), 1),
    ] {
        assert_eq!(all.iter().filter(|told| **told == event).count(), n, "{event} in {all:?}");
    }
    assert!(entries.iter().all(|entry| entry["n_unknown_fields"] == 0), "{entries:?}");
    let main = model.main_requests();
    for (at, word) in [(0, "SessionStart"), (0, "UserPromptSubmit"), (1, "PostToolUse")] {
        assert!(main[at].news().contains(&format!("WORD-{word}")), "{word}: {}", main[at].news());
    }
    let result = |at: usize| main[at].tool_results()[0].text.clone();
    assert!(result(3).contains("`a.txt` is leased by "), "{}", result(3));
    assert!(result(4).contains("[guards.git-reset-hard]"), "{}", result(4));
    assert!(main[5].news().contains("look at b.txt"), "the turn went on: {}", main[5].news());
    let text = |file| std::fs::read_to_string(project.join(file)).unwrap();
    assert_eq!((text("new.txt"), text("a.txt")), ("two\n".to_owned(), "one\n".to_owned()));
}

#[rstest]
#[case::copilot(&COPILOT)]
#[case::gemini(&GEMINI)]
#[case::opencode(&OPENCODE)]
#[case::qwen(&QWEN)]
fn an_uninstall_restores_every_byte_and_without_our_programs_the_client_goes_on(
    #[case] case: &Case,
) {
    let kind = case.kind();
    let env = TestEnv::new();
    let model = ModelServer::start(Script::new([(kind.shell)("echo hi"), Turn::text("done")]));
    let (settings, own) = (env.home().join(case.settings.0), case.settings.1);
    if !own.is_empty() {
        write_file(&settings, own);
    }
    let programs = env.root().join("programs");
    std::fs::create_dir(&programs).unwrap();
    for name in ["substrate", "substrate-hook"] {
        std::fs::copy(bin(name), programs.join(name)).unwrap();
    }
    let mut install = env.command(programs.join("substrate"));
    assert!(install.args(["hooks", "install", "--client", kind.name]).status().unwrap().success());
    let installed = bytes(&settings);
    let away = env.root().join("away");
    std::fs::rename(&programs, &away).unwrap();
    let run = (kind.client)(&env, &model).run("begin");
    assert!(run.success().contains("done"));
    let result = model.main_requests()[1].tool_results()[0].text.clone();
    assert!(result.contains("hi"), "the call was not refused: {result}");
    std::fs::rename(&away, &programs).unwrap();
    let by_client = bytes(&settings) != installed;
    env.substrate(["hooks", "uninstall", "--client", kind.name]).success();
    let left = String::from_utf8(bytes(&settings)).unwrap();
    // A client may write to its own settings meanwhile. Then nothing of ours is left in them.
    assert!(left == own || (by_client && !left.contains("substrate")), "{left}");
}
