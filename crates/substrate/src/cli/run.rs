//! `substrate run -- claude …`: a client under supervision.

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Value, json};
use substrate_core::text::one_line;
use substrate_core::{Audience, Caller, Verb};

use super::Context;
use super::call::Line;
use super::dispatch::request;
use super::table::{self, Definition, Run};
use crate::error::{AppError, Kind, Result};
use crate::run::{self, Asks, Orders};
use crate::ui;

pub(super) const COMMANDS: &[Definition] = &[Definition {
    path: &["run"],
    about: "Run a client and restart it with a fresh context when its window fills up",
    audience: Audience::User,
    is_default: false,
    flags,
    run: Run::Client(run),
}];

fn flags(command: Command) -> Command {
    command
        .long_about(
            "Run a client and restart it with a fresh context when its window fills up.\n\n\
             The client has the terminal as if it ran alone, and its exit code is ours. With `context.on_auto_compact = \
             \"restart\"`, a client whose context is full and whose agent works on an effort is ended instead of \
             compacted. It starts again as the same agent, and its hooks tell it to go on with that effort. Arguments \
             that belong to the old conversation (`--continue`, `--resume`, `--session-id`, the prompt of an interactive \
             client) are left out. The client may run below a wrapper, whose own arguments never change.",
        )
        .arg(Arg::new("effort").long("effort").value_name("ID").help("The effort that the client works on; a fresh context is told to go on with it"))
        .arg(
            Arg::new("persist")
                .long("persist")
                .action(ArgAction::SetTrue)
                .help("Keep it running: it waits for mail when idle and is restarted when it fails (at most 4 times within 10 minutes)"),
        )
        .arg(Arg::new("command").last(true).required(true).num_args(1..).value_name("COMMAND").help("The client and its arguments, after `--`"))
}

fn run(context: &Context, matches: &ArgMatches) -> Result<ExitCode> {
    let effort = matches.get_one::<String>("effort");
    let effort = effort.map(|id| checked_effort(context, id)).transpose()?;
    check_agent(context)?;
    let orders = Orders {
        // As they were typed, even if they are not UTF-8.
        line: std::env::args_os().skip_while(|arg| arg != "--").skip(1).collect(),
        agent: context.caller.agent.clone().filter(|_| context.caller.agent_typed),
        effort,
        persists: matches.get_flag("persist"),
        token: request(),
        env: context.env.clone(),
    };
    // Threads ask through it until the process ends.
    let context: &'static Context =
        Box::leak(Box::new(Context { verbose: false, ..context.clone() }));
    let begun = Line::new(context, verb(&["supervise", "note"])?)
        .call(run::noted(&orders.token, 0, 0), &request());
    if let Err(error) = begun {
        ui::talk(&format!(
            "substrate run: the engine could not be told about the client, which will compact as usual; `substrate doctor` helps\n{}",
            error.render()
        ));
    }
    let asks = move |name: &str, body: Value| {
        let verb = verb(&["supervise", name]).map_err(|error| error.message)?;
        // The daemon must know the client before it starts, or its hooks could not tell it what to go on with.
        let mut line = match name {
            "note" => Line::silent(context, verb),
            _ => Line::quiet(context, verb),
        };
        let answer = line.call(body, &request());
        answer.map(|output| output.json).map_err(|error| error.message)
    };
    let asks: Arc<Asks> = Arc::new(asks);
    run::supervise(&orders, asks).map(ExitCode::from)
}

fn verb(path: &[&str]) -> Result<&'static Verb> {
    table::verbs().find(|verb| verb.path == path).ok_or_else(|| {
        AppError::new(Kind::Internal, format!("no verb is called `{}`", path.join(" ")))
    })
}

/// An effort that exists and is not finished. Whether the client may have it shows when it starts.
fn checked_effort(context: &Context, id: &str) -> Result<String> {
    let wrong = |what: String| {
        Err(AppError::new(Kind::User, what).hint("`substrate effort list` shows those there are"))
    };
    let Some(number) = id.parse::<i64>().ok().filter(|number| *number > 0) else {
        return wrong(format!("`{}` is not an effort: efforts have numbers", one_line(id, 60)));
    };
    // As the person, because the agent that will work on it may not exist yet.
    let caller = Caller {
        agent: None,
        agent_typed: false,
        session: None,
        inside_client: false,
        ..context.caller.clone()
    };
    let person = Context { caller, verbose: false, ..context.clone() };
    // Starts a daemon if none runs. Otherwise a wrong number would pass.
    let shown =
        Line::silent(&person, verb(&["effort", "show"])?).call(json!({ "id": number }), &request());
    match shown {
        Ok(shown) if shown.json["effort"]["finished_ms"].is_null() => Ok(number.to_string()),
        Ok(_) => wrong(format!("effort {number} is finished")),
        Err(error) if error.kind == Kind::User => Err(error),
        // Without the engine the number can't be checked. The client starts anyway, and the user is told below.
        Err(_) => Ok(number.to_string()),
    }
}

/// The client's hooks would silently ignore an invalid name.
fn check_agent(context: &Context) -> Result<()> {
    let Some(name) = context.caller.agent.as_deref().filter(|_| context.caller.agent_typed) else {
        return Ok(());
    };
    match substrate_features::is_agent_name(name) {
        true => Ok(()),
        false => Err(AppError::new(
            Kind::User,
            format!("`{}` can't be an agent's name", one_line(name, 60)),
        )
        .hint("a name begins with a letter and has up to 40 letters, digits, `_` and `-`")),
    }
}
