//! `--format json`: every command prints one JSON document, and nothing else, on stdout.

use serde_json::{Value, json};
use substrate_testkit::{Run, Running, TestEnv, bin, write_file};

use crate::house::{SOON, configure, plain};

/// Every command, in an order in which each finds what it needs, and its exit code. A `+` is a space within a word.
const COMMANDS: &[(&str, i32)] = &[
    ("daemon status", 3),
    ("daemon start", 0),
    ("daemon start", 0),
    ("daemon status", 0),
    ("daemon restart", 0),
    ("daemon stop", 0),
    ("daemon start", 0),
    ("version", 0),
    ("demo", 0),
    ("completions bash", 0),
    ("config", 0),
    ("config list", 0),
    ("config get journal.max_age", 0),
    ("config check", 0),
    ("config set locks.mirror true", 0),
    ("config edit", 0),
    ("hooks install --dry-run", 0),
    ("up", 1),
    ("up --yes", 0),
    ("up", 0),
    ("hooks install --yes", 0),
    ("hooks status", 0),
    ("hooks snippet", 0),
    ("plugin dir", 0),
    ("plugin marketplace", 0),
    ("plugin publish published --archive https://x.example/p.zip --sha256 00 --npm x", 0),
    ("notify status", 0),
    ("notify due", 0),
    ("notify told", 0),
    ("notify noted", 0),
    ("hub machines", 0),
    ("hub revoke nothing", 1),
    ("hub rotate nothing", 1),
    ("hub status", 1),
    ("team status", 1),
    ("team members", 1),
    ("team seen", 0),
    ("team due", 0),
    ("team receipts", 0),
    ("team arrived", 0),
    ("team fates", 0),
    ("team left", 0),
    ("team leave", 1),
    ("team claim db", 0),
    ("team claims", 0),
    ("team renew db", 1),
    ("team release db", 0),
    ("team answered", 0),
    ("claim db", 0),
    ("claim list", 0),
    ("claim release db", 0),
    ("mail list --agent Lead", 0),
    ("clients", 0),
    ("fleet lanes", 0),
    ("fleet story Lead", 0),
    ("work board", 0),
    ("journal search hello", 0),
    ("hooks uninstall --dry-run", 0),
    ("hook Stop --explain", 0),
    ("hook PreToolUse --explain", 0),
    ("doctor", 0),
    ("identity ensure --session-id s1", 0),
    ("identity current --session-id s1", 0),
    ("identity save --session-id s1", 0),
    ("identity restore --session-id s1", 0),
    ("identity list", 0),
    ("identity rename Helper --agent Other", 0),
    ("agent", 0),
    ("agent list --all", 0),
    ("agent show Lead", 0),
    ("agent whoami --session-id s1", 0),
    ("agent discover", 0),
    ("heartbeat --session-id s1", 0),
    ("statusline", 0),
    ("topic create news", 0),
    ("topic list", 0),
    ("subscribe news --agent Lead", 0),
    ("publish news --subject x --body y", 0),
    ("unsubscribe news --agent Lead", 0),
    ("broadcast --subject x --body y", 0),
    ("send Lead hello", 0),
    ("inbox --agent Lead --peek", 0),
    ("poll --agent Lead --peek", 0),
    ("watch --agent Lead --timeout 1s", 0),
    ("read 1 --agent Lead", 0),
    ("thread 1 --agent Lead", 0),
    ("reply 1 yes --agent Lead", 0),
    ("ack 1 --agent Lead", 0),
    ("star 1 --agent Lead", 0),
    ("snooze 1 --until 2h --agent Lead", 0),
    ("archive 1 --agent Lead", 0),
    ("trash 1 --agent Lead", 0),
    ("search hello", 0),
    ("status", 0),
    ("status 1", 0),
    ("effort start brainstorm --session-id s1", 0),
    ("effort phase choose --session-id s1", 0),
    ("effort log --body done --session-id s1", 0),
    ("effort inject look --effort 1", 0),
    ("effort preload a.txt --session-id s1", 0),
    ("effort dehydrate --body all+is+said --session-id s1", 0),
    ("effort resume 1 --session-id s1", 0),
    ("effort show 1", 0),
    ("effort list", 0),
    ("effort finish 1 --session-id s1", 0),
    ("task list", 0),
    ("task set tasks/t --title Doors", 1),
    ("task show tasks/t", 1),
    ("session list", 0),
    ("session show s1", 0),
    ("guard list", 0),
    ("guard check", 0),
    ("guard test commands", 0),
    ("guard explain ls", 0),
    ("guard backtest", 0),
    ("reminders list", 0),
    ("reminders show reflect", 0),
    ("needs", 0),
    ("answer", 0),
    ("overview", 0),
    ("cost --by day", 0),
    ("fleet", 0),
    ("fleet list", 0),
    ("fleet check Lead", 0),
    ("work add parser", 0),
    ("work list", 0),
    ("import beads issues.jsonl", 0),
    ("import beads issues.jsonl --apply", 0),
    ("work show 1", 0),
    ("work claim --session-id s1", 0),
    ("work release 1 --session-id s1", 0),
    ("work claim 1 --session-id s1", 0),
    ("work done 1 --session-id s1", 0),
    ("supervise list", 0),
    ("supervise note 00000000000000000000000000000001 --pid 1 --child 1", 0),
    ("supervise done 00000000000000000000000000000001 --child 1", 0),
    ("journal", 0),
    ("journal list", 0),
    ("journal show 1", 0),
    ("journal stats", 0),
    ("journal refused", 0),
    ("journal health", 0),
    ("locks acquire a.txt --session-id s1", 0),
    ("locks list", 0),
    ("locks show a.txt", 0),
    ("locks check a.txt --list", 0),
    ("locks check a.txt", 1),
    ("locks history a.txt", 0),
    ("locks release a.txt --session-id s1", 0),
    ("locks wait a.txt", 0),
    ("locks guard install", 0),
    ("locks guard status", 0),
    ("locks guard run", 0),
    ("locks guard uninstall", 0),
    ("scratchpad path", 0),
    ("scratchpad", 0),
    ("scratchpad init coordinator", 0),
    ("scratchpad show coordinator", 0),
    ("scratchpad check coordinator", 1),
    ("agent delete Third --yes", 0),
    ("db path", 0),
    ("db check", 0),
    ("db backup", 0),
    ("db restore", 0),
    ("hooks uninstall --yes", 0),
    ("down", 0),
    ("down", 0),
    ("uninstall --yes --delete-data", 0),
];

/// Commands that are left out, and why.
const OTHERS: &[(&str, &str)] = &[
    ("ui open", "its address is another one each time"),
    ("ui stop", "for the dashboard's own tests"),
    ("ui keys", "for the dashboard's own tests"),
    ("ui revoke", "for the dashboard's own tests"),
    ("ui pair", "its address is another one each time"),
    ("top", "it draws on a terminal"),
    ("notify test", "it needs a place to notify"),
    ("hub serve", "it stays in the foreground, and prints nothing"),
    ("hub invite", "it needs a hub"),
    ("team join", "it needs a hub"),
    ("mcp", "it speaks a protocol of its own"),
    ("man", "a manual page is text"),
    ("daemon run", "it stays in the foreground, and prints nothing"),
    ("run", "its output is the client's own"),
    ("journal tail", "it goes on; an object a line is shown elsewhere"),
    ("supervise wait", "it waits for a client to be restarted"),
    ("fleet go", "a tmux server is needed"),
    ("tmux on", "a tmux server is needed"),
    ("tmux off", "a tmux server is needed"),
    ("tmux status", "a tmux server is needed"),
];

/// Commands that fail before they have anything to print.
const SILENT: &[&str] = &[
    "up",
    "hub revoke nothing",
    "hub rotate nothing",
    "hub status",
    "team status",
    "team members",
    "team leave",
    "team renew db",
    "task set tasks/t --title Doors",
    "task show tasks/t",
    "locks check a.txt",
];

fn house() -> TestEnv {
    let env = TestEnv::new();
    configure(&env, "profile = \"engine\"\n");
    let git = env.command("git").args(["init", "-q"]).status().unwrap();
    assert!(git.success());
    write_file(&env.project().join("a.txt"), "one\n");
    write_file(&env.project().join("commands"), "ls\n");
    write_file(&env.project().join("issues.jsonl"), "{\"id\":\"bd-1\",\"title\":\"Doors\"}\n");
    for (session, agent) in [("s1", "Lead"), ("s2", "Other"), ("s3", "Third")] {
        let begin = json!({
            "session_id": session, "cwd": env.project(), "hook_event_name": "SessionStart", "source": "startup",
        });
        let _context = env.hook_with("SessionStart", begin, &[("AGENT_ID", agent)]).code(0);
    }
    env.hook("SessionEnd", plain("s3", "SessionEnd")).success();
    env.substrate(["daemon", "stop"]).success();
    env
}

fn run(env: &TestEnv, words: &[String]) -> Run {
    let mut command = env.command(bin("substrate"));
    command.args(["--format", "json"]).args(words).env("EDITOR", "true");
    let input = plain("s1", "Stop").to_string();
    Running::start(command, input.into_bytes()).finish(SOON)
}

/// Every command that can be run, as the reference lists them; an older spelling where there is one.
fn all(env: &TestEnv) -> Vec<String> {
    let reference = env.substrate(["__reference"]).success();
    let older = |command: &str| {
        let end = format!("` | `substrate {command}` |");
        let found = reference.lines().find_map(|line| line.strip_suffix(&end));
        found.map_or(command, |line| line.trim_start_matches("| `substrate ")).to_owned()
    };
    let sections = reference.split("\n### `substrate ").skip(1);
    let runnable = sections.filter(|section| section.contains("\n\nFor "));
    runnable.map(|section| older(section.split('`').next().unwrap())).collect()
}

#[test]
fn every_command_prints_json_where_json_is_asked_for() {
    let env = house();
    let mut wrong = Vec::new();
    for (line, code) in COMMANDS {
        let words: Vec<String> = line.split(' ').map(|word| word.replace('+', " ")).collect();
        let run = run(&env, &words);
        let is_json = serde_json::from_str::<Value>(&run.stdout).is_ok();
        let is_silent = *code == 1 && SILENT.contains(line) && run.stdout.is_empty();
        if run.status != Some(*code) || !(is_json || is_silent) {
            wrong.push(format!("`{line}`: {run}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_command_is_forgotten() {
    let env = TestEnv::new();
    let all = all(&env);
    assert!(all.len() > 90, "{all:?}");
    let begins = |line: &str, command: &str| {
        line.strip_prefix(command).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let is_in_one_list = |command: &&String| {
        let is_walked = COMMANDS.iter().any(|(line, _)| begins(line, command));
        is_walked != OTHERS.iter().any(|(other, _)| other == command)
    };
    let wrong: Vec<_> = all.iter().filter(|command| !is_in_one_list(command)).collect();
    assert!(wrong.is_empty(), "must be in one of the two lists: {wrong:?}");
    for (other, _) in OTHERS {
        assert!(all.iter().any(|command| command == other), "there is no `{other}`");
    }
}

/// A program gets the same information as a person.
#[test]
fn a_program_is_told_what_an_installation_would_change() {
    let env = TestEnv::new();
    let json = |args: &[&str]| -> Value {
        let run = env.substrate([args, &["--format", "json"]].concat());
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run}"))
    };
    let settings = env.config().join("settings.json");
    let plan = json(&["hooks", "install", "--dry-run"]);
    assert_eq!((&plan["settings"], &plan["n_changed"]), (&json!(settings), &json!(0)));
    let first =
        plan["files"].as_array().unwrap().iter().find(|file| file["path"] == json!(settings));
    assert_eq!(first.unwrap()["change"], "new", "{plan:#}");
    assert!(!settings.exists());
    let up = json(&["up", "--yes"]);
    assert_eq!((&up["healthy"], &up["daemon"]["running"]), (&json!(true), &json!(true)), "{up:#}");
    assert!(up["installed"]["n_changed"].as_u64().unwrap() > 0, "{up:#}");
    let files = json(&["hooks", "uninstall", "--dry-run"])["files"].clone();
    assert!(files.as_array().unwrap().contains(&json!(settings)), "{files}");
    let away = json(&["uninstall"]);
    assert_eq!(away["data_deleted"], false);
    let undone = &away["uninstalled"][0];
    assert!(undone["deleted"].as_array().unwrap().contains(&json!(settings)), "{away:#}");
}
