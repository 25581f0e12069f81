//! A target, again and again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::Target;
use crate::mutate::{Rng, mutated};

/// No input of the size that is tried may take longer.
const TOO_LONG: Duration = Duration::from_secs(1);

/// What takes longer is timed again: on a busy machine anything is slow now and then, but not always the same.
const NOTABLE: Duration = Duration::from_millis(20);
const N_TIMED_AGAIN: usize = 20;

/// So many inputs that did something are kept beside the stored ones.
const MAX_KEPT: usize = 500;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    Executions(u64),
    Elapsed(Duration),
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    Held,
    Panicked { input: Vec<u8> },
    TookLong { input: Vec<u8> },
}

/// What was tried, and how it ended.
#[derive(Clone, Debug)]
pub struct Report {
    pub n_executions: u64,
    pub took: Duration,
    /// The input that took longest.
    pub slowest: Duration,
    pub ended: Ended,
}

/// The files of a folder.
pub fn corpus(folder: &Path) -> std::io::Result<Vec<Vec<u8>>> {
    let mut files: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    files.sort_by_key(std::fs::DirEntry::file_name);
    files.iter().map(|file| std::fs::read(file.path())).collect()
}

/// Tries each of the corpus, and then what becomes of it.
pub fn run(target: Target, stored: &[Vec<u8>], until: Until, seed: u64) -> Report {
    let began = Instant::now();
    let mut rng = Rng(seed);
    let mut all = stored.to_vec();
    let mut report = Report {
        n_executions: 0,
        took: Duration::ZERO,
        slowest: Duration::ZERO,
        ended: Ended::Held,
    };
    let mut first = stored.iter();
    loop {
        let is_over = match until {
            Until::Executions(n) => report.n_executions >= n,
            Until::Elapsed(time) => {
                report.n_executions.is_multiple_of(64) && began.elapsed() >= time
            }
        };
        if is_over {
            break;
        }
        let input = first.next().cloned().unwrap_or_else(|| mutated(&all, &mut rng));
        let (read, mut took) = timed(target, &input);
        for _ in 0..N_TIMED_AGAIN {
            if took <= NOTABLE || read.is_err() {
                break;
            }
            took = took.min(timed(target, &input).1);
        }
        report.n_executions += 1;
        report.slowest = report.slowest.max(took);
        if read.is_err() {
            report.ended = Ended::Panicked { input };
            break;
        }
        if took > TOO_LONG {
            report.ended = Ended::TookLong { input };
            break;
        }
        // Without coverage every now and then one is kept, so that changes add up.
        if rng.below(50) == 0 {
            if all.len() >= stored.len() + MAX_KEPT {
                let at = stored.len() + rng.below(MAX_KEPT);
                all.swap_remove(at);
            }
            all.push(input);
        }
    }
    report.took = began.elapsed();
    report
}

fn timed(target: Target, input: &[u8]) -> (std::thread::Result<()>, Duration) {
    let started = Instant::now();
    let read = catch_unwind(AssertUnwindSafe(|| (target.read)(input)));
    (read, started.elapsed())
}
