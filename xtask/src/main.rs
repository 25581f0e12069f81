//! `cargo xtask …`: checks, benches and torture runs on the real binaries, always in a temporary home.

mod args;
mod bench;
mod dist;
mod docs;
mod frames;
mod fuzz;
mod gate;
mod journal;
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

use args::Args;
use say::say;

const USAGE: &str = "usage: cargo xtask COMMAND

  docs                              write docs/reference.md
  tidy                              what no compiler checks
  secrets                           what an outside judge finds in the corpus of redaction, and we don't
  dist                              build both programs and put them into target/dist
  package [--check] [--url URL]     everything that is given away, in target/package; installs it, too
  gate [--top] [--kind NAME]        what the hook client, common commands and each kind of event cost, against their bars
  bench hook [--rounds N]           spawn to exit, against /bin/true, sh, bash + jq and python3
  bench events [--seconds N]        durable events per second, 64 clients
  bench journal [--rows N]          cost per event with a long journal against a short one
  bench idle [--connections N]      memory and CPU of a daemon that does nothing
  bench mail [--waiters N] [--messages N] [--only waiters|sends|mailbox]
  bench locks [--locks N]           the verdict on an edit with many leases against few
  bench short [--rounds N]          the status line, and the first answer of the tool server, against /bin/true
  bench ui [--rows N] [--seconds N] hooks beside open tabs, first bytes and replay with a long journal, `substrate top`
  bench                             all of them
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
        Some("docs") => docs::run(args),
        Some("tidy") => tidy::run(args),
        Some("secrets") => secrets::run(args),
        Some("gate") => gate::run(args),
        Some("fuzz") => fuzz::run(args),
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
