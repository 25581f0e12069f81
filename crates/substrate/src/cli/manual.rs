//! `substrate man`, `completions SHELL`, `version` and `hooks snippet`: what people put where their system and their agents look.

use clap::{Arg, ArgAction, ArgMatches, Command};
use clap_complete::Shell;
use serde_json::json;
use substrate_core::Audience;

use super::complete::script;
use super::table::Definition;
use super::{Context, help, print};
use crate::error::{AppError, Kind, Result};

pub(super) const COMMANDS: &[Definition] = &[
    Definition::new(&["man"], Audience::Both, "Print the manual page of a command, for `man`", man)
        .taking(|command| {
            let words = Arg::new("words").value_name("COMMAND").action(ArgAction::Append);
            command.arg(words.help("The command, such as `work claim`; without it, the program"))
        }),
    Definition::new(
        &["hooks", "snippet"],
        Audience::Both,
        "Print a paragraph for a project's AGENTS.md that tells agents about Substrate",
        |context, _| {
            print::result(context, &json!({"text": SNIPPET}), || SNIPPET.to_owned());
            Ok(())
        },
    ),
    Definition::new(
        &["completions"],
        Audience::Both,
        "Print a completion script for your shell",
        completions,
    )
    .taking(shells),
    Definition::new(&["version"], Audience::Both, "Print the version", version),
];

/// For teams that want to tell their agents, with and without Substrate installed.
const SNIPPET: &str = "\
## Other agents

Several agents may work in this repository at once. If the `substrate` command is there, use it:

* Text that begins with `[substrate …]` comes from Substrate. A refusal names a next step: follow it.
* `substrate inbox` shows your mail, and `substrate send NAME \"…\"` writes to an agent or to `User`.
* Your edits take leases on files by themselves. `substrate locks` shows who holds what.
* `substrate work claim` takes the next item of shared work, and `substrate work done ID` ends it.
";

fn man(context: &Context, flags: &ArgMatches) -> Result<()> {
    let words: Vec<&String> = flags.get_many("words").into_iter().flatten().collect();
    let mut page = help::command();
    let mut name = "substrate".to_owned();
    page.build();
    for word in words {
        let found = page.find_subcommand(word).cloned();
        page = found.ok_or_else(|| {
            AppError::new(Kind::User, format!("there is no command `{name} {word}`"))
                .hint("`substrate --help` lists them")
        })?;
        name = format!("{name} {word}");
    }
    let text = rendered(page)?;
    print::result(context, &json!({"name": name, "page": text}), || text.clone());
    Ok(())
}

fn rendered(page: Command) -> Result<String> {
    let mut out = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut out)
        .map_err(|error| AppError::from_error(Kind::Internal, &error))?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn shells(command: Command) -> Command {
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
