//! What a scenario found.

use std::time::Duration;

use anyhow::Result;

use crate::journal;
use crate::sandbox::Sandbox;
use crate::say::{Judgement, Table, say};
use crate::stats::{Times, ms};

use super::history;
use super::workers::Observations;

/// How long a hook waits at most for a starved daemon.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a hook needs besides, on a machine where starting a process is free.
const OWN_WORK: Duration = Duration::from_millis(500);

/// Lines of evidence that are printed.
const MAX_EVIDENCE: usize = 30;

/// Figures, and promises that were kept or not.
pub(super) struct Report {
    table: Table,
    not_run: Vec<String>,
    evidence: Vec<String>,
    hooks: Vec<Duration>,
    /// Why times are not judged, if they are not.
    disturbed: Option<&'static str>,
}

impl Report {
    pub(super) fn new(disturbed: Option<&'static str>) -> Self {
        Self {
            table: Table::default(),
            not_run: Vec::new(),
            evidence: Vec::new(),
            hooks: Vec::new(),
            disturbed,
        }
    }

    pub(super) fn figure(&mut self, what: &str, measured: impl std::fmt::Display) {
        self.table.figure(what, measured);
    }

    /// A promise, with what was seen.
    pub(super) fn promise(&mut self, what: &str, seen: impl std::fmt::Display, kept: bool) {
        self.table.row(what, seen, "", Judgement::of(kept));
    }

    /// A bar that is judged on a quiet machine only.
    pub(super) fn when_quiet(
        &mut self,
        what: &str,
        measured: impl std::fmt::Display,
        bar: impl std::fmt::Display,
        kept: bool,
    ) {
        let judgement = self.disturbed.map_or(Judgement::of(kept), Judgement::NotJudged);
        self.table.row(what, measured, bar, judgement);
    }

    /// A time and its bar on a quiet machine.
    pub(super) fn time(&mut self, what: &str, took: Duration, bar: Duration) {
        self.when_quiet(what, ms(took), format!("≤ {}", ms(bar)), took <= bar);
    }

    /// A number of failures, which must be zero.
    pub(super) fn none(&mut self, what: &str, n: usize) {
        self.table.row(what, n, "0", Judgement::of(n == 0));
    }

    /// Failures, which must be none. The first ones are printed.
    pub(super) fn no(&mut self, what: &str, failures: &[String]) {
        self.none(what, failures.len());
        self.evidence.extend(failures.iter().take(5).map(|line| format!("{what}: {line}")));
    }

    /// What the workers saw, and that the journal has everything once and in order. Stops the daemon first.
    pub(super) fn journal(&mut self, sandbox: &Sandbox, seen: &Observations) -> Result<()> {
        self.hooks(seen.hook_times());
        self.no("hooks that failed", &seen.failed);
        self.no("hooks that printed", &seen.printed);
        sandbox.stop_daemon()?;
        let found = journal::compare(&sandbox.database(), &seen.sent)?;
        self.promise("journal", found.words(), found.is_exact());
        let rows = journal::rows(&sandbox.database())?;
        let rows: Vec<&str> = rows.iter().map(|(marker, ..)| marker.as_str()).collect();
        let history = history::events::read(&seen.records, &rows);
        self.no("events that were answered twice", &history.answered_twice);
        self.no("events journaled before one that was answered earlier", &history.out_of_order);
        if !found.is_exact() {
            self.evidence(format!("lost {:?}, doubled {:?}", found.lost, found.doubled));
            self.evidence.extend(sandbox.complaints()?);
        }
        Ok(())
    }

    /// How long hook processes took; `finish` judges all of them.
    pub(super) fn hooks(&mut self, times: impl IntoIterator<Item = Duration>) {
        self.hooks.extend(times);
    }

    /// What led to a broken promise.
    pub(super) fn evidence(&mut self, line: impl Into<String>) {
        self.evidence.push(line.into());
    }

    /// Says loudly that this machine does not allow a part.
    pub(super) fn not_run(&mut self, what: impl Into<String>) {
        self.not_run.push(what.into());
    }

    /// No hook took longer than allowed, compared to `/bin/true` in the same minutes.
    pub(super) fn finish(&mut self, spawns: &Times) {
        let words = |times: &Times| {
            format!("{} runs, p50 {}, max {}", times.len(), ms(times.p50()), ms(times.max()))
        };
        self.table.figure("`/bin/true` beside them", words(spawns));
        let hooks = Times::of(std::mem::take(&mut self.hooks));
        if hooks.len() > 0 {
            // A hook that finds no daemon starts up to three programs, one after the other.
            let bar = PATIENCE + OWN_WORK + 4 * spawns.max();
            let kept = Judgement::of(hooks.max() <= bar);
            self.table.row("hook processes", words(&hooks), format!("≤ {}", ms(bar)), kept);
        }
    }

    pub(super) fn print(&self) -> bool {
        for what in &self.not_run {
            say!("  NOT RUN: {what}");
        }
        let ok = self.table.print();
        for line in self.evidence.iter().take(MAX_EVIDENCE) {
            say!("    {line}");
        }
        ok
    }
}
