//! `substrate man` and `substrate hooks snippet`: what people put where their system and their agents look.

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::json;
use substrate_core::Audience;

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
