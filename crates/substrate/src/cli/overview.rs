//! `substrate` alone (the overview, or how to begin where nothing is installed), and `substrate top`.

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::json;
use substrate_core::Audience;

use super::call::{Line, dir};
use super::table::{self, Definition};
use super::{Context, print};
use crate::error::{AppError, Kind, Result};
use crate::top::Options;
use crate::{hooks, top as screen, ui};

/// What a person reads who has installed nothing yet.
const BEGIN: &str = "Substrate is not set up yet: no client's hooks are registered.

  substrate demo     shows it at work, in a sandbox; changes nothing
  substrate up       starts the daemon and registers the hooks, after asking
  substrate --help   lists every command
";

/// Below an overview without hooks.
const NO_HOOKS: &str = "No client's hooks are registered here: `substrate up` registers them.\n";

pub(super) fn run(context: &Context) -> Result<()> {
    let is_registered = is_registered(context);
    if !is_registered && !context.home.database().is_file() {
        let json = json!({"installed": false, "next": [{"command": "substrate up"}, {"command": "substrate demo"}]});
        print::result(context, &json, || BEGIN.to_owned());
        return Ok(());
    }
    let verb = table::verbs().find(|verb| verb.path == ["overview"]);
    let verb = verb.ok_or_else(|| AppError::new(Kind::Internal, "there is no overview"))?;
    let output = Line::new(context, verb).call(json!({}), &context.caller.request)?;
    print::output(context.format, &output)?;
    if !is_registered {
        ui::talk(NO_HOOKS);
    }
    Ok(())
}

/// Whether any client has hooks of ours, for this user or this folder. A file that can't be read counts as having some:
/// `doctor` says what is wrong with it.
fn is_registered(context: &Context) -> bool {
    substrate_clients::ALL.iter().any(|client| {
        let found = hooks::status(client, &context.env, &context.home, dir(context));
        found.map_or(true, |states| states.iter().any(|state| !state.events.is_empty()))
    })
}

pub(super) const COMMANDS: &[Definition] = &[Definition::new(
    &["top"],
    Audience::User,
    "See the fleet in this terminal, live, and answer it",
    top,
)
.taking(flags)];

fn flags(command: Command) -> Command {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    command
        .arg(flag("inline", "Draw below the prompt, and leave what is on the screen"))
        .arg(flag("bell", "Ring the terminal's bell when something new waits for you"))
}

fn top(context: &Context, flags: &ArgMatches) -> Result<()> {
    let options = Options {
        is_inline: flags.get_flag("inline"),
        rings: flags.get_flag("bell"),
        has_colour: ui::wants_colour(&context.env),
    };
    screen::run(context, options)
}
