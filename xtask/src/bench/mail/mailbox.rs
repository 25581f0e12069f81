//! A mailbox with very many messages, compared to one with a few.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use crate::dist::Dist;
use crate::proc;
use crate::sandbox::{Autostart, Sandbox};
use crate::say::{Judgement, Table};
use crate::stats::{Rng, Times, ms};

const FEW: usize = 100;
const N_ROUNDS: usize = 300;
const MAX_RATIO: f64 = 1.5;

/// Commands of a person. They only read, so both mailboxes stay as they are.
const COMMANDS: [(&str, &[&str]); 4] = [
    ("inbox", &["inbox", "--peek"]),
    ("inbox --all", &["inbox", "--all"]),
    ("poll", &["poll", "--peek"]),
    ("search", &["search", "status report"]),
];

pub(super) fn measure(dist: &Dist, n: usize, table: &mut Table) -> Result<()> {
    let few = filled(dist, FEW)?;
    let many = filled(dist, n)?;
    let mut rng = Rng::new(11);
    let mut times: Vec<[Vec<Duration>; 2]> = COMMANDS.iter().map(|_| [vec![], vec![]]).collect();
    let mut order: Vec<(usize, usize)> =
        (0..COMMANDS.len()).flat_map(|command| [(command, 0), (command, 1)]).collect();
    for _ in 0..N_ROUNDS {
        rng.shuffle(&mut order);
        for (command, which) in &order {
            let sandbox = if *which == 0 { &few } else { &many };
            let mut run = sandbox.command(sandbox.program("substrate"));
            let ran = proc::feed(run.args(COMMANDS[*command].1), b"")?;
            ensure!(ran.ok() && !ran.stdout.is_empty(), "`{}` said nothing", COMMANDS[*command].0);
            times[*command][*which].push(ran.took);
        }
    }
    for ((name, _), [few, many]) in COMMANDS.iter().zip(times) {
        let (few, many) = (Times::of(few), Times::of(many));
        let ratio = many.p50().as_secs_f64() / few.p50().as_secs_f64();
        let words = format!("{ratio:.2} × ({}, {})", ms(few.p50()), ms(many.p50()));
        let ok = Judgement::of(ratio <= MAX_RATIO);
        table.row(
            format!("`{name}` with {n} messages ÷ {FEW}"),
            words,
            format!("≤ {MAX_RATIO} ×"),
            ok,
        );
    }
    Ok(())
}

/// A home whose person has that many unread messages.
fn filled(dist: &Dist, n: usize) -> Result<Sandbox> {
    let sandbox = Sandbox::new(dist, Autostart::Off)?;
    sandbox.start_daemon()?;
    let lines: String = (0..n)
        .map(|at| {
            let subject = format!("status report {at}");
            let body = format!("All {at} tests pass.\nNothing else to say about build {at}.");
            format!("{}\n", json!({"to": "User", "subject": subject, "body": body}))
        })
        .collect();
    let mut command = sandbox.command(sandbox.program("substrate"));
    command.args(["send", "--jsonl", "-"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    stdin.write_all(lines.as_bytes())?;
    drop(stdin);
    ensure!(child.wait()?.success(), "the mailbox could not be filled");
    Ok(sandbox)
}
