//! `cargo xtask bench locks`: the verdict on an edit with very many leases, compared to one with a few.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use crate::args::Args;
use crate::dist::{self, Dist};
use crate::frames::Caller;
use crate::payload;
use crate::sandbox::{Autostart, Sandbox};
use crate::say::{Judgement, Table, say};
use crate::stats::{Rng, Times, us};

const FEW: usize = 10;
const N_ROUNDS: usize = 3_000;
const MAX_RATIO: f64 = 1.2;

pub(super) fn run(mut args: Args) -> Result<bool> {
    let n: usize = args.value("--locks")?.unwrap_or(10_000);
    args.end()?;
    let dist = dist::build()?;
    let homes = [held(&dist, FEW)?, held(&dist, n)?];
    let mut rng = Rng::new(5);
    let mut times: [[Vec<Duration>; 2]; 2] = Default::default();
    let mut order: Vec<(usize, usize)> = vec![(0, 0), (0, 1), (1, 0), (1, 1)];
    for _ in 0..N_ROUNDS {
        rng.shuffle(&mut order);
        for (home, kind) in &order {
            let (sandbox, caller) = &homes[*home];
            // The agent's own file, and one that another agent holds.
            let (session, file) = if *kind == 0 { ("mine", "own.rs") } else { ("mine", "f3.rs") };
            let begun = Instant::now();
            let (_, said) = ask(caller, sandbox, session, "PreToolUse", file)?;
            times[*home][*kind].push(begun.elapsed());
            let denied = String::from_utf8_lossy(&said).contains("\"deny\"");
            ensure!(denied == (*kind == 1), "{file}: {}", String::from_utf8_lossy(&said));
        }
    }
    let mut table = Table::default();
    for (kind, name) in ["an allowed edit", "an edit that is refused"].into_iter().enumerate() {
        let [few, many] = [0, 1].map(|home: usize| Times::of(times[home][kind].clone()));
        let ratio = many.p50().as_secs_f64() / few.p50().as_secs_f64();
        let words = format!("{ratio:.2} × ({}, {})", us(few.p50()), us(many.p50()));
        let ok = Judgement::of(ratio <= MAX_RATIO);
        table.row(format!("{name}: {n} leases ÷ {FEW}"), words, format!("≤ {MAX_RATIO} ×"), ok);
    }
    say!("Leases, {N_ROUNDS} shuffled rounds:");
    Ok(table.print())
}

/// A home in which another session holds that many files.
fn held(dist: &Dist, n: usize) -> Result<(Sandbox, Caller)> {
    let sandbox = Sandbox::new(dist, Autostart::Off)?;
    std::fs::create_dir(sandbox.path("project").join(".git"))?;
    sandbox.settings("[locks]\nttl = \"10h\"\n")?;
    sandbox.start_daemon()?;
    let mut env = payload::environment(&sandbox.path("project"))?;
    env.retain(|(name, _)| name != "AGENT_ID");
    let caller = Caller::new(&env);
    for at in 0..n {
        for event in ["PreToolUse", "PostToolUse"] {
            ask(&caller, &sandbox, "theirs", event, &format!("f{at}.rs"))?;
        }
    }
    Ok((sandbox, caller))
}

fn ask(
    caller: &Caller,
    sandbox: &Sandbox,
    session: &str,
    event: &str,
    file: &str,
) -> Result<(u8, Vec<u8>)> {
    let project = sandbox.path("project");
    let payload = json!({
        "session_id": session, "cwd": project, "hook_event_name": event, "tool_name": "Edit",
        "tool_use_id": format!("toolu_{file}"), "tool_response": {},
        "tool_input": {"file_path": Path::new(&project).join(file), "old_string": "a", "new_string": "b"},
    });
    let args = format!("claude-code\0{event}\0");
    caller
        .ask_as(&sandbox.state(), args.as_bytes(), payload.to_string().as_bytes())
        .ok()
        .context("not answered")
}
