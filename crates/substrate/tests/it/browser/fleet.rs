//! A small fleet with rows for every page: played through the real hook client, always the same.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use substrate_core::Db as _;
use substrate_store::{Durability, Writer};
use substrate_testkit::{Running, TestEnv, wait_until, write_file};

use crate::house::{SOON, configure};

/// Everything that a page must take as text: markup, another direction, control characters, a word without an end.
pub(super) fn hostile() -> String {
    format!(
        "\"'><script>pwned=1</script><img src=x onerror=pwned=2> </title></textarea><svg/onload=pwned=3> {{{{7*7}}}} javascript:pwned=4 \u{202e}exe.txt \u{7}\u{1b}[31m\u{0}\u{200b} {}",
        "w".repeat(3_000)
    )
}

/// What the fleet's agents write.
pub(super) type Words = fn(&str) -> String;

pub(super) fn plain(text: &str) -> String {
    text.to_owned()
}

pub(super) fn hostile_too(text: &str) -> String {
    format!("{text} {}", hostile())
}

/// The sessions, alive as long as this.
pub(super) struct Fleet {
    pub(super) env: TestEnv,
    words: Words,
    clients: BTreeMap<&'static str, Running>,
    /// Hooks that wait beside a dialog.
    dialogs: Vec<Running>,
}

const AGENTS: [(&str, &str); 6] = [
    ("TealGopher", "Fix the parser: `parse()` must keep comments"),
    ("EpicQuail", "Document the parser, with an example for each option"),
    ("CalmOtter", "Move the store to the new schema, and keep old files readable"),
    ("BoldHeron", "Find out why the nightly build is slow"),
    ("MintLynx", "Review the open changes"),
    ("DuskRaven", "Translate the error messages"),
];

impl Fleet {
    /// Nothing has happened yet.
    pub(super) fn empty() -> Self {
        Self::with(plain)
    }

    fn with(words: Words) -> Self {
        let env = TestEnv::new();
        configure(&env, "[ui]\nanswer = true\n[persist]\nmode = \"off\"\n");
        Self { env, words, clients: BTreeMap::new(), dialogs: Vec::new() }
    }

    /// Plays everything.
    pub(super) fn played(words: Words) -> Self {
        let mut fleet = Self::with(words);
        fleet.begins();
        fleet.goes_on();
        fleet.asks_the_user();
        fleet
    }

    /// The same, as if it had taken the better part of an hour: for pictures.
    pub(super) fn aged() -> Self {
        let mut fleet = Self::with(plain);
        let begun = now_ms();
        fleet.begins();
        fleet.stretch(begun, 35 * 60_000);
        let begun = now_ms();
        fleet.goes_on();
        fleet.stretch(begun, 6 * 60_000);
        fleet.asks_the_user();
        fleet
    }

    fn begins(&mut self) {
        for name in ["src/lib.rs", "src/parser.rs", "src/store/schema.rs", "docs/parser.md"] {
            write_file(&self.env.project().join(name), b"text\n");
        }
        for (agent, task) in AGENTS {
            self.starts(agent);
            self.asked(agent, task);
        }
        self.queues();
    }

    fn goes_on(&self) {
        self.works();
        self.writes();
        self.ends();
    }

    /// Moves what has happened since then into the past, as if it had taken that long. What was before goes as far.
    fn stretch(&self, since_ms: i64, took_ms: i64) {
        self.env.substrate(["daemon", "stop"]).success();
        let now = now_ms();
        let more = took_ms - (now - since_ms);
        let mut writer = Writer::open(&self.env.state().join("subtrate.db"), SOON).unwrap();
        let mut tx = writer.begin(Durability::Full).unwrap();
        let mut columns: Vec<(String, String)> = Vec::new();
        let times = "select m.name, c.name from sqlite_master m join pragma_table_info(m.name) c
                     where m.type = 'table' and c.name like '%\\_ms' escape '\\' order by 1, 2";
        tx.query(times, &[], &mut |row| {
            columns.push((row.text(0)?, row.text(1)?));
            Ok(())
        })
        .unwrap();
        assert!(columns.len() > 10, "{columns:?}");
        for (table, column) in columns {
            // Durations are small, and deadlines are later than now.
            let sql = format!(
                "update {table} set {column} = case when {column} < $1 then {column} - $3
                   else $2 - ($2 - {column}) * ($2 - $1 + $3) / ($2 - $1) end
                 where {column} between $2 - 86400000 and $2"
            );
            tx.execute(&sql, &[since_ms.into(), now.into(), more.into()]).unwrap();
        }
        tx.commit().unwrap();
        drop(writer);
        self.env.substrate(["daemon", "start"]).success();
    }

    pub(super) fn starts(&mut self, agent: &'static str) {
        let mut client = self.env.command("/bin/sleep");
        client.arg("1000");
        self.clients.insert(agent, Running::start(client, Vec::new()));
        self.event(agent, "SessionStart", &json!({"source": "startup"}));
    }

    pub(super) fn asked(&self, agent: &str, prompt: &str) {
        self.event(agent, "UserPromptSubmit", &json!({"prompt": (self.words)(prompt)}));
    }

    /// Calls: reads, edits that hold files, one that is refused, commands, a subagent.
    fn works(&self) {
        for (agent, file) in [
            ("TealGopher", "src/parser.rs"),
            ("TealGopher", "src/lib.rs"),
            ("CalmOtter", "src/store/schema.rs"),
            ("EpicQuail", "docs/parser.md"),
            ("EpicQuail", "src/parser.rs"),
        ] {
            let path = self.env.project().join(file);
            self.tool(agent, "Read", &json!({"file_path": path}));
            self.tool(
                agent,
                "Edit",
                &json!({"file_path": path, "old_string": "a", "new_string": (self.words)("b")}),
            );
        }
        let run = |agent, command: &str| {
            let input =
                json!({"command": (self.words)(command), "description": (self.words)("a step")});
            self.tool(agent, "Bash", &input);
        };
        run("TealGopher", "cargo test -p parser");
        run("CalmOtter", "cargo check --workspace");
        run("BoldHeron", "git reset --hard && git clean -fdx");
        run("BoldHeron", "cargo build --timings");
        run("MintLynx", "rm -rf ~/");
        let sub = json!({"agent_id": "a1b2", "agent_type": "reviewer"});
        self.event("MintLynx", "SubagentStart", &sub);
        let mut call = sub;
        call["tool_name"] = "Grep".into();
        call["tool_input"] = json!({"pattern": (self.words)("fn parse")});
        call["tool_use_id"] = "toolu_9".into();
        self.event("MintLynx", "PreToolUse", &call);
    }

    /// Mail between agents, to the user and from the user.
    fn writes(&self) {
        let say = |by: &str, to: &str, subject: &str, body: &str, more: &[&str]| {
            let subject: String = (self.words)(subject).chars().take(200).collect();
            let body = (self.words)(body);
            let words = ["send", to, &body, "--subject", &subject];
            let vars = [("CLAUDECODE", "1"), ("CLAUDE_SESSION_ID", &*by.to_lowercase())];
            let vars: &[(&str, &str)] = if by == "User" { &[] } else { &vars };
            // Zeros can't be in an argument.
            let words: Vec<String> =
                words.iter().chain(more).map(|word| word.replace('\0', "")).collect();
            self.env.substrate_with(words, vars).success();
        };
        say(
            "TealGopher",
            "EpicQuail",
            "Options",
            "parse() takes Options now. Please say so in the docs.",
            &[],
        );
        say("User", "TealGopher", "Keep parse()", "Keep parse() as it is. Add parse_with().", &[]);
        say(
            "CalmOtter",
            "User",
            "Old files",
            "Version 2 files have no checksum. Shall I write one when I read them, or leave them alone?",
            &["--deadline", "1h"],
        );
        say(
            "BoldHeron",
            "User",
            "The build",
            "Half of the time is one crate's build script. A cache key would do.",
            &[],
        );
    }

    fn queues(&self) {
        for title in
            ["Split the parser's tests", "Measure the new store", "Write the migration's docs"]
        {
            let title: String = (self.words)(title).chars().take(200).collect();
            let body = (self.words)("See the issue.");
            let words = ["work", "add", &title, "--body", &body].map(|word| word.replace('\0', ""));
            self.env.substrate(words).success();
        }
        let by = [("CLAUDECODE", "1"), ("CLAUDE_SESSION_ID", "boldheron")];
        self.env.substrate_with(["work", "claim"], &by).success();
    }

    /// Turns end; one session is over.
    fn ends(&self) {
        for (n, (agent, model)) in [
            ("BoldHeron", "claude-opus-4-5"),
            ("DuskRaven", "claude-sonnet-4-6"),
            ("EpicQuail", "unknown-model"),
        ]
        .into_iter()
        .enumerate()
        {
            let n = n as u64 + 1;
            let line = |at: u64| {
                json!({"type": "assistant", "timestamp": "2026-11-18T07:00:00Z",
                "message": {"id": format!("msg_{agent}_{at}"), "model": model, "content": [],
                "usage": {"input_tokens": 900 * n * at, "cache_creation_input_tokens": 4_000 * n,
                          "cache_read_input_tokens": 30_000 * n * at, "output_tokens": 700 * at}}})
            };
            let text: String = (1..=4).map(|at| format!("{}\n", line(at))).collect();
            write_file(&self.transcript(agent), text);
            let said = (self.words)("Done. All tests pass.");
            self.event(agent, "Stop", &json!({"stop_hook_active": false, "last_assistant_message": said, "background_tasks": []}));
        }
        self.event("DuskRaven", "SessionEnd", &json!({"reason": "prompt_input_exit"}));
    }

    /// A dialog and a question wait for the user.
    fn asks_the_user(&mut self) {
        let push = json!({"command": (self.words)("git push origin parser"), "description": "publish the branch"});
        self.dialog("TealGopher", "Bash", &push);
        let question = json!({"questions": [{
            "question": (self.words)("Which checksum do new files get?"), "header": "Checksum", "multiSelect": false,
            "options": [
                {"label": (self.words)("CRC-32"), "description": "short"},
                {"label": "SHA-256", "description": "safe"},
            ],
        }]});
        self.dialog("CalmOtter", "AskUserQuestion", &question);
    }

    /// A call that the client puts to the user. Its hook waits until the fleet ends or it is answered.
    pub(super) fn dialog(&mut self, agent: &'static str, tool: &str, input: &Value) {
        let call = json!({"tool_name": tool, "tool_input": input, "tool_use_id": format!("toolu_{}", self.dialogs.len())});
        self.event(agent, "PreToolUse", &call);
        let before = self.n_waiting();
        let payload = self.payload(agent, "PermissionRequest", &call);
        let pid = self.clients[agent].pid().to_string();
        let hook = self.env.start_hook("PermissionRequest", payload, &vars(agent, &pid));
        self.dialogs.push(hook);
        wait_until(SOON, "the dialog waits", || self.n_waiting() > before);
    }

    pub(super) fn n_waiting(&self) -> usize {
        let out = self.env.substrate(["answer", "--format", "json"]).success();
        serde_json::from_str::<Value>(&out).unwrap()["requests"].as_array().unwrap().len()
    }

    /// The answer that the oldest dialog's client gets.
    pub(super) fn answered(&mut self) -> String {
        self.dialogs.remove(0).finish(SOON).success()
    }

    /// A call, and its end unless it is refused.
    pub(super) fn tool(&self, agent: &str, name: &str, input: &Value) {
        let mut call = json!({"tool_name": name, "tool_input": input, "tool_use_id": "toolu_1"});
        if self.event(agent, "PreToolUse", &call).contains("permissionDecision") {
            return;
        }
        call["tool_response"] = json!({"stdout": (self.words)("ok")});
        self.event(agent, "PostToolUse", &call);
    }

    pub(super) fn event(&self, agent: &str, event: &str, more: &Value) -> String {
        let pid = self.clients[agent].pid().to_string();
        let payload = self.payload(agent, event, more);
        self.env.hook_with(event, payload, &vars(agent, &pid)).success()
    }

    fn payload(&self, agent: &str, event: &str, more: &Value) -> Value {
        let mut payload = json!({
            "session_id": agent.to_lowercase(), "cwd": self.env.project(), "hook_event_name": event,
            "transcript_path": self.transcript(agent),
        });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        payload
    }

    fn transcript(&self, agent: &str) -> std::path::PathBuf {
        self.env.config().join(format!("projects/project/{}.jsonl", agent.to_lowercase()))
    }
}

fn vars<'a>(agent: &'a str, pid: &'a str) -> [(&'a str, &'a str); 4] {
    [
        ("AGENT_ID", agent),
        ("CLAUDECODE", "1"),
        ("CLAUDE_PID", pid),
        ("CLAUDE_CODE_SESSION_ATTENDED", "1"),
    ]
}

#[expect(clippy::disallowed_methods, reason = "the daemon's clock is this machine's")]
fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}
