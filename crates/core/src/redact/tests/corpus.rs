//! Secrets that are made up but valid in form, and texts that hold none. Prints what is missed and what is a false alarm.

#[path = "corpus_file.rs"]
mod corpus_file;

use crate::redact::redacted;
use corpus_file::{Sample, samples};

#[test]
fn of_the_corpus_nearly_all_secrets_are_found_and_hardly_any_harmless_text_is_touched() {
    let secrets = samples(include_str!("secrets.txt"));
    let harmless = samples(include_str!("harmless.txt"));
    assert!(
        secrets.len() >= 150 && harmless.len() >= 300,
        "{} and {}",
        secrets.len(),
        harmless.len()
    );
    let missed: Vec<_> = secrets.iter().filter(|sample| !is_hidden(sample)).collect();
    let touched: Vec<_> =
        harmless.iter().filter(|sample| hidden(&sample.text) != sample.text).collect();
    for sample in &missed {
        println!("missed      {}: {}", sample.name, hidden(&sample.text));
    }
    for sample in &touched {
        println!("false alarm {}: {}", sample.name, hidden(&sample.text));
    }
    let share = |some: usize, all: usize| 100.0 * some as f64 / all as f64;
    let found = share(secrets.len() - missed.len(), secrets.len());
    let wrong = share(touched.len(), harmless.len());
    println!(
        "{} secrets, {found:.1} % found; {} harmless texts, {wrong:.1} % touched",
        secrets.len(),
        harmless.len()
    );
    assert!(found >= 97.0 && wrong <= 1.0);
}

fn is_hidden(sample: &Sample) -> bool {
    let out = hidden(&sample.text);
    sample
        .secrets
        .iter()
        .all(|secret| !out.contains(secret.as_str()) && !out.contains(tail(secret)))
}

/// The end of a secret must not be left over, either.
fn tail(secret: &str) -> &str {
    let n = secret.len().min(8);
    secret.get(secret.len() - n..).unwrap_or(secret)
}

fn hidden(text: &str) -> String {
    redacted(text, 1 << 20, false).into_owned()
}
