//! `substrate claim NAME [-- command]`: a named resource with one holder, for as long as a command runs.

use std::process::{Child, ExitCode};
use std::time::{Duration, Instant};

use clap::{Arg, ArgMatches, Command};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use substrate_core::{Audience, Output};

use super::call::Line;
use super::dispatch::request;
use super::table::{self, Definition, Run};
use super::{Context, print};
use crate::error::{AppError, Kind, Result};
use crate::{proc, ui};

/// What a command that runs under a claim can read.
const NAME: &str = "SUBSTRATE_CLAIM";
const EPOCH: &str = "SUBSTRATE_CLAIM_EPOCH";

/// How often the command and its claim are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What a command whose claim is lost may still take to end.
const LAST: Duration = Duration::from_secs(10);

pub(super) const COMMANDS: &[Definition] = &[Definition {
    path: &["claim"],
    about: "Hold a named resource, one holder in the whole team, while a command runs",
    audience: Audience::Both,
    is_default: false,
    flags,
    run: Run::Client(run),
}];

fn flags(command: Command) -> Command {
    command
        .long_about(
            "Hold a named resource: one holder in the whole team or, without one, on this machine.\n\n\
             `substrate claim staging-db -- ./migrate.sh` holds it while the command runs, and renews it meanwhile. The command \
             finds its epoch in $SUBSTRATE_CLAIM_EPOCH. It grows with every holder, so what is guarded can refuse an older one. \
             If the claim can't be renewed, the command is ended at 90 % of its time.\n\n\
             `substrate claim list` shows who holds what, and `substrate claim release NAME` lets go.",
        )
        .arg(
            Arg::new("words")
                .value_name("NAME")
                .required(true)
                .num_args(1..=2)
                .help("The resource, e.g. `staging-db`; or `list`; or `release NAME`"),
        )
        .arg(
            Arg::new("ttl")
                .long("ttl")
                .value_name("SPAN")
                .default_value("20m")
                .help("How long it is held without a renewal"),
        )
        .arg(
            Arg::new("note")
                .long("note")
                .value_name("TEXT")
                .default_value("")
                .help("Why, for those who wait"),
        )
        .arg(
            Arg::new("command")
                .last(true)
                .num_args(1..)
                .value_name("COMMAND")
                .help("What runs while it is held, after `--`"),
        )
}

fn run(context: &Context, matches: &ArgMatches) -> Result<ExitCode> {
    let words: Vec<&str> =
        matches.get_many::<String>("words").into_iter().flatten().map(String::as_str).collect();
    let text = |name: &str| matches.get_one::<String>(name).cloned().unwrap_or_default();
    let line = std::env::args_os().skip_while(|arg| arg != "--").skip(1).collect::<Vec<_>>();
    let said = match words.as_slice() {
        ["list"] => call(context, "claims", json!({}))?,
        ["release", name] => call(context, "release", json!({ "name": name }))?,
        [name] if *name != "release" => {
            let body = json!({"name": name, "ttl": text("ttl"), "note": text("note")});
            if !line.is_empty() {
                return under(context, body, &line);
            }
            call(context, "claim", body)?
        }
        _ => {
            return Err(AppError::new(Kind::User, "that is not a claim").hint(
                "write `substrate claim NAME`, `substrate claim list` or `substrate claim release NAME`",
            ));
        }
    };
    print::output(context.format, &said)?;
    Ok(ExitCode::SUCCESS)
}

fn call(context: &Context, verb: &str, body: Value) -> Result<Output> {
    let found = table::verbs().find(|known| known.path == ["team", verb]);
    let found = found.ok_or_else(|| AppError::new(Kind::Internal, "claims have no such verb"))?;
    Line::silent(context, found).call(body, &request())
}

/// Runs a command while the resource is held.
fn under(context: &Context, mut body: Value, line: &[std::ffi::OsString]) -> Result<ExitCode> {
    body["fresh"] = json!(true);
    let asked = Instant::now();
    let held = call(context, "claim", body)?.json;
    let name = held["name"].as_str().unwrap_or_default().to_owned();
    let ttl = Duration::from_millis(held["ttl_ms"].as_u64().unwrap_or(0));
    let hold = json!({"name": name, "token": held["token"]});
    let mut command = proc::as_asked(&line[0]);
    command.args(&line[1..]).env(NAME, &name).env(EPOCH, held["epoch"].to_string());
    let ended = match command.spawn() {
        Ok(mut child) => watch(context, &mut child, &hold, asked, ttl),
        Err(error) => Err(AppError::new(
            Kind::User,
            format!("`{}` could not be started: {error}", line[0].to_string_lossy()),
        )),
    };
    // It may be lost, or the hub away. It runs out then.
    let _runs_out = call(context, "release", hold);
    ended
}

/// Renews the claim until the command ends. If it can't be renewed in time, the command is ended.
fn watch(
    context: &Context,
    child: &mut Child,
    hold: &Value,
    mut renewed: Instant,
    ttl: Duration,
) -> Result<ExitCode> {
    let internal = |error: &std::io::Error| AppError::from_error(Kind::Internal, error);
    let mut try_at = renewed + ttl / 3;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| internal(&error))? {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            return Ok(ExitCode::from(code.unwrap_or(1)));
        }
        let now = Instant::now();
        if now >= try_at {
            match call(context, "renew", hold.clone()) {
                Ok(output) if output.json["lost"] == true => break,
                // Counted from when it was asked, since the answer may have taken long.
                Ok(_) => (renewed, try_at) = (now, now + ttl / 3),
                Err(_) => try_at = Instant::now() + ttl / 20,
            }
        }
        if renewed.elapsed() >= ttl * 9 / 10 {
            break;
        }
        std::thread::sleep(LOOK);
    }
    end(child);
    let name = hold["name"].as_str().unwrap_or_default();
    Err(AppError::new(
        Kind::User,
        format!("the claim on `{name}` could not be renewed, so the command was ended"),
    )
    .hint("`substrate claim list` shows who holds it now"))
}

/// Ends our own child, gently at first.
fn end(child: &mut Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let _already_gone = pid.map(|pid| kill_process(pid, Signal::TERM));
    let until = Instant::now() + LAST;
    while Instant::now() < until {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return;
        }
        std::thread::sleep(LOOK);
    }
    ui::talk("The command goes on although it was asked to end, so it is killed.\n");
    let _already_gone = child.kill();
    let _reaped = child.wait();
}
