//! Other real clients, offline: each runs one prompt to its end in the sandbox, against the scripted model.
use std::path::PathBuf;
use std::time::Duration;

use crate::bins::other_client;
use crate::env::{TestEnv, write_file};
use crate::model::ModelServer;
use crate::process::{Run, Running};

/// A run that takes longer is stuck.
const DEADLINE: Duration = Duration::from_secs(90);

/// A client that is set up in a [`TestEnv`] and talks to a [`ModelServer`].
#[derive(Debug)]
pub struct OtherClient<'a> {
    env: &'a TestEnv,
    program: PathBuf,
    vars: Vec<(String, String)>,
    /// Before the prompt.
    args: Vec<String>,
}

impl<'a> OtherClient<'a> {
    /// Codex, without a sandbox of its own and without questions. Its hooks run only if the user trusts them.
    pub fn codex(env: &'a TestEnv, model: &ModelServer) -> Self {
        let project = env.project().display().to_string();
        let config = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\napproval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n\n[model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{}/v1\"\nenv_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\n\n[projects.{project:?}]\ntrust_level = \"trusted\"\n",
            model.base_url()
        );
        let file = env.home().join(".codex/config.toml");
        // Hooks that were trusted before stay trusted: only a new home gets the file.
        if !file.exists() {
            write_file(&file, config);
        }
        let provider = format!("model_providers.scripted.base_url=\"{}/v1\"", model.base_url());
        Self::new(env, "codex", "@openai/codex@0.166.0")
            .var("SCRIPTED_KEY", "dummy-key-for-tests")
            .args(&["exec", "--skip-git-repo-check", "-c", &provider])
    }

    /// Qwen Code.
    pub fn qwen(env: &'a TestEnv, model: &ModelServer) -> Self {
        Self::new(env, "qwen", "@qwen-code/qwen-code@0.24.4")
            .var("OPENAI_API_KEY", "dummy-key-for-tests")
            .var("OPENAI_BASE_URL", &format!("{}/v1", model.base_url()))
            .var("OPENAI_MODEL", "scripted")
            .args(&["--approval-mode", "yolo", "-p"])
    }

    fn new(env: &'a TestEnv, name: &str, package: &str) -> Self {
        let program = other_client(name, package);
        // Nothing listens there: a client that wants to reach another host fails at once.
        let proxy = "http://127.0.0.1:9";
        Self { env, program, vars: Vec::new(), args: Vec::new() }
            .var("HTTPS_PROXY", proxy)
            .var("https_proxy", proxy)
            .var("NO_PROXY", "127.0.0.1,localhost")
            .var("no_proxy", "127.0.0.1,localhost")
    }

    /// Adds a variable to the environment of the client, its hooks and its tools.
    #[must_use]
    pub fn var(mut self, name: &str, value: &str) -> Self {
        self.vars.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds arguments before the prompt.
    #[must_use]
    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|arg| (*arg).to_owned()));
        self
    }

    /// Runs one prompt to its end.
    ///
    /// # Panics
    /// If it takes too long.
    pub fn run(&self, prompt: &str) -> Run {
        self.start(prompt).finish(DEADLINE)
    }

    /// Starts with one prompt.
    pub fn start(&self, prompt: &str) -> Running {
        let mut command = self.env.command(&self.program);
        command.envs(self.vars.iter().map(|(name, value)| (name, value)));
        command.args(&self.args).arg(prompt);
        Running::start(command, Vec::new())
    }
}
