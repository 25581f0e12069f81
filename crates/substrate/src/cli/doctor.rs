//! `substrate doctor [--fix]`

use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::{Context, call, say};
use crate::daemon::Ask;
use crate::doctor::{Patient, Report, gather, judge, mend};
use crate::error::{AppError, Kind, Result};
use crate::{clock, ui};

/// A daemon that is well answers within this.
const PING: Duration = Duration::from_millis(500);

pub(super) fn command() -> Command {
    Command::new("doctor")
        .about("What is wrong with the installation, and what to do about it; exits 0 only when nothing is")
        .long_about(
            "Looks at the programs, the daemon, the database, the settings of Substrate and of the client, the latest \
             sessions and how the hooks fared, and says for each finding how bad it is and what to do.\n\n\
             Exits 0 when there is no warning and no failure, otherwise 1. Changes nothing without --fix.",
        )
        .arg(
            Arg::new("fix").long("fix").action(ArgAction::SetTrue).help(
                "Mend what can be mended safely: take others' access away, start a daemon where none runs",
            ),
        )
}

/// Looks for a command that does something else, and tells only what is wrong.
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

pub(super) fn run(context: &Context, matches: &ArgMatches) -> Result<()> {
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
    say::result(context, &report.json(), || report.text());
    if report.is_healthy() {
        return Ok(());
    }
    // Everything is said already.
    Err(AppError::new(Kind::User, ""))
}
