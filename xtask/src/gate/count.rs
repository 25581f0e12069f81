//! One run each under a program that counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::dump;
use crate::proc;
use crate::sandbox::Sandbox;
use crate::say::say;

const STRACE: [&str; 5] = ["-f", "-qq", "-e", "signal=none", "-o"];

/// Instructions in user space, from the first to the last.
pub(super) fn instructions(sandbox: &Sandbox, hook: &Path, payload: &[u8]) -> Result<u64> {
    total(&callgrind(sandbox, hook, payload, &[])?)
}

/// The same for a command that a person or an agent types.
pub(super) fn instructions_of(sandbox: &Sandbox, args: &[&str], input: &str) -> Result<u64> {
    total(&callgrind_of(sandbox, args, input, &[])?)
}

/// Names as the linker knows them.
pub(super) const UNREADABLE: &str = "--demangle=no";

/// The functions that a command runs.
pub(super) fn functions_of(
    sandbox: &Sandbox,
    args: &[&str],
    input: &str,
) -> Result<BTreeSet<String>> {
    let out = callgrind_of(sandbox, args, input, &[UNREADABLE])?;
    Ok(dump::functions(&std::fs::read_to_string(out)?))
}

fn callgrind_of(sandbox: &Sandbox, args: &[&str], input: &str, more: &[&str]) -> Result<PathBuf> {
    let out = sandbox.path("callgrind.out");
    let mut command = sandbox.command("valgrind");
    command.args(["--tool=callgrind", "-q"]).args(more);
    command.arg(format!("--callgrind-out-file={}", out.display()));
    fed(command.arg(sandbox.program("substrate")).args(args), input.as_bytes())?;
    Ok(out)
}

fn total(out: &Path) -> Result<u64> {
    let text = std::fs::read_to_string(out)?;
    let total = text.lines().find_map(|line| line.strip_prefix("summary: "));
    total.and_then(|text| text.trim().parse().ok()).context("callgrind printed no summary")
}

/// Executed CPUID instructions. In a virtual machine each is a trap that costs tens of microseconds.
pub(super) fn cpuids(sandbox: &Sandbox, hook: &Path, payload: &[u8]) -> Result<u64> {
    let listing =
        proc::output(sandbox.command("objdump").args(["-d", "--no-show-raw-insn"]).arg(hook))?;
    let places: Vec<u64> = listing
        .lines()
        .filter(|line| line.split_whitespace().last() == Some("cpuid"))
        .filter_map(|line| u64::from_str_radix(line.trim().split_once(':')?.0, 16).ok())
        .collect();
    if places.is_empty() {
        return Ok(0);
    }
    let out = callgrind(sandbox, hook, payload, &["--dump-instr=yes", "--compress-pos=no"])?;
    Ok(executed(&std::fs::read_to_string(out)?, &places))
}

/// How often the instructions at these addresses were executed. A relocatable program is loaded at a multiple of a
/// page, so the last three digits of an address must match. Counting too many is the safe side.
fn executed(dump: &str, places: &[u64]) -> u64 {
    let cost = |line: &str| -> Option<u64> {
        let mut words = line.split(' ');
        let at = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
        let _source_line = words.next()?;
        let count = words.next()?.parse::<u64>().ok()?;
        places.iter().any(|place| place & 0xfff == at & 0xfff).then_some(count)
    };
    dump.lines().filter_map(cost).sum()
}

/// System calls, from `execve` to `exit_group`.
pub(super) fn system_calls(sandbox: &Sandbox, hook: &Path, payload: &[u8]) -> Result<u64> {
    let out = sandbox.path("strace.out");
    let mut command = sandbox.as_hook("strace");
    command.args(STRACE).arg(&out).arg(hook);
    run(&mut command, payload)?;
    traced(&out)
}

/// The same for a command.
pub(super) fn system_calls_of(sandbox: &Sandbox, args: &[&str], input: &str) -> Result<u64> {
    let out = sandbox.path("strace.out");
    let mut command = sandbox.command("strace");
    command.args(STRACE).arg(&out).arg(sandbox.program("substrate")).args(args);
    fed(&mut command, input.as_bytes())?;
    traced(&out)
}

fn traced(out: &Path) -> Result<u64> {
    let text = std::fs::read_to_string(out)?;
    // A call that another thread interrupts takes two lines. The second contains "resumed".
    let calls = text.lines().filter(|line| line.contains('(') && !line.contains(" resumed>"));
    Ok(calls.count() as u64)
}

/// Prints where the instructions go: by function, and by source file, since most of it is inlined into `main`.
pub(super) fn profile(sandbox: &Sandbox, hook: &Path, payload: &[u8]) -> Result<bool> {
    let out = callgrind(sandbox, hook, payload, &[])?;
    let mut annotate = sandbox.command("callgrind_annotate");
    annotate.args(["--threshold=100", "--auto=no", "--show-percs=no"]).arg(out);
    let text = proc::output(&mut annotate)?;
    let (mut by_function, mut by_file) = (BTreeMap::new(), BTreeMap::new());
    for line in text.lines() {
        let Some((count, place)) = line.trim().split_once("  ") else { continue };
        let Ok(count) = count.replace(',', "").parse::<u64>() else { continue };
        let place = place.split(" [").next().unwrap_or(place).trim();
        let Some((file, function)) = place.split_once(':') else { continue };
        let file = file.split("/library/").last().unwrap_or(file);
        *by_function.entry(function.to_owned()).or_insert(0) += count;
        *by_file.entry(file.split("/src_musl/").last().unwrap_or(file).to_owned()).or_insert(0) +=
            count;
    }
    say!("instructions by function (inlined ones count for their caller):");
    print_top(by_function);
    say!("instructions by source file:");
    print_top(by_file);
    Ok(true)
}

fn print_top(counts: BTreeMap<String, u64>) {
    let mut list: Vec<(u64, String)> = counts.into_iter().map(|(name, n)| (n, name)).collect();
    list.sort_unstable_by(|a, b| b.cmp(a));
    for (n, name) in list.iter().take(18) {
        say!("  {n:>8}  {name}");
    }
}

fn callgrind(sandbox: &Sandbox, hook: &Path, payload: &[u8], more: &[&str]) -> Result<PathBuf> {
    let out = sandbox.path("callgrind.out");
    let mut command = sandbox.as_hook("valgrind");
    command.args(["--tool=callgrind", "-q"]).args(more);
    command.arg(format!("--callgrind-out-file={}", out.display())).arg(hook);
    run(&mut command, payload)?;
    Ok(out)
}

fn run(command: &mut Command, payload: &[u8]) -> Result<()> {
    fed(command.args(["claude-code", "PreToolUse"]), payload)
}

fn fed(command: &mut Command, input: &[u8]) -> Result<()> {
    let ran = proc::feed(command, input)?;
    if !ran.ok() {
        bail!("{} ended with {}", command.get_program().display(), ran.status);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn executed_instructions_are_found_wherever_the_program_was_loaded() {
        let dump = "fn=(1) main\n0x109a10 12 1\n0x109a12 12 3\ncalls=1 0x5 0\n0x10a012 13 7\n";
        assert_eq!(super::executed(dump, &[0x1a12]), 3);
        assert_eq!(super::executed(dump, &[0x1111]), 0);
    }
}
