//! The story: two sessions in one project, one of them with a subagent.

use std::time::Instant;

use serde_json::json;

use super::client::{Call, Event, Session, stopping};
use super::teller::{Actor, Teller};
use crate::error::{AppError, Kind, Result};

pub(super) fn play(teller: &Teller<'_>) -> Result<()> {
    let sessions = (
        Session::start("otter-5f0c-4a52-9d61-2b7e")?,
        Session::start("heron-91d3-47be-8f02-c6aa")?,
    );
    let otter = Actor { called: "otter", session: &sessions.0, subagent: None };
    let heron = Actor { called: "heron", session: &sessions.1, subagent: None };
    teller.say("Two sessions of a coding agent work in one project. Everything runs in a temporary folder;");
    teller.say("the hooks, the daemon and the commands are the real ones.");
    let names = starts(teller, &otter, &heron)?;
    lease(teller, &otter, &heron)?;
    guard(teller, &heron)?;
    mail(teller, &otter, &heron, &names)?;
    subagent(teller, &otter)?;
    woken(teller, &otter, &heron, &names)?;
    fleet(teller, &heron)?;
    teller.tell(&otter, Event::SessionEnd, "leaves", json!({"reason": "prompt_input_exit"}))?;
    teller.tell(&heron, Event::SessionEnd, "leaves", json!({"reason": "other"}))?;
    teller.say("");
    teller.say("The sandbox is gone. `substrate up` starts Substrate for your own sessions.");
    Ok(())
}

/// What the agents were named.
struct Names {
    otter: String,
    heron: String,
}

fn starts(teller: &Teller<'_>, otter: &Actor<'_>, heron: &Actor<'_>) -> Result<Names> {
    teller.scene("1. Names");
    teller.tell(
        otter,
        Event::SessionStart,
        "starts; its first hook starts the daemon",
        json!({"source": "startup"}),
    )?;
    teller.tell(
        heron,
        Event::SessionStart,
        "starts in the same project",
        json!({"source": "startup"}),
    )?;
    let names = Names { otter: teller.name(otter.session)?, heron: teller.name(heron.session)? };
    teller.say(&format!(
        "Each has a lasting name: otter is {}, heron is {}.",
        names.otter, names.heron
    ));
    Ok(names)
}

fn lease(teller: &Teller<'_>, otter: &Actor<'_>, heron: &Actor<'_>) -> Result<()> {
    teller.scene("2. Two agents, one file");
    let parser = teller.sandbox.file("src/parser.rs");
    teller.tell(
        otter,
        Event::Prompt,
        "is asked to fix the parser",
        json!({"prompt": "fix the parser"}),
    )?;
    teller.tell(
        heron,
        Event::Prompt,
        "is asked to document it",
        json!({"prompt": "document the parser"}),
    )?;
    teller.tool(otter, &Call::read(&parser), "reads src/parser.rs")?;
    expect(
        !teller.tool(
            otter,
            &Call::edit(&parser),
            "edits it, and holds a lease on it from now on",
        )?,
        "the first edit was refused",
    )?;
    expect(
        teller.tool(heron, &Call::edit(&parser), "wants to edit it too")?,
        "the lease did not hold",
    )?;
    teller.person(&["locks"])
}

fn guard(teller: &Teller<'_>, heron: &Actor<'_>) -> Result<()> {
    teller.scene("3. A command that would lose work");
    let call = Call::shell("git reset --hard && git clean -fdx");
    expect(
        teller.tool(heron, &call, "wants to run `git reset --hard && git clean -fdx`")?,
        "no guard refused",
    )
}

fn mail(teller: &Teller<'_>, otter: &Actor<'_>, heron: &Actor<'_>, names: &Names) -> Result<()> {
    teller.scene("4. Mail while it works");
    let body = "parse() takes Options now. Please say so in the docs.";
    teller.shell(otter, &["send", &names.heron, body, "--priority", "urgent"])?;
    teller.tool(
        heron,
        &Call::shell("cargo doc"),
        "builds the docs; urgent mail arrives with the result",
    )?;
    teller.shell(heron, &["inbox"])?;
    Ok(())
}

fn subagent(teller: &Teller<'_>, otter: &Actor<'_>) -> Result<()> {
    teller.scene("5. A subagent has a name of its own");
    let reviewer = Actor { called: "  reviewer", subagent: Some(("a1b2c3", "reviewer")), ..*otter };
    teller.tell(&reviewer, Event::SubagentStart, "is started by otter", json!({}))?;
    teller.tool(
        &reviewer,
        &Call::read(&teller.sandbox.file("src/parser.rs")),
        "reads the change",
    )?;
    teller.shell(otter, &["agent", "discover"])?;
    teller.tell(&reviewer, Event::SubagentStop, "is done", stopping(false, "Looks good."))?;
    Ok(())
}

fn woken(teller: &Teller<'_>, otter: &Actor<'_>, heron: &Actor<'_>, names: &Names) -> Result<()> {
    teller.scene("6. An idle session wakes up");
    teller.tell(
        otter,
        Event::Stop,
        "has nothing left to do",
        stopping(false, "The parser is fixed."),
    )?;
    let waiter = teller.wait(otter, "is idle; its terminal is free for you")?;
    let begun = Instant::now();
    teller.shell(heron, &["send", &names.otter, "The docs are done. Please review them."])?;
    teller.woken(waiter, begun)?;
    teller.shell(otter, &["read", "2"])?;
    Ok(())
}

fn fleet(teller: &Teller<'_>, heron: &Actor<'_>) -> Result<()> {
    teller.scene("7. The fleet at a glance");
    teller.tell(heron, Event::Stop, "ends its turn", stopping(false, "The docs are done."))?;
    teller.person(&["fleet"])?;
    teller.person(&["journal", "stats"])
}

/// The demo is also a test: what it promises must happen.
fn expect(holds: bool, otherwise: &str) -> Result<()> {
    match holds {
        true => Ok(()),
        false => Err(AppError::new(Kind::Internal, format!("the demo went wrong: {otherwise}"))),
    }
}
