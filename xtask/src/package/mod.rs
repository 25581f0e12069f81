//! `cargo xtask package`: everything that is given away, in `target/package`. Each file is made from one staged folder per
//! target, and every version comes from the workspace.
//!
//! A target whose standard library or linker is missing here is skipped, and it is said. `--check` installs each file into an
//! empty prefix, in an empty environment, and runs what a new user runs.

mod check;
mod files;
mod npm;
mod stage;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::args::Args;
use crate::say::{Judgement, Table, say};
use crate::{dist, proc};

/// The largest programs that are given away, in bytes.
const MAX_PROGRAM: u64 = 16 << 20;
const MAX_HOOK: u64 = 512 << 10;

/// Where files are downloaded from if no `--url` says so.
const URL: &str = "https://substrate.example/releases";

/// The names under which package managers know us.
const NPM: &str = "@substrate-agents/cli";
const NPM_PLUGIN: &str = "@substrate-agents/claude-plugin";
const PYPI: &str = "substrate-agents";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A system that we make packages for.
#[derive(Clone, Copy, Debug)]
struct Target {
    /// As Rust knows the program.
    triple: &'static str,
    /// As Rust knows the hook client.
    hook: &'static str,
    /// As tarballs are named.
    name: &'static str,
    /// As Node knows it.
    os: &'static str,
    cpu: &'static str,
    /// As PyPI knows it.
    wheel: &'static str,
    /// As `uname -s` and `uname -m` say it.
    uname: &'static str,
    /// As Homebrew asks for it.
    brew: (&'static str, &'static str),
}

const TARGETS: [Target; 4] = [
    Target {
        triple: "x86_64-unknown-linux-gnu",
        hook: "x86_64-unknown-linux-musl",
        name: "linux-x86_64",
        os: "linux",
        cpu: "x64",
        wheel: "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
        uname: "Linux-x86_64",
        brew: ("on_linux", "on_intel"),
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        hook: "aarch64-unknown-linux-musl",
        name: "linux-aarch64",
        os: "linux",
        cpu: "arm64",
        wheel: "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
        uname: "Linux-aarch64",
        brew: ("on_linux", "on_arm"),
    },
    Target {
        triple: "x86_64-apple-darwin",
        hook: "x86_64-apple-darwin",
        name: "macos-x86_64",
        os: "darwin",
        cpu: "x64",
        wheel: "macosx_11_0_x86_64",
        uname: "Darwin-x86_64",
        brew: ("on_macos", "on_intel"),
    },
    Target {
        triple: "aarch64-apple-darwin",
        hook: "aarch64-apple-darwin",
        name: "macos-aarch64",
        os: "darwin",
        cpu: "arm64",
        wheel: "macosx_11_0_arm64",
        uname: "Darwin-arm64",
        brew: ("on_macos", "on_arm"),
    },
];

impl Target {
    fn is_this_machine(self) -> bool {
        let os = if cfg!(target_os = "macos") { "macos" } else { "linux" };
        self.name == format!("{os}-{}", std::env::consts::ARCH)
    }

    /// `substrate-0.1.0-linux-x86_64`
    fn stem(self) -> String {
        format!("substrate-{VERSION}-{}", self.name)
    }
}

/// What was made for a target.
#[derive(Clone, Debug)]
struct Made {
    target: Target,
    tarball: PathBuf,
    sha256: String,
}

pub(crate) fn run(mut args: Args) -> Result<bool> {
    let is_check = args.flag("--check");
    let url = args.text("--url")?.unwrap_or_else(|| URL.to_owned());
    let built = args.text("--programs")?.map(PathBuf::from);
    args.end()?;
    let ours = built.map_or_else(own_programs, Ok)?;
    let out = dist::target_dir()?.join("package");
    if out.exists() {
        std::fs::remove_dir_all(&out)?;
    }
    std::fs::create_dir_all(&out)?;
    let mut made = Vec::new();
    let mut table = Table::default();
    for target in TARGETS {
        let found = if target.is_this_machine() { Ok(ours.clone()) } else { others(target) };
        let programs = match found {
            Ok(programs) => programs,
            Err(why) => {
                say!("SKIPPED {}: {why:#}", target.name);
                continue;
            }
        };
        for (name, max) in [("substrate", MAX_PROGRAM), ("substrate-hook", MAX_HOOK)] {
            let n = std::fs::metadata(programs.join(name))?.len();
            let bar = format!("≤ {max}");
            table.row(format!("{}: {name}, bytes", target.name), n, bar, Judgement::of(n <= max));
        }
        let staged = stage::folder(&out, target, &programs, &ours)?;
        made.push(files::tarball(&out, target, &staged)?);
        npm::platform(&out, target, &staged)?;
        files::wheel(&out, target, &staged)?;
    }
    let Some(here) = made.iter().find(|made| made.target.is_this_machine()) else {
        bail!("nothing could be built for this machine");
    };
    npm::main(&out, &made)?;
    files::formula(&out, &made, &url)?;
    files::installer(&out, &made, &url)?;
    files::plugin(&out, here, &url)?;
    files::checksums(&out)?;
    std::fs::remove_dir_all(out.join("stage"))?;
    let is_small = table.print();
    for file in files::all(&out)? {
        say!("{:>11}  {}", std::fs::metadata(&file)?.len(), file.display());
    }
    let is_good = !is_check || check::run(&out, here)?;
    Ok(is_small && is_good)
}

/// Builds both programs for this machine, and returns their folder.
fn own_programs() -> Result<PathBuf> {
    let dist = dist::build_named()?;
    if !dist.is_static {
        say!("note: the hook client is not static: no musl target");
    }
    Ok(dist.folder)
}

/// Builds both programs for another system, and returns their folder. An error says why they can't be built here.
fn others(target: Target) -> Result<PathBuf> {
    for triple in [target.triple, target.hook] {
        if !has_std(triple) {
            bail!("no standard library; `rustup target add {triple}` brings it");
        }
    }
    dist::build_cross(target.triple, target.hook).context("it can't be linked here")
}

/// Whether the standard library of a target is installed.
fn has_std(triple: &str) -> bool {
    let mut command = proc::toolchain("rustc");
    command.args(["--print", "target-libdir", "--target", triple]);
    let found = proc::output(command.current_dir(dist::workspace())).unwrap_or_default();
    Path::new(found.trim()).is_dir()
}
