//! `cargo xtask clients` and `cargo xtask capture CLIENT`: the other clients, which the tests install and drive.

use anyhow::{Context as _, Result};

use crate::args::Args;
use crate::{dist, proc};

/// Every test that drives a client other than the usual one, one after the other.
pub(crate) fn run(args: Args) -> Result<bool> {
    args.end()?;
    let mut command = proc::toolchain("cargo");
    command.current_dir(dist::workspace());
    let tests = "test(real_client_codex) | test(real_client_others)";
    command.args(["nextest", "run", "--locked", "-p", "substrate", "-j", "1", "-E", tests]);
    Ok(command.status().context("could not run cargo")?.success())
}

/// What the hooks of one client are given, into `target/captures/CLIENT`.
pub(crate) fn capture(mut args: Args) -> Result<bool> {
    let name = args.word().unwrap_or_default();
    args.end()?;
    let folder = dist::workspace().join("target/captures").join(&name);
    let mut command = proc::toolchain("cargo");
    command.current_dir(dist::workspace());
    command.args(["run", "--quiet", "-p", "substrate-testkit", "--example", "capture", "--"]);
    command.arg(&name).arg(&folder);
    Ok(command.status().context("could not run cargo")?.success())
}
