//! Whether an event costs more where much is known: agents, leases and rules, counted like the rest.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use rusqlite::Connection;

use super::daemon::{self, Counted};
use crate::dist::Dist;
use crate::sandbox::Sandbox;
use crate::say::{Judgement, Table, say};

/// Agents that are known, leases that are held, and rules of the user.
#[derive(Clone, Copy)]
struct Crowd {
    agents: u64,
    leases: u64,
    rules: u64,
}

const FEW: Crowd = Crowd { agents: 10, leases: 10, rules: 10 };
const MANY: Crowd = Crowd { agents: 10_000, leases: 10_000, rules: 1_000 };

const KINDS: [&str; 4] = ["read", "after a tool, 2 KB", "shell", "edit"];

/// In hundredths.
const MAX_RATIO: u64 = 120;

pub(super) fn run(dist: &Dist) -> Result<bool> {
    let few = counts(dist, FEW)?;
    let many = counts(dist, MANY)?;
    let mut table = Table::default();
    for ((kind, few), (_, many)) in few.into_iter().zip(many) {
        let ratio = many * 100 / few.max(1);
        table.row(
            format!("{kind}: instructions with many ÷ with few"),
            format!("{}.{:02} × ({many} ÷ {few})", ratio / 100, ratio % 100),
            format!("≤ {}.{:02} ×", MAX_RATIO / 100, MAX_RATIO % 100),
            Judgement::of(ratio <= MAX_RATIO),
        );
    }
    let Crowd { agents, leases, rules } = MANY;
    say!(
        "the daemon with {agents} agents, {leases} leases and {rules} rules, and with 10 of each:"
    );
    Ok(table.print())
}

/// What an event of each kind costs.
fn counts(dist: &Dist, crowd: Crowd) -> Result<Vec<(&'static str, u64)>> {
    let sandbox = daemon::prepared(dist)?;
    sandbox.settings(&settings(crowd.rules)?)?;
    // It makes the tables.
    sandbox.start_daemon()?;
    sandbox.stop_daemon()?;
    fill(&sandbox, &sandbox.path("project"), crowd)?;
    let counted = Counted::start(&sandbox)?;
    KINDS.iter().map(|name| Ok((*name, counted.instructions(&sandbox, name)?))).collect()
}

fn settings(n_rules: u64) -> Result<String> {
    let mut out = "[daemon]\nautostart = false\n".to_owned();
    for n in 0..n_rules {
        write!(
            out,
            "[[guards.rules]]\nname = \"rule-{n}\"\nwhen = 'runs(\"program-{n}\")'\naction = \"deny\"\n\
             reason = \"It is not used here.\"\nnext = \"Use another.\"\n"
        )?;
    }
    Ok(out)
}

/// Each agent has a session that is alive, and holds a file of the project.
fn fill(sandbox: &Sandbox, project: &Path, crowd: Crowd) -> Result<()> {
    let project = project.to_str().context("the project's folder is not text")?;
    let db = Connection::open(sandbox.database())?;
    let Crowd { agents, leases, .. } = crowd;
    db.execute_batch(&format!(
        "begin;
         create temp table n as with recursive n(i) as (select 1 union all select i + 1 from n where i < {agents})
           select i, printf('5ca1e000-0000-4000-8000-%012x', i) as session, unixepoch() * 1000 as now_ms from n;
         insert into agents (id, name, name_key, project, made_ms)
           select 1000 + i, printf('Agent%d', i), printf('agent%d', i), '{project}', now_ms from n;
         insert into agent_sessions (session, agent, client, project, cwd, started_ms, last_ms)
           select session, 1000 + i, 'claude-code', '{project}', '{project}', now_ms, now_ms + 3600000 from n;
         insert into leases (path, root, relative, project, session, actor, agent, sub, reason, acquired_ms,
             confirmed_ms, modified_ms, expires_ms, ttl_ms)
           select printf('{project}/src/f%d.rs', i), '{project}', printf('src/f%d.rs', i), '{project}', session, 'main',
             1000 + i, '', '', now_ms, now_ms, now_ms, now_ms + 3600000, 3600000 from n where i <= {leases};
         commit;"
    ))?;
    Ok(())
}
