//! Other real clients, offline: each runs one prompt to its end in the sandbox, against the scripted model.
use std::path::PathBuf;
use std::time::Duration;

use crate::bins::other_program;
use crate::env::{TestEnv, write_file};
use crate::model::ModelServer;
use crate::process::{Run, Running};

/// A run that takes longer is stuck.
const DEADLINE: Duration = Duration::from_secs(180);

const GEMINI_SETTINGS: &str = r#"{
  "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
  "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
  "privacy": { "usageStatisticsEnabled": false },
  "telemetry": { "enabled": false },
  "experimental": { "enableAgents": true },
  "model": { "name": "gemini-2.5-flash" }
}
"#;

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

    /// Gemini CLI. It wants to be told how to sign in, which is part of the file that our hooks go into.
    pub fn gemini(env: &'a TestEnv, model: &ModelServer) -> Self {
        let settings = env.home().join(".gemini/settings.json");
        if !settings.exists() {
            write_file(&settings, GEMINI_SETTINGS);
        }
        Self::new(env, "gemini", "@google/gemini-cli@0.61.0")
            .var("GEMINI_API_KEY", "dummy-key-for-tests")
            .var("GOOGLE_GEMINI_BASE_URL", &model.base_url())
            .var("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .var("GEMINI_CLI_NO_RELAUNCH", "true")
            .args(&["--yolo", "-p"])
    }

    /// Copilot CLI, without an account.
    pub fn copilot(env: &'a TestEnv, model: &ModelServer) -> Self {
        Self::new(env, "copilot", "@github/copilot@1.0.102")
            .var("COPILOT_OFFLINE", "true")
            .var("COPILOT_AUTO_UPDATE", "false")
            .var("COPILOT_PROVIDER_BASE_URL", &format!("{}/v1", model.base_url()))
            .var("COPILOT_PROVIDER_TYPE", "openai")
            .var("COPILOT_PROVIDER_API_KEY", "dummy-key-for-tests")
            .var("COPILOT_MODEL", "scripted")
            .var("COPILOT_ALLOW_ALL", "true")
            .args(&["--allow-all-tools", "-p"])
    }

    /// opencode, with one prompt.
    pub fn opencode(env: &'a TestEnv, model: &ModelServer) -> Self {
        Self::opencode_with(env, model).args(&["run"])
    }

    /// A server of opencode, whose sessions go on after a prompt. What [`Self::opencode`] runs can attach to it.
    pub fn opencode_server(env: &'a TestEnv, model: &ModelServer, port: u16) -> Running {
        let client = Self::opencode_with(env, model).args(&["serve", "--port"]);
        client.start(&port.to_string())
    }

    fn opencode_with(env: &'a TestEnv, model: &ModelServer) -> Self {
        // It wants to install a package for plugins, and would try for more than a minute.
        write_file(&env.home().join(".npmrc"), "offline=true\n");
        let config = env.home().join(".config/opencode/opencode.json");
        let provider = serde_json::json!({
            "npm": "@ai-sdk/openai-compatible",
            "name": "scripted",
            "options": {"baseURL": format!("{}/v1", model.base_url()), "apiKey": "dummy-key-for-tests"},
            "models": {"scripted": {"name": "scripted", "limit": {"context": 100_000, "output": 4_000}}},
        });
        let settings = serde_json::json!({
            "autoupdate": false, "share": "disabled", "model": "scripted/scripted",
            "small_model": "scripted/scripted", "provider": {"scripted": provider},
        });
        write_file(&config, settings.to_string());
        let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        let program = format!("opencode-linux-{arch}/bin/opencode");
        Self::of(env, other_program("opencode", &program, "opencode-ai@1.18.33"))
            .var("OPENCODE_DISABLE_AUTOUPDATE", "1")
            .var("OPENCODE_DISABLE_MODELS_FETCH", "1")
            .var("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
            .var("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1")
            .var("OPENCODE_DISABLE_SHARE", "1")
    }

    fn new(env: &'a TestEnv, name: &str, package: &str) -> Self {
        Self::of(env, other_program(name, &format!(".bin/{name}"), package))
    }

    fn of(env: &'a TestEnv, program: PathBuf) -> Self {
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
