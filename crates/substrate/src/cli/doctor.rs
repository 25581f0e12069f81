//! `substrate doctor [--fix]`

use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};
use substrate_core::Audience;

use super::table::Definition;
use super::{Context, call, print};
use crate::daemon::Ask;
use crate::doctor::{Patient, Report, gather, judge, mend};
use crate::error::{AppError, Kind, Result};
use crate::{clock, ui};

/// A healthy daemon answers within this.
const PING: Duration = Duration::from_millis(500);

pub(super) const COMMANDS: &[Definition] = &[Definition::new(
    &["doctor"],
    Audience::Both,
    "Find what is wrong with the installation and say how to fix it",
    run,
)
.taking(flags)];

fn flags(command: Command) -> Command {
    let fix = Arg::new("fix").long("fix").action(ArgAction::SetTrue);
    command
        .long_about(
            "Checks the programs, the daemon, the database, the settings of Substrate and of the client, the latest \
             sessions and how the hooks fared. Each finding says how bad it is and what to do.\n\n\
             Exits 0 if there is no warning and no failure, otherwise 1. Changes nothing without --fix.",
        )
        .arg(fix.help("Repair what is safe to repair: close files to other users, start a missing daemon"))
}

/// Checks on behalf of another command, and reports only what is wrong.
pub(super) fn quick(context: &Context) -> Report {
    let ping = || call::control(&context.home, &Ask::Ping, PING).map(|(_, status)| status);
    let patient = Patient {
        env: &context.env,
        home: &context.home,
        dir: call::dir(context),
        now: clock::now(),
        ping: &ping,
    };
    let report = Report::new(judge(&gather(&patient)), None);
    ui::talk(&report.wrong());
    report
}

fn run(context: &Context, matches: &ArgMatches) -> Result<()> {
    let ping = || call::control(&context.home, &Ask::Ping, PING).map(|(_, status)| status);
    let look = || Patient {
        env: &context.env,
        home: &context.home,
        dir: call::dir(context),
        now: clock::now(),
        ping: &ping,
    };
    let mut facts = gather(&look());
    let mut mended = None;
    if matches.get_flag("fix") {
        mended = Some(mend(&look(), &facts));
        facts = gather(&look());
    }
    let report = Report::new(judge(&facts), mended);
    print::result(context, &report.json(), || report.text());
    if report.is_healthy() {
        return Ok(());
    }
    // The report has said everything.
    Err(AppError::new(Kind::User, ""))
}
