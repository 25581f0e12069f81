//! The processes that are spawned and timed.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::dist::Dist;
use crate::payload;
use crate::proc;
use crate::sandbox::{Autostart, Sandbox};

/// The least that a hook in bash does: read the payload, check it, print nothing.
const BASH: &str =
    r#"input=$(cat); tool=$(jq -r .tool_name <<<"$input"); [ "$tool" != Nothing ] || echo "$tool""#;

/// The same in Python.
const PYTHON: &str =
    "import json, sys; d = json.load(sys.stdin); d['tool_name'] == 'Nothing' and print(d)";

/// One kind of process, and how long its runs took.
pub(super) struct Subject {
    pub(super) name: &'static str,
    command: Command,
    payload: Vec<u8>,
    pub(super) times: Vec<Duration>,
}

impl Subject {
    fn new(name: &'static str, command: Command, payload: &[u8]) -> Self {
        Self { name, command, payload: payload.to_owned(), times: Vec::new() }
    }

    pub(super) fn run(&mut self) -> Result<()> {
        let ran = proc::feed(&mut self.command, &self.payload)?;
        ensure!(ran.ok(), "{} ended with {}", self.name, ran.status);
        ensure!(ran.stdout.is_empty(), "{} printed something", self.name);
        self.times.push(ran.took);
        Ok(())
    }
}

/// Two homes: one with a daemon, one without.
pub(super) struct Homes {
    pub(super) up: Sandbox,
    pub(super) away: Sandbox,
}

impl Homes {
    pub(super) fn new(dist: &Dist) -> Result<Self> {
        let homes = Self {
            up: Sandbox::new(dist, Autostart::Off)?,
            away: Sandbox::new(dist, Autostart::Off)?,
        };
        homes.up.start_daemon()?;
        Ok(homes)
    }
}

/// Everything that is compared.
pub(super) fn all(homes: &Homes) -> Vec<Subject> {
    let small = payload::pre_tool_use("toolu_bench", "Write", 2 << 10);
    let large = payload::pre_tool_use("toolu_bench", "Write", 80 << 10);
    let through_sh = |sandbox: &Sandbox| {
        let mut command = sandbox.as_hook("sh");
        let hook = sandbox.program("substrate-hook");
        command.args(["-c", &format!("exec {} claude-code PreToolUse", hook.display())]);
        command
    };
    let plain = |words: &[&str]| {
        let mut command = homes.up.as_hook(words[0]);
        command.args(&words[1..]);
        command
    };
    vec![
        Subject::new("/bin/true", plain(&["/bin/true"]), &small),
        Subject::new("sh -c /bin/true", plain(&["sh", "-c", "/bin/true"]), &small),
        Subject::new("hook, 2 KB", homes.up.hook(), &small),
        Subject::new("hook, 80 KB", homes.up.hook(), &large),
        Subject::new("sh hook, 2 KB", through_sh(&homes.up), &small),
        Subject::new("sh hook, 80 KB", through_sh(&homes.up), &large),
        Subject::new("hook, 2 KB, daemon away", homes.away.hook(), &small),
        Subject::new("hook, 80 KB, daemon away", homes.away.hook(), &large),
        Subject::new("sh hook, 2 KB, daemon away", through_sh(&homes.away), &small),
        Subject::new("bash + jq hook, 2 KB", plain(&["bash", "-c", BASH]), &small),
        Subject::new("python3 hook, 2 KB", plain(&["python3", "-c", PYTHON]), &small),
    ]
}
