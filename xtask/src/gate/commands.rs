//! What a command costs its caller, from start to end: agents run these all the time.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};

use super::count;
use crate::frames::Caller;
use crate::sandbox::Sandbox;
use crate::say::{Judgement, Table, say};
use crate::{journal, payload};

/// One command. No commit may make it more expensive.
struct Counted {
    args: &'static [&'static str],
    input: &'static str,
    max_instructions: u64,
    max_system_calls: u64,
}

const COMMANDS: [Counted; 4] = [
    Counted {
        args: &["send", "--to", RECEIVER, "--subject", "status", "--body", "all is well"],
        input: "",
        max_instructions: 737_000,
        max_system_calls: 96,
    },
    Counted {
        args: &["inbox", "--agent", RECEIVER],
        input: "",
        max_instructions: 667_000,
        max_system_calls: 99,
    },
    Counted {
        args: &["statusline"],
        input: r#"{"session_id":"7ac89518-7bff-44f2-b7cc-000000000000","model":{"display_name":"Model"}}"#,
        max_instructions: 628_000,
        max_system_calls: 99,
    },
    Counted { args: &["locks"], input: "", max_instructions: 884_000, max_system_calls: 96 },
];

/// Stands for the agent's name.
const RECEIVER: &str = "RECEIVER";

/// Counts all commands and judges them.
pub(super) fn run(sandbox: &Sandbox) -> Result<bool> {
    let receiver = receiver(sandbox)?;
    let mut table = Table::default();
    for Counted { args, input, max_instructions, max_system_calls } in COMMANDS {
        let name = args[0];
        let args: Vec<&str> =
            args.iter().map(|word| if *word == RECEIVER { &receiver } else { *word }).collect();
        let mut row = |what: &str, counted: u64, bar: u64| {
            let what = format!("{name}: {what}");
            table.row(what, counted, format!("≤ {bar}"), Judgement::of(counted <= bar));
        };
        // First, so that the daemon has seen one before the instructions are counted.
        let calls = count::system_calls_of(sandbox, &args, input)?;
        row("instructions", count::instructions_of(sandbox, &args, input)?, max_instructions);
        row("system calls", calls, max_system_calls);
    }
    say!("commands, daemon up:");
    Ok(table.print())
}

/// The functions that they run.
pub(super) fn functions(sandbox: &Sandbox) -> Result<BTreeSet<String>> {
    let receiver = receiver(sandbox)?;
    let mut out = BTreeSet::new();
    for Counted { args, input, .. } in COMMANDS {
        let args: Vec<&str> =
            args.iter().map(|word| if *word == RECEIVER { &receiver } else { *word }).collect();
        out.extend(count::functions_of(sandbox, &args, input)?);
    }
    Ok(out)
}

/// An agent that has a mailbox.
fn receiver(sandbox: &Sandbox) -> Result<String> {
    let caller = Caller::new(&payload::environment(&sandbox.path("project"))?);
    let stop = payload::stop("7ac89518-7bff-44f2-b7cc-000000000000");
    caller.ask_as(&sandbox.state(), b"claude-code\0Stop\0", &stop).ok().context("no answer")?;
    let conn = journal::open(&sandbox.database())?;
    let name =
        conn.query_row("select name from agents order by id desc limit 1", [], |row| row.get(0));
    name.context("no agent to write to")
}
