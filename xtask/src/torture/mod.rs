//! `cargo xtask torture`: faults and races, on the real programs, bounded in count and time.
//!
//! Every case checks the same promises: no hook fails or waits beyond its deadline, and every event that was answered is
//! in the journal exactly once.

mod cold_start;
mod disk;
mod freeze;
mod fuzz;
mod garbage;
mod kill;
mod locks;
mod mail;
mod mounts;
mod report;
mod socket;
mod upgrade;
mod work;
mod workers;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::args::Args;
use crate::dist::{self, Dist};
use crate::say::say;
use crate::stats::Rng;
use report::Report;

/// How long a hook may take in all, and what starting processes on a busy machine may add.
const DEADLINE: Duration = Duration::from_millis(2_500);

/// What a case is given.
struct Setting {
    dist: Dist,
    /// The small round that `make test` runs.
    short: bool,
    rounds: Option<usize>,
    seed: u64,
}

impl Setting {
    /// How many rounds: as asked for, or one of these.
    fn rounds(&self, short: usize, long: usize) -> usize {
        self.rounds.unwrap_or(if self.short { short } else { long })
    }

    fn rng(&self) -> Rng {
        Rng::new(self.seed)
    }
}

type Case = fn(&Setting) -> Result<Report>;

const CASES: [(&str, Case); 10] = [
    ("cold-start", cold_start::run),
    ("kill", kill::run),
    ("freeze", freeze::run),
    ("socket", socket::run),
    ("fuzz", fuzz::run),
    ("upgrade", upgrade::run),
    ("disk", disk::run),
    ("mail", mail::run),
    ("locks", locks::run),
    ("work", work::run),
];

pub(crate) fn run(mut args: Args) -> Result<bool> {
    let name = args.word();
    let short = args.flag("--short");
    let rounds = args.value("--rounds")?;
    let seed = args.value("--seed")?.unwrap_or_else(Rng::any_seed);
    args.end()?;
    let wanted = |case: &str| name.as_deref().is_none_or(|name| name == case);
    if !CASES.iter().any(|(case, _)| wanted(case)) {
        let known: Vec<&str> = CASES.iter().map(|(case, _)| *case).collect();
        bail!("there is no such case; there are {}", known.join(", "));
    }
    let setting = Setting { dist: dist::build()?, short, rounds, seed };
    let mut ok = true;
    for (case, run) in CASES.iter().filter(|(case, _)| wanted(case)) {
        let begun = Instant::now();
        say!("{case} (seed {seed}):");
        let report = run(&setting)?;
        ok &= report.print();
        say!("  {:.1?}", begun.elapsed());
    }
    Ok(ok)
}
