//! `substrate demo` (`make run`): a small fleet through the real hook client and a real daemon, told as it happens.
//!
//! Invariant: nothing of the user's is read or written. Home, state home, the client's settings and the project are in a
//! temporary folder that is deleted at the end, and no program that the demo starts sees the user's environment.

mod client;
mod sandbox;
mod story;
mod teller;

use clap::ArgMatches;
use serde_json::json;
use substrate_core::{Audience, Format};

use self::sandbox::Sandbox;
use self::teller::Teller;
use super::table::Definition;
use super::{Context, print};
use crate::error::Result;

pub(super) const COMMANDS: &[Definition] = &[Definition::new(
    &["demo"],
    Audience::User,
    "Watch a small fleet work in a sandbox: leases, guards, mail, subagents",
    run,
)];

fn run(context: &Context, _: &ArgMatches) -> Result<()> {
    let sandbox = Sandbox::new()?;
    let teller = Teller::new(&sandbox, context.format != Format::Json);
    story::play(&teller)?;
    print::to_programs(context, &json!({"told": teller.told()}));
    Ok(())
}
