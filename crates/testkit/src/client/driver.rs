//! What print mode and the terminal share: configuration, environment, arguments.
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::tui::Tui;
use crate::bins::claude;
use crate::env::{TestEnv, write_file};
use crate::model::ModelServer;
use crate::process::{Run, Running};

/// A dummy key: the client wants one even for loopback.
const KEY: &str = "dummy-key-for-tests";
/// This model still has the task list tools that later defaults lack.
const MODEL: &str = "claude-sonnet-4-6";
/// A print run that takes longer is stuck.
const PRINT_DEADLINE: Duration = Duration::from_secs(60);

/// A client that is set up in a [`TestEnv`] and talks to a [`ModelServer`].
#[derive(Debug)]
pub struct Client<'a> {
    env: &'a TestEnv,
    base_url: String,
    vars: Vec<(String, String)>,
}

impl<'a> Client<'a> {
    /// Trusts the project, so that no dialog waits for an answer. Leaves `settings.json` alone.
    pub fn new(env: &'a TestEnv, model: &ModelServer) -> Self {
        let trusted = json!({"hasTrustDialogAccepted": true});
        let state = json!({
            "hasCompletedOnboarding": true,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY], "rejected": []},
            "projects": {env.project().display().to_string(): trusted},
        });
        write_file(&env.config().join(".claude.json"), state.to_string());
        Self { env, base_url: model.base_url(), vars: Vec::new() }
    }

    /// Writes the user's `settings.json` with these hooks and nothing else.
    #[must_use]
    pub fn hooks(self, hooks: &Value) -> Self {
        self.settings(&json!({"hooks": hooks}))
    }

    /// Writes the user's `settings.json`.
    #[must_use]
    pub fn settings(self, settings: &Value) -> Self {
        write_file(&self.env.config().join("settings.json"), settings.to_string());
        self
    }

    /// Adds a variable to the environment of the client, its hooks and its tools.
    #[must_use]
    pub fn var(mut self, name: &str, value: &str) -> Self {
        self.vars.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs `claude -p PROMPT ARGS…` to its end.
    ///
    /// # Panics
    /// If it does not end within a minute.
    #[track_caller]
    pub fn print(&self, prompt: &str, args: &[&str]) -> PrintRun {
        PrintRun::new(self.start_print(prompt, args).finish(PRINT_DEADLINE))
    }

    /// Starts `claude -p PROMPT ARGS…`. Turn its result into a [`PrintRun`].
    pub fn start_print(&self, prompt: &str, args: &[&str]) -> Running {
        let mut command = self.command();
        command.args(["-p", prompt, "--output-format", "stream-json", "--verbose"]);
        command.args(args);
        Running::start(command, Vec::new())
    }

    /// Starts `PREFIX… claude -p PROMPT ARGS…`.
    pub fn start_print_under(&self, prefix: &[&str], prompt: &str, args: &[&str]) -> Running {
        let (program, rest) = prefix.split_first().expect("a prefix begins with a program");
        let mut command = self.env.command(program);
        command.envs(self.vars()).args(rest).arg(claude()).args(Self::arguments());
        command.args(["-p", prompt, "--output-format", "stream-json", "--verbose"]).args(args);
        Running::start(command, Vec::new())
    }

    /// Starts `claude ARGS…` in a terminal of its own and waits for its prompt.
    pub fn interactive(&self, args: &[&str]) -> Tui<'_> {
        Tui::start(self, &[], args)
    }

    /// The same below another program: `PREFIX… claude ARGS…`.
    pub fn interactive_under(&self, prefix: &[&str], args: &[&str]) -> Tui<'_> {
        Tui::start(self, prefix, args)
    }

    /// The client with the arguments that every run has.
    pub(super) fn command(&self) -> Command {
        let mut command = self.env.command(claude());
        command.envs(self.vars());
        command.args(Self::arguments());
        command
    }

    pub(super) fn arguments() -> [&'static str; 6] {
        // As an argument: the client would move it from `.claude.json` into the user's settings.
        let settings = r#"{"skipDangerousModePermissionPrompt":true}"#;
        ["--model", MODEL, "--permission-mode", "bypassPermissions", "--settings", settings]
    }

    pub(super) fn env(&self) -> &'a TestEnv {
        self.env
    }

    /// Its variables beside [`TestEnv::vars`].
    pub(super) fn vars(&self) -> Vec<(String, String)> {
        let temp = self.env.root().join("tmp").display().to_string();
        let fixed = [
            ("ANTHROPIC_BASE_URL", self.base_url.as_str()),
            ("ANTHROPIC_API_KEY", KEY),
            ("CLAUDE_CODE_TMPDIR", temp.as_str()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            // Otherwise it refuses `bypassPermissions` to root.
            ("IS_SANDBOX", "1"),
        ];
        let fixed = fixed.map(|(name, value)| (name.to_owned(), value.to_owned()));
        fixed.into_iter().chain(self.vars.iter().cloned()).collect()
    }
}

/// A finished `claude -p`.
#[derive(Debug, Clone)]
#[must_use = "an unchecked run proves nothing"]
pub struct PrintRun {
    pub run: Run,
    /// The lines of `stream-json`.
    pub events: Vec<Value>,
}

impl PrintRun {
    /// Reads the events of a finished run.
    pub fn new(run: Run) -> Self {
        let events = run.stdout.lines().filter_map(|line| serde_json::from_str(line).ok());
        Self { events: events.collect(), run }
    }

    /// The final answer.
    ///
    /// # Panics
    /// If there is none. The message has everything that was printed.
    #[track_caller]
    pub fn result(&self) -> &str {
        self.last()["result"].as_str().unwrap_or_else(|| panic!("no result: {}", self.run))
    }

    /// # Panics
    /// If there is none. The message has everything that was printed.
    #[track_caller]
    pub fn session_id(&self) -> &str {
        self.last()["session_id"].as_str().unwrap_or_else(|| panic!("no session: {}", self.run))
    }

    #[track_caller]
    fn last(&self) -> &Value {
        let last = self.events.iter().rev().find(|event| event["type"] == "result");
        last.unwrap_or_else(|| panic!("no result: {}", self.run))
    }
}
