//! The findings for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::finding::{Finding, Severity};

/// All findings.
pub(crate) struct Report {
    findings: Vec<Finding>,
    /// What `--fix` did. `None` without `--fix`.
    mended: Option<Vec<String>>,
}

impl Report {
    pub(crate) fn new(mut findings: Vec<Finding>, mended: Option<Vec<String>>) -> Self {
        findings.sort_by_key(|finding| finding.area);
        Self { findings, mended }
    }

    /// Nothing is wrong: no errors and no warnings.
    pub(crate) fn is_healthy(&self) -> bool {
        self.count(Severity::Warning) + self.count(Severity::Error) == 0
    }

    pub(crate) fn json(&self) -> Value {
        let mut json = json!({"healthy": self.is_healthy(), "findings": self.findings});
        if let Some(mended) = &self.mended {
            json["mended"] = json!(mended);
        }
        json
    }

    /// Grouped by area, one line each, with the next step below.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        for mended in self.mended.iter().flatten() {
            let _infallible = writeln!(out, "mended: {mended}");
        }
        let mut area = None;
        for finding in &self.findings {
            if area.replace(finding.area) != Some(finding.area) {
                let gap = if out.is_empty() { "" } else { "\n" };
                let _infallible = writeln!(out, "{gap}{}", finding.area.name());
            }
            let _infallible =
                writeln!(out, "  {:<4}  {}", finding.severity.word(), finding.message);
            if let Some(next) = &finding.next {
                let fix = if finding.fixable { " (or `substrate doctor --fix`)" } else { "" };
                let _infallible = writeln!(out, "        next: {next}{fix}");
            }
        }
        let _infallible = writeln!(out, "\n{}", self.summary());
        out
    }

    /// Only what is wrong, one line each with its next step. Empty if nothing is.
    pub(crate) fn wrong(&self) -> String {
        let mut out = String::new();
        for finding in self.findings.iter().filter(|finding| finding.severity >= Severity::Warning)
        {
            let next =
                finding.next.as_deref().map_or_else(String::new, |next| format!("; next: {next}"));
            let _infallible =
                writeln!(out, "{:<4}  {}{next}", finding.severity.word(), finding.message);
        }
        out
    }

    fn summary(&self) -> String {
        if self.is_healthy() {
            return "healthy".to_owned();
        }
        let told = |n: usize, word: &str| match n {
            0 => None,
            1 => Some(format!("1 {word}")),
            n => Some(format!("{n} {word}s")),
        };
        let parts = [
            told(self.count(Severity::Error), "failure"),
            told(self.count(Severity::Warning), "warning"),
        ];
        format!("not healthy: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }

    fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Area;
    use super::*;

    #[test]
    fn a_report_reads_without_colours() {
        let findings = vec![
            Area::Hooks.warning("hooks-slow", "slow").next("wait"),
            Area::Daemon.ok("daemon-answers", "the daemon answers"),
            Area::Daemon.error("home-permissions", "open\nto all").next("`chmod`").fixable(),
            Area::Daemon.info("x", "by the way"),
        ];
        let report = Report::new(findings, Some(vec!["a door".to_owned()]));
        assert_eq!(
            report.text(),
            "mended: a door

daemon
  ok    the daemon answers
  FAIL  open to all
        next: `chmod` (or `substrate doctor --fix`)
  note  by the way

hooks
  warn  slow
        next: wait

not healthy: 1 failure, 1 warning
"
        );
        let json = report.json();
        assert_eq!((&json["healthy"], &json["mended"]), (&json!(false), &json!(["a door"])));
        assert_eq!(
            json["findings"][1],
            json!({
                "id": "home-permissions", "area": "daemon", "severity": "error",
                "message": "open to all", "next": "`chmod`", "fixable": true,
            })
        );
    }

    #[test]
    fn what_is_only_worth_knowing_is_healthy() {
        let report = Report::new(vec![Area::Daemon.info("x", "y")], None);
        assert!(report.is_healthy() && report.text().ends_with("\nhealthy\n"));
        assert_eq!(report.json().get("mended"), None);
    }
}
