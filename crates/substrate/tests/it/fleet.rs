//! What a person sees of agents that are at work, with real processes.

use serde_json::{Value, json};
use substrate_testkit::{Running, TestEnv, wait_until};

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
        let mut command = env.command("/bin/sleep");
        command.arg("600");
        let client = Running::start(command, Vec::new());
        let mut vars: Vec<(String, String)> =
            vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        vars.push(("CLAUDE_PID".to_owned(), client.pid().to_string()));
        vars.push(("CLAUDE_CODE_SESSION_ATTENDED".to_owned(), "1".to_owned()));
        vars.push(("AGENT_ID".to_owned(), name.to_owned()));
        let agent = Self { env, client, session: session.to_owned(), vars };
        agent.event("SessionStart", json!({"source": "startup"}));
        agent
    }

    /// One event of the session.
    pub(crate) fn event(&self, event: &str, mut payload: Value) {
        payload["session_id"] = json!(self.session);
        payload["cwd"] = json!(self.env.project());
        payload["hook_event_name"] = json!(event);
        let vars: Vec<(&str, &str)> =
            self.vars.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.env.hook_with(event, payload, &vars).success();
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

    /// As after `kill -9`: the client says nothing any more.
    pub(crate) fn dies(&self) {
        signal(self.env, "-KILL", self.client.pid());
    }
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
    assert_eq!(empty, "Nobody is there. An agent shows here from its first event on.\n");
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
