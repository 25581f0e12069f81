//! `substrate top`

use clap::{Arg, ArgAction, ArgMatches, Command};
use substrate_core::Audience;

use super::Context;
use super::table::Definition;
use crate::error::Result;
use crate::top::{self, Options};
use crate::ui;

pub(super) const COMMANDS: &[Definition] = &[Definition::new(
    &["top"],
    Audience::User,
    "See the fleet in this terminal, live, and answer it",
    run,
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

fn run(context: &Context, flags: &ArgMatches) -> Result<()> {
    let options = Options {
        is_inline: flags.get_flag("inline"),
        rings: flags.get_flag("bell"),
        has_colour: ui::wants_colour(&context.env),
    };
    top::run(context, options)
}
