//! A project, its sessions and the reader's shell.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use substrate_testkit::{Run, Running, TestEnv, bin, write_file};

use crate::house::SOON;

/// Commands that change settings.
const SET: [&str; 2] = ["substrate hooks install", "substrate config set"];

/// Programs of others. What is typed after their names is theirs.
const OTHERS: [&str; 3] = ["claude", "git", "cp"];

pub(super) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A repository with one commit, below a home that has nothing else.
pub(super) struct Sandbox {
    env: TestEnv,
    /// Processes that stand for clients. A session counts as alive while its client lives.
    clients: BTreeMap<String, Running>,
    /// What `--help` says, by the words of a command.
    help: RefCell<BTreeMap<String, Run>>,
}

impl Sandbox {
    pub(super) fn new() -> Self {
        let env = TestEnv::new();
        std::os::unix::fs::symlink(env.state(), env.home().join(".subtrate"))
            .expect("the sandbox's home is empty");
        write_file(
            &env.home().join(".gitconfig"),
            b"[user]\nname = You\nemail = you@example.com\n[init]\ndefaultBranch = main\n",
        );
        for name in ["src/lib.rs", "src/parser.rs", "docs/design.md", "notes.md"] {
            write_file(&env.project().join(name), b"text\n");
        }
        let this = Self { env, clients: BTreeMap::new(), help: RefCell::default() };
        let commit = "git init -q && git add . && git commit -qm 'Write a parser'";
        this.run(commit, None).success();
        this
    }

    /// Runs a line of a shell; standard error is part of what it printed.
    pub(super) fn run(&self, line: &str, by: Option<&str>) -> Run {
        let mut shell = self.env.command("/bin/bash");
        shell.args(["-c", &format!("set -o pipefail\nexec 2>&1\n{line}")]);
        if let Some(agent) = by {
            shell.envs([("CLAUDECODE", "1"), ("CLAUDE_SESSION_ID", &agent.to_lowercase())]);
        }
        let run = Running::start(shell, Vec::new()).finish(SOON);
        if SET.iter().any(|words| line.contains(words)) {
            self.renew();
        }
        run
    }

    /// The daemon notices new settings within a moment. A new one has read them.
    fn renew(&self) {
        self.env.substrate(["daemon", "restart"]).success();
    }

    pub(super) fn session(&mut self, agent: &str) {
        let mut client = self.env.command("/bin/sleep");
        client.arg("1000");
        self.clients.insert(agent.to_owned(), Running::start(client, Vec::new()));
        self.event(agent, "SessionStart", &json!({"source": "startup"}));
    }

    /// What happens in a session; the words that the model gets.
    pub(super) fn happens(&self, agent: &str, what: &str) -> String {
        let (verb, rest) = what.split_once(' ').unwrap_or((what, ""));
        let file = self.env.project().join(rest);
        match verb {
            "asked" => self.event(agent, "UserPromptSubmit", &json!({"prompt": rest})),
            "edits" => self.tool(agent, "Edit", &json!({"file_path": file})),
            "reads" => self.tool(agent, "Read", &json!({"file_path": file})),
            "runs" => self.tool(agent, "Bash", &json!({"command": rest})),
            "delegates" => self.event(
                agent,
                "SubagentStart",
                &json!({"agent_id": format!("{rest}-1"), "agent_type": rest}),
            ),
            "stops" => self.event(
                agent,
                "Stop",
                &json!({"stop_hook_active": false, "last_assistant_message": "Done.", "background_tasks": []}),
            ),
            "leaves" => self.event(agent, "SessionEnd", &json!({"reason": "prompt_input_exit"})),
            verb => panic!("nothing is known to happen when an agent {verb}"),
        }
    }

    /// A call, and what follows it unless it is refused.
    fn tool(&self, agent: &str, name: &str, input: &Value) -> String {
        let call = json!({"tool_name": name, "tool_input": input, "tool_use_id": "toolu_1"});
        let mut said = self.event(agent, "PreToolUse", &call);
        // On a machine whose disk is busy, an agent may be told so, and does it.
        for _ in 0..20 {
            if said.contains("Try the same edit again.") {
                said = self.event(agent, "PreToolUse", &call);
            }
        }
        if !said.is_empty() {
            return said;
        }
        let mut done = call;
        done["tool_response"] = json!({});
        self.event(agent, "PostToolUse", &done)
    }

    fn event(&self, agent: &str, event: &str, more: &Value) -> String {
        let client = self.clients.get(agent);
        let client = client.unwrap_or_else(|| panic!("{agent} has no session yet"));
        let mut payload = json!({
            "session_id": agent.to_lowercase(), "cwd": self.env.project(), "hook_event_name": event,
        });
        let fields = payload.as_object_mut().expect("a payload is an object");
        fields.extend(more.as_object().expect("fields are an object").clone());
        let pid = client.pid().to_string();
        let vars = [
            ("AGENT_ID", agent),
            ("CLAUDECODE", "1"),
            ("CLAUDE_PID", &pid),
            ("CLAUDE_CODE_SESSION_ATTENDED", "1"),
        ];
        let answer = self.env.hook_with(event, payload, &vars).success();
        let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
        let places = [
            "/hookSpecificOutput/permissionDecisionReason",
            "/hookSpecificOutput/additionalContext",
            "/reason",
        ];
        let words = places.iter().find_map(|place| answer.pointer(place)?.as_str());
        self.tidied(words.unwrap_or_default())
    }

    /// A file of the project, or below the home. A settings file must be in order.
    pub(super) fn file(&self, path: &str, text: &str) {
        let full = match path.strip_prefix("~/") {
            Some(path) => self.env.home().join(path),
            None => self.env.project().join(path),
        };
        let full = match path.strip_prefix("~/.subtrate/") {
            Some(path) => self.env.state().join(path),
            None => full,
        };
        write_file(&full, text.as_bytes());
        if path.ends_with(".toml") {
            self.run("substrate config check", None).success();
            self.renew();
        }
    }

    /// What was printed, with the paths that a reader would see.
    pub(super) fn tidied(&self, printed: &str) -> String {
        let programs = bin("substrate");
        let programs = programs.parent().expect("a program is in a folder");
        let paths = [
            (self.env.state(), "~/.subtrate"),
            (self.env.project(), "~/project"),
            (self.env.home(), "~"),
            (programs.to_path_buf(), "~/.local/bin"),
        ];
        let mut out = printed.to_owned();
        for (path, name) in paths {
            out = out.replace(&path.display().to_string(), name);
        }
        out
    }

    /// Whether a line names commands and flags that exist; if not, what is wrong.
    pub(super) fn check(&self, line: &str) -> Result<(), String> {
        let line = line.split(" #").next().unwrap_or(line).trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["substrate", ref rest @ ..] => self.check_own(line, rest),
            ["make", target] => has_line(line, "Makefile", &format!("{target}:")),
            ["cargo", "xtask", name, ..] => {
                has_line(line, "xtask/src/main.rs", &format!("  {name} "))
            }
            ["cargo", "nextest", ..] => Ok(()),
            [name, ..] if OTHERS.contains(&name) => Ok(()),
            _ => Err(format!("`{line}` is not a command that the test knows")),
        }
    }

    fn check_own(&self, line: &str, rest: &[&str]) -> Result<(), String> {
        let is_name = |word: &&&str| {
            word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-')
        };
        let names: Vec<&str> = rest.iter().take_while(is_name).copied().collect();
        let mut known = self.help.borrow_mut();
        let help = known
            .entry(names.join(" "))
            .or_insert_with(|| self.env.substrate(names.iter().copied().chain(["--help"])));
        if help.status != Some(0) {
            return Err(format!("`{line}`: {}", help.stderr));
        }
        let ours = rest.iter().take_while(|word| **word != "--");
        let flags = ours.filter(|word| word.starts_with("--"));
        for flag in flags.map(|flag| flag.split('=').next().unwrap_or(flag)) {
            let mut words = help.stdout.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            if !words.any(|word| word == flag) {
                return Err(format!("`{line}`: there is no {flag}"));
            }
        }
        Ok(())
    }
}

fn has_line(line: &str, file: &str, beginning: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(repository().join(file)).expect("the page is there");
    match text.lines().any(|line| line.starts_with(beginning)) {
        true => Ok(()),
        false => Err(format!("`{line}`: {file} does not have it")),
    }
}

#[test]
fn what_does_not_exist_is_found() {
    let sandbox = Sandbox::new();
    for line in
        ["substrate hooks install --profile locks", "make run", "substrate run -- claude -x"]
    {
        assert_eq!(sandbox.check(line), Ok(()));
    }
    for line in [
        "substrate nothing",
        "substrate hooks instal",
        "substrate hooks install --profil locks",
        "make nothing",
        "cargo xtask nothing",
        "rm -rf /",
    ] {
        assert!(sandbox.check(line).is_err(), "{line}");
    }
}
