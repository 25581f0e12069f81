//! A feature is plain data: its name, its tables, what it wants at an event, its commands.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::LazyLock;

use serde_json::Value;
use thiserror::Error;

use crate::db::{Db, DbError};
use crate::effect::Effect;
use crate::engine::Outcome;
use crate::engine::processed::StoodFor;
use crate::event::Event;
use crate::facts::{Changed, Facts, Found, Need};
use crate::need::NeedsYou;
use crate::page::Page;
use crate::settings::{Key, Settings};
use crate::time::Timestamp;
use crate::verb::Verb;
use crate::view::{Checks, Find, Story};
use crate::who::{Asking, Standing, Who};
use crate::wish::{Receipt, Wish, Wished};
use crate::world::{Nowhere, World};

/// One feature. `features::ALL` lists them in the order in which they run.
#[derive(Debug)]
pub struct Feature {
    pub name: &'static str,
    /// One sentence for the reference and for `doctor`.
    pub about: &'static str,
    /// Add steps; never edit one.
    pub migrations: &'static [Migration],
    pub keys: &'static [Key],
    /// What must be looked up before `consider` runs.
    pub gather: Option<fn(&Event, &Settings) -> Vec<Need>>,
    /// Whether `consider` may ask for facts by `Cx::look`, since only the database says which.
    pub looks: Option<fn(&Event, &Settings) -> bool>,
    /// Whose agent acts. Only one feature has this; the others read its answer in `Cx::who`.
    pub identify: Option<Identify>,
    /// What the feature wants done about the event.
    pub consider: Option<Consider>,
    /// Called once the verdict is known, in the same transaction.
    pub record: Option<Record>,
    /// The newest requests that its records stand for (`Cx::stands_for_request`), newest first, at most so many.
    pub processed: Option<ProcessedBy>,
    /// What to answer instead when `record` failed: a guard that could not note what it allows must not allow it.
    pub if_unrecorded: Option<IfUnrecorded>,
    /// Called with whether an answer that carried a `Wish::Receipt` reached the client's pipe.
    pub printed: Option<Printed>,
    /// Whether what a client showed beside its events (`EventKind::Activity`) changes anything. Readers ask this,
    /// because it rarely does: an event has usually said it already.
    pub is_news: Option<IsNews>,
    /// What the feature knows about an event that was just considered, for `hook --explain`: an object.
    pub explain: Option<Explain>,
    /// Housekeeping, about once a minute, in a transaction of its own. `true`: there is more to do right now. It may ask for
    /// facts by `Cx::look`. It is then rolled back, and runs again once they are found.
    pub tick: Option<Tick>,
    /// What waits for the user, as this feature knows it. Only reads.
    pub needs_you: Option<NeedsYou>,
    /// What it knows of an agent's story.
    pub story: Option<Story>,
    /// What it finds for words.
    pub find: Option<Find>,
    /// What is open or wrong in it.
    pub checks: Option<Checks>,
    pub verbs: &'static [Verb],
    /// Its pages in the dashboard.
    pub pages: &'static [Page],
}

pub type Identify = fn(&mut Cx<'_>, Asking<'_>) -> Result<Option<Who>, FeatureError>;
pub type Printed = fn(&mut Cx<'_>, Receipt) -> Result<(), FeatureError>;
pub type Consider = fn(&mut Cx<'_>, &Event) -> Result<Vec<Wish>, FeatureError>;
pub type Record = fn(&mut Cx<'_>, &Event, &Outcome) -> Result<(), FeatureError>;
pub type ProcessedBy = fn(&mut dyn Db, i64) -> Result<Vec<StoodFor>, DbError>;
pub type IfUnrecorded = fn(&mut Cx<'_>, &Event) -> Option<Wish>;
pub type IsNews = fn(&mut Cx<'_>, &Event) -> Result<bool, FeatureError>;
pub type Explain = fn(&mut Cx<'_>, &Event) -> Result<Value, FeatureError>;
pub type Tick = fn(&mut Cx<'_>) -> Result<bool, FeatureError>;

impl Feature {
    /// A feature that does nothing; the base of struct-update syntax.
    pub const NOTHING: Self = Self {
        name: "",
        about: "",
        migrations: &[],
        keys: &[],
        gather: None,
        looks: None,
        identify: None,
        consider: None,
        record: None,
        processed: None,
        if_unrecorded: None,
        printed: None,
        is_news: None,
        explain: None,
        tick: None,
        needs_you: None,
        story: None,
        find: None,
        checks: None,
        verbs: &[],
        pages: &[],
    };

    /// A wish of this feature in a form that is safe for a model: the last gate.
    pub(crate) fn wished(&self, wish: Wish) -> Wished {
        Wished::new(self.name, wish.defused())
    }
}

/// One step of a feature's schema. The number is its place in the list, from 1.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    pub about: &'static str,
    /// Statements separated by `;`.
    pub sql: &'static str,
}

/// Everything that a feature can see. It has no clock, environment, files or network.
pub struct Cx<'a> {
    pub now: Timestamp,
    pub db: &'a mut dyn Db,
    pub settings: &'a Settings,
    pub facts: &'a Facts,
    pub world: &'a dyn World,
    /// Whose event or command this is, once that is known.
    pub who: Option<Who>,
    /// Where the command comes from, once `who` is asked for.
    pub standing: Standing,
    /// How many blocks in a row have kept the actor from stopping.
    pub n_held: u32,
    /// What happens after the commit.
    pub effects: Vec<Effect>,
    /// What went wrong although the feature could answer. Recorded as its failure.
    pub troubles: Vec<String>,
    /// Set by `record`: what was written names the request and its scope, so that it is recognised when it comes again.
    pub stands_for_request: bool,
    /// What was asked for and not looked up yet.
    pub missing: RefCell<Vec<Need>>,
    /// What was worked out once for several parts of one answer that only reads. See `once`.
    pub kept: RefCell<Vec<(&'static str, Rc<dyn Any>)>>,
}

impl<'a> Cx<'a> {
    /// A context with only the time, the settings and the database.
    pub fn new(now: Timestamp, db: &'a mut dyn Db, settings: &'a Settings) -> Self {
        static NO_FACTS: LazyLock<Facts> = LazyLock::new(Facts::default);
        Self {
            now,
            db,
            settings,
            facts: &NO_FACTS,
            world: &Nowhere,
            who: None,
            standing: Standing::User,
            n_held: 0,
            effects: Vec::new(),
            troubles: Vec::new(),
            stands_for_request: false,
            missing: RefCell::default(),
            kept: RefCell::default(),
        }
    }

    /// Works something out once per context. Only for answers that change nothing: what is kept would not follow.
    pub fn once<T: 'static, E>(
        &mut self,
        name: &'static str,
        work_out: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<Rc<T>, E> {
        let kept = self
            .kept
            .borrow()
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, it)| Rc::clone(it));
        if let Some(kept) = kept.and_then(|kept| kept.downcast::<T>().ok()) {
            return Ok(kept);
        }
        let found = Rc::new(work_out(self)?);
        self.kept.borrow_mut().push((name, Rc::clone(&found) as Rc<dyn Any>));
        Ok(found)
    }

    /// Asks for a fact that only the database showed to be needed. If it has not been looked up yet, the transaction is
    /// rolled back, the host looks it up, and the event or command runs again from the start.
    pub fn look(&self, need: Need) -> Option<&'a Found> {
        let found = self.facts.get(&need);
        if found.is_none() {
            let mut missing = self.missing.borrow_mut();
            if !missing.contains(&need) {
                missing.push(need);
            }
        }
        found
    }

    /// The first `max` bytes of a file, if no step of its path is a link.
    pub fn real_file(&self, path: &str, max: usize) -> Option<&'a str> {
        match self.look(Need::RealFile { path: path.to_owned(), max })? {
            Found::Text(text) => Some(text),
            _ => None,
        }
    }

    /// When a file was last changed. `None` if that is unknown.
    pub fn changed(&self, path: &str) -> Option<Changed> {
        match self.look(Need::Changed { path: path.to_owned() })? {
            Found::Changed(changed) => Some(*changed),
            _ => None,
        }
    }

    /// Whether text can be appended to an artifact of a task. If that is unknown, it is tried.
    pub fn takes_artifact(&self, root: &str, dir: &str, name: &str) -> bool {
        let (root, dir, name) = (root.to_owned(), dir.to_owned(), name.to_owned());
        !matches!(self.look(Need::Artifact { root, dir, name }), Some(Found::Possible(false)))
    }

    /// Wakes all who wait for this agent's mail.
    pub fn wake(&mut self, agent: i64) {
        let wake = Effect::Wake { key: crate::who::wake_key(agent) };
        if !self.effects.contains(&wake) {
            self.effects.push(wake);
        }
    }
}

/// Why a feature could not answer. It contributes nothing then, and the failure is recorded.
#[derive(Debug, Error)]
pub enum FeatureError {
    #[error(transparent)]
    Db(#[from] DbError),
    #[error("{0}")]
    Other(String),
    /// The caller claims to be another agent. Unlike an unknown caller, it is not even shown anything.
    #[error("{message}")]
    Refused { message: String, hint: String },
}
