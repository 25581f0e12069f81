//! The real client with every profile at once: each promise is kept, nothing is said twice, and nothing contradicts.

use serde_json::json;
use substrate_testkit::{
    Client, ModelServer, Recorded, Running, Script, TestEnv, Turn, write_file,
};

use crate::house::{SOON, configure, introduced, write_scratchpad};

/// A project with a commit, directions beside its sources, and a skill.
fn house() -> TestEnv {
    let env = TestEnv::new();
    let project = env.project();
    for folder in ["src", ".claude/skills/charts"] {
        std::fs::create_dir_all(project.join(folder)).unwrap();
    }
    write_file(&project.join("src/AGENTS.md"), b"Doors before windows.\n");
    let skill = b"---\nname: charts\ndescription: Draws charts of the harbour.\n---\n";
    write_file(&project.join(".claude/skills/charts/SKILL.md"), skill);
    let git = "git init -q -b main && git add . && git -c user.name=dev -c user.email=dev@example.org commit -q -m 'the first commit'";
    let mut command = env.command("/bin/sh");
    command.args(["-c", git]);
    Running::start(command, Vec::new()).finish(SOON).success();
    // Without mail the turn goes on until the client's cap on blocks. Each wait is over at once.
    configure(&env, "[persist]\npoll = \"0s\"\n");
    env.substrate(["hooks", "install", "--profile", "all"]).success();
    env.substrate(["daemon", "start"]).success();
    env
}

fn bash(command: &str) -> Turn {
    Turn::tool("Bash", json!({"command": command, "description": "do it"}))
}

/// What is new in a request. The client turns the reason that holds a turn into two texts: a reminder, and a message.
fn said(request: &Recorded) -> String {
    let news = request.news();
    news.rsplit_once("Stop hook feedback:").map_or_else(|| news.clone(), |(_, own)| own.to_owned())
}

/// Our lines that are new in more than one request, or twice in one of them.
fn repeated(requests: &[Recorded]) -> Vec<String> {
    let news: Vec<String> = requests.iter().map(said).collect();
    let all = || news.iter().flat_map(|news| news.lines()).filter(|line| is_ours(line));
    let n = |line: &str| all().filter(|other| *other == line).count();
    all().filter(|line| n(line) > 1).map(str::to_owned).collect()
}

fn is_ours(line: &str) -> bool {
    // A sign of life is repeated in every round; that is its purpose.
    (line.contains("substrate ") || line.contains("[substrate")) && !line.contains("(heartbeat)")
}

#[test]
fn with_all_profiles_every_promise_is_kept_once_and_none_contradicts_another() {
    let env = house();
    let file = env.project().join("src/door.ts");
    let model = ModelServer::start(
        Script::new([
            bash("substrate effort start implement --task tasks/door"),
            Turn::tool("Write", json!({"file_path": file, "content": "export {};\n"})),
            Turn::agent("look into it"),
            Turn::text("all done"),
            write_scratchpad("we looked into it\\n"),
            Turn::text("done and logged"),
        ])
        .subagent(
            "look into it",
            [
                bash("ls"),
                Turn::text("found it"),
                write_scratchpad("## What I did\\nlooked\\n\\n## Cross-agent observations\\nnone\\n\\n## Unresolved\\nnone\\n"),
                Turn::text("found it, and written down"),
                Turn::text("found it behind the left door"),
            ],
        ),
    );
    let run = Client::new(&env, &model).print("draw charts of the harbour", &[]);
    let session = run.session_id();
    let (main, sub) = (model.main_requests(), model.subagent_requests());

    // 4: the project at the start, and the matching skill; 2: the commits, once; 5: where the logs are.
    let first = main[0].news();
    for (text, n) in [
        ("Project structure", 1),
        ("] Recent commits:", 1),
        (&format!("[SessionStart] session={session}") as &str, 1),
        ("charts/SKILL.md", 1),
    ] {
        assert_eq!(first.matches(text).count(), n, "{text}: {first}");
    }
    // 3: the effort began, and directions come with the file; 4: its lease is shown.
    assert_eq!(introduced(&main, "effort 1"), [1], "{}", main[1].news());
    assert_eq!(introduced(&main, "Doors before windows."), [2]);
    let log = std::fs::read_to_string(env.project().join(".claude/coordination/hook-debug.log"));
    assert!(log.unwrap().contains("acquired src/door.ts"));

    // 2, 3 and 5: what a subagent is told, what holds it and how often.
    for (text, at) in [
        ("Your scratchpad is ", vec![0]),
        ("[SubagentStart] session=", vec![0]),
        ("You are helping with effort 1", vec![0]),
        ("> Doors before windows.", vec![0]),
        ("Scratchpad missing or incomplete", vec![2]),
        ("check your own work", vec![2]),
        ("One more question", vec![4]),
    ] {
        assert_eq!(introduced(&sub, text), at, "{text}");
    }
    assert_eq!(
        sub.len(),
        5,
        "held for its scratchpad and its check at once, then for the question"
    );
    for request in &sub {
        let n = said(request).matches("repeat your complete final answer").count();
        assert!(n <= 1, "{}", request.news());
    }
    assert!(main[3].news().contains("found it behind the left door"), "{}", main[3].news());

    // 2 and 5 hold the main thread once, together; 1 keeps it alive from then on, alone.
    assert_eq!(introduced(&main, "Multi-agent delegation detected"), [4]);
    assert_eq!(introduced(&main, "a short look back"), [4]);
    let alive = introduced(&main, "Agent staying alive (heartbeat)");
    assert_eq!(alive, (6..main.len()).collect::<Vec<_>>());
    assert_eq!(
        alive.len(),
        7,
        "one short of the client's cap, unless the model gives its sign of life"
    );
    let asks = introduced(&main, "Now run `substrate heartbeat` once");
    assert!(!asks.is_empty() && asks.iter().all(|at| alive.contains(at)), "{asks:?}");

    assert_eq!(repeated(&main), Vec::<String>::new());
    assert_eq!(repeated(&sub), Vec::<String>::new());
    let folder = env.project().join("logs/sessions").join(session);
    assert!(folder.join("session-end.jsonl").exists());
}
