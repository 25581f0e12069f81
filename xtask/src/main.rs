//! `cargo xtask …`: checks, benches and torture runs on the real binaries, always in a temporary home.

mod args;
mod bench;
mod clients;
mod dist;
mod frames;
mod gate;
mod journal;
mod layout;
mod package;
mod payload;
mod proc;
mod procfs;
mod sandbox;
mod say;
mod secrets;
mod stats;
mod tidy;
mod torture;
mod ui;

use std::process::ExitCode;

use anyhow::{Context as _, Result};

use args::Args;
use say::say;

const USAGE: &str = "usage: cargo xtask COMMAND

  docs                              write docs/reference.md
  tidy                              what no compiler checks
  secrets                           what an outside judge finds in the corpus of redaction, and we don't
  dist                              build both programs and put them into target/dist
  package [--check] [--url URL] [--programs FOLDER]
                                    everything that is given away, in target/package; installs it, too
  gate [--top] [--kind NAME]        what the hook client, common commands and each kind of event cost, against their bars
  gate --order                      write down which functions a daemon and common commands run, for the linker
  bench hook [--rounds N]           spawn to exit, against /bin/true, sh, bash + jq and python3
  bench events [--seconds N]        durable events per second, 64 clients
  bench journal [--rows N]          cost per event with a long journal against a short one
  bench idle [--connections N]      memory and CPU of a daemon that does nothing
  bench mail [--waiters N] [--messages N] [--only waiters|sends|mailbox]
  bench locks [--locks N]           the verdict on an edit with many leases against few
  bench short [--rounds N]          the status line, and the first answer of the tool server, against /bin/true
  bench ui [--rows N] [--seconds N] hooks beside open tabs, first bytes and replay with a long journal, `substrate top`
  bench                             all of them
  clients                           every test with a real client other than the usual one
  capture CLIENT                    what the hooks of an installed client are given, for a version that is new to us
  fuzz TARGET [--seconds N] [--seed N]
                                    decode, settings, shell, globs or frames on random bytes, on stable
  torture [NAME] [--short] [--rounds N] [--seed N] [--load N]
                                    cold-start, kill, freeze, socket, fuzz, upgrade, disk, displaced, wal, memory,
                                    mail, locks, work, ui; with N busy loops per core and one that calls fsync.
                                    Without `--load`, `--short` runs each of them quiet and with 4 per core";

fn main() -> ExitCode {
    let mut args = Args::of_this_process();
    let command = args.word();
    let done = match command.as_deref() {
        Some("dist") => dist::run(args),
        Some("package") => package::run(args),
        Some("docs") => docs(args),
        Some("tidy") => tidy::run(args),
        Some("secrets") => secrets::run(args),
        Some("gate") => gate::run(args),
        Some("clients") => clients::run(args),
        Some("capture") => clients::capture(args),
        Some("fuzz") => fuzz(args),
        Some("bench") => bench::run(args),
        Some("torture") => torture::run(args),
        Some("__echo") => bench::echo(args),
        Some("__busy") => torture::busy(args),
        Some("__fsync") => torture::fsync(args),
        _ => {
            say!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Generates the reference from the program itself.
fn docs(args: Args) -> Result<bool> {
    args.end()?;
    let program = dist::build_for_docs()?;
    let reference =
        proc::output(proc::command(program).env("HOME", "/nonexistent").arg("__reference"))?;
    let file = dist::workspace().join("docs/reference.md");
    sandbox::put_file(&file, reference.as_bytes()).context("docs/reference.md")?;
    say!("docs/reference.md is current");
    Ok(true)
}

/// The default time of `fuzz`: long enough to find what is easy to find.
const SECONDS: u64 = 10;

/// Feeds random bytes to the parsers of outside input, for as long as you like.
fn fuzz(mut args: Args) -> Result<bool> {
    let target = args.word().unwrap_or_default();
    let seconds = args.value("--seconds")?.unwrap_or(SECONDS).to_string();
    let seed = args.value("--seed")?.unwrap_or(1_u64).to_string();
    args.end()?;
    let mut command = proc::toolchain("cargo");
    command.current_dir(dist::workspace());
    command.args([
        "run",
        "--quiet",
        "--release",
        "-p",
        "substrate-fuzz",
        "--example",
        "fuzz",
        "--",
    ]);
    command.args([&target, "--seconds", &seconds, "--seed", &seed]);
    Ok(command.status().context("could not run cargo")?.success())
}
