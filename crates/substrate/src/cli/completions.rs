//! `substrate completions SHELL` and `substrate version`

use clap::{Arg, ArgAction, ArgMatches, Command};
use clap_complete::Shell;
use serde_json::json;
use substrate_core::Audience;

use super::complete::script;
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
    command
        .arg(
            shell
                .value_parser(clap::value_parser!(Shell))
                .help("bash, zsh, fish, elvish or powershell"),
        )
        .arg(
            Arg::new("static")
                .long("static")
                .action(ArgAction::SetTrue)
                .help("Print a script that never asks the daemon for names"),
        )
}

fn completions(context: &Context, matches: &ArgMatches) -> Result<()> {
    if let Some(shell) = matches.get_one::<Shell>("shell") {
        let live = script(*shell).filter(|_| !matches.get_flag("static"));
        let script = live.map_or_else(|| without_names(*shell), str::to_owned);
        let json = json!({"shell": shell.to_string(), "script": script});
        print::result(context, &json, || script);
    }
    Ok(())
}

/// A script that knows every command and flag, and asks for no names.
fn without_names(shell: Shell) -> String {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut help::command(), "substrate", &mut out);
    String::from_utf8_lossy(&out).into_owned()
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
