//! Installs each packed file into an empty prefix, in an empty environment, and does what a new user does.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::{Made, NPM, PYPI, VERSION, files};
use crate::proc;
use crate::say::say;

/// A way to install: from the packed files into a prefix. Returns the folder of the programs.
type Install = fn(&Packed<'_>, &Path) -> Result<PathBuf>;

const WAYS: [(&str, Install); 4] =
    [("tarball", tarball), ("installer", installer), ("npm", npm), ("wheel", wheel)];

/// What is installed from.
struct Packed<'a> {
    folder: &'a Path,
    here: &'a Made,
}

pub(super) fn run(out: &Path, here: &Made) -> Result<bool> {
    let packed = Packed { folder: out, here };
    let mut is_good = true;
    for (name, install) in WAYS {
        let prefix = tempfile::Builder::new().prefix("sbx-").tempdir()?;
        let tried =
            install(&packed, prefix.path()).and_then(|bin| up_and_doctor(&bin, prefix.path()));
        match tried {
            Ok(version) => say!("{name}: {version}, `substrate up` and `doctor` are content"),
            Err(error) => {
                say!("{name}: FAILED: {error:#}");
                is_good = false;
            }
        }
    }
    let formula = std::fs::read_to_string(out.join("substrate.rb"))?;
    let is_named = formula.contains(&here.sha256) && formula.contains(&here.target.stem());
    say!(
        "formula: {}",
        if is_named { "names the tarball and its digest; not run here" } else { "FAILED" }
    );
    Ok(is_good && is_named)
}

/// `substrate up --yes && substrate doctor`, then everything is ended again.
fn up_and_doctor(bin: &Path, prefix: &Path) -> Result<String> {
    let project = prefix.join("project");
    std::fs::create_dir_all(&project)?;
    let substrate = |args: &[&str]| {
        let mut command = bare("substrate", bin, prefix);
        proc::output(command.args(args).current_dir(&project))
            .with_context(|| format!("`substrate {}`", args.join(" ")))
    };
    let version = substrate(&["--version"])?.trim().to_owned();
    if !version.contains(VERSION) {
        bail!("it says it is {version}");
    }
    let up = substrate(&["up", "--yes"]).and_then(|_| substrate(&["doctor"]));
    let down = substrate(&["uninstall", "--yes", "--delete-data"]);
    up?;
    down?;
    if bin.parent().is_some_and(|prefix| prefix.join("share/man").is_dir())
        && !bin.parent().is_some_and(|prefix| prefix.join("share/man/man1/substrate.1").is_file())
    {
        bail!("there is no manual page");
    }
    Ok(version)
}

/// A program in an environment that has nothing but folders of this try.
fn bare(program: &str, bin: &Path, prefix: &Path) -> Command {
    let home = prefix.join("home");
    let mut command = proc::command(program);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    command.env("HOME", &home).env("SUBSTRATE_HOME", home.join("state"));
    command.env("CLAUDE_CONFIG_DIR", home.join("claude"));
    command
}

fn tarball(packed: &Packed<'_>, prefix: &Path) -> Result<PathBuf> {
    proc::output(proc::command("tar").arg("-xzf").arg(&packed.here.tarball).arg("-C").arg(prefix))?;
    Ok(prefix.join(packed.here.target.stem()).join("bin"))
}

fn installer(packed: &Packed<'_>, prefix: &Path) -> Result<PathBuf> {
    let to = prefix.join("local");
    let mut command = bare("/bin/sh", &to.join("bin"), prefix);
    command.arg(packed.folder.join("install.sh"));
    command.env("PREFIX", &to).env("SUBSTRATE_DOWNLOADS", packed.folder);
    proc::output(&mut command)?;
    Ok(to.join("bin"))
}

fn npm(packed: &Packed<'_>, prefix: &Path) -> Result<PathBuf> {
    let stem = NPM.trim_start_matches('@').replace('/', "-");
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let target = packed.here.target;
        let platform = format!("{stem}-{}-{}-{VERSION}.tgz", target.os, target.cpu);
        name == format!("{stem}-{VERSION}.tgz") || name == platform
    };
    let tarballs: Vec<PathBuf> = files::all(packed.folder)?.into_iter().filter(is_ours).collect();
    let mut command = bare("npm", prefix, prefix);
    command.args(["install", "--offline", "--no-audit", "--no-fund", "--silent", "--prefix"]);
    proc::output(command.arg(prefix).args(tarballs))?;
    Ok(prefix.join("node_modules/.bin"))
}

fn wheel(packed: &Packed<'_>, prefix: &Path) -> Result<PathBuf> {
    let venv = prefix.join("venv");
    proc::output(bare("python3", prefix, prefix).args(["-m", "venv"]).arg(&venv))?;
    let begin = format!("{}-{VERSION}-", PYPI.replace('-', "_"));
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&begin) && name.contains(packed.here.target.wheel)
    };
    let wheels: Vec<PathBuf> = files::all(packed.folder)?.into_iter().filter(is_ours).collect();
    let pip = venv.join("bin/pip").display().to_string();
    let mut command = bare(&pip, &venv.join("bin"), prefix);
    proc::output(command.args(["install", "--quiet", "--no-index", "--no-deps"]).args(wheels))?;
    Ok(venv.join("bin"))
}
