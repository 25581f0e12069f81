//! `substrate daemon run|start|stop|restart|status`

use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches, Command};
use ipc::ConnError;
use serde_json::{Value, json};
use substrate_core::Audience;
use substrate_core::time::Ago;

use super::table::Definition;
use super::{Context, call, print};
use crate::config::Home;
use crate::daemon::{self, Ask, RunOptions, Status, Stay};
use crate::error::{AppError, Kind, Result};
use crate::{clock, ui};

const PATIENCE: Duration = Duration::from_secs(5);

pub(super) const COMMANDS: &[Definition] = &[
    // Hooks and commands start it for agents and the user alike.
    Definition::new(
        &["daemon", "run"],
        Audience::Both,
        "Run the daemon in the foreground until it is stopped",
        foreground,
    )
    .taking(run_flags),
    Definition::new(
        &["daemon", "start"],
        Audience::Both,
        "Start the daemon in the background",
        |context, _| done(context, &start(context)?),
    ),
    Definition::new(
        &["daemon", "stop"],
        Audience::User,
        "Stop the daemon once it has answered every open request",
        |context, _| done(context, &stop(&context.home)?),
    ),
    Definition::new(
        &["daemon", "restart"],
        Audience::User,
        "Replace the running daemon with this version without dropping a request",
        |context, _| done(context, &restart(context)?),
    ),
    Definition::new(
        &["daemon", "status"],
        Audience::Both,
        "Show whether the daemon runs, its version and its counters",
        |context, _| status(context),
    ),
];

fn run_flags(command: Command) -> Command {
    let hidden =
        |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue).hide(true);
    command.args(["detached", "brief", "take-over"].map(hidden))
}

fn foreground(context: &Context, flags: &ArgMatches) -> Result<()> {
    let options = match ["take-over", "brief", "detached"].map(|name| flags.get_flag(name)) {
        [true, ..] => RunOptions::TakeOver,
        [false, true, _] => RunOptions::Brief,
        [false, false, true] => RunOptions::Detached,
        [false, false, false] => RunOptions::Foreground,
    };
    daemon::run(context.env.clone(), &context.home, options)
}

fn done(context: &Context, json: &Value) -> Result<()> {
    print::to_programs(context, json);
    Ok(())
}

/// Starts the daemon if none runs. Reports its status.
pub(super) fn start(context: &Context) -> Result<Value> {
    let begun = Instant::now();
    let mut started = daemon::start(&context.env, &context.home, Stay::Long)?;
    let status = loop {
        match call::control(&context.home, &Ask::Ping, PATIENCE) {
            Ok((_, status)) if !status.is_brief => break status,
            // A brief daemon, or one that has just ended.
            found if begun.elapsed() < PATIENCE => {
                if found.is_ok() {
                    let _it_may_have_ended = call::control(&context.home, &Ask::Stop, PATIENCE);
                }
                started |= daemon::start(&context.env, &context.home, Stay::Long)?;
                std::thread::sleep(Duration::from_millis(5));
            }
            _ => {
                return Err(AppError::new(Kind::Daemon, "the daemon did not start").hint(format!(
                    "its log is in `{}`; `substrate daemon run` shows what it says",
                    context.home.logs().display()
                )));
            }
        }
    };
    ui::talk(if started { "the daemon is running\n" } else { "the daemon was already running\n" });
    if let Some(trouble) = &status.trouble {
        ui::talk(&format!(
            "warning: it can't use its database ({trouble}); `substrate doctor` says what to do\n"
        ));
    }
    let mut json = running(&status);
    json["started"] = json!(started);
    Ok(json)
}

/// Stops the daemon. Reports whether one ran.
pub(super) fn stop(home: &Home) -> Result<Value> {
    end(home, "; their agents see it at their next event")
}

/// The same where no hook is left that could start it again.
pub(super) fn stop_for_good(home: &Home) -> Result<Value> {
    end(home, "")
}

fn end(home: &Home, waiters: &str) -> Result<Value> {
    let stopped = |stopped: bool| Ok(json!({"running": false, "stopped": stopped}));
    match call::control(home, &Ask::Stop, PATIENCE) {
        Ok((0, status)) => {
            wait_until_gone(home, &status)?;
            ui::talk("the daemon has stopped\n");
            if status.n_waiting > 0 {
                let n = status.n_waiting;
                ui::talk(&format!(
                    "{n} sessions were waiting for mail and no longer are{waiters}\n"
                ));
            }
            stopped(true)
        }
        Ok(_) => Err(AppError::new(Kind::User, "only the user may stop the daemon")
            .hint("run the command in a terminal of your own, outside the client")),
        Err(ConnError::Absent) if !home.root().is_dir() || !daemon::is_held(home)? => {
            ui::talk("no daemon is running\n");
            stopped(false)
        }
        // It lost its socket or is frozen, so end its process.
        Err(error) => {
            let holder = daemon::holder(home).ok_or_else(|| no_answer(error))?;
            holder.end();
            ui::talk(&format!("the daemon did not answer ({}) and was ended\n", error.name()));
            stopped(true)
        }
    }
}

/// Waits until the process has ended. Until then it may still write its log into the database.
fn wait_until_gone(home: &Home, status: &Status) -> Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE * 2 {
        match call::control(home, &Ask::Ping, PATIENCE) {
            Ok((_, now)) if now.pid != status.pid => return Ok(()),
            Err(_) if !home.root().is_dir() || !daemon::is_held(home)? => return Ok(()),
            Ok(_) | Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    Err(AppError::new(Kind::Daemon, format!("the daemon (pid {}) has not ended", status.pid)))
}

pub(super) fn restart(context: &Context) -> Result<Value> {
    let program = daemon::this_program()?;
    let ask = Ask::TakeOver { program: program.display().to_string() };
    match call::control(&context.home, &ask, Duration::from_secs(40)) {
        Ok((0, old)) => {
            ui::talk(&format!("this program took over from the daemon with pid {}\n", old.pid));
            Ok(json!({"running": true, "replaced": old.pid}))
        }
        Ok((_, old)) => Err(AppError::new(
            Kind::Daemon,
            format!("the new daemon did not start; the old one (pid {}) goes on", old.pid),
        )
        .hint(format!("the log in `{}` says why", context.home.logs().display()))),
        Err(ConnError::Absent) => start(context),
        Err(error) => {
            let holder = daemon::holder(&context.home).ok_or_else(|| no_answer(error))?;
            holder.end();
            start(context)
        }
    }
}

fn status(context: &Context) -> Result<()> {
    match call::control(&context.home, &Ask::Ping, PATIENCE) {
        Ok((_, status)) => {
            let ago = Ago(clock::now().0 - status.started_ms);
            let text = format!(
                "running   pid {}, version {}, for {ago}\nhome      {}\nprogram   {}\nserved    {} hooks and {} commands in {} commits, {} failed\nwaiting   {}\n",
                status.pid,
                status.version,
                status.home,
                status.program,
                status.n_hooks,
                status.n_commands,
                status.n_commits,
                status.n_failures,
                status.n_waiting,
            );
            let text = match &status.trouble {
                Some(trouble) => {
                    format!("{text}database  not used: {trouble}; leases are kept in memory\n")
                }
                None => text,
            };
            print::result(context, &running(&status), || text);
            Ok(())
        }
        Err(error) => {
            print::to_programs(context, &json!({"running": false, "why": error.name()}));
            Err(match error {
                ConnError::Absent => AppError::new(Kind::Daemon, "no daemon is running").hint(
                    "it starts with the next hook or command, or now with `substrate daemon start`",
                ),
                error => no_answer(error),
            })
        }
    }
}

fn running(status: &Status) -> Value {
    let mut json = serde_json::to_value(status).unwrap_or_default();
    json["running"] = json!(true);
    json
}

fn no_answer(error: ConnError) -> AppError {
    AppError::new(Kind::Daemon, format!("the daemon does not answer ({})", error.name())).hint(
        "the next hook or command replaces it if it is frozen; `substrate daemon stop` ends it now",
    )
}
