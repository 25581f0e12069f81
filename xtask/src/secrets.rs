//! `cargo xtask secrets`: an independent scanner reads the redaction corpus. A secret that it finds in a text must be
//! gone after our redaction.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;
use substrate_core::redact::redacted;

use crate::args::Args;
use crate::dist::workspace;
use crate::say::{Judgement, Table, say};
use crate::{proc, sandbox};

#[path = "../../crates/core/src/redact/tests/corpus_file.rs"]
mod corpus_file;

use corpus_file::{Sample, samples};

/// The judge, from PyPI.
const JUDGE: &str = "detect-secrets==1.5.0";

const CORPUS: &str = "crates/core/src/redact/tests";

pub(crate) fn run(args: Args) -> Result<bool> {
    args.end()?;
    let judge = match judge() {
        Ok(judge) => judge,
        Err(error) => {
            say!("NOT JUDGED: {JUDGE} could not be installed: {error:#}");
            return Ok(false);
        }
    };
    let read =
        |name: &str| std::fs::read_to_string(workspace().join(CORPUS).join(name)).context(CORPUS);
    let (secrets, harmless) = (samples(&read("secrets.txt")?), samples(&read("harmless.txt")?));
    let (theirs, missed) = found_and_missed(&judge, &secrets)?;
    let ours = secrets.iter().filter(|sample| is_hidden(sample)).count();
    for line in &missed {
        say!("missed: {line}");
    }
    let their_alarms = scan(&judge, &harmless, |sample| sample.text.clone())?.len();
    let our_alarms = harmless.iter().filter(|sample| gate(&sample.text) != sample.text).count();
    let mut table = Table::default();
    table.figure("texts with secrets, without", format!("{}, {}", secrets.len(), harmless.len()));
    table.figure("found by the judge, by us", format!("{theirs}, {ours}"));
    table.figure("false alarms of the judge, ours", format!("{their_alarms}, {our_alarms}"));
    table.row(
        "found by the judge and not by us",
        missed.len(),
        "0",
        Judgement::of(missed.is_empty()),
    );
    Ok(table.print())
}

/// In how many texts the judge finds something, and what it still finds after redaction. A finding in a text whose
/// secrets are known to be gone does not count.
fn found_and_missed(judge: &Path, secrets: &[Sample]) -> Result<(usize, Vec<String>)> {
    let before = scan(judge, secrets, |sample| sample.text.clone())?;
    let after = scan(judge, secrets, |sample| gate(&sample.text))?;
    let without = scan(judge, secrets, |sample| {
        sample
            .secrets
            .iter()
            .fold(sample.text.clone(), |text, secret| text.replace(secret, "[redacted]"))
    })?;
    let empty = BTreeSet::new();
    let mut missed = Vec::new();
    for (n, hits) in &before {
        let left = after.get(n).unwrap_or(&empty);
        let none = without.get(n).unwrap_or(&empty);
        if hits.intersection(left).any(|hit| !none.contains(hit)) {
            missed.push(format!("{}: {}", secrets[*n].name, gate(&secrets[*n].text)));
        }
    }
    Ok((before.len(), missed))
}

/// The digests of what the judge finds, by text.
fn scan(
    judge: &Path,
    texts: &[Sample],
    text: impl Fn(&Sample) -> String,
) -> Result<BTreeMap<usize, BTreeSet<String>>> {
    let folder = tempfile::tempdir()?;
    for (n, sample) in texts.iter().enumerate() {
        sandbox::put_file(&folder.path().join(format!("{n}.txt")), text(sample).as_bytes())?;
    }
    let mut command = proc::command(judge);
    command.current_dir(folder.path()).args(["scan", "--all-files", "--no-verify", "."]);
    let found: Value = serde_json::from_str(&proc::output(&mut command)?)?;
    let mut out = BTreeMap::new();
    for (file, hits) in found["results"].as_object().into_iter().flatten() {
        let Ok(n) = file.trim_start_matches("./").trim_end_matches(".txt").parse() else {
            continue;
        };
        let digests = hits.as_array().into_iter().flatten();
        let digests = digests.filter_map(|hit| hit["hashed_secret"].as_str().map(str::to_owned));
        out.insert(n, digests.collect());
    }
    Ok(out)
}

fn gate(text: &str) -> String {
    redacted(text, 1 << 20, false).into_owned()
}

fn is_hidden(sample: &Sample) -> bool {
    let out = gate(&sample.text);
    sample.secrets.iter().all(|secret| !out.contains(secret.as_str()))
}

/// The judge's program, installed into `target/` if it is not there yet.
fn judge() -> Result<PathBuf> {
    let folder = workspace().join("target/secrets-judge");
    let program = folder.join("bin/detect-secrets");
    if !program.exists() {
        say!("installing {JUDGE} into target/secrets-judge");
        proc::output(python("python3").args(["-m", "venv"]).arg(&folder))?;
        let pip = folder.join("bin/pip");
        proc::output(python(&pip.to_string_lossy()).args(["install", "--quiet", JUDGE]))?;
    }
    Ok(program)
}

/// Python's own tools need to know how to reach packages from this machine.
fn python(program: &str) -> Command {
    let mut command = proc::command(program);
    for (name, value) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_theirs = ["PIP_", "SSL_", "REQUESTS_", "HTTP", "http", "NO_PROXY", "no_proxy"];
        if matches!(&*text, "PATH" | "HOME")
            || is_theirs.iter().any(|start| text.starts_with(start))
        {
            command.env(&name, value);
        }
    }
    command
}
