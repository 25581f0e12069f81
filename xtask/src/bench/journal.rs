//! `cargo xtask bench journal`: an event must not cost more because the journal is long.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rusqlite::Connection;

use crate::args::Args;
use crate::dist::{self, Dist};
use crate::frames::Caller;
use crate::sandbox::{Autostart, Sandbox};
use crate::say::{Judgement, Table, say};
use crate::stats::{Rng, Times, us};
use crate::{payload, procfs};

const FEW: usize = 10_000;
const MANY: usize = 10_000_000;
const MAX_RATIO: f64 = 1.1;
const N_BATCHES: usize = 100;
const BATCH: usize = 100;

/// Ratios of neighbouring batches whose quartiles are further apart are too noisy.
const STEADY: f64 = 1.5;

/// Nothing may be removed while we measure.
const SETTINGS: &str =
    "[daemon]\nautostart = false\n[journal]\nmax_size = \"100GB\"\nmax_age = \"3650d\"\n";

/// What differs between rows, as SQL over their number `i`. `$last` is the number of the last one.
pub(super) struct Rows<T> {
    pub(super) at_ms: T,
    pub(super) session: T,
    pub(super) verdict: T,
}

impl Rows<&str> {
    fn of(&self, n_rows: usize) -> Rows<String> {
        let filled = |sql: &str| sql.replace("$last", &n_rows.to_string());
        Rows {
            at_ms: filled(self.at_ms),
            session: filled(self.session),
            verdict: filled(self.verdict),
        }
    }
}

/// A session for each thousand rows, all of them yesterday.
const PLAIN: Rows<&str> = Rows {
    at_ms: "unixepoch() * 1000 - 86400000 + i / 200",
    session: "printf('7ac89518-7bff-44f2-b7cc-%012x', i / 1000)",
    verdict: "'allow'",
};

pub(super) fn run(mut args: Args) -> Result<bool> {
    let n_rows = args.value("--rows")?.unwrap_or(MANY);
    args.end()?;
    let dist = dist::build()?;
    let (short, short_took) = filled(&dist, FEW.min(n_rows), &PLAIN)?;
    let (long, long_took) = filled(&dist, n_rows, &PLAIN)?;
    let mb = std::fs::metadata(long.database())?.len() >> 20;
    say!("{FEW} rows in {short_took:.1?}; {n_rows} rows ({mb} MB) in {long_took:.1?}");
    for sandbox in [&short, &long] {
        sandbox.start_daemon()?;
    }
    let mut costs = [Vec::new(), Vec::new()];
    let mut rng = Rng::new(Rng::any_seed());
    let mut order = [0, 1];
    for batch in 0..N_BATCHES + 2 {
        rng.shuffle(&mut order);
        for at in order {
            let cost = one_batch([&short, &long][at], batch)?;
            if batch >= 2 {
                costs[at].push(cost);
            }
        }
    }
    // A round trip depends on where the system schedules both processes. The daemon's own CPU time does not. What
    // disturbs one batch disturbs its neighbour too, so ratios are taken pair by pair.
    let [few, many] = &costs;
    let mut ratios: Vec<f64> =
        many.iter().zip(few).map(|(many, few)| many.div_duration_f64(*few)).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let [low, ratio, high] = [1, 2, 3].map(|quarter| ratios[ratios.len() * quarter / 4]);
    let [few, many] = costs.map(Times::of);
    let mut table = Table::default();
    table.figure(format!("processor time per event at {FEW} rows"), us(few.p50()));
    table.figure(format!("processor time per event at {n_rows} rows"), us(many.p50()));
    table.figure("quartiles of the ratio", format!("{low:.2} × … {high:.2} ×"));
    let judgement = if high / low <= STEADY {
        Judgement::of(ratio <= MAX_RATIO)
    } else {
        Judgement::NotJudged("the ratio is unsteady")
    };
    table.row(
        "median ratio of neighbouring batches",
        format!("{ratio:.2} ×"),
        format!("≤ {MAX_RATIO} ×"),
        judgement,
    );
    say!("{} events each, in alternating batches of {BATCH}:", N_BATCHES * BATCH);
    Ok(table.print())
}

/// The average CPU time that an event of this batch costs the daemon.
fn one_batch(sandbox: &Sandbox, batch: usize) -> Result<Duration> {
    let caller = Caller::new(&payload::environment(&sandbox.path("project"))?);
    let pid = sandbox.daemon().context("no daemon runs")?;
    let before = procfs::processor_time(pid)?;
    for n in 0..BATCH {
        let payload = payload::pre_tool_use(&format!("toolu_{batch}_{n}"), "Write", 2 << 10);
        let asked = caller.ask(&sandbox.state(), &payload);
        asked.map_err(|error| anyhow::anyhow!("the daemon did not answer: {}", error.name()))?;
    }
    let n = u32::try_from(BATCH)?;
    Ok((procfs::processor_time(pid)?.saturating_sub(before)) / n)
}

/// A home whose journal has that many rows, in the schema of the real program.
pub(super) fn filled(dist: &Dist, n_rows: usize, rows: &Rows<&str>) -> Result<(Sandbox, Duration)> {
    let begun = Instant::now();
    let sandbox = Sandbox::new(dist, Autostart::Off)?;
    sandbox.settings(SETTINGS)?;
    sandbox.start_daemon()?;
    one_batch(&sandbox, 1_000)?;
    sandbox.stop_daemon()?;
    let db = Connection::open(sandbox.database())?;
    db.execute_batch(
        "pragma synchronous = off; pragma cache_size = -200000; pragma wal_autocheckpoint = 100000;",
    )?;
    let mut done = 0;
    while done < n_rows {
        let step = (n_rows - done).min(500_000);
        fill(&db, done, step, &rows.of(n_rows))?;
        done += step;
    }
    db.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))?;
    Ok((sandbox, begun.elapsed()))
}

/// Rows of about 300 bytes.
fn fill(db: &Connection, done: usize, n: usize, rows: &Rows<String>) -> Result<()> {
    let Rows { at_ms, session, verdict } = rows;
    db.execute_batch(&format!(
        "begin;
         with recursive n(i) as (select {done} union all select i + 1 from n where i + 1 < {done} + {n})
         insert into journal (at_ms, request, client, event, session, actor, tool, tool_use, cwd, input,
           verdict, costs, spent_us, host, n_bytes, n_unknown_fields)
         select {at_ms}, printf('%032x', i), 'claude-code', 'PreToolUse', {session}, 'main', 'Write', printf('toolu_%024x', i),
           '/home/dev/app', '{{\"file_path\":\"/home/dev/app/src/lib.rs\",\"content\":\"fn main() {{ let total = 1; }}\"}}',
           {verdict}, '[[\"journal\",12],[\"mail\",3]]', 140, 'daemon', 2048, 0 from n;
         insert into journal_session (session, client, cwd, first_id, last_id, n_events, first_ms, last_ms)
         select session, client, cwd, min(id), max(id), count(*), min(at_ms), max(at_ms) from journal
         where id > (select max(id) from journal) - {n} group by session on conflict (session) do nothing;
         update journal_summed set up_to = (select max(id) from journal);
         commit;"
    ))?;
    Ok(())
}
