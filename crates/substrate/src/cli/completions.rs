//! `substrate completions SHELL` and `substrate version`

use clap::{Arg, ArgMatches, Command};
use clap_complete::Shell;
use serde_json::json;
use substrate_core::Audience;

use super::table::Definition;
use super::{Context, help, print};
use crate::error::Result;

pub(super) const COMMANDS: &[Definition] = &[
    Definition::new(
        &["completions"],
        Audience::Both,
        "Print a completion script for your shell",
        completions,
    )
    .taking(flags),
    Definition::new(&["version"], Audience::Both, "Print the version", version),
];

fn flags(command: Command) -> Command {
    let shell = Arg::new("shell").required(true).value_name("SHELL");
    command.arg(
        shell
            .value_parser(clap::value_parser!(Shell))
            .help("bash, zsh, fish, elvish or powershell"),
    )
}

fn completions(context: &Context, matches: &ArgMatches) -> Result<()> {
    if let Some(shell) = matches.get_one::<Shell>("shell") {
        let mut out = Vec::new();
        clap_complete::generate(*shell, &mut help::command(), "substrate", &mut out);
        let script = String::from_utf8_lossy(&out).into_owned();
        let json = json!({"shell": shell.to_string(), "script": script});
        print::result(context, &json, || script);
    }
    Ok(())
}

fn version(context: &Context, _: &ArgMatches) -> Result<()> {
    let json = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "commit": crate::version::COMMIT,
        "target": crate::version::target(),
    });
    print::result(context, &json, || format!("substrate {}\n", crate::version::words()));
    Ok(())
}
