//! What one event costs the daemon: instructions, statements and allocations, counted by callgrind in the release
//! build.
//!
//! The counts are averages over events of one kind, sent one after the other. They don't depend on the machine's load.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::count::UNREADABLE;
use super::dump::{self, Dump};
use crate::frames::Caller;
use crate::sandbox::{Autostart, Sandbox, put_file};
use crate::say::{Judgement, Table, say};
use crate::{dist::Dist, payload, proc};

/// Events that are counted together, how often, and how many go before them so that caches are filled. The cheapest round
/// counts: the daemon's housekeeping may fall into another one.
const N_COUNTED: u64 = 24;
const N_ROUNDS: u64 = 3;
const N_BEFORE: u64 = 12;

/// How long the daemon may take to start. Under callgrind everything takes fifty times as long.
const PATIENCE: Duration = Duration::from_secs(60);

/// In this time a daemon does what it does now and then.
const UPKEEP: Duration = Duration::from_secs(15);

/// One kind of event. No commit may make it more expensive than `max_instructions`; `goal` is where it should be.
struct Kind {
    name: &'static str,
    sample: &'static str,
    /// Changes the sample: the number of the event, the project's folder.
    payload: fn(&mut Value, u64, &str),
    max_instructions: u64,
    max_statements: u64,
    max_allocations: u64,
    goal: Option<u64>,
}

macro_rules! sample {
    ($name:literal) => {
        include_str!(concat!("../../../crates/clients/src/claude_code/samples/", $name, ".json"))
    };
}

/// In this order: the kinds after a tool close what the calls opened.
const KINDS: [Kind; 8] = [
    Kind {
        name: "read",
        sample: sample!("PreToolUse-Read"),
        payload: |payload, n, project| {
            payload["tool_input"]["file_path"] = json!(format!("{project}/src/lib.rs"));
            payload["tool_use_id"] = json!(format!("toolu_read_{n}"));
        },
        max_instructions: 90_000,
        max_statements: 5,
        max_allocations: 60,
        goal: None,
    },
    Kind {
        name: "after a tool, 2 KB",
        sample: sample!("PostToolUse-Read"),
        payload: |payload, n, project| after_read(payload, n, project, 2 << 10),
        max_instructions: 132_000,
        max_statements: 5,
        max_allocations: 63,
        goal: Some(110_000),
    },
    Kind {
        name: "after a tool, 80 KB",
        sample: sample!("PostToolUse-Read"),
        payload: |payload, n, project| after_read(payload, n + 1_000, project, 80 << 10),
        max_instructions: 468_000,
        max_statements: 5,
        max_allocations: 68,
        goal: None,
    },
    Kind {
        name: "shell",
        sample: sample!("PreToolUse-Bash"),
        payload: |payload, n, _| {
            // No two lines are the same, since the daemon remembers the last one.
            let line = format!("cd src && cargo test --workspace 2>&1 | tail -n {}", 20 + n);
            payload["tool_input"]["command"] = json!(line);
            payload["tool_use_id"] = json!(format!("toolu_shell_{n}"));
        },
        max_instructions: 130_000,
        max_statements: 5,
        max_allocations: 93,
        goal: None,
    },
    Kind {
        name: "edit",
        sample: sample!("PreToolUse-Edit"),
        payload: |payload, n, project| {
            payload["tool_input"]["file_path"] = json!(format!("{project}/src/lib.rs"));
            payload["tool_use_id"] = json!(format!("toolu_edit_{n}"));
        },
        max_instructions: 130_000,
        max_statements: 5,
        max_allocations: 117,
        goal: None,
    },
    Kind {
        name: "write",
        sample: sample!("PreToolUse-Write"),
        payload: |payload, n, project| {
            payload["tool_input"]["file_path"] = json!(format!("{project}/src/main.rs"));
            payload["tool_input"]["content"] = json!(text_of(2 << 10));
            payload["tool_use_id"] = json!(format!("toolu_write_{n}"));
        },
        max_instructions: 181_500,
        max_statements: 5,
        max_allocations: 120,
        goal: None,
    },
    Kind {
        name: "prompt",
        sample: sample!("UserPromptSubmit"),
        payload: |payload, n, _| payload["prompt"] = json!(format!("Please look at item {n}.")),
        max_instructions: 93_500,
        max_statements: 5,
        max_allocations: 66,
        goal: None,
    },
    Kind {
        name: "stop",
        sample: sample!("Stop-stop_hook_active-false"),
        payload: |payload, n, _| payload["last_assistant_message"] = json!(format!("Done: {n}.")),
        max_instructions: 237_000,
        max_statements: 16,
        max_allocations: 133,
        goal: None,
    },
];

fn after_read(payload: &mut Value, n: u64, project: &str, size: usize) {
    let file = json!(format!("{project}/src/lib.rs"));
    payload["tool_input"]["file_path"] = file.clone();
    payload["tool_response"]["file"]["filePath"] = file;
    payload["tool_response"]["file"]["content"] = json!(text_of(size));
    payload["tool_use_id"] = json!(format!("toolu_read_{n}"));
}

fn text_of(size: usize) -> String {
    "    let total = items.iter().map(|item| item.price).sum::<u64>();\n".repeat(size / 66)
}

/// A home, and a project with two files.
pub(super) fn prepared(dist: &Dist) -> Result<Sandbox> {
    let sandbox = Sandbox::new(dist, Autostart::Off)?;
    let project = sandbox.path("project");
    std::fs::create_dir_all(project.join("src"))?;
    for file in ["src/lib.rs", "src/main.rs"] {
        put_file(&project.join(file), b"fn main() {}\n")?;
    }
    proc::output(sandbox.command("git").args(["init", "-q"]).arg(&project))?;
    Ok(sandbox)
}

/// Counts all kinds, or those whose name begins so, and judges them. With `top`, prints where the instructions of each go, and
/// keeps callgrind's own output for `callgrind_annotate`.
pub(super) fn run(dist: &Dist, top: bool, only: Option<&str>) -> Result<bool> {
    let sandbox = prepared(dist)?;
    let daemon = Counted::start(&sandbox)?;
    let mut table = Table::default();
    let wanted = |kind: &&Kind| only.is_none_or(|only| kind.name.starts_with(only));
    for kind in KINDS.iter().filter(wanted) {
        let dump = daemon.count(&sandbox, kind)?;
        judge(&mut table, kind, &dump);
        if top {
            show(dist, kind, &dump)?;
        }
    }
    say!(
        "the daemon, per event (the cheapest of {N_ROUNDS} rounds of {N_COUNTED}; the commit included):"
    );
    Ok(table.print())
}

fn show(dist: &Dist, kind: &Kind, dump: &Dump) -> Result<()> {
    let lists =
        [("callees included", dump.most_expensive(10)), ("by themselves", dump.longest(10))];
    for (what, list) in lists {
        say!("{}: instructions of functions, {what}", kind.name);
        for (n, name) in list {
            say!("  {:>9}  {name}", n / N_COUNTED);
        }
    }
    let name: String =
        kind.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let kept = dist.folder.join(format!("{name}.callgrind"));
    put_file(&kept, dump.text.as_bytes())?;
    say!("  all of it: callgrind_annotate {}", kept.display());
    Ok(())
}

fn judge(table: &mut Table, kind: &Kind, dump: &Dump) {
    let mut row = |what: &str, counted: u64, bar: u64| {
        let what = format!("{}: {what}", kind.name);
        table.row(what, counted, format!("≤ {bar}"), Judgement::of(counted <= bar));
    };
    row("instructions", dump.total / N_COUNTED, kind.max_instructions);
    // `begin` and `commit` belong to the group, however many events it has.
    let statements = (dump.calls("sqlite3VdbeHalt") / N_COUNTED).saturating_sub(2);
    row("statements", statements, kind.max_statements);
    let allocations: u64 =
        ["malloc", "calloc", "realloc", "posix_memalign"].map(|name| dump.calls(name)).iter().sum();
    row("allocations", allocations / N_COUNTED, kind.max_allocations);
    if let Some(goal) = kind.goal {
        table.figure(format!("{}: instructions, the goal", kind.name), goal);
    }
}

/// A daemon under callgrind.
pub(super) struct Counted {
    child: Child,
    out: PathBuf,
    project: String,
    caller: Caller,
}

impl Counted {
    pub(super) fn start(sandbox: &Sandbox) -> Result<Self> {
        Self::start_with(sandbox, &[])
    }

    fn start_with(sandbox: &Sandbox, more: &[&str]) -> Result<Self> {
        let (out, project) = (sandbox.path("daemon.callgrind"), sandbox.path("project"));
        let mut command = sandbox.command("valgrind");
        command
            .args(["--tool=callgrind", "-q"])
            .args(more)
            .arg(format!("--callgrind-out-file={}", out.display()))
            .arg(sandbox.program("substrate"))
            .args(["daemon", "run"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().context("`valgrind`")?;
        let caller = Caller::new(&payload::environment(&project)?);
        let counted = Self { child, out, project: project.to_string_lossy().into_owned(), caller };
        let first = counted.payload(&KINDS[0], 0);
        if !proc::wait_until(PATIENCE, || counted.ask(sandbox, &first).is_ok()) {
            bail!("the daemon did not start under callgrind");
        }
        Ok(counted)
    }

    /// The functions that a daemon runs: from its start, through events of all kinds, until it has looked after everything.
    pub(super) fn functions(sandbox: &Sandbox) -> Result<BTreeSet<String>> {
        let daemon = Self::start_with(sandbox, &[UNREADABLE])?;
        for kind in &KINDS {
            for n in 1..=N_BEFORE {
                daemon.ask(sandbox, &daemon.payload(kind, n))?;
            }
        }
        std::thread::sleep(UPKEEP);
        Ok(dump::functions(&daemon.dump(sandbox)?.text))
    }

    /// The instructions of an event of the kind with that name.
    pub(super) fn instructions(&self, sandbox: &Sandbox, name: &str) -> Result<u64> {
        let kind = KINDS.iter().find(|kind| kind.name == name).context("no such kind")?;
        Ok(self.count(sandbox, kind)?.total / N_COUNTED)
    }

    fn count(&self, sandbox: &Sandbox, kind: &Kind) -> Result<Dump> {
        let send = |from: u64, n: u64| -> Result<()> {
            for n in from..from + n {
                self.ask(sandbox, &self.payload(kind, n))?;
            }
            Ok(())
        };
        send(1, N_BEFORE)?;
        let mut cheapest: Option<Dump> = None;
        for round in 0..N_ROUNDS {
            self.control(sandbox, &["--zero"])?;
            send(1 + N_BEFORE + round * N_COUNTED, N_COUNTED)?;
            let dump = self.dump(sandbox)?;
            if cheapest.as_ref().is_none_or(|other| dump.total < other.total) {
                cheapest = Some(dump);
            }
        }
        cheapest.context("nothing was counted")
    }

    /// What was counted since the last zero.
    fn dump(&self, sandbox: &Sandbox) -> Result<Dump> {
        let before = self.dumps()?;
        self.control(sandbox, &["--dump=counted"])?;
        let mut dump = None;
        proc::wait_until(PATIENCE, || {
            let new = self.dumps().unwrap_or_default().into_iter().find(|at| !before.contains(at));
            dump = new.and_then(|path| Dump::read(&path).ok());
            dump.is_some()
        });
        dump.context("callgrind wrote no dump")
    }

    fn payload(&self, kind: &Kind, n: u64) -> (String, Vec<u8>) {
        let mut payload: Value = serde_json::from_str(kind.sample).unwrap_or_default();
        payload["cwd"] = json!(self.project);
        (kind.payload)(&mut payload, n, &self.project);
        let name = payload["hook_event_name"].as_str().unwrap_or_default().to_owned();
        (name, payload.to_string().into_bytes())
    }

    fn ask(&self, sandbox: &Sandbox, (event, payload): &(String, Vec<u8>)) -> Result<()> {
        let args = format!("claude-code\0{event}\0");
        let asked = self.caller.ask_as(&sandbox.state(), args.as_bytes(), payload);
        asked.map_err(|error| anyhow::anyhow!("no answer to {event}: {}", error.name()))?;
        Ok(())
    }

    fn control(&self, sandbox: &Sandbox, args: &[&str]) -> Result<()> {
        let mut command = sandbox.command("callgrind_control");
        proc::output(command.args(args).arg(self.child.id().to_string()))?;
        Ok(())
    }

    /// The dumps so far, by name: `daemon.callgrind.1`, `.2`, …
    fn dumps(&self) -> Result<Vec<PathBuf>> {
        let folder = self.out.parent().unwrap_or(Path::new("/"));
        let mut out = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.to_string_lossy().starts_with(&*self.out.to_string_lossy()) {
                out.push(path);
            }
        }
        Ok(out)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).unwrap_or(0);
        proc::signal(pid, Signal::KILL);
        let _ended = self.child.wait();
    }
}
