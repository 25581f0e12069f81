//! `cargo run --release -p substrate-fuzz --example fuzz -- TARGET --seconds N [--seed N]`: what `cargo xtask fuzz` runs.
#![expect(clippy::print_stdout, reason = "it is a program that prints what it found")]

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use substrate_fuzz::{ALL, Ended, Until, corpus, run};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, usual: u64| {
        let at = args.iter().position(|arg| arg == name);
        at.and_then(|at| args.get(at + 1)?.parse().ok()).unwrap_or(usual)
    };
    let name = args.first().map_or("", String::as_str);
    let Some(target) = ALL.iter().find(|target| target.name == name) else {
        let names: Vec<&str> = ALL.iter().map(|target| target.name).collect();
        println!(
            "usage: cargo xtask fuzz TARGET [--seconds N] [--seed N]; targets: {}",
            names.join(", ")
        );
        return ExitCode::from(2);
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let stored = match corpus(&folder) {
        Ok(stored) => stored,
        Err(error) => {
            println!("{}: {error}", folder.display());
            return ExitCode::FAILURE;
        }
    };
    let until = Until::Elapsed(Duration::from_secs(number("--seconds", 10)));
    let report = run(*target, &stored, until, number("--seed", 1));
    let seconds = report.took.as_secs_f64();
    println!(
        "{name}: {} executions of {} stored inputs in {seconds:.1} s; the slowest took {:.1} ms",
        report.n_executions,
        stored.len(),
        report.slowest.as_secs_f64() * 1_000.0
    );
    match report.ended {
        Ended::Held => {
            println!("{name}: held");
            ExitCode::SUCCESS
        }
        Ended::Panicked { input } | Ended::TookLong { input } => {
            println!("{name}: NOT HELD at {:?}", String::from_utf8_lossy(&input));
            println!("as bytes: {input:?}");
            ExitCode::FAILURE
        }
    }
}
