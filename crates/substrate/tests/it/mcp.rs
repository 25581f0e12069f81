//! `substrate mcp`: the tool server, as a client talks to it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};
use substrate_testkit::{Running, TestEnv, bin, wait_until, write_file};

use crate::house::{SOON, daemon_pid};

/// A client that reports its start and two calls of our tools, `t1` by the main thread and `t2` by a subagent, and then
/// runs the server as its child.
const CLIENT: &str = r#"#!/bin/sh
export CLAUDE_PID=$$ CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=s1
hook() { substrate-hook claude-code "$1" > /dev/null; }
say() { printf '{"session_id":"s1","cwd":"%s","hook_event_name":"%s",%s}' "$PWD" "$1" "$2" | AGENT_ID=Lead hook "$1"; }
say SessionStart '"source":"startup"'
say SubagentStart '"agent_id":"a1","agent_type":"reviewer"'
say PreToolUse '"tool_name":"mcp__substrate__inbox","tool_input":{},"tool_use_id":"t1"'
say PreToolUse '"tool_name":"mcp__plugin_substrate_substrate__inbox","tool_input":{},"tool_use_id":"t2","agent_id":"a1","agent_type":"reviewer"'
substrate mcp
"#;

const NEW: &str = "2026-07-28";
const OLD: &str = "2025-11-25";

/// A running server and the pipe to it.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    version: &'static str,
    can_ask: bool,
    n: u64,
}

impl Server {
    /// Below the client, and greeted in a version of the protocol.
    fn below_client(env: &TestEnv, version: &'static str) -> Self {
        let path = env.project().join("claude");
        write_file(&path, CLIENT.as_bytes());
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
        Self::greeted(env.command(path), version)
    }

    fn alone(env: &TestEnv, version: &'static str) -> Self {
        let mut command = env.command(bin("substrate"));
        command.arg("mcp");
        Self::greeted(command, version)
    }

    fn greeted(mut command: std::process::Command, version: &'static str) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self { child, stdin, stdout, version, can_ask: true, n: 0 };
        if version == OLD {
            let can = json!({"elicitation": {}});
            let client = json!({"name": "test", "version": "1"});
            let said = server.ask(
                "initialize",
                json!({"protocolVersion": OLD, "capabilities": can, "clientInfo": client}),
            );
            assert_eq!(said["protocolVersion"], OLD);
            server.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        } else {
            let said = server.ask("server/discover", json!({}));
            let versions = said["supportedVersions"].as_array().unwrap();
            assert!(versions.contains(&json!(NEW)) && versions.contains(&json!(OLD)), "{said}");
        }
        server
    }

    fn write(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Sends a request, and returns its id.
    fn request(&mut self, method: &str, mut params: Value) -> u64 {
        self.n += 1;
        if self.version == NEW {
            let meta = params["_meta"].take();
            let mut meta = if meta.is_null() { json!({}) } else { meta };
            let can = if self.can_ask { json!({"elicitation": {}}) } else { json!({}) };
            meta["io.modelcontextprotocol/protocolVersion"] = NEW.into();
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
            meta["io.modelcontextprotocol/clientCapabilities"] = can;
            params["_meta"] = meta;
        }
        let (id, method) = (self.n, method.to_owned());
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// A request and its result.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let said = self.read();
        assert_eq!(said["id"], id, "{said}");
        assert!(said["error"].is_null(), "{said}");
        said["result"].clone()
    }

    /// Calls a tool as the client does: with the id of the call.
    fn tool(&mut self, call: &str, name: &str, arguments: &Value) -> (bool, String) {
        let meta = match call {
            "" => json!({}),
            call => json!({"claudecode/toolUseId": call}),
        };
        let params = json!({"name": name, "arguments": arguments, "_meta": meta});
        heard(&self.ask("tools/call", params))
    }

    /// The server's own process: below the client's script, if there is one.
    fn end_of_input(mut self) -> i32 {
        drop(self.stdin.take());
        let mut code = None;
        wait_until(SOON, "the server ends with its input", || {
            code = self.child.try_wait().unwrap();
            code.is_some()
        });
        code.unwrap().code().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stdin.take());
        self.child.wait().ok();
    }
}

/// Whether a tool failed, and what the model reads.
fn heard(result: &Value) -> (bool, String) {
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
    (result["isError"] == true, text.to_owned())
}

fn house() -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    env.substrate(["daemon", "start"]).success();
    env
}

fn both(test: fn(&'static str)) {
    test(NEW);
    test(OLD);
}

#[test]
fn a_call_acts_for_the_actor_that_a_hook_reported_and_else_for_none() {
    both(|version| {
        let env = house();
        let mut server = Server::below_client(&env, version);
        let who = json!({"do": "whoami"});
        let (is_error, said) = server.tool("t1", "fleet", &who);
        assert!(!is_error && said.starts_with("Lead\n"), "{said}");
        let (is_error, said) = server.tool("t2", "fleet", &who);
        assert!(!is_error && said.starts_with("Lead/reviewer-1\n"), "{said}");
        for (call, why) in [("", "gives its calls no ids"), ("t9", "no hook reported this call")] {
            let (is_error, said) =
                server.tool(call, "send", &json!({"do": "send", "to": "User", "text": "hi"}));
            assert!(is_error && said.contains("acts as none") && said.contains(why), "{said}");
        }
        let (is_error, said) = server.tool("", "fleet", &json!({"do": "list"}));
        assert!(!is_error && said.contains("Lead"), "what needs no name is answered: {said}");
        assert!(env.substrate(["inbox"]).success().starts_with("No "), "no mail from anyone");
        let (is_error, _) =
            server.tool("t2", "send", &json!({"do": "send", "to": "User", "text": "-- hi"}));
        assert!(!is_error);
        let inbox = env.substrate(["inbox"]).success();
        assert!(inbox.contains("Lead/reviewer-1") && inbox.contains("-- hi"), "{inbox}");
    });
}

#[test]
fn a_server_without_a_known_client_is_not_the_user() {
    both(|version| {
        let env = house();
        let mut server = Server::alone(&env, version);
        let (is_error, said) = server.tool("t1", "inbox", &json!({"do": "unread"}));
        assert!(is_error && said.contains("acts as none"), "{said}");
        let (is_error, said) = server.tool("", "work", &json!({"do": "add", "title": "x"}));
        assert!(!is_error, "{said}");
        let shown = env.substrate(["work", "show", "1", "--format", "json"]).success();
        assert!(shown.contains("an unknown agent"), "{shown}");
        let said = server.ask("resources/read", json!({"uri": "substrate://inbox"}));
        assert!(said["contents"][0]["text"].as_str().unwrap().contains("acts as none"), "{said}");
        assert_eq!(server.end_of_input(), 0);
    });
}

#[test]
fn mail_is_seen_once_the_answer_was_written() {
    let env = house();
    let mut server = Server::below_client(&env, NEW);
    server.tool("t1", "fleet", &json!({"do": "whoami"}));
    env.substrate(["send", "--to", "Lead", "--subject", "hello", "--body", "from a person"])
        .success();
    let (is_error, said) = server.tool("t1", "inbox", &json!({"do": "unread"}));
    assert!(!is_error && said.contains("from a person"), "{said}");
    wait_until(SOON, "the ledger says so", || {
        env.substrate(["mail", "status", "1"]).success().contains("read")
    });
}

#[test]
fn a_call_that_waits_sends_signs_of_life_and_ends_with_the_mail() {
    let env = house();
    let mut server = Server::below_client(&env, NEW);
    let params = json!({
        "name": "inbox",
        "arguments": {"do": "wait", "wait_s": 60},
        "_meta": {"claudecode/toolUseId": "t1", "progressToken": "p1"},
    });
    let id = server.request("tools/call", params);
    let progress = server.read();
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    assert_eq!(progress["params"]["progressToken"], "p1");
    env.substrate(["send", "--to", "Lead", "--subject", "now", "--body", "it is here"]).success();
    let answer = loop {
        let said = server.read();
        if said["id"] == id {
            break said;
        }
    };
    assert!(heard(&answer["result"]).1.contains("it is here"), "{answer}");
}

/// A waiting call holds neither the server nor the daemon.
#[test]
fn the_server_ends_with_its_input_even_while_it_waits() {
    let env = house();
    let mut server = Server::below_client(&env, NEW);
    let params = json!({
        "name": "inbox",
        "arguments": {"do": "wait", "wait_s": 200},
        "_meta": {"claudecode/toolUseId": "t1", "progressToken": 1},
    });
    server.request("tools/call", params);
    server.read();
    assert_eq!(server.end_of_input(), 0);
    assert!(daemon_pid(&env) > 0);
}

#[test]
fn the_user_is_asked_before_what_cannot_be_undone() {
    let env = house();
    let broadcast = json!({"do": "broadcast", "subject": "Freeze", "text": "No merges."});
    let start = json!({"session_id": "s2", "cwd": env.project(), "hook_event_name": "SessionStart", "source": "startup"});
    let _other = env.hook_with("SessionStart", start, &[("AGENT_ID", "Other")]).code(0);
    let got = |env: &TestEnv| env.substrate(["inbox", "--all", "--agent", "Other"]).success();

    let mut server = Server::below_client(&env, NEW);
    let meta = json!({"claudecode/toolUseId": "t1"});
    let call = json!({"name": "send", "arguments": broadcast, "_meta": meta});
    let asked = server.ask("tools/call", call.clone());
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = asked["inputRequests"]["confirm"]["params"]["message"].as_str().unwrap();
    assert!(question.contains("Freeze: No merges."), "{question}");
    for (action, state, is_sent) in [
        ("decline", asked["requestState"].clone(), false),
        ("accept", json!("another question"), false),
        ("accept", asked["requestState"].clone(), true),
    ] {
        let mut again = call.clone();
        again["requestState"] = state;
        again["inputResponses"] = json!({"confirm": {"action": action, "content": {}}});
        let said = server.ask("tools/call", again);
        assert_eq!(got(&env).contains("Freeze"), is_sent, "{action}: {said}");
    }
    server.can_ask = false;
    let (is_error, said) = heard(&server.ask("tools/call", call));
    assert!(is_error && said.contains("can't ask the user"), "{said}");
    drop(server);

    let mut server = Server::below_client(&env, OLD);
    let broadcast = json!({"do": "broadcast", "subject": "Thaw", "text": "Merge."});
    for (action, is_sent) in [("cancel", false), ("accept", true)] {
        let call = json!({"name": "send", "arguments": broadcast, "_meta": meta});
        let id = server.request("tools/call", call);
        let asked = server.read();
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        server.write(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": action, "content": {}}}));
        let said = server.read();
        assert_eq!(said["id"], id);
        assert_eq!(said["result"]["isError"] == true, !is_sent, "{said}");
        assert_eq!(got(&env).contains("Thaw"), is_sent, "{action}");
    }
}

#[test]
fn wrong_requests_are_answered_and_the_server_goes_on() {
    both(|version| {
        let env = house();
        let mut server = Server::alone(&env, version);
        for (method, params, code) in [
            ("tools/call", json!({"name": "outbox", "arguments": {}}), -32602),
            ("prompts/get", json!({"name": "no-such"}), -32602),
            ("no/such", json!({}), -32601),
        ] {
            server.request(method, params);
            let said = server.read();
            assert_eq!(said["error"]["code"], code, "{method}: {said}");
        }
        let unknown = if version == NEW { -32602 } else { -32002 };
        server.request("resources/read", json!({"uri": "substrate://thread/--all"}));
        assert_eq!(server.read()["error"]["code"], unknown);
        let (is_error, said) = server.tool("", "fleet", &json!({"do": "check"}));
        assert!(is_error && said.contains("`do` must be one of"), "{said}");
        writeln!(server.stdin.as_mut().unwrap(), "not json").unwrap();
        let listed = server.ask("tools/list", json!({}));
        assert!(listed.to_string().len() <= 4_000, "{}", listed.to_string().len());
    });
}

/// The inspector of the protocol's authors, which `scripts/test-tools` installs.
fn inspector(env: &TestEnv, args: &[&str]) -> Value {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let program = root.join(".tools/inspector/node_modules/.bin/mcp-inspector");
    assert!(program.is_file(), "no inspector: run `make tools`");
    let mut command = env.command("node");
    command.arg(program).arg("--cli").arg(bin("substrate")).arg("mcp").args(args);
    let said = Running::start(command, Vec::new()).finish(SOON);
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

#[test]
fn the_inspector_gets_an_answer_to_every_method() {
    let env = house();
    let text = |said: &Value, at: &str| said.pointer(at).and_then(Value::as_str).map(str::to_owned);
    let said = inspector(&env, &["--method", "tools/list"]);
    assert_eq!(said["tools"].as_array().unwrap().len(), 5);
    let call = ["--method", "tools/call", "--tool-name", "locks", "--tool-arg", "do=list"];
    let said = inspector(&env, &call);
    assert_eq!(text(&said, "/content/0/text").as_deref(), Some("No files are held.\n"));
    let said = inspector(&env, &["--method", "resources/list"]);
    assert_eq!(said["resources"].as_array().unwrap().len(), 3);
    let said = inspector(&env, &["--method", "resources/templates/list"]);
    assert_eq!(said["resourceTemplates"][0]["uriTemplate"], "substrate://thread/{id}");
    let said = inspector(&env, &["--method", "resources/read", "--uri", "substrate://fleet"]);
    assert!(text(&said, "/contents/0/text").unwrap().contains("No agents yet"), "{said}");
    let said = inspector(&env, &["--method", "prompts/list"]);
    assert_eq!(said["prompts"].as_array().unwrap().len(), 2);
    let get =
        ["--method", "prompts/get", "--prompt-name", "handoff", "--prompt-args", "to=NobleLion"];
    let said = inspector(&env, &get);
    assert!(text(&said, "/messages/0/content/text").unwrap().contains("NobleLion"), "{said}");
}
