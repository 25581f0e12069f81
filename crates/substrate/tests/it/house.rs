//! What the topics share.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use substrate_testkit::{Recorded, Running, TestEnv, Turn, bin, wait_until, write_file};

/// Longer than anything here takes on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// Longer than a whole session of a client that starts slowly takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(180);

/// A turn of the model that comes once that file is there.
pub(crate) fn once(file: &Path, turn: Turn) -> Turn {
    let file = file.to_owned();
    Turn::from_request(move |_| {
        wait_until(LONG, "the file", || file.exists());
        turn.clone()
    })
}

/// The user's settings.
pub(crate) fn configure(env: &TestEnv, toml: &str) {
    write_file(&env.state().join("config.toml"), toml.as_bytes());
}

/// A rule of the user that refuses every shell command.
pub(crate) const DENY: &str = "[[guards.rules]]\nname = \"never\"\ntool = \"Bash\"\nwhen = \"true\"\naction = \"deny\"\nreason = \"not here\"\nnext = \"Leave it.\"\n";

/// A rule that speaks at every event of a kind. One per event and action.
pub(crate) fn rule(event: &str, action: &str, reason: &str) -> String {
    let reason = json!(reason);
    format!(
        "[[guards.rules]]\nname = \"{event}-{action}\"\nevent = \"{event}\"\nwhen = \"true\"\naction = \"{action}\"\nreason = {reason}\nnext = \"Go on.\"\n"
    )
}

/// The payload of a tool call, as the client writes it.
pub(crate) fn bash(session: &str, command: &str) -> Value {
    json!({
        "session_id": session, "cwd": "/home/dev/app", "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "toolu_1",
    })
}

/// The payload of an event without fields of its own.
pub(crate) fn plain(session: &str, event: &str) -> Value {
    json!({"session_id": session, "cwd": "/home/dev/app", "hook_event_name": event})
}

/// The payloads that were captured from the real client, each with its event.
pub(crate) fn samples() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/src/claude_code/samples");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut out = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if name.starts_with('_') {
            continue;
        }
        let event = name.split('-').next().unwrap().to_owned();
        out.push((event, serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()));
    }
    assert!(out.len() >= 80, "{}", out.len());
    out
}

/// The journal, oldest first.
pub(crate) fn journal(env: &TestEnv) -> Vec<Value> {
    let out = env.substrate(["journal", "list", "-n", "10000", "--format", "json"]).success();
    serde_json::from_str(&out).unwrap()
}

/// Every window, newest first.
pub(crate) fn windows(env: &TestEnv) -> Vec<Value> {
    let out = env.substrate(["session", "list", "--all", "--format", "json"]).success();
    let out: Value = serde_json::from_str(&out).unwrap();
    out["windows"].as_array().unwrap().clone()
}

/// One word per entry: the event, its tool, its actor.
pub(crate) fn told(entries: &[Value]) -> Vec<String> {
    entries
        .iter()
        .map(|entry| {
            let mut words = vec![entry["event"].as_str().unwrap_or_default()];
            words.extend(entry["tool"].as_str());
            words.extend(entry["actor_kind"].as_str());
            words.join(" ")
        })
        .collect()
}

/// The same without turns that ended. A client that is being ended may still report that, or not.
pub(crate) fn told_but_stops(entries: &[Value]) -> Vec<String> {
    told(entries).into_iter().filter(|event| event != "Stop").collect()
}

/// The daemon's process id.
pub(crate) fn daemon_pid(env: &TestEnv) -> u32 {
    let out = env.substrate(["daemon", "status", "--format", "json"]).success();
    let status: Value = serde_json::from_str(&out).unwrap();
    u32::try_from(status["pid"].as_u64().unwrap()).unwrap()
}

/// Hooks in exec form for these events, as an installation registers them.
pub(crate) fn hooks(events: &[&str]) -> Value {
    let program = bin("substrate-hook");
    let entry = |event: &str| json!([{"hooks": [{"type": "command", "command": program, "args": ["claude-code", event], "timeout": 10}]}]);
    events
        .iter()
        .map(|event| ((*event).to_owned(), entry(event)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Sends a signal to a process that this test started.
pub(crate) fn signal(env: &TestEnv, name: &str, pid: u32) {
    let status = env
        .command("/bin/sh")
        .args(["-c", "kill \"$0\" \"$1\"", name, &pid.to_string()])
        .status()
        .unwrap();
    assert!(status.success(), "kill {name} {pid}");
}

/// The bytes of a file, or none.
pub(crate) fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_default()
}

/// Runs `substrate ARGS…` in a terminal of its own, and answers each question with these words. Returns the exit code
/// and the screen.
pub(crate) fn answered(env: &TestEnv, args: &[&str], answer: &str) -> (i32, String) {
    const PTY: &str = r#"
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
seen, asked = b"", 0
while True:
    try:
        part = os.read(fd, 4096)
    except OSError:
        break
    if not part:
        break
    seen += part
    if seen.count(b"[y/N] ") > asked:
        asked += 1
        os.write(fd, sys.argv[1].encode() + b"\n")
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;
    let mut command = env.command("python3");
    command.args(["-c", PTY, answer]).arg(bin("substrate")).args(args);
    let run = Running::start(command, Vec::new()).finish(SOON);
    (run.status.unwrap_or(-1), run.stdout)
}

/// The requests in which something is new, by number.
pub(crate) fn introduced(requests: &[Recorded], text: &str) -> Vec<usize> {
    (0..requests.len()).filter(|at| requests[*at].news().contains(text)).collect()
}

/// The scratchpad that the model is told to write.
pub(crate) fn named_scratchpad(request: &Recorded) -> String {
    let news = request.news();
    let path = news.split_once("Write to ").and_then(|(_, rest)| rest.split_once(".md"));
    path.map(|(path, _)| format!("{path}.md")).unwrap_or_default()
}

/// The model writes the scratchpad that the latest reason names, as it is named.
pub(crate) fn write_scratchpad(text: &'static str) -> Turn {
    Turn::from_request(move |request| {
        let path = named_scratchpad(request);
        let command = format!("mkdir -p \"$(dirname '{path}')\" && printf '{text}' > '{path}'");
        Turn::tool("Bash", json!({"command": command, "description": "write it down"}))
    })
}

/// A turn that begins once the transcript has an answer of so many tokens.
pub(crate) fn when_written(env: &TestEnv, tokens: u64, turn: Turn) -> Turn {
    let config = env.config();
    Turn::from_request(move |_| {
        await_written(&config, tokens);
        turn.clone()
    })
}

/// Waits until a transcript has an answer of so many tokens. The client writes it some time after the answer's own hooks.
pub(crate) fn await_written(config: &Path, tokens: u64) {
    let (folder, wanted) = (config.join("projects"), format!("\"input_tokens\":{tokens},"));
    wait_until(SOON / 2, "the answer is in the transcript", || {
        let projects = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let files = projects.flat_map(|one| std::fs::read_dir(one.path())).flatten().flatten();
        files
            .filter_map(|file| std::fs::read_to_string(file.path()).ok())
            .any(|text| text.contains(&wanted))
    });
}
