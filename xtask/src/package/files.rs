//! Tarball, wheel, formula, installer, plugin and checksums.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::stage::put;
use super::{Made, NPM_PLUGIN, PYPI, Target, VERSION, npm};
use crate::sandbox::put_file;
use crate::{dist, proc};

const ZIP: &str = include_str!("zip.py");

pub(super) fn tarball(out: &Path, target: Target, staged: &Path) -> Result<Made> {
    let tarball = out.join(format!("{}.tar.gz", target.stem()));
    tar(staged.parent().unwrap_or(staged), &target.stem(), &tarball)?;
    let sha256 = sha256(&tarball)?;
    put(&out.join(format!("{}.tar.gz.sha256", target.stem())), &line(&tarball, &sha256))?;
    Ok(Made { target, tarball, sha256 })
}

/// The same bytes for the same files.
pub(super) fn tar(parent: &Path, name: &str, file: &Path) -> Result<()> {
    let mut command = proc::command("tar");
    command.args([
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mtime=@315532800",
    ]);
    command.args(["--mode=u=rwX,go=rX", "-I", "gzip -n -9", "-cf"]).arg(file);
    proc::output(command.arg("-C").arg(parent).arg(name)).map(drop)
}

/// A wheel whose scripts are the programs themselves.
pub(super) fn wheel(out: &Path, target: Target, staged: &Path) -> Result<()> {
    let name = PYPI.replace('-', "_");
    let stem = format!("{name}-{VERSION}");
    let folder = out.join("stage/wheel").join(target.name);
    let (data, info) = (format!("{stem}.data"), format!("{stem}.dist-info"));
    copy_folder(&staged.join("bin"), &folder.join(&data).join("scripts"))?;
    copy_folder(&staged.join("share"), &folder.join(&data).join("data/share"))?;
    let readme = std::fs::read_to_string(dist::workspace().join("README.md"))?;
    let metadata = format!(
        "Metadata-Version: 2.4\nName: {PYPI}\nVersion: {VERSION}\nSummary: The coordination layer for coding agents\nLicense-Expression: MIT OR Apache-2.0\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n{readme}"
    );
    put(&folder.join(&info).join("METADATA"), &metadata)?;
    let mut about =
        "Wheel-Version: 1.0\nGenerator: substrate xtask\nRoot-Is-Purelib: false\n".to_owned();
    for platform in target.wheel.split('.') {
        let _infallible = writeln!(about, "Tag: py3-none-{platform}");
    }
    put(&folder.join(&info).join("WHEEL"), &about)?;
    let file = out.join(format!("{stem}-py3-none-{}.whl", target.wheel));
    zip(&folder, &file, Some(&format!("{info}/RECORD")))
}

fn zip(folder: &Path, file: &Path, record: Option<&str>) -> Result<()> {
    let mut command = proc::command("python3");
    command.args(["-I", "-c", ZIP]).arg(folder).arg(file).args(record);
    proc::output(&mut command).map(drop)
}

pub(super) fn formula(out: &Path, made: &[Made], url: &str) -> Result<()> {
    let mut blocks = String::new();
    for system in ["on_macos", "on_linux"] {
        let of_system = || made.iter().filter(|one| one.target.brew.0 == system);
        if of_system().next().is_none() {
            continue;
        }
        let _infallible = writeln!(blocks, "  {system} do");
        for Made { target, sha256, .. } in of_system() {
            let _infallible = writeln!(
                blocks,
                "    {} do\n      url \"{url}/{}.tar.gz\"\n      sha256 \"{sha256}\"\n    end",
                target.brew.1,
                target.stem()
            );
        }
        blocks.push_str("  end\n\n");
    }
    let text = include_str!("formula.rb").replace("BLOCKS\n", &blocks);
    put(&out.join("substrate.rb"), &text.replace("VERSION", VERSION).replace("URL", url))
}

pub(super) fn installer(out: &Path, made: &[Made], url: &str) -> Result<()> {
    let mut cases = String::new();
    for Made { target, sha256, .. } in made {
        let (uname, stem) = (target.uname, target.stem());
        let _infallible = writeln!(cases, "  {uname}) name={stem} sha256={sha256} ;;");
    }
    let text = include_str!("install.sh").replace("CASES\n", &cases);
    put(&out.join("install.sh"), &text.replace("VERSION", VERSION).replace("URL", url))
}

/// The plugin of a client as an archive and as an npm package, and a catalogue that offers both.
pub(super) fn plugin(out: &Path, here: &Made, url: &str) -> Result<()> {
    let substrate = out.join("stage").join(here.target.stem()).join("bin/substrate");
    let name = format!("substrate-plugin-{VERSION}.zip");
    let (folder, archive) = (out.join("stage/publish"), out.join(&name));
    let address = format!("{url}/{name}");
    let publish = |sha256: &str| {
        let home = tempfile::tempdir()?;
        let mut command = proc::command(&substrate);
        command.env("HOME", home.path()).env("SUBSTRATE_HOME", home.path().join("state"));
        command.args(["plugin", "publish"]).arg(&folder);
        command.args(["--archive", &address, "--sha256", sha256, "--npm", NPM_PLUGIN]);
        proc::output(&mut command).map(drop)
    };
    publish(&"0".repeat(64))?;
    zip(&folder.join("plugin"), &archive, None)?;
    publish(&sha256(&archive)?)?;
    npm::of_folder(out, &folder.join("plugin"), NPM_PLUGIN)?;
    copy_folder(&folder.join("marketplace"), &out.join("marketplace"))
}

pub(super) fn checksums(out: &Path) -> Result<()> {
    let mut text = String::new();
    for file in all(out)? {
        if file.extension().is_none_or(|end| end != "sha256") {
            text.push_str(&line(&file, &sha256(&file)?));
        }
    }
    put(&out.join("SHA256SUMS"), &text)
}

fn line(file: &Path, sha256: &str) -> String {
    format!("{sha256}  {}\n", file.file_name().unwrap_or_default().to_string_lossy())
}

fn sha256(file: &Path) -> Result<String> {
    let said = proc::output(proc::command("sha256sum").arg(file))?;
    let digest = said.split(' ').next().unwrap_or_default();
    if digest.len() != 64 {
        bail!("`sha256sum` said {said:?}");
    }
    Ok(digest.to_owned())
}

/// The files that were made, by name.
pub(super) fn all(out: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(out)?.map(|entry| entry.map(|entry| entry.path()));
    let mut all: Vec<PathBuf> = entries.collect::<std::io::Result<_>>()?;
    all.retain(|path| path.is_file());
    all.sort();
    Ok(all)
}

pub(super) fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else {
            let mode = entry.metadata()?.permissions();
            put_file(&to, &std::fs::read(entry.path())?)?;
            std::fs::set_permissions(&to, mode)?;
        }
    }
    Ok(())
}
