//! `cargo xtask dist`: both programs as they are installed, side by side in `target/dist`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::args::Args;
use crate::layout;
use crate::proc;
use crate::say::say;

/// The built programs.
#[derive(Clone, Debug)]
pub(crate) struct Dist {
    pub(crate) folder: PathBuf,
    /// The hook needs no dynamic linker.
    pub(crate) is_static: bool,
}

impl Dist {
    pub(crate) fn hook(&self) -> PathBuf {
        self.folder.join("substrate-hook")
    }

    pub(crate) fn substrate(&self) -> PathBuf {
        self.folder.join("substrate")
    }
}

pub(crate) fn run(args: Args) -> Result<bool> {
    args.end()?;
    let dist = build_named()?;
    say!("{}", dist.folder.display());
    say!(
        "substrate-hook is {}",
        if dist.is_static { "static" } else { "NOT static: no musl target" }
    );
    Ok(true)
}

/// Builds both programs. They don't know their commit, so that a check builds nothing again after each one.
pub(crate) fn build() -> Result<Dist> {
    build_as(None)
}

/// Builds both programs as they are given away: `substrate --version` names the commit.
pub(crate) fn build_named() -> Result<Dist> {
    build_as(commit().as_deref())
}

fn build_as(commit: Option<&str>) -> Result<Dist> {
    let target = target_dir()?;
    let substrate = build_substrate(&target, commit)?;
    let mut hook_args = vec!["--profile", "hook", "-p", "substrate-hook"];
    let musl = musl_target();
    if let Some(triple) = &musl {
        hook_args.extend(["--target", triple]);
    }
    cargo_build(&target, &hook_args)?;
    let folder = target.join("dist");
    std::fs::create_dir_all(&folder)?;
    place(&substrate, &folder.join("substrate"))?;
    let built = target.join(musl.unwrap_or_default()).join("hook/substrate-hook");
    place(&built, &folder.join("substrate-hook"))?;
    let is_static = !has_interpreter(&std::fs::read(&built)?);
    Ok(Dist { folder, is_static })
}

/// Builds both programs for another system, with zig as its linker, and returns their folder.
pub(crate) fn build_cross(triple: &str, hook: &str) -> Result<PathBuf> {
    let target = target_dir()?;
    let commit = commit().map(|commit| format!("env.SUBSTRATE_COMMIT='{commit}'"));
    let commit: Vec<&str> = commit.iter().flat_map(|commit| ["--config", commit]).collect();
    let program = ["--release", "-p", "substrate", "--target", triple];
    cargo(&target, "zigbuild", &[&program[..], &commit].concat())?;
    cargo(&target, "zigbuild", &["--profile", "hook", "-p", "substrate-hook", "--target", hook])?;
    let folder = target.join("dist").join(triple);
    std::fs::create_dir_all(&folder)?;
    place(&target.join(triple).join("release/substrate"), &folder.join("substrate"))?;
    place(&target.join(hook).join("hook/substrate-hook"), &folder.join("substrate-hook"))?;
    Ok(folder)
}

/// Builds `substrate`. Where the C library can be linked in, the program is loaded at a fixed address and needs no dynamic
/// linker: looking symbols up and relocating is half of what a short command costs, and each daemon would keep the pages.
fn build_substrate(target: &Path, commit: Option<&str>) -> Result<PathBuf> {
    // As `option_env!` sees it.
    let commit = commit.map(|commit| format!("env.SUBSTRATE_COMMIT='{commit}'"));
    let commit: Vec<&str> = commit.iter().flat_map(|commit| ["--config", commit]).collect();
    let args = [&["--release", "-p", "substrate"][..], &commit].concat();
    let triple = "x86_64-unknown-linux-gnu";
    if !has_static_libc() {
        cargo_build(target, &args)?;
        return Ok(target.join("release/substrate"));
    }
    // Functions that are the same are kept once.
    let flags =
        "['-Crelocation-model=static', '-Ctarget-feature=+crt-static', '-Clink-arg=-Wl,--icf=all']";
    let config = format!("target.{triple}.rustflags={flags}");
    let folder = target.join(triple);
    std::fs::create_dir_all(&folder)?;
    let layout = format!("-Clink-arg=-Wl,-T,{}", layout::script(&folder)?.display());
    let how = ["--bin", "substrate", "--target", triple, "--config", &config, "--", &layout];
    cargo(target, "rustc", &[&args[..], &how].concat())?;
    Ok(target.join(triple).join("release/substrate"))
}

/// The short name of the commit, if this is a checkout.
fn commit() -> Option<String> {
    let mut git = proc::toolchain("git");
    git.args(["rev-parse", "--short=12", "HEAD"]).current_dir(workspace());
    let name = proc::output(&mut git).ok()?.trim().to_owned();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name.then_some(name)
}

/// Whether the C library is there as an archive, where we know that it works.
fn has_static_libc() -> bool {
    let mut command = proc::toolchain("cc");
    let found = proc::output(command.arg("-print-file-name=libc.a")).unwrap_or_default();
    cfg!(all(target_arch = "x86_64", target_env = "gnu")) && Path::new(found.trim()).is_absolute()
}

/// Builds the hook with symbols, for profiles.
pub(crate) fn build_hook_with_symbols() -> Result<PathBuf> {
    let target = target_dir()?.join("with-symbols");
    let triple = musl_target().context("the musl target is not installed")?;
    let keep = "profile.hook.strip=false";
    let debug = "profile.hook.debug=1";
    let args = ["--profile", "hook", "-p", "substrate-hook", "--target", &triple];
    cargo_build(&target, &[&args[..], &["--config", keep, "--config", debug]].concat())?;
    Ok(target.join(triple).join("hook/substrate-hook"))
}

/// Builds `substrate` as tests do.
pub(crate) fn build_for_docs() -> Result<PathBuf> {
    let target = target_dir()?;
    cargo_build(&target, &["-p", "substrate"])?;
    Ok(target.join("debug/substrate"))
}

/// Builds this program optimised, so that a load generator does not compete with what it measures.
pub(crate) fn build_xtask() -> Result<PathBuf> {
    let target = target_dir()?;
    cargo_build(&target, &["--release", "-p", "xtask"])?;
    Ok(target.join("release/xtask"))
}

pub(crate) fn workspace() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// The musl target of this machine, if it is installed.
pub(crate) fn musl_target() -> Option<String> {
    let triple = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let mut command = proc::toolchain("rustc");
    command.args(["--print", "target-libdir", "--target", &triple]).current_dir(workspace());
    let folder = proc::output(&mut command).ok()?;
    Path::new(folder.trim()).is_dir().then_some(triple)
}

pub(crate) fn target_dir() -> Result<PathBuf> {
    let exe = std::env::current_exe()?;
    let dir = exe.parent().and_then(Path::parent);
    dir.map(Path::to_owned).context("this program is not in a target folder")
}

fn cargo_build(target: &Path, args: &[&str]) -> Result<()> {
    cargo(target, "build", args)
}

fn cargo(target: &Path, verb: &str, args: &[&str]) -> Result<()> {
    let mut command = proc::toolchain("cargo");
    command.args([verb, "--quiet", "--target-dir"]).arg(target).args(args);
    let status = command.current_dir(workspace()).status().context("`cargo`")?;
    if !status.success() {
        bail!("`cargo {verb} {}` failed", args.join(" "));
    }
    Ok(())
}

/// Copies a program unless it is there already. By renaming, since the old one may be running.
pub(crate) fn place(from: &Path, to: &Path) -> Result<()> {
    let new = std::fs::read(from).with_context(|| format!("`{}`", from.display()))?;
    if std::fs::read(to).is_ok_and(|old| old == new) {
        return Ok(());
    }
    let part = to.with_extension("part");
    std::fs::copy(from, &part).with_context(|| format!("`{}`", part.display()))?;
    std::fs::rename(&part, to).with_context(|| format!("`{}`", to.display()))
}

/// Whether an ELF file names a dynamic linker (a program header of type 3).
fn has_interpreter(elf: &[u8]) -> bool {
    let u16_at = |at: usize| {
        elf.get(at..at + 2).map_or(0, |b| usize::from(u16::from_le_bytes([b[0], b[1]])))
    };
    let u32_at = |at: usize| u16_at(at) | u16_at(at + 2) << 16;
    let (table, size, n) = (u32_at(32), u16_at(54), u16_at(56));
    elf.get(..4) != Some(b"\x7fELF") || (0..n).any(|at| u32_at(table + at * size) == 3)
}
