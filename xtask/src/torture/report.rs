//! What a case found out.

use anyhow::Result;

use crate::journal::{self, Sent};
use crate::sandbox::Sandbox;
use crate::say::{Judgement, Table, say};
use crate::stats::{Times, ms};

use super::DEADLINE;

/// Figures, and promises that were kept or not.
#[derive(Default)]
pub(super) struct Report {
    table: Table,
    not_run: Vec<String>,
    evidence: Vec<String>,
}

impl Report {
    pub(super) fn figure(&mut self, what: &str, measured: impl std::fmt::Display) {
        self.table.figure(what, measured);
    }

    /// A promise, with what was seen.
    pub(super) fn promise(&mut self, what: &str, seen: impl std::fmt::Display, kept: bool) {
        self.table.row(what, seen, "", Judgement::of(kept));
    }

    /// That many failures, of which there must be none.
    pub(super) fn none(&mut self, what: &str, n: usize) {
        self.table.row(what, n, "0", Judgement::of(n == 0));
    }

    /// The journal has everything once. Stops the daemon, so that nothing is under way; if it does not hold, what
    /// hooks and daemon left in their logs follows.
    pub(super) fn journal(&mut self, sandbox: &Sandbox, sent: &Sent) -> Result<()> {
        sandbox.stop_daemon()?;
        let found = journal::compare(&sandbox.database(), sent)?;
        self.promise("journal", found.words(), found.is_exact());
        if !found.is_exact() {
            self.evidence(format!("lost {:?}, doubled {:?}", found.lost, found.doubled));
            self.evidence.extend(sandbox.complaints()?);
        }
        Ok(())
    }

    /// No hook took longer than it may.
    pub(super) fn hooks(&mut self, times: &Times) {
        let p50 = ms(times.p50());
        let words = format!("{} runs, p50 {p50}, max {}", times.len(), ms(times.max()));
        self.promise("hook processes", words, times.max() <= DEADLINE);
    }

    /// What led to a broken promise.
    pub(super) fn evidence(&mut self, line: impl Into<String>) {
        self.evidence.push(line.into());
    }

    /// Said loudly: a part that this machine does not allow.
    pub(super) fn not_run(&mut self, what: impl Into<String>) {
        self.not_run.push(what.into());
    }

    pub(super) fn print(&self) -> bool {
        for what in &self.not_run {
            say!("  NOT RUN: {what}");
        }
        let ok = self.table.print();
        for line in self.evidence.iter().take(30) {
            say!("    {line}");
        }
        ok
    }
}
