//! The story: two sessions in one project, one of them with two subagents, and the mail between them.

use std::time::Instant;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::cast::{Actor, HERON, OTTER};
use super::teller::Teller;
use crate::sandbox::Sandbox;
use crate::say::say;

pub(super) fn play(sandbox: &Sandbox) -> Result<()> {
    let teller = Teller::new(sandbox);
    let (otter, heron) = (Actor::main(&OTTER), Actor::main(&HERON));
    teller.tell(
        &otter,
        "SessionStart",
        "starts; the first hook finds no daemon, does its own work and starts one",
        json!({"source": "startup"}),
    )?;
    teller.tell(
        &heron,
        "SessionStart",
        "starts in the same project",
        json!({"source": "startup"}),
    )?;
    let names = Names { otter: teller.name(&OTTER)?, heron: teller.name(&HERON)? };
    say!("{:<15} Each has a durable name: otter is {}, heron is {}.", "", names.otter, names.heron);
    work(&teller, &otter, &heron)?;
    urgent_mail(&teller, &otter, &heron, &names)?;
    subagents(&teller)?;
    the_end_of_a_turn(&teller, &otter)?;
    woken(&teller, &otter, &heron, &names)?;
    teller.tell(&otter, "SessionEnd", "leaves", json!({"reason": "prompt_input_exit"}))?;
    teller.tell(&heron, "SessionEnd", "leaves", json!({"reason": "other"}))?;
    Ok(())
}

/// What the two agents are called.
struct Names {
    otter: String,
    heron: String,
}

fn work(teller: &Teller<'_>, otter: &Actor, heron: &Actor) -> Result<()> {
    say!("\nBoth work.");
    teller.tell(
        otter,
        "UserPromptSubmit",
        "is asked to fix the parser",
        json!({"prompt": "fix the parser, and have it reviewed"}),
    )?;
    teller.tell(
        heron,
        "UserPromptSubmit",
        "is asked to write the docs",
        json!({"prompt": "write the docs of the parser"}),
    )?;
    teller.tool(otter, "Read", &json!({"file_path": "src/parser.rs"}), "reads the parser")?;
    teller.tool(
        otter,
        "Edit",
        &json!({"file_path": "src/parser.rs", "old_string": "a", "new_string": "b"}),
        "mends it",
    )
}

fn urgent_mail(teller: &Teller<'_>, otter: &Actor, heron: &Actor, names: &Names) -> Result<()> {
    say!("\nUrgent mail reaches an agent that works after its next tool call.");
    let body = "It takes Options now. Please say so in the docs.";
    let send = ["send", "--to", &names.heron, "--subject", "parse() has changed", "--body", body];
    let sent = teller.shell(otter, &[&send[..], &["--priority", "urgent"]].concat(), "writes")?;
    let id = id_of(&sent)?;
    teller.tool(
        heron,
        "Bash",
        &json!({"command": "cargo doc", "description": "docs"}),
        "builds the docs",
    )?;
    teller.shell(heron, &["inbox"], "reads")?;
    teller.shell(heron, &["reply", id, "--body", "I will. Which section?"], "answers")?;
    teller.tool(
        heron,
        "WebFetch",
        &json!({"url": "https://example.com"}),
        "wants to look something up",
    )
}

fn subagents(teller: &Teller<'_>) -> Result<()> {
    say!("\nSubagents are actors of their own; the first that ends is told of its agent's mail.");
    let reviewer = Actor::subagent(&OTTER, "a1b2c3", "reviewer");
    let tester = Actor::subagent(&OTTER, "d4e5f6", "tester");
    teller.tell(&reviewer, "SubagentStart", "is started to review", json!({}))?;
    teller.tell(&tester, "SubagentStart", "is started to test", json!({}))?;
    teller.tool(&reviewer, "Read", &json!({"file_path": "src/parser.rs"}), "reads the change")?;
    teller.tool(
        &tester,
        "Bash",
        &json!({"command": "API_TOKEN=abc123secret cargo test", "description": "tests"}),
        "runs the tests (the journal will not know the token)",
    )?;
    teller.stop(&tester, "SubagentStop", false, "is done: 12 tests pass")?;
    teller.stop(&tester, "SubagentStop", true, "has told its agent, and ends")?;
    teller.stop(&reviewer, "SubagentStop", false, "is done: looks good")
}

fn the_end_of_a_turn(teller: &Teller<'_>, otter: &Actor) -> Result<()> {
    say!("\nOther mail waits for the end of the turn, which does not end before it was seen.");
    teller.stop(otter, "Stop", false, "wants to stop")?;
    teller.shell(otter, &["inbox"], "reads")?;
    teller.stop(otter, "Stop", true, "has read it, and stops")
}

fn woken(teller: &Teller<'_>, otter: &Actor, heron: &Actor, names: &Names) -> Result<()> {
    say!("\nAn idle session is woken; its terminal was free all the time.");
    let waiter = teller.wait(otter, "is idle; a waiter stays beside the session")?;
    let begun = Instant::now();
    let send = ["send", "--to", &names.otter, "--subject", "The docs are done", "--body"];
    let sent = teller.shell(heron, &[&send[..], &["Please look."]].concat(), "writes")?;
    waiter.woken_after(begun)?;
    teller.shell(otter, &["inbox"], "reads, in a turn that nobody typed")?;
    teller.shell(heron, &["status", id_of(&sent)?], "asks what became of it")?;
    Ok(())
}

/// `42` of `Sent #42 to …`.
fn id_of(sent: &str) -> Result<&str> {
    let rest = sent.split_once('#').context("nothing was sent")?.1;
    rest.split(' ').next().context("it has no number")
}
