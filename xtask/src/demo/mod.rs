//! `cargo xtask demo` (`make run`): a small fleet through the real hook client, in a sandbox, told as it happens.
//!
//! Nothing of the user's is touched: home, state home and project are in a temp folder that is gone at the end.

mod cast;
mod story;
mod teller;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use substrate_core::time::Took;

use crate::args::Args;
use crate::dist;
use crate::sandbox::{Autostart, Sandbox};
use crate::say::say;

/// A rule that refuses something, so that the story has a refusal in it.
const SETTINGS: &str = r#"[probe]
rules = [
  "SessionStart context: You share this tree with other agents.",
  "PreToolUse WebFetch deny: This project works offline.",
]
"#;

pub(crate) fn run(args: Args) -> Result<bool> {
    args.end()?;
    say!("Building the programs (release); the first time takes a while …");
    let dist = dist::build()?;
    let sandbox = Sandbox::new(&dist, Autostart::On)?;
    sandbox.settings(SETTINGS)?;
    say!("A sandbox of its own: {}\n", sandbox.state().display());
    story::play(&sandbox)?;
    say!("\nWhat the journal knows of it (`substrate journal stats`):\n");
    say!("{}", command(&sandbox, &["journal", "stats"])?);
    say!("And of one refusal (`substrate journal list --verdict deny`):\n");
    say!("{}", command(&sandbox, &["journal", "list", "--verdict", "deny"])?);
    summary(&sandbox)?;
    command(&sandbox, &["daemon", "stop"])?;
    say!(
        "\nThe daemon has stopped and the sandbox is gone. `make install` puts both programs into ~/.local/bin."
    );
    Ok(true)
}

/// One line per actor.
fn summary(sandbox: &Sandbox) -> Result<()> {
    let json = command(sandbox, &["journal", "list", "-n", "10000", "--format", "json"])?;
    let entries: Vec<Value> = serde_json::from_str(&json).context("the journal")?;
    say!(
        "{:<10} {:<16} {:>7} {:>6} {:>8} {:>12}",
        "session",
        "actor",
        "events",
        "tools",
        "refused",
        "median cost"
    );
    for (session, actor) in cast::ACTORS {
        let of_actor = |entry: &&Value| {
            entry["session"].as_str().is_some_and(|id| id.starts_with(session.name))
                && entry["actor_kind"].as_str().unwrap_or("main") == *actor
        };
        let mine: Vec<&Value> = entries.iter().filter(of_actor).collect();
        let mut costs: Vec<i64> =
            mine.iter().filter_map(|entry| entry["spent_us"].as_i64()).collect();
        costs.sort_unstable();
        let n_tools = mine.iter().filter(|entry| entry["event"] == "PreToolUse").count();
        let n_refused = mine
            .iter()
            .filter(|entry| matches!(entry["verdict"].as_str(), Some("deny" | "block")))
            .count();
        let median = costs.get(costs.len() / 2).copied().unwrap_or(0);
        say!(
            "{:<10} {actor:<16} {:>7} {n_tools:>6} {n_refused:>8} {:>12}",
            session.name,
            mine.len(),
            Took(median)
        );
        if mine.is_empty() {
            bail!("nothing was journaled for {} {actor}", session.name);
        }
    }
    Ok(())
}

fn command(sandbox: &Sandbox, args: &[&str]) -> Result<String> {
    let output = sandbox.substrate(args)?;
    if !output.status.success() {
        bail!("`substrate {}` failed: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
