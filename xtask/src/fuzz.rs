//! `cargo xtask fuzz TARGET`: feeds random bytes to the parsers of outside input, for as long as you like.

use anyhow::{Context as _, Result};

use crate::args::Args;
use crate::{dist, proc};

/// The default time: long enough to find what is easy to find.
const SECONDS: u64 = 10;

pub(crate) fn run(mut args: Args) -> Result<bool> {
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
