//! What a person sees of working agents, with real processes.

use std::path::PathBuf;

use serde_json::{Value, json};
use substrate_testkit::{Running, TestEnv, bin, wait_until, write_file};

use crate::house::{SOON, signal};

/// A process that stands in for a client, and its session; ended when dropped.
pub(crate) struct Agent<'a> {
    env: &'a TestEnv,
    client: Running,
    session: String,
    vars: Vec<(String, String)>,
}

impl<'a> Agent<'a> {
    /// Begins a session that is that agent.
    pub(crate) fn begin(
        env: &'a TestEnv,
        session: &str,
        name: &str,
        vars: &[(&str, &str)],
    ) -> Self {
        let agent = Self::quiet(env, session, name, vars);
        agent.event("SessionStart", json!({"source": "startup"}));
        agent
    }

    /// The same, for an agent that is still unknown.
    pub(crate) fn quiet(
        env: &'a TestEnv,
        session: &str,
        name: &str,
        vars: &[(&str, &str)],
    ) -> Self {
        let mut command = env.command("/bin/sleep");
        command.arg("600");
        let client = Running::start(command, Vec::new());
        let mut vars: Vec<(String, String)> =
            vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        vars.push(("CLAUDE_PID".to_owned(), client.pid().to_string()));
        vars.push(("CLAUDE_CODE_SESSION_ATTENDED".to_owned(), "1".to_owned()));
        vars.push(("AGENT_ID".to_owned(), name.to_owned()));
        Self { env, client, session: session.to_owned(), vars }
    }

    /// One event of the session.
    pub(crate) fn event(&self, event: &str, payload: Value) {
        self.start(event, &[], payload).finish(SOON).success();
    }

    /// The waiter beside an event.
    pub(crate) fn waiter(&self, event: &str) -> Running {
        self.start(event, &["--wake"], json!({"source": "startup"}))
    }

    fn start(&self, event: &str, flags: &[&str], mut payload: Value) -> Running {
        payload["session_id"] = json!(self.session);
        payload["cwd"] = json!(self.env.project());
        payload["hook_event_name"] = json!(event);
        let mut command = self.env.command(bin("substrate-hook"));
        command.args(["claude-code", event]).args(flags);
        command.envs(self.vars.iter().map(|(name, value)| (name, value)));
        Running::start(command, format!("{payload}\n").into_bytes())
    }

    /// Writes the client's own session file, in the real client's format.
    pub(crate) fn shows(&self, status: &str, waiting_for: Option<&str>) {
        self.shows_as(&began(self.client.pid()), status, waiting_for);
    }

    /// The same, for a process with that start time.
    pub(crate) fn shows_as(&self, began: &str, status: &str, waiting_for: Option<&str>) {
        let pid = self.client.pid();
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
        let file = json!({
            "pid": pid, "sessionId": self.session, "cwd": self.env.project(), "procStart": began,
            "status": status, "waitingFor": waiting_for, "statusUpdatedAt": u64::try_from(now).unwrap(),
        });
        write_file(&self.file(), file.to_string());
    }

    /// The client takes its file away, as it does when it is closed.
    pub(crate) fn leaves(&self) {
        std::fs::remove_file(self.file()).unwrap();
    }

    fn file(&self) -> PathBuf {
        self.env.config().join(format!("sessions/{}.json", self.client.pid()))
    }

    pub(crate) fn bash(&self, event: &str, command: &str) {
        self.event(
            event,
            json!({
                "tool_name": "Bash", "tool_input": {"command": command}, "tool_response": {},
                "tool_use_id": "toolu_1", "error": "Exit code 1",
            }),
        );
    }

    /// As after `kill -9`: the client falls silent.
    pub(crate) fn dies(&self) {
        signal(self.env, "-KILL", self.client.pid());
    }
}

/// When a process started, as the client writes it.
fn began(pid: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned()
}

/// `NobleLion working`, in the order of the list.
pub(crate) fn fleet(env: &TestEnv) -> Vec<String> {
    let out = env.substrate(["fleet", "--format", "json"]).success();
    let json: Value = serde_json::from_str(&out).unwrap();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let actors = json["actors"].as_array().unwrap();
    actors.iter().map(|one| format!("{} {}", word(&one["address"]), word(&one["status"]))).collect()
}

#[test]
fn the_fleet_says_who_needs_you_who_works_and_who_is_gone() {
    let env = TestEnv::new();
    let empty = env.substrate(["fleet"]).success();
    assert_eq!(empty, "No agents yet. An agent appears here with its first event.\n");
    let lion = Agent::begin(&env, "s1", "NobleLion", &[]);
    let otter = Agent::begin(&env, "s2", "CalmOtter", &[]);
    lion.event("UserPromptSubmit", json!({"prompt": "go"}));
    lion.bash("PreToolUse", "make");
    otter.event("UserPromptSubmit", json!({"prompt": "go"}));
    otter.bash("PreToolUse", "rm -r build");
    otter.bash("PermissionRequest", "rm -r build");
    assert_eq!(fleet(&env), ["CalmOtter attention", "NobleLion working"]);
    let shown = env.substrate(["fleet", "--watch"]).success();
    assert!(
        shown.starts_with("Needs you\n  attention  CalmOtter"),
        "no terminal, one print: {shown}"
    );
    assert!(shown.contains("asks for permission: Bash rm -r build"), "{shown}");
    env.substrate(["fleet", "check", "CalmOtter"]).success();
    otter.bash("PostToolUseFailure", "rm -r build");
    lion.event("Stop", json!({"stop_hook_active": false, "last_assistant_message": "Built."}));
    assert_eq!(fleet(&env), ["CalmOtter working", "NobleLion done"], "a call may fail");
    otter.event("StopFailure", json!({"error": "server_error"}));
    assert_eq!(fleet(&env), ["CalmOtter error", "NobleLion done"]);
    otter.dies();
    wait_until(SOON, "its end", || fleet(&env) == ["NobleLion done", "CalmOtter gone"]);
    let unknown = env.substrate(["fleet", "check", "NobleLiom"]).code(1);
    assert!(unknown.stderr.contains("did you mean NobleLion?"), "{unknown}");
}

#[test]
fn substrate_alone_says_how_to_begin_and_later_what_needs_you() {
    let env = TestEnv::new();
    let begin = env.substrate([""; 0]).success();
    assert!(begin.starts_with("Substrate is not set up yet"), "{begin}");
    assert!(begin.contains("substrate up") && begin.contains("substrate demo"), "{begin}");
    assert!(!env.state().join("daemon.lock").exists(), "nothing was started");
    let otter = Agent::begin(&env, "s2", "CalmOtter", &[]);
    otter.event("UserPromptSubmit", json!({"prompt": "go"}));
    otter.bash("PreToolUse", "rm -r build");
    otter.bash("PermissionRequest", "rm -r build");
    let shown = env.substrate([""; 0]);
    assert!(shown.stderr.contains("`substrate up`"), "{}", shown.stderr);
    let shown = shown.success();
    assert!(shown.starts_with("Needs you (1)\n  permission  CalmOtter"), "{shown}");
    assert!(shown.lines().count() <= 15, "{shown}");
    let json: Value = serde_json::from_str(&env.substrate(["--format", "json"]).success()).unwrap();
    assert_eq!(json["needs"][0]["text"], "rm -r build");
    let needs: Value =
        serde_json::from_str(&env.substrate(["needs", "--format", "json"]).success()).unwrap();
    assert_eq!(needs["needs"][0]["id"], "dialog:s2:main");
    otter.bash("PostToolUse", "rm -r build");
    assert_eq!(env.substrate(["needs"]).success(), "Nothing waits for you.\n");
}
