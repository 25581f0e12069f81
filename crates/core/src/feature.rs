//! A feature is plain data: its name, its tables, what it wants at an event, its commands.

use thiserror::Error;

use crate::db::{Db, DbError};
use crate::engine::Outcome;
use crate::event::Event;
use crate::facts::{Facts, Need};
use crate::settings::{Key, Settings};
use crate::time::Timestamp;
use crate::verb::Verb;
use crate::wish::Wish;

/// One feature. `features::ALL` lists them in the order in which they speak.
#[derive(Debug)]
pub struct Feature {
    pub name: &'static str,
    /// One sentence for the reference and for `doctor`.
    pub about: &'static str,
    /// Added to, never edited.
    pub migrations: &'static [Migration],
    pub keys: &'static [Key],
    /// What must be looked up before `consider` runs.
    pub gather: Option<fn(&Event, &Settings) -> Vec<Need>>,
    /// What the feature wants done about the event.
    pub consider: Option<Consider>,
    /// Told what came of the event, in the same transaction, after the verdict is known.
    pub record: Option<Record>,
    /// Housekeeping, about once a minute, in a transaction of its own. `true`: there is more to do right now.
    pub tick: Option<Tick>,
    pub verbs: &'static [Verb],
}

pub type Consider = fn(&mut Cx<'_>, &Event) -> Result<Vec<Wish>, FeatureError>;
pub type Record = fn(&mut Cx<'_>, &Event, &Outcome) -> Result<(), FeatureError>;
pub type Tick = fn(&mut Cx<'_>) -> Result<bool, FeatureError>;

impl Feature {
    /// A feature that does nothing; the base of struct-update syntax.
    pub const NOTHING: Self = Self {
        name: "",
        about: "",
        migrations: &[],
        keys: &[],
        gather: None,
        consider: None,
        record: None,
        tick: None,
        verbs: &[],
    };
}

/// One step of a feature's schema. The number is its place in the list, from 1.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    pub about: &'static str,
    /// Statements separated by `;`.
    pub sql: &'static str,
}

/// Everything that a feature can see: no clock, no environment, no files, no network.
pub struct Cx<'a> {
    pub now: Timestamp,
    pub db: &'a mut dyn Db,
    pub settings: &'a Settings,
    pub facts: &'a Facts,
}

/// Why a feature could not answer. It then contributes nothing, and the failure is recorded.
#[derive(Debug, Error)]
pub enum FeatureError {
    #[error(transparent)]
    Db(#[from] DbError),
    #[error("{0}")]
    Other(String),
}
