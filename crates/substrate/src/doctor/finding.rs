//! A finding of the doctor.

use serde::Serialize;
use substrate_core::text::one_line;

/// Longer messages are cut, since some quote foreign text.
const MAX_CHARS: usize = 600;

/// A finding, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// Stable, for programs: `daemon-frozen`.
    pub(crate) id: &'static str,
    pub(crate) area: Area,
    pub(crate) severity: Severity,
    pub(crate) message: String,
    /// The next step: a command if there is one.
    pub(crate) next: Option<String>,
    /// Whether `--fix` does it.
    pub(crate) fixable: bool,
}

/// What a finding is about, in the order of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Area {
    Programs,
    Daemon,
    Database,
    Settings,
    Client,
    Sessions,
    Hooks,
    Features,
}

impl Area {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Programs => "programs",
            Self::Daemon => "daemon",
            Self::Database => "database",
            Self::Settings => "settings",
            Self::Client => "client",
            Self::Sessions => "sessions",
            Self::Hooks => "hooks",
            Self::Features => "features",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    Ok,
    /// Worth knowing; nothing is wrong.
    Info,
    /// Something does not work as it should, or soon won't.
    Warning,
    /// Something does not work.
    Error,
}

impl Severity {
    /// As people read it, without colours.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Info => "note",
            Self::Warning => "warn",
            Self::Error => "FAIL",
        }
    }
}

impl Area {
    pub(crate) fn ok(self, id: &'static str, message: impl AsRef<str>) -> Finding {
        self.finding(id, Severity::Ok, message.as_ref())
    }

    pub(crate) fn info(self, id: &'static str, message: impl AsRef<str>) -> Finding {
        self.finding(id, Severity::Info, message.as_ref())
    }

    pub(crate) fn warning(self, id: &'static str, message: impl AsRef<str>) -> Finding {
        self.finding(id, Severity::Warning, message.as_ref())
    }

    pub(crate) fn error(self, id: &'static str, message: impl AsRef<str>) -> Finding {
        self.finding(id, Severity::Error, message.as_ref())
    }

    fn finding(self, id: &'static str, severity: Severity, message: &str) -> Finding {
        let message = one_line(message, MAX_CHARS);
        Finding { id, area: self, severity, message, next: None, fixable: false }
    }
}

impl Finding {
    /// What to do about it.
    pub(crate) fn next(mut self, step: impl AsRef<str>) -> Self {
        self.next = Some(one_line(step.as_ref(), MAX_CHARS)).filter(|step| !step.is_empty());
        self
    }

    /// `--fix` does it.
    pub(crate) fn fixable(mut self) -> Self {
        self.fixable = true;
        self
    }
}
