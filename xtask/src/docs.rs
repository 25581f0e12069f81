//! `cargo xtask docs`: generates the reference from the program itself.

use anyhow::{Context as _, Result};

use crate::args::Args;
use crate::say::say;
use crate::{dist, proc, sandbox};

pub(crate) fn run(args: Args) -> Result<bool> {
    args.end()?;
    let program = dist::build_for_docs()?;
    let reference =
        proc::output(proc::command(program).env("HOME", "/nonexistent").arg("__reference"))?;
    let file = dist::workspace().join("docs/reference.md");
    sandbox::put_file(&file, reference.as_bytes()).context("docs/reference.md")?;
    say!("docs/reference.md is current");
    Ok(true)
}
