//! `substrate plugin dir` and `substrate plugin marketplace`: a client's plugin, written into the state home.
//!
//! Clients run `plugin dir` when they install the plugin and when a session starts, so it prints one path and nothing else,
//! and writes only what differs.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use serde_json::json;
use substrate_clients::plugin::{self, Parts, Plugin, PluginFile};
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
    };
    context.home.ensure()?;
    let folder = context.home.root().join(name);
    for file in which(known()?)(&parts) {
        write(&folder.join(file.path), &file)?;
    }
    Ok(folder)
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
