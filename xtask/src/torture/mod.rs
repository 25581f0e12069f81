//! `cargo xtask torture`: faults and races, on the real programs, bounded in count and time.
//!
//! Every scenario checks the same promises, on a quiet machine and on a busy one: no hook fails or waits beyond its
//! deadline, and every answered event is in the journal exactly once. What the hooks themselves saw is checked
//! independently of the program's tables (`history`).

mod cold_start;
mod disk;
mod displaced;
mod freeze;
mod fuzz;
mod garbage;
mod history;
mod hostile;
mod kill;
mod load;
mod locks;
mod mail;
mod memory;
mod pump;
mod report;
mod session;
mod socket;
mod spawns;
mod team;
mod ui;
mod upgrade;
mod wal;
mod work;
mod workers;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::args::Args;
use crate::dist::{self, Dist};
use crate::say::say;
use crate::stats::Rng;
use load::Load;
use report::Report;
use spawns::Spawns;

/// The busy loops per core of the small round.
const SHORT_LOAD: usize = 4;

/// What a scenario is given.
struct Setting {
    dist: Dist,
    /// The short run, for `make test`.
    short: bool,
    rounds: Option<usize>,
    seed: u64,
    /// When a scenario gives up.
    until: Instant,
}

impl Setting {
    /// How many rounds: as asked for, or one of these.
    fn rounds(&self, short: usize, long: usize) -> usize {
        self.rounds.unwrap_or(if self.short { short } else { long })
    }

    fn rng(&self) -> Rng {
        Rng::new(self.seed)
    }

    /// Whether the scenario has had all its time.
    fn is_late(&self) -> bool {
        Instant::now() >= self.until
    }
}

type Case = fn(&Setting, &mut Report) -> Result<()>;

const CASES: [(&str, Case); 16] = [
    ("cold-start", cold_start::run),
    ("kill", kill::run),
    ("freeze", freeze::run),
    ("socket", socket::run),
    ("fuzz", fuzz::run),
    ("hostile", hostile::run),
    ("upgrade", upgrade::run),
    ("disk", disk::run),
    ("displaced", displaced::run),
    ("wal", wal::run),
    ("memory", memory::run),
    ("mail", mail::run),
    ("locks", locks::run),
    ("work", work::run),
    ("team", team::run),
    ("ui", ui::run),
];

pub(crate) fn run(mut args: Args) -> Result<bool> {
    let name = args.word();
    let short = args.flag("--short");
    let rounds = args.value("--rounds")?;
    let seed = args.value("--seed")?.unwrap_or_else(Rng::any_seed);
    let loads = match args.value("--load")? {
        Some(load) => vec![load],
        None if short => vec![0, SHORT_LOAD],
        None => vec![0],
    };
    args.end()?;
    let wanted = |case: &str| name.as_deref().is_none_or(|name| name == case);
    if !CASES.iter().any(|(case, _)| wanted(case)) {
        let known: Vec<&str> = CASES.iter().map(|(case, _)| *case).collect();
        bail!("there is no such case; there are {}", known.join(", "));
    }
    let mut setting = Setting { dist: dist::build()?, short, rounds, seed, until: Instant::now() };
    let (begun, mut missed) = (Instant::now(), Vec::new());
    for (case, run) in CASES.iter().filter(|(case, _)| wanted(case)) {
        for load in &loads {
            let patience = Duration::from_secs(if short { 100 } else { 7_200 });
            setting.until = Instant::now() + patience;
            if !one(&setting, case, *run, *load)? {
                missed.push(format!("{case} ({})", words(*load)));
            }
        }
    }
    say!("{} in {:.1?}", if missed.is_empty() { "all kept" } else { "MISSED" }, begun.elapsed());
    missed.iter().for_each(|case| say!("  {case}"));
    Ok(missed.is_empty())
}

/// One scenario under one load. Returns whether all promises were kept.
fn one(setting: &Setting, name: &str, case: Case, per_core: usize) -> Result<bool> {
    let begun = Instant::now();
    say!("{name} (seed {}, {}):", setting.seed, words(per_core));
    let disturbed = match per_core {
        0 => load::is_machine_busy().then_some("the machine is busy"),
        _ => Some("under load"),
    };
    let mut report = Report::new(disturbed);
    let mut load = Load::start(per_core)?;
    let n_started = load.n_running();
    let spawns = Spawns::start();
    if let Err(error) = case(setting, &mut report) {
        report.promise("the scenario came to its end", format!("{error:#}"), false);
    }
    report.finish(&spawns.end());
    let n_left = load.n_running();
    if n_left != n_started {
        report.promise("busy loops at the end", format!("{n_left} of {n_started}"), false);
    }
    drop(load);
    let ok = report.print();
    say!("  {:.1?}", begun.elapsed());
    Ok(ok)
}

fn words(per_core: usize) -> String {
    match per_core {
        0 => "quiet".to_owned(),
        n => format!("{n} busy loops per core and one fsync writer"),
    }
}

pub(crate) fn busy(args: Args) -> Result<bool> {
    load::busy(args)
}

pub(crate) fn fsync(args: Args) -> Result<bool> {
    load::fsync(args)
}
