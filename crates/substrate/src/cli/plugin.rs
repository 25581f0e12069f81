//! `substrate plugin dir` and `substrate plugin marketplace`: a client's plugin, written into the state home.
//!
//! Clients run `plugin dir` when they install the plugin and when a session starts, so it prints one path and nothing else,
//! and writes only what differs.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command};
use serde_json::json;
use substrate_clients::plugin::{self, Parts, Plugin, PluginFile, Published};
use substrate_core::Audience;

use super::table::Definition;
use super::{Context, print};
use crate::error::{AppError, Kind, Result};
use crate::{daemon, fsx, hooks, ui};

pub(super) const COMMANDS: &[Definition] = &[
    Definition::new(
        &["plugin", "dir"],
        Audience::Both,
        "Write the plugin of your client into the state home, and print its folder",
        dir,
    ),
    Definition::new(
        &["plugin", "marketplace"],
        Audience::Both,
        "Write a catalogue with this plugin, and print the commands that install it",
        marketplace,
    ),
    Definition::new(
        &["plugin", "publish"],
        Audience::User,
        "Write the plugin and its catalogue for machines that have `substrate` on their PATH",
        publish,
    )
    .taking(flags),
];

/// Below the state home.
const PLUGIN: &str = "plugin";
const MARKETPLACE: &str = "marketplace";

fn dir(context: &Context, _: &ArgMatches) -> Result<()> {
    let folder = written(context, PLUGIN, |plugin| plugin.files)?;
    print::result(context, &json!({"folder": folder}), || format!("{}\n", folder.display()));
    Ok(())
}

fn marketplace(context: &Context, _: &ArgMatches) -> Result<()> {
    written(context, PLUGIN, |plugin| plugin.files)?;
    let folder = written(context, MARKETPLACE, |plugin| plugin.marketplace)?;
    let install = (known()?.install)(&folder.display().to_string());
    print::result(context, &json!({"folder": folder, "install": install}), || {
        ui::talk("Run these, and keep `substrate hooks install` too:\n");
        format!("{install}\n")
    });
    Ok(())
}

fn flags(command: Command) -> Command {
    let needed = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).required(true).help(help)
    };
    command
        .arg(Arg::new("folder").value_name("FOLDER").required(true).help("Where to write them"))
        .arg(needed("archive", "URL", "The address of the plugin as a zip"))
        .arg(needed("sha256", "HEX", "The digest of that zip"))
        .arg(needed("npm", "NAME", "The npm package of the plugin"))
}

fn publish(context: &Context, flags: &ArgMatches) -> Result<()> {
    let given = |name: &str| flags.get_one::<String>(name).map_or("", String::as_str);
    let folder = Path::new(given("folder"));
    let version = env!("CARGO_PKG_VERSION");
    let (skill, options) = (hooks::SKILL, &hooks::options::all());
    let parts = Parts { substrate: "substrate", hook: "substrate-hook", version, skill, options };
    let (archive, sha256, npm) = (given("archive"), given("sha256"), given("npm"));
    let published = Published { archive, sha256, npm, version };
    let plugin = known()?;
    write_all(&folder.join(PLUGIN), &(plugin.files)(&parts))?;
    write_all(&folder.join(MARKETPLACE), &(plugin.published)(&published))?;
    print::result(context, &json!({"folder": folder}), || format!("{}\n", folder.display()));
    Ok(())
}

fn known() -> Result<&'static Plugin> {
    plugin::ALL
        .first()
        .ok_or_else(|| AppError::new(Kind::User, "no client that Substrate knows takes plugins"))
}

/// Makes the files of a client's plugin or marketplace.
type Maker = fn(&Parts<'_>) -> Vec<PluginFile>;

/// Writes files into a folder of the state home, and returns it.
fn written(context: &Context, name: &str, which: fn(&Plugin) -> Maker) -> Result<PathBuf> {
    let hook = hooks::program(&context.env)?;
    let substrate = Path::new(&hook).with_file_name("substrate");
    let substrate = if substrate.is_file() { substrate } else { daemon::this_program()? };
    let parts = Parts {
        substrate: &substrate.display().to_string(),
        hook: &hook,
        version: env!("CARGO_PKG_VERSION"),
        skill: hooks::SKILL,
        options: &hooks::options::all(),
    };
    context.home.ensure()?;
    let folder = context.home.root().join(name);
    write_all(&folder, &which(known()?)(&parts))?;
    Ok(folder)
}

fn write_all(folder: &Path, files: &[PluginFile]) -> Result<()> {
    files.iter().try_for_each(|file| write(&folder.join(file.path), file))
}

fn write(path: &Path, file: &PluginFile) -> Result<()> {
    if std::fs::read(path).is_ok_and(|there| there == file.content) {
        return Ok(());
    }
    let mode = if file.is_program { 0o755 } else { 0o644 };
    let parent = path.parent().unwrap_or(path);
    let done =
        std::fs::create_dir_all(parent).and_then(|()| fsx::replace(path, &file.content, mode));
    done.map_err(|error| {
        AppError::from_error(Kind::State, &error)
            .hint(format!("make `{}` writable for you", parent.display()))
    })
}
