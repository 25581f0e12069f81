//! `substrate run -- claude …`: a client under supervision.

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::Value;
use substrate_core::Verb;

use super::call::Line;
use super::{Context, hex};
use crate::error::{AppError, Kind, Result};
use crate::run::{self, Asks, Orders};
use crate::{proc, ui};

pub(super) fn command() -> Command {
    Command::new("run")
        .about("Run a client under supervision: it is started anew with a fresh context when its own is full")
        .after_help("The client has the terminal as if it ran alone, and its exit code is ours. With `context.on_auto_compact = \"restart\"` it is not compacted when its context is full, but ended and started anew as the same agent; what belongs to the old conversation (`--continue`, `--resume`, `--session-id`, the prompt) is left out of its arguments then. Example: substrate run --agent NobleLion -- claude --model opus")
        .arg(Arg::new("effort").long("effort").value_name("ID").help("The effort that the client works on; a fresh context is told to go on with it"))
        .arg(
            Arg::new("persist")
                .long("persist")
                .action(ArgAction::SetTrue)
                .help("Keep it there: it waits for mail when it has nothing to do, and is started again when it fails (at most 4 times within 10 minutes)"),
        )
        .arg(Arg::new("command").last(true).required(true).num_args(1..).value_name("COMMAND").help("The client and its arguments, after `--`"))
}

pub(super) fn run(context: Context, matches: &ArgMatches) -> Result<ExitCode> {
    let effort = matches.get_one::<String>("effort").cloned();
    if effort.as_ref().is_some_and(|id| !is_plain(id)) {
        return Err(AppError::new(
            Kind::User,
            "an effort's id has letters, digits, `.`, `_` and `-` only",
        )
        .hint("`substrate effort list` shows them"));
    }
    let orders = Orders {
        // As they were typed: what is no text stays what it is.
        line: std::env::args_os().skip_while(|arg| arg != "--").skip(1).collect(),
        agent: context.caller.agent.clone().filter(|_| context.caller.agent_typed),
        effort,
        persists: matches.get_flag("persist"),
        token: hex(proc::random_id()),
        env: context.env.clone(),
    };
    // Threads ask through it until the process ends.
    let context: &'static Context = Box::leak(Box::new(Context { verbose: false, ..context }));
    let begun = Line::new(context, verb("note")?).call(run::noted(&orders.token, 0, 0), &request());
    if let Err(error) = begun {
        ui::talk(&format!(
            "substrate run: the engine could not be told about the client, which will compact as usual; `substrate doctor` helps\n{}",
            error.render()
        ));
    }
    let asks = move |name: &str, body: Value| {
        let verb = verb(name).map_err(|error| error.message)?;
        let answer = Line::quiet(context, verb).call(body, &request());
        answer.map(|output| output.json).map_err(|error| error.message)
    };
    let asks: Arc<Asks> = Arc::new(asks);
    run::supervise(&orders, asks).map(ExitCode::from)
}

fn request() -> String {
    hex(proc::random_id())
}

fn verb(name: &str) -> Result<&'static Verb> {
    substrate_features::ALL
        .iter()
        .flat_map(|feature| feature.verbs)
        .find(|verb| verb.path == ["supervise", name])
        .ok_or_else(|| {
            AppError::new(Kind::Internal, format!("no verb is called `supervise {name}`"))
        })
}

/// It becomes part of a prompt and of the environment.
fn is_plain(id: &str) -> bool {
    substrate_core::SafeId::new(id).is_some_and(|safe| safe.as_str() == id)
}
