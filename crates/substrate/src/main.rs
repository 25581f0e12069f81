//! `substrate`: the commands, the daemon, and the fallback for a hook that finds no daemon.

mod cli;
mod clock;
mod config;
mod daemon;
mod doctor;
mod effects;
mod error;
mod for_scripts;
mod fsx;
mod gather;
mod git;
mod hooks;
mod host;
mod inside;
mod machine;
mod notice;
mod proc;
mod processes;
mod relay;
mod remnants;
mod run;
mod team;
mod tmux;
mod top;
mod ui;
mod version;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> =
        std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    // An agent waits for this, so skip the command-line parser.
    if args.get(1).is_some_and(|arg| arg == "__hook") {
        return relay::main(&args[2..]);
    }
    // A script may call these several times, so skip it here too.
    if let Some(command) = args.get(1).filter(|arg| for_scripts::COMMANDS.contains(&arg.as_str())) {
        return for_scripts::main(command, &args[2..]);
    }
    if args.get(1).is_some_and(|arg| arg == "__complete") {
        return cli::complete::main(&args[2..]);
    }
    if args.get(1).is_some_and(|arg| arg == "__terminal") {
        return run::hand_back(&args[2..]);
    }
    // A daemon keeps the pages of the program that it has touched, so it does not touch the parser's.
    if let Some(options) = daemon::detached_options(args.get(1..).unwrap_or_default()) {
        return daemon::run_detached(options);
    }
    cli::main(&args)
}
