//! `cargo xtask bench`: ratios to a base that is measured in the same, interleaved run.
//!
//! Times alone mean little on a shared machine. A ratio whose base is unsteady is not judged.

mod events;
mod hook;
mod idle;
mod journal;
mod locks;
mod mail;
mod short;
mod subjects;
mod terminal;
mod ui;

use std::os::unix::process::CommandExt as _;

use anyhow::{Result, bail};

use crate::args::Args;
use crate::{dist, proc};

pub(crate) use events::echo;

pub(crate) fn run(mut args: Args) -> Result<bool> {
    if cfg!(debug_assertions) {
        // An unoptimised load generator would compete with what it measures for the CPU.
        let mut command = proc::toolchain(&dist::build_xtask()?.display().to_string());
        return Err(command.args(std::env::args_os().skip(1)).exec().into());
    }
    match args.word().as_deref() {
        Some("hook") => hook::run(args),
        Some("events") => events::run(args),
        Some("journal") => journal::run(args),
        Some("idle") => idle::run(args),
        Some("mail") => mail::run(args),
        Some("locks") => locks::run(args),
        Some("short") => short::run(args),
        Some("ui") => ui::run(args),
        Some(other) => {
            bail!(
                "there is no bench `{other}`: hook, events, journal, idle, mail, locks, short, ui"
            )
        }
        None => {
            args.end()?;
            let all = [
                hook::run,
                events::run,
                journal::run,
                idle::run,
                mail::run,
                locks::run,
                short::run,
                ui::run,
            ];
            all.into_iter().try_fold(true, |ok, bench| Ok(bench(Args::default())? && ok))
        }
    }
}
