//! Reads callgrind's output: totals, calls and inclusive costs by function.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use anyhow::{Context as _, Result};

/// One dump.
#[derive(Debug, Default)]
pub(super) struct Dump {
    /// Instructions in user space, of all threads.
    pub(super) total: u64,
    calls: HashMap<String, u64>,
    inclusive: HashMap<String, u64>,
    own: HashMap<String, u64>,
    /// As callgrind wrote it.
    pub(super) text: String,
}

impl Dump {
    /// Fails while callgrind still writes the file.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)?;
        Ok(Self { text: text.clone(), ..Self::parse(&text)? })
    }

    fn parse(text: &str) -> Result<Self> {
        let mut out = Self::default();
        let (mut names, mut function, mut callee) = (HashMap::new(), String::new(), None);
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("fn=") {
                function = resolve(&mut names, name);
            } else if let Some(name) = line.strip_prefix("cfn=") {
                callee = Some((resolve(&mut names, name), 0));
            } else if let Some(calls) = line.strip_prefix("calls=") {
                let n = calls.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
                if let Some((name, counted)) = &mut callee {
                    *counted = n;
                    *out.calls.entry(name.clone()).or_default() += n;
                }
            } else if line.starts_with(['+', '-', '*'])
                || line.starts_with(|c: char| c.is_ascii_digit())
            {
                let cost = line.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
                *out.inclusive.entry(function.clone()).or_default() += cost;
                if callee.take().is_none() {
                    *out.own.entry(function.clone()).or_default() += cost;
                }
            }
        }
        let total = text.lines().rev().find_map(|line| line.strip_prefix("totals: "));
        out.total =
            total.and_then(|n| n.trim().parse().ok()).context("callgrind wrote no totals")?;
        Ok(out)
    }

    /// How often functions of that name were called.
    pub(super) fn calls(&self, name: &str) -> u64 {
        let is_it = |known: &str| known == name || known.split('\'').next() == Some(name);
        self.calls.iter().filter(|(known, _)| is_it(known)).map(|(_, n)| n).sum()
    }

    /// The functions with the highest cost, callees included. Those that only call the event loop are left out.
    pub(super) fn most_expensive(&self, n: usize) -> Vec<(u64, &str)> {
        let around = self.total - self.total / 10;
        highest(&self.inclusive, n, around)
    }

    /// The functions with the highest cost of their own.
    pub(super) fn longest(&self, n: usize) -> Vec<(u64, &str)> {
        highest(&self.own, n, u64::MAX)
    }
}

/// The names of all functions in callgrind's output.
pub(super) fn functions(text: &str) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for line in text.lines() {
        let name = line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn="));
        // A name is written once; later lines refer to it. What recurses has a mark behind it.
        let named = name.and_then(|name| name.split_once(' ')?.1.split('\'').next());
        out.extend(named.filter(|name| !name.starts_with(['(', '0'])).map(str::to_owned));
    }
    out
}

fn highest(costs: &HashMap<String, u64>, n: usize, below: u64) -> Vec<(u64, &str)> {
    let mut all: Vec<_> = costs.iter().map(|(name, n)| (*n, name.as_str())).collect();
    all.retain(|(n, _)| *n < below);
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.truncate(n);
    all
}

/// `(12) name` defines a name, `(12)` refers to it.
fn resolve(names: &mut HashMap<String, String>, text: &str) -> String {
    match text.split_once(' ') {
        Some((id, name)) if id.starts_with('(') => {
            names.insert(id.to_owned(), name.to_owned());
            name.to_owned()
        }
        None if text.starts_with('(') => names.get(text).cloned().unwrap_or_default(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::Dump;

    #[test]
    fn calls_and_inclusive_costs_are_added_up() {
        let text = "events: Ir\nfn=(1) main\n10 5\ncfn=(2) malloc\ncalls=3 20\n10 60\n\
                    fn=(2)\n20 60\nfn=(3) other\n30 1\ncfn=(2)\ncalls=2 20\n+1 40\ntotals: 166\n";
        let dump = Dump::parse(text).unwrap();
        assert_eq!(dump.total, 166);
        assert_eq!(dump.calls("malloc"), 5);
        assert_eq!(dump.most_expensive(2), [(65, "main"), (60, "malloc")], "each is less than all");
        assert_eq!(dump.longest(2), [(60, "malloc"), (5, "main")]);
    }

    #[test]
    fn a_dump_without_its_end_is_not_read() {
        assert!(Dump::parse("fn=(1) main\n10 5\n").is_err());
    }
}
