//! The real client and our tool server: who calls is known, for the main thread and for a subagent.

use serde_json::{Value, json};
use substrate_testkit::{
    Client, ModelServer, Recorded, Script, TestEnv, Turn, bin, claude, wait_until, write_file,
};

use crate::house::{SOON, journal};

fn tool(name: &str, arguments: Value) -> Turn {
    Turn::tool(&format!("mcp__substrate__{name}"), arguments)
}

/// The result of the latest call in a request.
fn latest(request: &Recorded) -> String {
    request.tool_results().last().map(|result| result.text.clone()).unwrap_or_default()
}

fn registered() -> String {
    let server = json!({"command": bin("substrate"), "args": ["mcp"]});
    json!({"mcpServers": {"substrate": server}}).to_string()
}

#[test]
fn the_client_calls_each_tool_and_main_thread_and_subagent_are_told_apart() {
    let env = TestEnv::new();
    env.substrate(["hooks", "install"]).success();
    let calls = [
        ("fleet", json!({"do": "whoami"})),
        ("inbox", json!({"do": "unread"})),
        ("send", json!({"do": "send", "to": "User", "text": "hello from a tool"})),
        ("locks", json!({"do": "acquire", "paths": ["src/lib.rs"], "reason": "a test"})),
        ("work", json!({"do": "add", "title": "Fix the parser"})),
    ];
    let own = calls.iter().map(|(name, arguments)| tool(name, arguments.clone()));
    let script = Script::new(own.chain([Turn::agent("who are you?"), Turn::text("done")]))
        .subagent("who are you?", [tool("fleet", json!({"do": "whoami"})), Turn::text("I know")]);
    let model = ModelServer::start(script);
    let client = Client::new(&env, &model).var("ENABLE_TOOL_SEARCH", "false");
    let run = client.print("begin", &["--mcp-config", &registered()]);
    assert_eq!(run.result(), "done", "{}", run.run);
    let said: Vec<String> = model.main_requests().iter().map(latest).collect();
    let [_, whoami, inbox, sent, acquired, added, ..] = &said[..] else { panic!("{said:#?}") };
    let name = whoami.lines().next().unwrap_or_default();
    assert!(!name.is_empty() && !name.contains("error"), "{said:#?}");
    assert!(inbox.contains("No "), "{inbox}");
    assert!(!sent.contains("error"), "{sent}");
    assert!(acquired.contains("src/lib.rs"), "{acquired}");
    assert!(added.contains("#1"), "{added}");
    let mail = env.substrate(["inbox"]).success();
    assert!(mail.contains(name) && mail.contains("hello from a tool"), "{mail}");
    let of_sub: Vec<String> = model
        .requests()
        .iter()
        .map(latest)
        .filter(|text| text.starts_with(&format!("{name}/general-purpose-1")))
        .collect();
    assert!(!of_sub.is_empty(), "{:#?}", model.requests().iter().map(latest).collect::<Vec<_>>());
}

/// The folder of the real client, for commands that look for it on the PATH.
fn path_with_client(env: &TestEnv) -> String {
    let vars = env.vars();
    let path = vars.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone()).unwrap();
    format!("{}:{path}", claude().parent().unwrap().display())
}

#[test]
fn an_installation_lets_the_client_register_the_server_and_takes_it_out_again() {
    let env = TestEnv::new();
    let path = path_with_client(&env);
    let vars = [("PATH", path.as_str())];
    let servers = |env: &TestEnv| {
        let text = std::fs::read_to_string(env.config().join(".claude.json")).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["mcpServers"].clone()
    };
    for _ in 0..2 {
        env.substrate_with(["hooks", "install", "--mcp"], &vars).success();
        assert_eq!(servers(&env)["substrate"]["args"], json!(["mcp"]));
    }
    env.substrate_with(["hooks", "uninstall"], &vars).success();
    assert!(servers(&env)["substrate"].is_null(), "{}", servers(&env));
}

fn plugin(env: &TestEnv, args: &[&str]) -> String {
    let mut command = env.command(claude());
    command.arg("plugin").args(args);
    for (name, value) in [
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", "1"),
        ("DISABLE_TELEMETRY", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9"),
        ("ANTHROPIC_API_KEY", "dummy"),
    ] {
        command.env(name, value);
    }
    substrate_testkit::Running::start(command, Vec::new()).finish(SOON).success()
}

#[test]
fn the_plugin_is_valid_fires_once_and_is_missed_when_it_is_gone() {
    let env = TestEnv::new();
    let folder = env.substrate(["plugin", "dir"]).success();
    assert_eq!(env.substrate(["plugin", "dir"]).success(), folder, "it is the same each time");
    let folder = folder.trim_end();
    assert!(folder.starts_with('/') && std::path::Path::new(folder).is_dir(), "{folder}");
    plugin(&env, &["validate", "--strict", "--profile", "directory", folder]);
    env.substrate(["plugin", "marketplace"]).success();
    let catalogue = env.state().join("marketplace").display().to_string();
    plugin(&env, &["validate", "--strict", &catalogue]);
    plugin(&env, &["marketplace", "add", &catalogue]);
    plugin(&env, &["install", "-y", "substrate@substrate"]);
    let doctor = |env: &TestEnv| env.substrate(["doctor"]).stdout;
    assert!(doctor(&env).contains("only the plugin"), "{}", doctor(&env));

    let run = |env: &TestEnv| {
        let model = ModelServer::start(Script::new([Turn::text("done")]));
        let run = Client::new(env, &model).print("begin", &[]);
        assert_eq!(run.result(), "done");
        let session = run.session_id().to_owned();
        let entries = journal(env);
        let of = |event: &str| {
            let is =
                |entry: &&Value| entry["session"] == session.as_str() && entry["event"] == event;
            entries.iter().filter(is).count()
        };
        (of("SessionStart"), of("UserPromptSubmit"))
    };
    assert_eq!(run(&env), (1, 1), "the plugin alone");
    env.substrate(["hooks", "install"]).success();
    assert!(doctor(&env).contains("both carry the hooks"), "{}", doctor(&env));
    assert_eq!(run(&env), (1, 1), "both carriers");

    std::fs::remove_dir_all(folder).unwrap();
    assert!(doctor(&env).contains("has lost its hooks"), "{}", doctor(&env));
}

/// Options are chosen in the client's own settings, and go when the plugin goes.
#[test]
fn an_option_of_the_plugin_is_in_force_until_the_plugin_is_gone() {
    let env = TestEnv::new();
    env.substrate(["plugin", "marketplace"]).success();
    let catalogue = env.state().join("marketplace").display().to_string();
    plugin(&env, &["marketplace", "add", &catalogue]);
    plugin(&env, &["install", "-y", "substrate@substrate"]);
    env.substrate(["hooks", "install"]).success();
    let file = env.config().join("settings.json");
    let choose = |options: Value| {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut settings: Value = serde_json::from_str(&text).unwrap();
        settings["pluginConfigs"] = json!({"substrate@substrate": {"options": options}});
        write_file(&file, settings.to_string());
    };
    let session = || {
        let model = ModelServer::start(Script::new([Turn::text("done")]));
        assert_eq!(Client::new(&env, &model).print("begin", &[]).result(), "done");
    };
    // A session starts, and this mode comes into force.
    let becomes = |mode: &str| {
        session();
        wait_until(SOON, mode, || {
            env.substrate(["config", "get", "locks.mode"])
                .success()
                .contains(&format!("\"{mode}\""))
        });
    };
    choose(json!({"locks": "warn", "profile": "engine"}));
    becomes("warn");
    let profile = env.substrate(["config", "get", "profile"]).success();
    assert!(profile.contains("engine"), "{profile}");
    // A project can set variables of hooks, but not the user's settings.
    choose(json!({"locks": "as set"}));
    let vars = json!({"env": {"CLAUDE_PLUGIN_OPTION_LOCKS": "off"}});
    write_file(&env.project().join(".claude/settings.json"), vars.to_string());
    becomes("enforce");
    choose(json!({"locks": "warn"}));
    becomes("warn");
    plugin(&env, &["uninstall", "-y", "substrate@substrate"]);
    becomes("enforce");
}

#[test]
fn what_is_published_is_valid_for_the_client() {
    let env = TestEnv::new();
    let folder = env.root().join("published");
    let at = folder.to_str().unwrap();
    let address = ["--archive", "https://substrate.example/p.zip", "--npm", "@substrate/plugin"];
    let digest = "0".repeat(64);
    let args = [&["plugin", "publish", at, "--sha256", &digest][..], &address].concat();
    env.substrate(args).success();
    plugin(&env, &["validate", "--strict", "--profile", "directory", &format!("{at}/plugin")]);
    plugin(&env, &["validate", "--strict", &format!("{at}/marketplace")]);
}
