//! `substrate hook EVENT`: an event by hand. With `--explain` nothing changes, and everything is explained.

mod explained;

use std::io::Read as _;

use clap::{Arg, ArgAction, ArgMatches, Command};
use ipc::HookRequest;
use serde_json::{Map, Value, json};
use substrate_core::engine::{self, Outcome};
use substrate_core::verdict::Permission;
use substrate_core::{Audience, EventKind, Fate, Wished};
use substrate_store::{Durability, Writer};

use super::table::Definition;
use super::{Context, print};
use crate::config::SettingsFiles;
use crate::daemon::{self, Lock};
use crate::error::{AppError, Kind, Result};
use crate::host::{self, Host, Prepared};
use crate::machine::Machine;
use crate::{clock, gather, proc};

pub(super) const COMMANDS: &[Definition] = &[
    // Events by hand could come from any agent.
    Definition::new(
        &["hook"],
        Audience::User,
        "Feed an event by hand, or explain how it would be answered",
        run,
    )
    .taking(flags),
];

fn flags(command: Command) -> Command {
    let event = Arg::new("event").value_name("EVENT").required(true);
    let client = Arg::new("client")
        .long("client")
        .value_name("NAME")
        .default_value(substrate_clients::DEFAULT.name);
    let explain = Arg::new("explain").long("explain").action(ArgAction::SetTrue);
    command
        .long_about(
            "Reads a hook's JSON on stdin and does what the client's hook would do. With --explain nothing is recorded \
             and nothing changes: it prints the answer, what each feature asked for, and what each cost.",
        )
        .arg(event.help("The event's name, e.g. PreToolUse"))
        .arg(client.help("The client whose JSON it is"))
        .arg(explain.help("Change nothing; print the answer and the reasons"))
}

fn run(context: &Context, matches: &ArgMatches) -> Result<()> {
    let word = |name: &str| matches.get_one::<String>(name).cloned().unwrap_or_default();
    let (event, client) = (word("event"), word("client"));
    if EventKind::named(&event) == EventKind::Unknown {
        let names: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.name()).collect();
        return Err(AppError::new(Kind::User, format!("no event is called `{event}`"))
            .hint(format!("use one of {}", names.join(", "))));
    }
    if !matches.get_flag("explain") {
        let program = daemon::this_program()?.with_file_name("substrate-hook");
        let error = proc::become_program(&program, &[&client, &event]);
        return Err(AppError::from_error(Kind::State, &error)
            .hint("`substrate-hook` must be beside `substrate`"));
    }
    let told = considered(context, &client, &event)?;
    let text = explained::text(&told);
    print::result(context, &Value::Object(told), || text);
    Ok(())
}

/// Handles the event as its hook would, and rolls everything back.
fn considered(context: &Context, client: &str, event: &str) -> Result<Map<String, Value>> {
    let fail = |error: std::io::Error| AppError::from_error(Kind::User, &error);
    let mut stdin = Vec::new();
    std::io::stdin().lock().read_to_end(&mut stdin).map_err(fail)?;
    let env = context.env.block();
    let request = HookRequest {
        id: proc::random_id(),
        args: format!("{client}\0{event}\0").as_bytes(),
        cwd: context.caller.cwd.as_bytes(),
        env: &env,
        stdin: &stdin,
        ..HookRequest::default()
    }
    .bytes();
    let request = HookRequest::read(&request)
        .ok_or_else(|| AppError::new(Kind::Internal, "the request is not of our form"))?;
    context.home.ensure()?;
    let mut decoded = host::decode(&request, clock::now(), clock::micros());
    let (settings, project) = SettingsFiles::new(context.home.config()).around(decoded.dir());
    decoded.event.project = project.as_ref().to_owned();
    let needs = engine::needs(substrate_features::ALL, &decoded.event, &settings);
    let mut prepared = Prepared::new(decoded, settings);
    prepared.gathered.facts = gather::gather(needs);
    // Only the holder of the lock may migrate the database.
    let lock = Lock::try_take(&context.home)?;
    let mut writer = match &lock {
        Some(_) => host::open(&context.home)?,
        None => Writer::open(&context.home.database(), host::BUSY)?,
    };
    let machine = Machine::with_state(context.home.root());
    let host = Host::USUAL;
    // Never committed.
    let mut tx = writer.begin(Durability::Normal)?;
    let outcome = loop {
        let around = prepared.around(&machine, host);
        let outcome = engine::run(&around, &mut tx, &prepared.decoded.event);
        match outcome.look.is_empty() {
            true => break outcome,
            false => prepared.look_up(outcome.look),
        }
    };
    let around = prepared.around(&machine, host);
    let mut said = engine::explain(&around, &mut tx, &prepared.decoded.event);
    let mut out = answer(&outcome);
    out.append(&mut said);
    out.insert("event".to_owned(), json!(event));
    out.insert("features".to_owned(), features(&outcome));
    Ok(out)
}

fn answer(outcome: &Outcome) -> Map<String, Value> {
    let verdict = &outcome.verdict;
    let (permission, reason) = match &verdict.permission {
        Some(Permission::Deny { reason }) => ("deny", Some(reason)),
        Some(Permission::Ask { reason }) => ("ask", Some(reason)),
        Some(Permission::Allow { .. }) => ("answer", None),
        None => ("", verdict.block.as_ref()),
    };
    let undeliverable = outcome.wishes.iter().filter(|wished| wished.fate == Fate::NotDeliverable);
    let undeliverable =
        undeliverable.map(|wished| json!([wished.feature, wished.wish.kind().name()]));
    let fields = json!({
        "allow": permission != "deny" && verdict.block.is_none(),
        "verdict": verdict.word(),
        "reason": reason,
        "context": verdict.context,
        "notice": verdict.notice,
        "waits": verdict.wait.is_some(),
        "undeliverable": undeliverable.collect::<Vec<_>>(),
        "spentUs": outcome.spent_us,
    });
    let Value::Object(fields) = fields else { return Map::new() };
    fields
}

/// What each feature asked for, what it cost, and whether it failed.
fn features(outcome: &Outcome) -> Value {
    let wishes = |name: &str| -> Vec<Value> {
        let told = |Wished { wish, fate, .. }: &Wished| json!({"wish": wish.kind().name(), "words": wish.words(), "fate": fate.name()});
        outcome.of(name).map(told).collect()
    };
    let failure = |name: &str| {
        outcome
            .failures
            .iter()
            .find(|failure| failure.feature == name)
            .map(|failure| &failure.message)
    };
    outcome
        .costs
        .iter()
        .map(|(name, us)| json!({"feature": name, "costUs": us, "wishes": wishes(name), "failed": failure(name)}))
        .collect()
}
