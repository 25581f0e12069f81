//! What a print-mode run left: the client's own events, one JSON object a line.
use serde_json::Value;

use crate::process::Run;

/// A finished `claude -p`.
#[derive(Debug, Clone)]
#[must_use = "a run that nobody judges proves nothing"]
pub struct PrintRun {
    pub run: Run,
    /// The lines of `stream-json`.
    pub events: Vec<Value>,
}

impl PrintRun {
    /// Reads the events of a finished run.
    pub fn new(run: Run) -> Self {
        let events = run.stdout.lines().filter_map(|line| serde_json::from_str(line).ok());
        Self { events: events.collect(), run }
    }

    /// The final answer.
    ///
    /// # Panics
    /// With everything that it printed, if there is none.
    #[track_caller]
    pub fn result(&self) -> &str {
        self.last()["result"].as_str().unwrap_or_else(|| panic!("no result: {}", self.run))
    }

    /// # Panics
    /// With everything that it printed, if there is none.
    #[track_caller]
    pub fn session_id(&self) -> &str {
        self.last()["session_id"].as_str().unwrap_or_else(|| panic!("no session: {}", self.run))
    }

    #[track_caller]
    fn last(&self) -> &Value {
        let last = self.events.iter().rev().find(|event| event["type"] == "result");
        last.unwrap_or_else(|| panic!("no result: {}", self.run))
    }
}
