//! The command line: our own commands, and the features' verbs.

mod ask;
mod call;
mod config;
mod daemon;
mod db;
mod doctor;
mod hook;
pub(crate) mod commit_hook;
mod hooks;
mod lines;
mod local;
mod reference;
mod run;
mod say;
mod scratchpad;
#[cfg(test)]
mod seeds;
mod setup;
mod audience;
mod tmux;
mod verbs;

use std::path::Path;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::json;
use substrate_core::{Caller, Format};

use crate::config::{Env, Home};
use crate::error::{AppError, Kind, Result};
use crate::{clock, proc, ui};

/// What every command knows.
pub(crate) struct Context {
    pub(crate) env: Env,
    pub(crate) home: Home,
    pub(crate) caller: Caller,
    pub(crate) format: Format,
    pub(crate) verbose: bool,
}

pub(crate) fn main(args: &[String]) -> ExitCode {
    let matches = match command().try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) => {
            let _reader_gone = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match dispatch(&matches) {
        Ok(code) => code,
        Err(error) => {
            if !error.message.is_empty() {
                ui::talk(&error.render());
            }
            error.exit_code()
        }
    }
}

/// A supervisor ends as its client did; any other command well.
fn dispatch(matches: &ArgMatches) -> Result<ExitCode> {
    let context = match context(matches) {
        Ok(context) => context,
        Err(error) => return without_home(matches, error).map(|()| ExitCode::SUCCESS),
    };
    if let Some(dir) = deepest(matches).get_one::<String>("project-dir")
        && !Path::new(dir).is_dir()
    {
        return Err(AppError::new(Kind::User, format!("there is no folder `{dir}`"))
            .hint("`--project-dir` takes the folder of a project"));
    }
    audience::admit(&context, matches)?;
    match matches.subcommand() {
        Some(("run", inner)) => run::run(context, inner),
        _ => one(context, matches).map(|()| ExitCode::SUCCESS),
    }
}

/// Without a state home some commands still have something to say.
fn without_home(matches: &ArgMatches, mut error: AppError) -> Result<()> {
    match matches.subcommand() {
        Some(("doctor", _)) => {
            error.message.insert_str(0, "state not usable: ");
            Err(error)
        }
        Some((name, inner)) => verbs::without_state(format(matches), name, inner, error),
        None => Err(error),
    }
}

fn context(matches: &ArgMatches) -> Result<Context> {
    let env = Env::of_this_process();
    let home = Home::find(&env)?;
    let verbose = matches.get_count("verbose") > 0;
    Ok(Context { caller: caller(matches, &env), format: format(matches), verbose, env, home })
}

fn one(context: Context, matches: &ArgMatches) -> Result<()> {
    match matches.subcommand() {
        Some(("daemon", matches)) => daemon::run(context, matches),
        Some(("db", matches)) => db::run(&context, matches),
        Some(("config", matches)) => config::run(&context, matches),
        Some(("hook", matches)) => hook::run(&context, matches),
        Some(("hooks", matches)) => hooks::run(&context, matches),
        // The one command of the group that is about git's files and not about the database.
        Some(("locks", matches)) if matches.subcommand_name() == Some("guard") => {
            let inner = matches.subcommand_matches("guard").unwrap_or(matches);
            commit_hook::run(&context, inner)
        }
        // These work on the project's files; where they are is the feature's own verb.
        Some(("scratchpad", matches)) if matches.subcommand_name() != Some("path") => {
            scratchpad::run(&context, matches)
        }
        Some(("tmux", matches)) => tmux::run(&context, matches),
        Some(("up", matches)) => setup::up(&context, matches),
        Some(("down", _)) => setup::down(&context),
        Some(("uninstall", matches)) => setup::uninstall(&context, matches),
        Some(("completions", matches)) => {
            completions(&context, matches);
            Ok(())
        }
        Some(("doctor", matches)) => doctor::run(&context, matches),
        Some(("version", _)) => {
            let version = env!("CARGO_PKG_VERSION");
            say::result(&context, &json!({"version": version}), || {
                format!("substrate {version}\n")
            });
            Ok(())
        }
        Some(("__reference", _)) => {
            ui::data(&reference::markdown());
            Ok(())
        }
        Some((name, matches)) => verbs::run(&context, name, matches),
        None => Ok(()),
    }
}

/// The whole command line, as help and the reference show it.
pub(crate) fn command() -> Command {
    let root = Command::new("substrate")
        .version(env!("CARGO_PKG_VERSION"))
        .about("The coordination layer for coding agents: mail, locks, scratchpads, guards and journals on their hooks")
        .after_help("Exit codes: 0 ok, 1 the command could not (or doctor found something), 2 wrong usage, 3 no daemon, 4 state or settings not usable, 70 a bug.")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .args(global_flags())
        .subcommand(daemon::command())
        .subcommand(db::command())
        .subcommand(config::command())
        .subcommand(hook::command())
        .subcommand(hooks::command())
        .subcommand(run::command())
        .subcommands(setup::commands())
        .subcommand(
            Command::new("completions")
                .about("Completions for your shell, on stdout")
                .arg(Arg::new("shell").required(true).value_name("SHELL").value_parser(clap::value_parser!(clap_complete::Shell)).help("bash, zsh, fish, elvish or powershell")),
        )
        .subcommand(doctor::command())
        .subcommand(Command::new("version").about("Which version this is"))
        .subcommand(Command::new("__reference").hide(true));
    verbs::add(root)
        .mut_subcommand("locks", |locks| locks.subcommand(commit_hook::command()))
        .mut_subcommand("scratchpad", scratchpad::commands)
}

fn completions(context: &Context, matches: &ArgMatches) {
    if let Some(shell) = matches.get_one::<clap_complete::Shell>("shell") {
        let mut out = Vec::new();
        clap_complete::generate(*shell, &mut command(), "substrate", &mut out);
        let script = String::from_utf8_lossy(&out).into_owned();
        let json = json!({"shell": shell.to_string(), "script": script});
        say::result(context, &json, || script);
    }
}

/// What was typed last; it knows the flags that all commands have.
fn deepest(mut matches: &ArgMatches) -> &ArgMatches {
    while let Some((_, inner)) = matches.subcommand() {
        matches = inner;
    }
    matches
}

fn global_flags() -> Vec<Arg> {
    let flag = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).global(true).value_name(value).help(help)
    };
    vec![
        flag("session-id", "ID", "Act for this session (default: $CLAUDE_SESSION_ID)"),
        flag("agent", "NAME", "Act as this agent (default: $AGENT_ID)"),
        flag("project-dir", "DIR", "Act in this project (default: the current folder's)"),
        flag("format", "FORMAT", "How to print: text for people, json for programs")
            .value_parser(clap::value_parser!(Format))
            .default_value("text"),
        Arg::new("verbose")
            .short('v')
            .long("verbose")
            .global(true)
            .action(ArgAction::Count)
            .help("Say who answered, and how fast"),
    ]
}

fn format(matches: &ArgMatches) -> Format {
    matches.get_one::<Format>("format").copied().unwrap_or_default()
}

fn caller(matches: &ArgMatches, env: &Env) -> Caller {
    let given = |flag: &str, names: &[&str]| {
        let from_env = || names.iter().find_map(|name| env.text(name)).map(str::to_owned);
        matches.get_one::<String>(flag).cloned().or_else(from_env)
    };
    Caller {
        // The client's own word first: what a start exported may be inherited from the client around this one.
        session: given("session-id", &["CLAUDE_CODE_SESSION_ID", "CLAUDE_SESSION_ID"]),
        agent_typed: matches.get_one::<String>("agent").is_some(),
        agent: given("agent", &["AGENT_ID"]),
        project_dir: given("project-dir", &["CLAUDE_PROJECT_DIR"]),
        cwd: std::env::current_dir().map(|dir| dir.display().to_string()).unwrap_or_default(),
        tz_offset_s: clock::tz_offset_s(clock::now()),
        inside_client: audience::says_inside(env),
        // Whoever runs the verb knows its projects.
        project: String::new(),
        request: hex(proc::random_id()),
        // The host looks for itself.
        lineage: None,
    }
}

fn hex(id: [u8; 16]) -> String {
    substrate_core::RequestId(id).to_string()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_well_formed() {
        super::command().debug_assert();
    }

    /// Two arguments of one name are one: a type of agent that is typed would say as whom one acts.
    #[test]
    fn no_argument_has_the_name_of_a_flag_that_all_commands_have() {
        fn look(command: &clap::Command, path: &str, taken: &[String], out: &mut Vec<String>) {
            for inner in command.get_subcommands() {
                let path = format!("{path} {}", inner.get_name());
                let ids = inner.get_arguments().map(|arg| arg.get_id().to_string());
                out.extend(ids.filter(|id| taken.contains(id)).map(|id| format!("{path}: {id}")));
                look(inner, &path, taken, out);
            }
        }
        let taken: Vec<String> =
            super::global_flags().iter().map(|flag| flag.get_id().to_string()).collect();
        assert_eq!(taken.len(), 5);
        let mut out = Vec::new();
        look(&super::command(), "substrate", &taken, &mut out);
        assert_eq!(out, Vec::<String>::new());
    }
}
