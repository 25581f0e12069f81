//! Errors as people see them: what happened, why, and what to do; and the exit code for each kind.

use std::error::Error;
use std::fmt::Write as _;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use substrate_core::{DbError, VerbError};
use substrate_store::StoreError;

/// The hint for a damaged database.
pub(crate) const RESTORE: &str = "`substrate db restore` puts the newest good copy from `backups/` in its place and keeps the damaged file";

/// The kinds of failure. The numbers are part of the interface and listed in the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// The caller asked for something that does not exist or is not allowed.
    User,
    /// No daemon answers.
    Daemon,
    /// The state home, the database or a settings file is unusable.
    State,
    /// A bug of ours.
    Internal,
}

impl Kind {
    pub(crate) const ALL: &[Self] = &[Self::User, Self::Daemon, Self::State, Self::Internal];

    pub(crate) const fn exit_code(self) -> u8 {
        match self {
            Self::User => 1,
            Self::Daemon => 3,
            Self::State => 4,
            Self::Internal => 70,
        }
    }

    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::User => {
                "the command could not do what was asked, and says why; or `doctor` found something"
            }
            Self::Daemon => "no daemon is running, or it does not answer",
            Self::State => {
                "the state home, the database, the disk or a settings file is not usable"
            }
            Self::Internal => "a bug in Substrate",
        }
    }
}

/// An error on its way to a person.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AppError {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    pub(crate) causes: Vec<String>,
    pub(crate) hints: Vec<String>,
    /// A question that the person may confirm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) question: Option<Box<Question>>,
}

/// An action that needs confirmation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Question {
    pub(crate) text: String,
    /// The body to send once it is confirmed.
    pub(crate) body: Value,
}

pub(crate) type Result<T> = std::result::Result<T, AppError>;

impl AppError {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            causes: Vec::new(),
            hints: Vec::new(),
            question: None,
        }
    }

    pub(crate) fn from_error(kind: Kind, error: &dyn Error) -> Self {
        let mut out = Self::new(kind, error.to_string());
        let mut source = error.source();
        while let Some(error) = source {
            out.causes.push(error.to_string());
            source = error.source();
        }
        out
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        if !hint.is_empty() {
            self.hints.push(hint);
        }
        self
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind.exit_code())
    }

    /// The error and its causes, without hints.
    pub(crate) fn in_one_line(&self) -> String {
        let all = std::iter::once(&self.message).chain(&self.causes).map(String::as_str);
        all.collect::<Vec<_>>().join(": ")
    }

    pub(crate) fn render(&self) -> String {
        let mut out = format!("error: {}\n", self.message);
        for cause in &self.causes {
            let _infallible = writeln!(out, "  caused by: {cause}");
        }
        for hint in &self.hints {
            let _infallible = writeln!(out, "hint: {hint}");
        }
        out
    }
}

impl From<StoreError> for AppError {
    fn from(error: StoreError) -> Self {
        let hint = match &error {
            StoreError::Newer { .. } => {
                "install the newer Substrate again, or use another SUBSTRATE_HOME".to_owned()
            }
            StoreError::Changed { .. } => {
                "this database belongs to another build; use another SUBSTRATE_HOME for it"
                    .to_owned()
            }
            StoreError::Create { path, source }
                if source.kind() != std::io::ErrorKind::StorageFull =>
            {
                format!(
                    "make `{}` writable for you, or set SUBSTRATE_HOME to a folder that is",
                    path.display()
                )
            }
            StoreError::DamagedCopy { .. } => {
                "name another copy: `substrate db restore FILE`".to_owned()
            }
            StoreError::Open { source: DbError::Busy, .. } => hint_for(&DbError::Busy),
            error => error.storage().map_or_else(String::new, |source| hint_for(&source)),
        };
        Self::from_error(Kind::State, &error).hint(hint)
    }
}

impl From<DbError> for AppError {
    fn from(error: DbError) -> Self {
        let hint = hint_for(&error);
        Self::from_error(Kind::State, &error).hint(hint)
    }
}

impl From<VerbError> for AppError {
    fn from(error: VerbError) -> Self {
        match error {
            VerbError::User { message, hint } => Self::new(Kind::User, message).hint(hint),
            VerbError::Unsure { message, question, hint, body } => {
                let question = Some(Box::new(Question { text: question, body }));
                Self { question, ..Self::new(Kind::User, message).hint(hint) }
            }
            VerbError::Db(error) => error.into(),
        }
    }
}

fn hint_for(error: &DbError) -> String {
    match error {
        DbError::Full => {
            "free some space on the disk of the state home; nothing was lost".to_owned()
        }
        DbError::Corrupt { .. } => RESTORE.to_owned(),
        DbError::Busy => {
            "another process holds the database; try again, or look at `substrate daemon status`"
                .to_owned()
        }
        DbError::Io { .. } => {
            "look at the disk of the state home (`dmesg`), and at `ulimit -f`".to_owned()
        }
        DbError::ReadOnly => {
            "make the state home writable for you, or set SUBSTRATE_HOME to a folder that is"
                .to_owned()
        }
        _ => String::new(),
    }
}
