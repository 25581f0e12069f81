//! npm: a package per platform as an optional dependency of a tiny one, and no script that runs at an installation.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::stage::{put, put_json};
use super::{Made, NPM, Target, VERSION, files};

const LAUNCHER: &str = include_str!("launcher.js");
const ABOUT: &str = "The coordination layer for coding agents: mail, leases, guards, memory and a journal on their hooks";

/// The package of one platform: the staged folder.
pub(super) fn platform(out: &Path, target: Target, staged: &Path) -> Result<()> {
    let folder = out.join("stage/npm").join(target.name).join("package");
    files::copy_folder(staged, &folder)?;
    let mut manifest = manifest(&name(target));
    manifest["os"] = json!([target.os]);
    manifest["cpu"] = json!([target.cpu]);
    manifest["preferUnplugged"] = json!(true);
    put_json(&folder.join("package.json"), &manifest)?;
    pack(out, &folder, &name(target))
}

/// The package that people install.
pub(super) fn main(out: &Path, made: &[Made]) -> Result<()> {
    let folder = out.join("stage/npm/main/package");
    let mut optional = Map::new();
    for one in made {
        optional.insert(name(one.target), json!(VERSION));
    }
    let mut manifest = manifest(NPM);
    manifest["bin"] =
        json!({"substrate": "bin/substrate.js", "substrate-hook": "bin/substrate-hook.js"});
    manifest["optionalDependencies"] = Value::Object(optional);
    manifest["engines"] = json!({"node": ">=18"});
    put_json(&folder.join("package.json"), &manifest)?;
    for program in ["substrate", "substrate-hook"] {
        let file = folder.join(format!("bin/{program}.js"));
        put(&file, &LAUNCHER.replace("PACKAGE", NPM))?;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755))?;
    }
    put(
        &folder.join("README.md"),
        &format!("# Substrate\n\n{ABOUT}.\n\nRun `substrate up` after the installation.\n"),
    )?;
    pack(out, &folder, NPM)
}

/// A package of other files, such as the plugin.
pub(super) fn of_folder(out: &Path, from: &Path, name: &str) -> Result<()> {
    let folder = out.join("stage/npm/plugin/package");
    files::copy_folder(from, &folder)?;
    put_json(&folder.join("package.json"), &manifest(name))?;
    pack(out, &folder, name)
}

/// `@substrate-agents/cli-linux-x64`
fn name(target: Target) -> String {
    format!("{NPM}-{}-{}", target.os, target.cpu)
}

fn manifest(name: &str) -> Value {
    json!({"name": name, "version": VERSION, "description": ABOUT, "license": "MIT OR Apache-2.0"})
}

/// As `npm pack` names and packs it.
fn pack(out: &Path, folder: &Path, name: &str) -> Result<()> {
    let stem = name.trim_start_matches('@').replace('/', "-");
    let parent = folder.parent().unwrap_or(folder);
    files::tar(parent, "package", &out.join(format!("{stem}-{VERSION}.tgz")))
}
