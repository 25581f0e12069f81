//! `cargo xtask gate`: the cost of every tool call of every agent, counted exactly.
//!
//! It counts and does not time, so the result is the same on a busy machine and `make test` can judge every commit.

mod commands;
mod count;
mod daemon;
mod dump;
mod scale;

use std::path::Path;

use anyhow::{Result, bail};

use self::daemon::Counted;
use crate::args::Args;
use crate::dist::{self, Dist};
use crate::sandbox::{Autostart, Sandbox};
use crate::say::{Judgement, Table, say};
use crate::{layout, payload};

const MAX_INSTRUCTIONS: u64 = 9_500;
const MAX_CPUIDS: u64 = 0;
const MAX_SYSTEM_CALLS: u64 = 14;
const MAX_KB: u64 = 512;

/// Each program and the Debian package that has it.
const TOOLS: [(&str, &str); 3] =
    [("valgrind", "valgrind"), ("strace", "strace"), ("objdump", "binutils")];

/// The usual payload.
const SIZE: usize = 2 << 10;

pub(crate) fn run(mut args: Args) -> Result<bool> {
    let top = args.flag("--top");
    let kind: Option<String> = args.value("--kind")?;
    let order = args.flag("--order");
    args.end()?;
    if dist::musl_target().is_none() {
        say!(
            "NOT JUDGED: the musl target is not installed, so this hook is not the one that is shipped."
        );
        say!("            Run `rustup target add {}-unknown-linux-musl`.", std::env::consts::ARCH);
        return Ok(true);
    }
    require_tools()?;
    let dist = dist::build()?;
    if !dist.is_static {
        bail!("the hook was built for musl and is not static");
    }
    if order {
        return write_order(&dist);
    }
    if let Some(kind) = kind {
        return daemon::run(&dist, top, Some(&kind));
    }
    let sandbox = Sandbox::new(&dist, Autostart::Off)?;
    sandbox.start_daemon()?;
    let payload = payload::pre_tool_use("toolu_gate", "Write", SIZE);
    let hook = if top {
        count::profile(&sandbox, &dist::build_hook_with_symbols()?, &payload)?
    } else {
        judge(&dist, &sandbox, &payload)?
    };
    let commands = commands::run(&sandbox)?;
    drop(sandbox);
    let daemon = daemon::run(&dist, top, None)?;
    Ok((top || scale::run(&dist)?) && daemon && commands && hook)
}

/// Looks which functions are run, for the next build.
fn write_order(dist: &Dist) -> Result<bool> {
    let sandbox = daemon::prepared(dist)?;
    let by_daemon = Counted::functions(&sandbox)?;
    sandbox.start_daemon()?;
    let by_commands = commands::functions(&sandbox)?;
    say!("{} functions by a daemon, {} by commands", by_daemon.len(), by_commands.len());
    let groups = [("a daemon", by_daemon), ("common commands", by_commands)];
    layout::write_order(&dist.substrate(), &groups)?;
    Ok(true)
}

fn judge(dist: &Dist, sandbox: &Sandbox, payload: &[u8]) -> Result<bool> {
    let hook = dist.hook();
    let instructions = count::instructions(sandbox, &hook, payload)?;
    let cpuids = count::cpuids(sandbox, &hook, payload)?;
    let calls = count::system_calls(sandbox, &hook, payload)?;
    let kb = std::fs::metadata(&hook)?.len().div_ceil(1024);
    let mut table = Table::default();
    let mut row = |what: &str, measured: u64, bar: u64| {
        table.row(what, measured, format!("≤ {bar}"), Judgement::of(measured <= bar));
    };
    row("instructions in user space", instructions, MAX_INSTRUCTIONS);
    row("CPUID instructions executed", cpuids, MAX_CPUIDS);
    row("system calls", calls, MAX_SYSTEM_CALLS);
    row("size of the program (KB)", kb, MAX_KB);
    say!("substrate-hook, {} bytes of PreToolUse on a pipe, daemon up:", payload.len());
    let ok = table.print();
    if !ok {
        say!("`cargo xtask gate --top` shows where the instructions go.");
    }
    Ok(ok)
}

/// Fails with the names of the packages to install.
fn require_tools() -> Result<()> {
    let missing: Vec<&str> = TOOLS
        .iter()
        .filter(|(program, _)| {
            !["/usr/bin", "/bin"].iter().any(|folder| Path::new(folder).join(program).exists())
        })
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    bail!("programs are missing; on Debian: `apt-get install {}`", missing.join(" "))
}
