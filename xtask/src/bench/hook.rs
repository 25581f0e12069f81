//! `cargo xtask bench hook`: from spawn to exit, commit included.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::subjects::{self, Homes, Subject};
use crate::args::Args;
use crate::sandbox::Sandbox;
use crate::say::{Judgement, Table, say};
use crate::stats::{Rng, Times, ms};
use crate::{dist, payload, proc};

/// A base whose 90th percentile is further from its median is too noisy.
const STEADY: f64 = 1.5;

/// Fewer rounds are not judged.
const MIN_ROUNDS: usize = 300;

/// Subject, base, bar.
const BARS: [(&str, &str, f64); 8] = [
    ("hook, 2 KB", "/bin/true", 0.75),
    ("hook, 80 KB", "/bin/true", 1.0),
    ("sh hook, 2 KB", "sh -c /bin/true", 0.80),
    ("sh hook, 80 KB", "sh -c /bin/true", f64::NAN),
    ("hook, 2 KB, daemon away", "/bin/true", 40.0),
    ("hook, 80 KB, daemon away", "/bin/true", f64::NAN),
    ("bash + jq hook, 2 KB", "sh -c /bin/true", f64::NAN),
    ("python3 hook, 2 KB", "sh -c /bin/true", f64::NAN),
];

pub(super) fn run(mut args: Args) -> Result<bool> {
    let n_rounds = args.value("--rounds")?.unwrap_or(300);
    args.end()?;
    let dist = dist::build()?;
    let homes = Homes::new(&dist)?;
    let same = verdicts_are_identical(&homes)?;
    let mut subjects = subjects::all(&homes);
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    let mut rng = Rng::new(Rng::any_seed());
    for round in 0..n_rounds + 5 {
        rng.shuffle(&mut order);
        for at in &order {
            let subject = &mut subjects[*at];
            if subject.name.ends_with("daemon away") {
                // The daemon of the last such hook stays for a moment. This one must start its own.
                proc::wait_until(Duration::from_secs(5), || homes.away.daemons().is_empty());
            }
            subject.run()?;
        }
        if round < 5 {
            // Everything is in memory now.
            subjects.iter_mut().for_each(|subject| subject.times.clear());
        }
    }
    let is_gone = proc::wait_until(Duration::from_secs(5), || homes.away.daemons().is_empty());
    ensure!(is_gone, "a daemon stayed although the settings forbid it");
    say!(
        "{n_rounds} shuffled rounds; the hook is {}:",
        if dist.is_static { "static" } else { "NOT static" }
    );
    report(&subjects, n_rounds, same)
}

fn report(subjects: &[Subject], n_rounds: usize, same: bool) -> Result<bool> {
    let times = |name: &str| {
        let found = subjects.iter().find(|subject| subject.name == name);
        found.map(|subject| Times::of(subject.times.clone())).with_context(|| name.to_owned())
    };
    for subject in subjects {
        let times = Times::of(subject.times.clone());
        say!("  {:<28} p50 {:>10}   p90 {:>10}", subject.name, ms(times.p50()), ms(times.p90()));
    }
    let mut table = Table::default();
    for (name, base, bar) in BARS {
        let base_times = times(base)?;
        let ratio = times(name)?.p50().as_secs_f64() / base_times.p50().as_secs_f64();
        let spread = base_times.p90().as_secs_f64() / base_times.p50().as_secs_f64();
        let judgement = if bar.is_nan() {
            Judgement::Figure
        } else if n_rounds < MIN_ROUNDS {
            Judgement::NotJudged("too few rounds")
        } else if spread > STEADY {
            Judgement::NotJudged("the base is unsteady")
        } else {
            Judgement::of(ratio <= bar)
        };
        let bar = if bar.is_nan() { String::new() } else { format!("≤ {bar:.2} ×") };
        table.row(format!("{name} ÷ {base}"), format!("{ratio:.2} ×"), bar, judgement);
    }
    let word = if same { "identical" } else { "DIFFERENT" };
    table.row("verdicts with and without daemon", word, "identical", Judgement::of(same));
    Ok(table.print())
}

/// The same rule must give the same bytes, whether a daemon runs or is started for it.
fn verdicts_are_identical(homes: &Homes) -> Result<bool> {
    let rule = "[daemon]\nautostart = false\n[[guards.rules]]\nname = \"never\"\ntool = \"Bash\"\nwhen = \"true\"\naction = \"deny\"\nreason = \"no\"\nnext = \"Leave it.\"\n";
    let verdict = |sandbox: &Sandbox| -> Result<Vec<u8>> {
        sandbox.settings(rule)?;
        // The daemon checks its settings again after a tenth of a second.
        std::thread::sleep(Duration::from_millis(150));
        let payload = payload::pre_tool_use("toolu_verdict", "Bash", 2 << 10);
        let ran = proc::feed(&mut sandbox.hook(), &payload)?;
        sandbox.settings("[daemon]\nautostart = false\n")?;
        ensure!(ran.ok(), "the hook ended with {}", ran.status);
        Ok(ran.stdout)
    };
    let (up, away) = (verdict(&homes.up)?, verdict(&homes.away)?);
    ensure!(String::from_utf8_lossy(&up).contains("deny"), "the rule did not deny anything");
    std::thread::sleep(Duration::from_millis(150));
    Ok(up == away)
}
