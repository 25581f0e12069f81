//! Mail reaches the real client's model while it works, waits, is woken, or was closed; each message by one verdict.

use std::time::Duration;

use serde_json::{Value, json};
use substrate_testkit::{
    Client, ModelServer, Recorded, Run, Script, TestEnv, Turn, bin, wait_until,
};

use crate::house::{SOON, configure, daemon_pid, journal, signal};

/// An installation as a user makes it, with a daemon.
fn installed() -> TestEnv {
    let env = TestEnv::new();
    env.substrate(["hooks", "install"]).success();
    env.substrate(["daemon", "start"]).success();
    env
}

fn bash(command: &str) -> Turn {
    Turn::tool("Bash", json!({"command": command, "description": "a step"}))
}

/// `substrate`, as the agent's shell finds it.
fn program() -> String {
    bin("substrate").display().to_string()
}

/// The name of the only agent there is.
fn agent(env: &TestEnv) -> String {
    let list: Value = read(env.substrate(["agent", "list", "--all", "--format", "json"]));
    let names: Vec<&str> =
        list.as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    let names: Vec<&&str> = names.iter().filter(|name| **name != "User").collect();
    assert_eq!(names.len(), 1, "{list}");
    (*names[0]).to_owned()
}

fn read(run: Run) -> Value {
    serde_json::from_str(&run.success()).unwrap()
}

/// The person sends a message. Returns its id.
fn send(env: &TestEnv, to: &str, subject: &str, priority: &str) -> i64 {
    send_body(env, to, subject, "the body", priority)
}

fn send_body(env: &TestEnv, to: &str, subject: &str, body: &str, priority: &str) -> i64 {
    let args = [
        "send",
        "--to",
        to,
        "--subject",
        subject,
        "--body",
        body,
        "--priority",
        priority,
        "--format",
        "json",
    ];
    read(env.substrate(args))["id"].as_i64().unwrap()
}

/// A message's fate: the ledger of its only recipient.
fn ledger(env: &TestEnv, id: i64) -> Value {
    read(env.substrate(["status", &id.to_string(), "--format", "json"]))["deliveries"][0].clone()
}

/// The requests in which something is new, by number.
fn introduced(requests: &[Recorded], text: &str) -> Vec<usize> {
    (0..requests.len()).filter(|at| requests[*at].news().contains(text)).collect()
}

/// Waits until the journal has a matching event.
fn wait_for_event(env: &TestEnv, event: &str) {
    wait_until(SOON, event, || journal(env).iter().any(|entry| entry["event"] == event));
}

#[test]
fn a_working_agent_gets_urgent_mail_at_its_next_tool_call_and_normal_mail_at_its_turns_end() {
    let env = installed();
    let gate = env.project().join("go");
    let wait = format!("while [ ! -e {} ]; do sleep 0.05; done", gate.display());
    let model = ModelServer::start(Script::new([
        bash(&wait),
        bash("echo second"),
        Turn::text("I am done"),
        Turn::text("I have read it"),
    ]));
    let client = Client::new(&env, &model);
    let running = client.start_print("begin", &[]);
    wait_for_event(&env, "PreToolUse");
    let name = agent(&env);
    let normal = send(&env, &name, "a normal word", "normal");
    let urgent = send(&env, &name, "an urgent word", "urgent");
    substrate_testkit::write_file(&gate, b"");
    running.finish(Duration::from_secs(60)).success();
    let requests = model.main_requests();
    assert_eq!(introduced(&requests, "\"an urgent word\""), [1], "with the first tool's result");
    assert_eq!(introduced(&requests, "\"a normal word\""), [3], "after the turn wanted to end");
    let news = requests[3].news();
    // The urgent one was delivered whole and has been seen, so it is read and no longer counts.
    let told = format!(
        "You have 1 unread message:\n- From: User - \"a normal word\" [#{normal}]\n> the body\nUse `substrate read {normal}` to see it again, `substrate reply {normal} --body \"…\"` to answer."
    );
    assert!(news.contains(&told), "{news}");
    for id in [normal, urgent] {
        let ledger = ledger(&env, id);
        assert!(ledger["seen_ms"].is_i64() && ledger["read_ms"].is_i64(), "{ledger}");
    }
}

#[test]
fn an_agent_that_polls_is_reached_at_once_and_a_killed_daemon_is_no_reason_to_miss_mail() {
    let env = installed();
    let model = ModelServer::start(Script::new([
        Turn::text("nothing to do"),
        Turn::text("got the first"),
        Turn::text("got the second"),
    ]));
    let client = Client::new(&env, &model).var("SUBSTRATE_PERSIST", "poll");
    let mut running = client.start_print("begin", &[]);
    wait_for_event(&env, "Stop");
    let name = agent(&env);
    let first = send(&env, &name, "while you wait", "normal");
    model.wait_for_request("\"while you wait\"", SOON);
    // It waits again, and its daemon dies.
    wait_until(SOON, "the second wait", || {
        journal(&env).iter().filter(|entry| entry["verdict"] == "wait").count() == 2
    });
    assert!(running.is_running());
    signal(&env, "-KILL", daemon_pid(&env));
    let second = send(&env, &name, "after the crash", "normal");
    model.wait_for_request("\"after the crash\"", SOON);
    let requests = model.main_requests();
    assert_eq!(introduced(&requests, "\"while you wait\""), [1]);
    assert_eq!(introduced(&requests, "\"after the crash\""), [2]);
    assert!(ledger(&env, first)["seen_ms"].is_i64());
    assert!(ledger(&env, second)["injected_ms"].is_i64());
    signal(&env, "-TERM", running.pid());
}

#[test]
fn an_idle_session_is_woken_again_and_again_and_its_terminal_stays_free() {
    let env = installed();
    let script = Script::new([
        Turn::text("the first answer"),
        Turn::text("woken once"),
        Turn::text("woken twice"),
    ])
    .on_prompt("a typed word", [Turn::text("typing works")]);
    let model = ModelServer::start(script);
    let client = Client::new(&env, &model);
    let tui = client.interactive(&[]);
    tui.type_line("begin");
    tui.wait_for("the first answer", SOON);
    let name = agent(&env);
    wait_until(SOON, "the waiters of its start and of its turn", || waiters(&env) == 2);
    let first = send(&env, &name, "wake up", "normal");
    tui.wait_for("woken once", SOON);
    wait_until(SOON, "the next waiter", || {
        waiters(&env) == 2 && ledger(&env, first)["seen_ms"].is_i64()
    });
    signal(&env, "-KILL", daemon_pid(&env));
    let second = send(&env, &name, "wake up again", "normal");
    tui.wait_for("woken twice", SOON);
    tui.type_line("a typed word");
    tui.wait_for("typing works", SOON);
    let requests = model.main_requests();
    assert_eq!(introduced(&requests, "\"wake up\""), [1]);
    assert_eq!(introduced(&requests, "\"wake up again\""), [2]);
    assert!(ledger(&env, second)["seen_ms"].is_i64());
    tui.exit();
}

/// How many hooks and commands wait in the daemon.
fn waiters(env: &TestEnv) -> u64 {
    let status: Value = read(env.substrate(["daemon", "status", "--format", "json"]));
    status["n_waiting"].as_u64().unwrap()
}

#[test]
fn a_session_without_a_prompt_is_woken_too_and_a_cleared_one_keeps_its_agent() {
    let env = installed();
    let model =
        ModelServer::start(Script::new([Turn::text("first of all"), Turn::text("after that")]));
    let client = Client::new(&env, &model);
    let tui = client.interactive(&[]);
    wait_until(SOON, "a waiter", || waiters(&env) == 1);
    let name = agent(&env);
    send(&env, &name, "before any prompt", "normal");
    tui.wait_for("first of all", SOON);
    tui.type_line("/clear");
    wait_until(SOON, "the new session", || {
        journal(&env).iter().filter(|entry| entry["event"] == "SessionStart").count() == 2
    });
    assert_eq!(agent(&env), name);
    // The old session's waiter is released when it is woken.
    wait_until(SOON, "its waiter", || waiters(&env) == 2);
    send(&env, &name, "after the clear", "normal");
    model.wait_for_request("\"after the clear\"", SOON);
    tui.stop();
}

#[test]
fn mail_to_a_closed_session_waits_for_it() {
    let env = installed();
    let model = ModelServer::start(Script::new([
        Turn::text("bye"),
        Turn::text("hello again"),
        Turn::text("yes"),
    ]));
    let client = Client::new(&env, &model);
    let first = client.print("begin", &[]);
    let name = agent(&env);
    let id = send(&env, &name, "for later", "normal");
    assert!(ledger(&env, id)["injected_ms"].is_null());
    let second = client.print("go on", &["--resume", first.session_id()]);
    assert_eq!(second.session_id(), first.session_id());
    assert_eq!(agent(&env), name, "it is the same agent");
    let requests = model.main_requests();
    assert_eq!(introduced(&requests, "\"for later\""), [1]);
    assert!(ledger(&env, id)["seen_ms"].is_i64());
}

#[test]
fn short_mail_comes_whole_and_long_mail_is_announced_until_it_was_told_twice() {
    let env = installed();
    let model = ModelServer::start(Script::new([
        Turn::text("bye"),
        Turn::text("I will read it later"),
        Turn::text("later still"),
        Turn::text("never"),
    ]));
    let client = Client::new(&env, &model);
    let first = client.print("begin", &[]);
    let name = agent(&env);
    let short = send_body(&env, &name, "a short word", "take the left one", "normal");
    let long = send_body(&env, &name, "a long story", &"x".repeat(601), "normal");
    let urgent = send_body(&env, &name, "an urgent one", &"y".repeat(601), "urgent");
    let states = |ids: [i64; 3]| ids.map(|id| ledger(&env, id)["state"].clone());
    for prompt in ["go on", "and on", "and on again"] {
        let run = client.print(prompt, &["--resume", first.session_id()]);
        assert_eq!(run.session_id(), first.session_id());
        assert_eq!(states([short, long, urgent]), ["read", "seen", "read"], "{prompt}");
    }
    let requests = model.main_requests();
    assert_eq!(introduced(&requests, "\n> take the left one\n"), [1]);
    assert_eq!(introduced(&requests, &format!("\n> {}\n", "y".repeat(601))), [1]);
    let told = format!("\"a long story\" [#{long}] (601 characters: `substrate read {long}`)");
    assert_eq!(introduced(&requests, &told), [1, 2], "and at the next prompt once more");
    let news = requests[2].news();
    assert!(news.contains("You have 1 unread message:"), "{news}");
    assert!(news.contains(&format!("`substrate reply {long} --body \"…\"` to answer.")), "{news}");
}

#[test]
fn a_subagents_commands_are_its_own() {
    let env = installed();
    let program = program();
    let sub = [
        bash(&format!(
            "{program} agent whoami; {program} send --to User --subject 'from below' --body 'it''s me'"
        )),
        Turn::text("looked"),
    ];
    let script = Script::new([
        bash(&format!("{program} agent whoami; echo \"<$AGENT_ID $CLAUDE_SESSION_ID>\"")),
        Turn::agent("look"),
        Turn::text("all done"),
    ])
    .subagent("look", sub);
    let model = ModelServer::start(script);
    let run = Client::new(&env, &model).print("begin", &[]);
    assert_eq!(run.result(), "all done");
    let name = agent(&env);
    let main = model.main_requests()[1].tool_results()[0].text.clone();
    assert!(main.contains(&name) && !main.contains(&format!("{name}/")), "{main}");
    assert!(main.contains(&format!("<{name} {}>", run.session_id())), "{main}");
    let below = model.subagent_requests()[1].tool_results()[0].text.clone();
    assert!(below.contains(&format!("{name}/general-purpose-1")), "{below}");
    let inbox = env.substrate(["inbox"]).success();
    assert!(
        inbox.contains(&format!("{name}/general-purpose-1")) && inbox.contains("from below"),
        "{inbox}"
    );
}

#[test]
fn a_subagent_is_held_once_for_its_own_mail() {
    let env = installed();
    let gate = env.project().join("go");
    let wait = format!("while [ ! -e {} ]; do sleep 0.05; done", gate.display());
    let script = Script::new([Turn::agent("look"), Turn::text("all done")])
        .subagent("look", [bash(&wait), Turn::text("looked"), Turn::text("looked again")]);
    let model = ModelServer::start(script);
    let client = Client::new(&env, &model);
    let running = client.start_print("begin", &[]);
    wait_until(SOON, "the subagent's tool", || {
        journal(&env).iter().any(|entry| entry["event"] == "PreToolUse" && entry["actor"] != "main")
    });
    let name = agent(&env);
    let id = send(&env, &format!("{name}/general-purpose-1"), "look left", "normal");
    substrate_testkit::write_file(&gate, b"");
    running.finish(Duration::from_secs(60)).success();
    assert_eq!(introduced(&model.subagent_requests(), "\"look left\""), [2]);
    assert_eq!(introduced(&model.main_requests(), "\"look left\""), [0_usize; 0]);
    assert!(ledger(&env, id)["seen_ms"].is_i64());
}

#[test]
fn after_a_compaction_the_agent_is_told_who_it_is_and_what_is_open() {
    let env = installed();
    let model = ModelServer::start(Script::new([
        Turn::text("answer one"),
        Turn::text("answer two"),
        Turn::text("answer three"),
    ]));
    let client = Client::new(&env, &model).var("SUBSTRATE_PERSIST", "off");
    let tui = client.interactive(&[]);
    tui.type_line("begin");
    tui.wait_for("answer one", SOON);
    let name = agent(&env);
    send(&env, &name, "still open", "normal");
    tui.type_line("/compact");
    tui.wait_for("Compacted", SOON);
    tui.type_line("go on");
    let request = model.wait_for_request("go on", SOON);
    let news = request.texts();
    assert!(news.contains(&format!("You are {name}")), "{news}");
    assert!(news.contains("You have 1 unread message:\n- From: User - \"still open\""), "{news}");
    let summary = model
        .requests()
        .into_iter()
        .find(|request| request.texts().contains("create a detailed summary"))
        .unwrap();
    assert!(summary.texts().contains(&format!("this agent is {name}")), "the summariser knows");
    tui.stop();
}

#[test]
fn a_turn_with_unfinished_tasks_goes_on_until_they_are_done() {
    let env = installed();
    let script = Script::new([
        create_task(),
        Turn::text("done, I think"),
        Turn::tool("TaskUpdate", json!({"taskId": "1", "status": "completed"})),
        Turn::text("really done"),
    ]);
    let model = ModelServer::start(script);
    let run = Client::new(&env, &model).print("begin", &[]);
    assert_eq!(run.result(), "really done");
    assert_eq!(introduced(&model.main_requests(), TASKS), [2]);
}

const TASKS: &str = "1 incomplete task(s): #1 [pending] \"write it\". Complete ALL tasks before stopping, or ask your question and stop again.";

fn create_task() -> Turn {
    Turn::tool(
        "TaskCreate",
        json!({"subject": "write it", "description": "all of it", "activeForm": "writing"}),
    )
}

/// It could only ask again, and no one could answer.
#[test]
fn a_model_that_asks_its_user_something_is_not_held_by_its_tasks() {
    for profile in ["standard", "persistent"] {
        let env = installed();
        configure(&env, &format!("profile = \"{profile}\"\n[persist]\nmode = \"off\"\n"));
        let model = ModelServer::start(Script::new([
            create_task(),
            Turn::text("The schema is ready. Postgres or SQLite?"),
            Turn::text("held after all"),
        ]));
        let run = Client::new(&env, &model).print("begin", &[]);
        assert_eq!(run.result(), "The schema is ready. Postgres or SQLite?", "{profile}");
        assert_eq!(model.main_requests().len(), 2, "{profile}");
    }
}

#[test]
fn unfinished_tasks_hold_a_turn_once() {
    let env = installed();
    let model = ModelServer::start(Script::new([
        create_task(),
        Turn::text("I am done."),
        Turn::text("I leave it as it is."),
        Turn::text("held twice"),
    ]));
    let run = Client::new(&env, &model).print("begin", &[]);
    assert_eq!(run.result(), "I leave it as it is.");
    assert_eq!(introduced(&model.main_requests(), TASKS), [2]);
}
