//! `substrate mcp`: mail, leases, work and the fleet as tools for clients that speak the Model Context Protocol.
//!
//! The server is a thin pipe. Each call of a tool becomes the command of the same meaning, and the daemon runs it. It keeps
//! nothing between calls and ends with its standard input.
//!
//! # Invariants
//!
//! * A call acts for an agent only if a hook reported the very call (`Caller::tool_call`). Otherwise it acts as no agent, and
//!   never as the user.
//! * What a model writes is a value of a flag, and never a flag of its own.
//! * Mail counts as seen once the answer was written to the client.
//! * `tools/list` is at most 4,000 bytes, because every model that uses the server pays for it.

mod confirm;
mod pipe;
mod receipts;
mod register;
mod server;
mod tools;
mod views;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};
use rmcp::ServiceExt as _;
use rmcp::transport::io::stdio_pipes;
use serde_json::json;
use substrate_clients::mcp::REGISTRATIONS;
use substrate_core::Audience;

use self::receipts::Receipts;
use self::server::Server;
use super::table::Definition;
use super::{Context, print};
use crate::error::{AppError, Kind, Result};
use crate::ui;

pub(super) use self::register::{register, unregister};

pub(super) const COMMANDS: &[Definition] = &[Definition::new(
    &["mcp"],
    Audience::Both,
    "Serve mail, leases, work and the fleet as tools, on standard input and output",
    run,
)
.taking(flags)];

fn flags(command: Command) -> Command {
    let names = PossibleValuesParser::new(REGISTRATIONS.iter().map(|known| known.name));
    command.arg(
        Arg::new("print-config")
            .long("print-config")
            .value_name("CLIENT")
            .value_parser(names)
            .help("Print how a client registers the server, instead of serving"),
    )
}

fn run(context: &Context, flags: &ArgMatches) -> Result<()> {
    match flags.get_one::<String>("print-config") {
        Some(name) => print_config(context, name),
        None => serve(context),
    }
}

fn print_config(context: &Context, name: &str) -> Result<()> {
    let Some(known) = REGISTRATIONS.iter().find(|known| known.name == name) else { return Ok(()) };
    let text = (known.text)(&register::program());
    print::result(context, &json!({"client": name, "place": known.place, "text": text}), || {
        ui::talk(&format!("For {}:\n", known.place));
        text.clone()
    });
    Ok(())
}

/// Serves until standard input ends.
fn serve(context: &Context) -> Result<()> {
    let failed = |error: &dyn std::error::Error| AppError::from_error(Kind::Internal, error);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| failed(&error))?;
    let receipts = Receipts::default();
    let server = Server::new(context.clone(), receipts.clone());
    let served = runtime.block_on(async {
        let running = match server.serve(receipts.over(stdio_pipes())).await {
            Ok(running) => running,
            // A client that leaves before it says a word is not an error.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(failed(&error)),
        };
        running.waiting().await.map(drop).map_err(|error| failed(&error))
    });
    // A call may still wait in the daemon. Nothing waits for its answer.
    runtime.shutdown_background();
    served
}
