//! `cargo xtask bench ui`: what the dashboard costs hooks, and how fast its pages are with a long journal.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rusqlite::Connection;

use super::journal::{Rows, filled};
use super::terminal;
use crate::args::Args;
use crate::dist;
use crate::payload;
use crate::sandbox::Sandbox;
use crate::say::{Judgement, Table, say};
use crate::stats::{Times, ms};
use crate::ui::{Answer, Site, Tabs};
use crate::{proc, procfs};

const N_TABS: usize = 50;

/// The pause between two events: twenty a second.
const EVERY: Duration = Duration::from_millis(50);

/// Events with tabs and without alternate in blocks this long.
const BLOCK: Duration = Duration::from_secs(4);

const MAX_P99_RATIO: f64 = 1.1;
const MAX_FIRST_BYTE: Duration = Duration::from_millis(20);
const N_REPLAYED: usize = 10_000;
const MAX_REPLAY: Duration = Duration::from_secs(1);
const MAX_RSS_KB: u64 = 40 << 10;

/// The base is too noisy if its two halves are further apart.
const STEADY: f64 = 1.25;

/// The rows of a busy fleet: the agent that pages show has every fiftieth of the last half day's.
const FLEET: Rows<&str> = Rows {
    at_ms: "unixepoch() * 1000 - ($last - i) * 50",
    session: "case when i % 50 = 0 then '7ac89518-7bff-44f2-b7cc-ae24d9a0dca2'
              else printf('7ac89518-7bff-44f2-b7cc-%012x', i / 1000) end",
    verdict: "case when i % 200 = 0 then 'deny' else 'allow' end",
};

pub(super) fn run(mut args: Args) -> Result<bool> {
    let n_rows: usize = args.value("--rows")?.unwrap_or(1_000_000);
    let seconds: u64 = args.value("--seconds")?.unwrap_or(80);
    args.end()?;
    let dist = dist::build()?;
    let mut table = Table::default();
    let (sandbox, took) = filled(&dist, n_rows, &FLEET)?;
    say!("{n_rows} rows in {took:.1?}");
    let pid = sandbox.start_daemon()?;
    // Mail and a refusal, so that their pages have rows.
    for words in [["send", "User", "Shall I?"], ["send", "User", "Done."]] {
        ensure!(sandbox.substrate(&words)?.status.success(), "mail was not sent");
    }
    let site = Site::open(&sandbox)?;
    let pages = site.addresses()?;
    first_bytes(&site, &pages, &mut table)?;
    replay(&sandbox, &site, &mut table)?;
    hooks(&sandbox, &site, &pages, Duration::from_secs(seconds), pid, &mut table)?;
    terminal::measure(&sandbox, &mut table)?;
    say!("{n_rows} rows in the journal, {} kinds of pages, {N_TABS} tabs:", pages.len());
    Ok(table.print())
}

/// The time to the first byte of each page.
fn first_bytes(site: &Site, pages: &[String], table: &mut Table) -> Result<()> {
    for page in pages {
        let mut times = Vec::new();
        for _ in 0..11 {
            let Answer { status, first_byte, text } = site.get(page)?;
            ensure!(status == 200, "{page}: {status} {}", &text[..text.len().min(500)]);
            times.push(first_byte);
        }
        // The first one fills caches.
        let times = Times::of(times.split_off(1));
        let words = format!("{}, max {}", ms(times.p50()), ms(times.max()));
        let ok = Judgement::of(times.p50() <= MAX_FIRST_BYTE);
        table.row(format!("first byte of {page}"), words, format!("≤ {}", ms(MAX_FIRST_BYTE)), ok);
    }
    Ok(())
}

fn replay(sandbox: &Sandbox, site: &Site, table: &mut Table) -> Result<()> {
    let db = Connection::open(sandbox.database())?;
    let newest: i64 = db.query_row("select max(id) from journal", [], |row| row.get(0))?;
    drop(db);
    let after = newest - i64::try_from(N_REPLAYED)?;
    let times: Result<Vec<Duration>> = (0..5).map(|_| site.replay(after, N_REPLAYED)).collect();
    let times = Times::of(times?);
    let words = format!("{}, max {}", ms(times.p50()), ms(times.max()));
    let ok = Judgement::of(times.p50() < MAX_REPLAY);
    table.row(format!("{N_REPLAYED} rows replayed"), words, "< 1 s", ok);
    Ok(())
}

/// Hook processes with tabs open and without, in alternating blocks.
fn hooks(
    sandbox: &Sandbox,
    site: &Site,
    pages: &[String],
    time: Duration,
    pid: i32,
    table: &mut Table,
) -> Result<()> {
    let rss = || procfs::rss_kb(pid).context("the daemon is gone");
    let before = rss()?;
    let (mut with, mut without, mut most) = (Vec::new(), Vec::new(), 0);
    let (mut n_bytes, mut spent) = (0, [Duration::ZERO; 2]);
    let n_blocks = usize::try_from(time.as_secs() / BLOCK.as_secs() / 2)?.max(1);
    for block in 0..n_blocks {
        let begun = procfs::processor_time(pid)?;
        without.extend(events(sandbox, block * 2)?);
        spent[0] += procfs::processor_time(pid)?.saturating_sub(begun);
        let tabs: Tabs = site.tabs(pages, N_TABS)?;
        // What a tab gets when it opens is not what an event costs.
        std::thread::sleep(Duration::from_secs(1));
        let begun = procfs::processor_time(pid)?;
        with.extend(events(sandbox, block * 2 + 1)?);
        spent[1] += procfs::processor_time(pid)?.saturating_sub(begun);
        ensure!(tabs.n_open() == N_TABS, "{} of {N_TABS} streams are open", tabs.n_open());
        most = most.max(rss()?);
        n_bytes += tabs.n_bytes();
    }
    let halves = without.split_at(without.len() / 2);
    let p99 = |times: &[Duration]| Times::of(times.to_vec()).permille(990).as_secs_f64();
    let (early, late) = (p99(halves.0), p99(halves.1));
    let ratio = p99(&with) / p99(&without);
    let judgement = match early.max(late) <= early.min(late) * STEADY {
        true => Judgement::of(ratio <= MAX_P99_RATIO),
        false => Judgement::NotJudged("the base is unsteady"),
    };
    let words = |times: &[Duration]| {
        let times = Times::of(times.to_vec());
        format!("p50 {}, p99 {}", ms(times.p50()), ms(times.permille(990)))
    };
    table.figure(format!("{} hooks without tabs", without.len()), words(&without));
    table.figure(format!("{} hooks with {N_TABS} tabs", with.len()), words(&with));
    table.row("hook p99 with tabs ÷ without", format!("{ratio:.2} ×"), "≤ 1.10 ×", judgement);
    let busy = |spent: Duration| {
        let whole = BLOCK * u32::try_from(n_blocks).unwrap_or(1);
        format!("{:.1} %", spent.div_duration_f64(whole) * 100.0)
    };
    table.figure(
        "daemon's processor time at 20 events/s, without and with tabs",
        format!("{}, {}", busy(spent[0]), busy(spent[1])),
    );
    table.figure("sent to the tabs", format!("{} KB", n_bytes >> 10));
    table.figure("daemon's memory before", format!("{before} KB"));
    let ok = Judgement::of(most <= MAX_RSS_KB);
    table.row(format!("daemon's memory with {N_TABS} tabs"), format!("{most} KB"), "≤ 40 MB", ok);
    Ok(())
}

/// Hook processes, twenty a second, for one block.
fn events(sandbox: &Sandbox, block: usize) -> Result<Vec<Duration>> {
    let mut out = Vec::new();
    let begun = Instant::now();
    let mut n = 0;
    while begun.elapsed() < BLOCK {
        let payload = payload::pre_tool_use(&format!("toolu_ui_{block}_{n}"), "Bash", 2 << 10);
        let ran = proc::feed(&mut sandbox.hook(), &payload)?;
        ensure!(ran.ok(), "a hook ended with {}", ran.status);
        out.push(ran.took);
        n += 1;
        let next = EVERY * n;
        std::thread::sleep(next.saturating_sub(begun.elapsed()));
    }
    Ok(out)
}
