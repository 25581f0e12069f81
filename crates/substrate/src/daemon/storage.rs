//! Where the daemon stores its data: in its database, or in memory while the database can't be written.
//!
//! A full disk or a damaged file does not stop the daemon. Guards and leases go on in memory. Requests that need
//! durability are refused with a clear error. When the disk accepts writes again, the state in memory is written back.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use serde_json::Value;
use substrate_core::engine::processed::{Processed, Scope};
use substrate_core::redact::clean;
use substrate_core::{Db, DbError, Migration, Output, SafeId, Verb, Wish};
use substrate_store::{Durability, TakenOver, Writer};

use super::lock;
use crate::clock;
use crate::config::Home;
use crate::error::{AppError, Kind};
use crate::host::{self, Decoded, Host};

/// The field that marks an answer from memory. It says why.
const IN_MEMORY: &str = "in_memory_only";

/// How often a failing disk is tried again.
const LOOK_US: u64 = 500_000;

/// The storage of one daemon.
pub(super) struct Storage {
    home: Home,
    disk: Option<Disk>,
    memory: Option<Memory>,
    /// Both scopes of each event that an earlier daemon processed.
    pub(super) scopes: Vec<Scope>,
}

struct Disk {
    writer: Writer,
    processed: Processed,
    /// Its device and inode.
    identity: Option<(u64, u64)>,
}

struct Memory {
    writer: Writer,
    processed: Processed,
    seeded: TakenOver,
    trouble: Rc<Trouble>,
    looked_us: u64,
}

/// Why the database is not used.
#[derive(Debug)]
pub(super) struct Trouble {
    error: AppError,
    /// It does not go away by itself.
    stays: bool,
    /// The sessions whose person was told.
    told: RefCell<HashSet<SafeId>>,
}

/// The storage that the engine currently uses.
#[derive(Debug)]
pub(super) struct Place {
    trouble: Option<Rc<Trouble>>,
}

impl Storage {
    /// Opens the database, or goes on without it.
    pub(super) fn open(home: &Home) -> Result<Self, AppError> {
        let mut storage = Self { home: home.clone(), disk: None, memory: None, scopes: Vec::new() };
        match storage.open_disk() {
            Ok(()) => Ok(storage),
            Err((error, stays)) => {
                storage.begin_memory(error, stays)?;
                Ok(storage)
            }
        }
    }

    fn open_disk(&mut self) -> Result<(), (AppError, bool)> {
        let mut writer = host::open(&self.home).map_err(|error| {
            let stays = error.storage().is_none_or(|cause| is_damage(&cause));
            (error.into(), stays)
        })?;
        let fail = |error: DbError| {
            let stays = is_damage(&error);
            (AppError::from(error), stays)
        };
        let mut tx = writer.begin(Durability::Normal).map_err(fail)?;
        let (processed, scopes) =
            Processed::load(&mut tx, substrate_features::ALL).map_err(fail)?;
        drop(tx);
        writer.copy_log_aside().map_err(|error| (error.into(), false))?;
        let identity = lock::identity(&self.home.database());
        self.scopes = scopes;
        self.disk = Some(Disk { writer, processed, identity });
        Ok(())
    }

    fn begin_memory(&mut self, error: AppError, stays: bool) -> Result<(), AppError> {
        let mut writer = Writer::in_memory(&host::schema(), clock::now())?;
        let tables = tables();
        let names: Vec<&str> = tables.iter().map(String::as_str).collect();
        let seeded = writer.take_over(&self.home.database(), &names)?;
        let lost = seeded.tables.iter().filter_map(|table| table.missing.as_ref());
        for missing in lost {
            tracing::warn!(missing, "could not copy all of a table into memory");
        }
        tracing::error!(error = %error.render(), "going on in memory");
        ipc::place::leave_trace(
            self.home.root(),
            &clean(&format!("{} the database is not used: {}", clock::now().0, error.render())),
        );
        let trouble = Rc::new(Trouble { error, stays, told: RefCell::default() });
        self.memory = Some(Memory {
            writer,
            processed: Processed::default(),
            seeded,
            trouble,
            looked_us: clock::micros(),
        });
        Ok(())
    }

    /// Called when a write to the database failed.
    pub(super) fn go_on_in_memory(&mut self, error: &DbError) {
        let stays = is_damage(error);
        if let Err(worse) = self.begin_memory(error.clone().into(), stays) {
            tracing::error!(error = %worse.render(), "there is no memory to go on in");
        }
    }

    /// Returns to the disk if it accepts writes again.
    pub(super) fn look_at_disk(&mut self) {
        let Some(memory) = &mut self.memory else { return };
        let now = clock::micros();
        if memory.trouble.stays || now.saturating_sub(memory.looked_us) < LOOK_US {
            return;
        }
        memory.looked_us = now;
        self.try_disk();
        // A disk that is slow to fail is tried less often: every event waits for the attempt.
        if let Some(memory) = &mut self.memory {
            let took = clock::micros().saturating_sub(now);
            memory.looked_us = now.saturating_add(took.saturating_mul(5));
        }
    }

    fn try_disk(&mut self) {
        if self.disk.is_none() && self.open_disk().is_err() {
            return;
        }
        let (Some(disk), Some(memory)) = (&mut self.disk, &self.memory) else { return };
        let back = disk
            .writer
            .probe()
            .and_then(|()| disk.writer.take_back(&memory.writer, &memory.seeded));
        match back {
            Ok(()) => {
                tracing::info!("the database can be written again");
                self.memory = None;
            }
            Err(error) => tracing::warn!(%error, "the database still can't be written"),
        }
    }

    pub(super) fn is_in_memory(&self) -> bool {
        self.memory.is_some()
    }

    pub(super) fn place(&self) -> Place {
        Place { trouble: self.memory.as_ref().map(|memory| Rc::clone(&memory.trouble)) }
    }

    /// Why the database is not used, for `daemon status` and `doctor`.
    pub(super) fn trouble(&self) -> Option<String> {
        self.memory.as_ref().map(|memory| memory.trouble.words())
    }

    /// The connection to write to now.
    pub(super) fn writer(&mut self) -> Option<(&mut Writer, &mut Processed)> {
        match (&mut self.memory, &mut self.disk) {
            (Some(memory), _) => Some((&mut memory.writer, &mut memory.processed)),
            (None, Some(disk)) => Some((&mut disk.writer, &mut disk.processed)),
            (None, None) => None,
        }
    }

    /// Answers a read-only command from memory, and says so. `None`: the database has the answer.
    pub(super) fn read_in_memory(
        &mut self,
        verb: &'static Verb,
        run: impl FnOnce(&mut dyn Db) -> Result<Output, AppError>,
    ) -> Option<Result<Output, AppError>> {
        // Compared by name: a constant may have several addresses.
        let is_there = substrate_features::WITHOUT_DISK
            .iter()
            .any(|feature| feature.verbs.iter().any(|other| other.path == verb.path));
        let memory = self.memory.as_mut().filter(|_| is_there)?;
        let read = memory.writer.begin(Durability::Normal).map_err(AppError::from);
        Some(read.and_then(|mut tx| run(&mut tx)).map(|output| {
            let why = memory.trouble.words();
            let text = format!(
                "In memory only, because the database can't be used ({why}):\n{}",
                output.text
            );
            Output { text, json: marked(output.json, &why), ..output }
        }))
    }

    /// The database itself, while it is used.
    pub(super) fn disk(&mut self) -> Option<&mut Writer> {
        self.disk.as_mut().filter(|_| self.memory.is_none()).map(|disk| &mut disk.writer)
    }

    /// Whether the file that we write is no longer the one at its path.
    pub(super) fn is_displaced(&self) -> bool {
        self.memory.is_none()
            && self
                .disk
                .as_ref()
                .is_some_and(|disk| lock::identity(&self.home.database()) != disk.identity)
    }
}

impl Trouble {
    /// The error in one line.
    fn words(&self) -> String {
        self.error.in_one_line()
    }
}

impl Place {
    /// How events are considered here.
    pub(super) fn host<'a>(&self, wishes: &'a [Wish]) -> Host<'a> {
        match &self.trouble {
            None => Host { wishes, ..Host::USUAL },
            Some(_) => Host { features: substrate_features::WITHOUT_DISK, wishes, is_heard: true },
        }
    }

    /// The notice for the person, once per session.
    pub(super) fn wishes(&self, decoded: &Decoded) -> Vec<Wish> {
        let (Some(trouble), Some(session)) = (&self.trouble, &decoded.event.session) else {
            return Vec::new();
        };
        if !decoded.delivers_notice() || !trouble.told.borrow_mut().insert(session.clone()) {
            return Vec::new();
        }
        let why = trouble.words();
        vec![Wish::Notice {
            text: format!(
                "Substrate can't use its database ({why}). Guards work, and files are leased in memory; mail and everything else waits. `substrate doctor` says what to do."
            ),
        }]
    }

    /// The error for a command that needs the disk.
    pub(super) fn refuses_writes(&self) -> Option<AppError> {
        let trouble = self.trouble.as_ref()?;
        let mut error = trouble.error.clone();
        error.causes.insert(0, std::mem::take(&mut error.message));
        error.kind = Kind::State;
        "nothing was changed: the database can't be written".clone_into(&mut error.message);
        Some(error)
    }
}

/// Adds the field that says where the answer comes from; for a list, to each of its objects.
fn marked(mut json: Value, why: &str) -> Value {
    match &mut json {
        Value::Object(fields) => drop(fields.insert(IN_MEMORY.to_owned(), why.into())),
        Value::Array(items) => {
            for fields in items.iter_mut().filter_map(Value::as_object_mut) {
                fields.insert(IN_MEMORY.to_owned(), why.into());
            }
        }
        _ => {}
    }
    json
}

/// Unlike a full disk, damage does not go away by itself.
fn is_damage(error: &DbError) -> bool {
    matches!(error, DbError::Corrupt { .. })
}

/// The tables that are kept in memory.
fn tables() -> Vec<String> {
    let steps = substrate_features::WITHOUT_DISK.iter().flat_map(|feature| feature.migrations);
    steps.flat_map(created).collect()
}

/// The names after `create table`.
fn created(step: &Migration) -> Vec<String> {
    let after = step.sql.split("create table ").skip(1);
    after.filter_map(|rest| rest.split([' ', '(']).next().map(str::to_owned)).collect()
}
