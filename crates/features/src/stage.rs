//! A stage for tests: a real database, all features, simulated time, and a machine that does what the test says.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use substrate_clients::{DEFAULT, DIALECTS, Input};
use substrate_core::engine::{self, Surroundings, processed};
use substrate_core::facts::{Changed, Found, Place, Room};
use substrate_core::lineage::{Ancestor, ProcessId};
use substrate_core::settings::{Layer, Scope};
use substrate_core::{
    Activity, Caller, Cx, DbError, Detail, Dialect, Effect, Event, EventKind, Facts, Lineage, Need,
    Outcome, Output, RequestId, SafeId, Settings, Timestamp, VerbError, World, verb,
};
use substrate_store::{Database, Durability, Prepared, Setup, Writer};

pub(crate) struct Stage {
    folder: tempfile::TempDir,
    writer: Writer,
    settings: Settings,
    pub(crate) now: Timestamp,
    pub(crate) facts: Facts,
    pub(crate) machine: Machine,
    /// The effects of the latest event or command.
    pub(crate) effects: Vec<Effect>,
    n_requests: u8,
}

/// Which processes run, and who waits.
#[derive(Default)]
pub(crate) struct Machine {
    pub(crate) processes: HashMap<u32, i64>,
    /// The parent of a process, where it has one.
    pub(crate) parents: HashMap<u32, u32>,
    pub(crate) waiting: HashSet<String>,
    /// Sessions beside which a waiter stands.
    pub(crate) beside: HashSet<String>,
    /// The keys of hooks that wait beside a dialog.
    pub(crate) dialogs: HashSet<String>,
    /// When files were last changed.
    pub(crate) files: HashMap<String, i64>,
    /// Which file a path is, where that matters.
    pub(crate) same_file: HashMap<String, String>,
    /// How far its clock is ahead of UTC.
    pub(crate) offset_s: i32,
    /// What is in files.
    pub(crate) texts: HashMap<String, String>,
    /// Folders and artifacts that nothing can be written to.
    pub(crate) unwritable: HashSet<String>,
    /// Where our own state is.
    pub(crate) state_home: Option<String>,
}

/// As often as the host looks.
const MAX_LOOKS: usize = 2;

impl Machine {
    fn place(&self, path: &str, cwd: &str) -> Place {
        let found = place(path, cwd);
        let file = self.same_file.get(&found.path).cloned();
        Place { changed_ms: self.files.get(&found.path).copied(), file, ..found }
    }

    /// Answers what was asked for in a transaction.
    fn find(&self, needs: &[Need], facts: &mut Facts) {
        for need in needs {
            let found = match need {
                Need::RealFile { path, max } => {
                    let text = self.texts.get(path);
                    text.map(|text| Found::Text(substrate_core::text::cut(text, *max).to_owned()))
                }
                Need::Changed { path } => {
                    let itself = self.files.get(path).copied();
                    let folders = path.rmatch_indices('/').map(|(at, _)| &path[..at]);
                    let folder = folders.filter_map(|folder| self.files.get(folder)).next();
                    let folder = folder.copied().filter(|_| itself.is_none());
                    Some(Found::Changed(Changed { itself, folder }))
                }
                Need::Artifact { root, dir, name } => {
                    let folder = format!("{root}/{dir}");
                    let has = |path: &str| self.unwritable.contains(path);
                    Some(Found::Possible(!has(&folder) && !has(&format!("{folder}/{name}"))))
                }
                Need::Place { path, cwd } => Some(Found::Place(self.place(path, cwd))),
                _ => None,
            };
            facts.insert(need.clone(), found.unwrap_or(Found::Nothing));
        }
    }
}

impl World for Machine {
    fn process_began(&self, pid: u32) -> Option<i64> {
        self.processes.get(&pid).copied()
    }

    fn above(&self, pid: u32) -> Vec<ProcessId> {
        let parent = |pid: &u32| self.parents.get(pid).copied();
        let all = std::iter::successors(parent(&pid), parent);
        let of = |pid| Some(ProcessId { pid, began: self.process_began(pid)? });
        all.take(64).filter_map(of).collect()
    }

    fn offset_s(&self, _at: Timestamp) -> i32 {
        self.offset_s
    }

    fn is_waiting(&self, session: &str, has_stopped: bool) -> bool {
        self.waiting.contains(session) || (has_stopped && self.beside.contains(session))
    }

    fn has_waiter(&self, key: &str) -> bool {
        self.dialogs.contains(key)
    }

    fn dialects(&self) -> &'static [&'static Dialect] {
        &DIALECTS
    }

    fn state_home(&self) -> Option<&str> {
        self.state_home.as_deref()
    }
}

impl Stage {
    /// With these settings; what does not ask for it does not persist.
    pub(crate) fn new(toml: &str) -> Self {
        let off = if toml.contains("persist") { "" } else { "\n[persist]\nmode = \"off\"\n" };
        let toml = &format!("{toml}{off}");
        let folder = tempfile::tempdir().unwrap();
        let mut schema = vec![("engine", engine::MIGRATIONS)];
        schema.extend(
            crate::probe::with_all().iter().map(|feature| (feature.name, feature.migrations)),
        );
        let setup = Setup {
            schema: &schema,
            now: Timestamp(0),
            backups: folder.path(),
            patience: Duration::from_secs(5),
        };
        let Prepared { writer, .. } =
            Database::at(&folder.path().join("db")).prepare(&setup).unwrap();
        Self {
            folder,
            writer,
            settings: settings(toml),
            now: Timestamp(1_800_000_000_000),
            facts: Facts::default(),
            machine: Machine::default(),
            effects: Vec::new(),
            n_requests: 0,
        }
    }

    /// The user changes the settings.
    pub(crate) fn set(&mut self, toml: &str) {
        self.settings = settings(toml);
    }

    /// The user's file and the project's.
    pub(crate) fn set_layers(&mut self, user: &str, project: &str) {
        self.settings = layered(&[(Scope::User, user), (Scope::Project, project)]);
    }

    pub(crate) const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Time passes.
    pub(crate) fn pass(&mut self, ms: i64) {
        self.now = self.now.plus_ms(ms);
    }

    /// An event of that session, now.
    pub(crate) fn event(&self, kind: EventKind, session: &str) -> Event {
        Event {
            session: SafeId::new(session),
            project: "/repo".to_owned(),
            cwd: "/repo".to_owned(),
            dialect: DEFAULT.dialect,
            ..Event::bare(DEFAULT.name, kind, self.now)
        }
    }

    /// What the client reports with that payload in that session, now.
    pub(crate) fn reported(&self, session: &str, event: &str, payload: &str) -> Event {
        let (stdin, cwd, at) = (payload.as_bytes(), "/repo", self.now);
        let input = Input { event, stdin, cwd, env: &[], at, waits: false };
        let event = (DEFAULT.decode)(&input).unwrap();
        Event { session: SafeId::new(session), project: "/repo".to_owned(), ..event }
    }

    /// What a session's client shows beside its events, since that long.
    pub(crate) fn shows(&self, session: &str, now: Activity, for_ms: i64) -> Event {
        let since = self.now.plus_ms(-for_ms);
        let name = now.event_name().to_owned();
        let detail = Detail::Activity { now, since };
        Event { name, detail, ..self.event(EventKind::Activity, session) }
    }

    /// Whether that changes anything, as the host asks before it is an event.
    pub(crate) fn is_news(&mut self, event: &Event) -> bool {
        self.with(|cx| engine::is_news(crate::probe::with_all(), cx, event).unwrap())
    }

    /// One event through the engine, with all features. No feature may fail.
    pub(crate) fn happen(&mut self, event: &Event) -> Outcome {
        let mut outcome = self.run(event, true);
        assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
        self.effects = std::mem::take(&mut outcome.effects);
        outcome
    }

    /// The same where a feature may report that something went wrong.
    pub(crate) fn happen_failing(&mut self, event: &Event) -> Outcome {
        self.run(event, true)
    }

    /// The same while another process holds the database, so nothing can be written.
    pub(crate) fn happen_reading(&mut self, event: &Event) -> Outcome {
        self.run(event, false)
    }

    fn run(&mut self, event: &Event, writes: bool) -> Outcome {
        self.n_requests = self.n_requests.wrapping_add(1);
        self.look_up(event);
        let mut facts = self.facts.clone();
        for _ in 0..MAX_LOOKS {
            let outcome = self.considered(event, writes, &facts, true);
            if outcome.look.is_empty() {
                return outcome;
            }
            self.machine.find(&outcome.look, &mut facts);
        }
        self.considered(event, writes, &facts, false)
    }

    fn considered(
        &mut self,
        event: &Event,
        writes: bool,
        facts: &Facts,
        may_look: bool,
    ) -> Outcome {
        let around = Surroundings {
            features: crate::probe::with_all(),
            settings: &self.settings,
            facts,
            world: &self.machine,
            delivers: DEFAULT.delivers,
            wishes: &[],
            micros: || 0,
            is_late: false,
            request: RequestId([self.n_requests; 16]),
            scope: Some(processed::Scope { digest: u64::from(self.n_requests), origin: 0 }),
            begun_us: 0,
            may_look,
            troubles: &[],
        };
        if !writes {
            // As when a frozen daemon holds the database.
            let mut other = Writer::open(self.writer.path(), Duration::ZERO).unwrap();
            let _held = other.begin(Durability::Normal).unwrap();
            return engine::run(&around, &mut self.writer.begin_reading().unwrap(), event);
        }
        let mut tx = self.writer.begin(Durability::Normal).unwrap();
        let outcome = engine::run(&around, &mut tx, event);
        tx.commit().unwrap();
        outcome
    }

    /// Answers which files are meant, by their words: `/repo` and `/other` are working trees, in which git ignores `target`.
    fn look_up(&mut self, event: &Event) {
        for need in engine::needs(crate::probe::with_all(), event, &self.settings) {
            if matches!(need, Need::Room { .. }) && self.facts.room(&need).is_none() {
                self.facts.insert(need, Found::Room(Room::There));
                continue;
            }
            let Need::Place { path, cwd } = &need else { continue };
            let found = Found::Place(self.machine.place(path, cwd));
            self.facts.insert(need, found);
        }
    }

    /// Restarts the daemon on the same database.
    pub(crate) fn reopen(&mut self) {
        self.writer = Writer::open(&self.folder.path().join("db"), Duration::from_secs(5)).unwrap();
    }

    /// One event whose answer reaches the client, as it usually does.
    pub(crate) fn told(&mut self, event: &Event) -> Outcome {
        let outcome = self.happen(event);
        if outcome.verdict.receipt {
            self.printed(outcome.request, true);
        }
        outcome
    }

    /// Whether an answer reached the client.
    pub(crate) fn printed(&mut self, request: RequestId, reached: bool) {
        self.with(|cx| engine::printed(crate::probe::with_all(), cx, request, reached).unwrap());
    }

    /// A command.
    #[expect(clippy::needless_pass_by_value, reason = "tests write the body in place")]
    pub(crate) fn call(
        &mut self,
        caller: &Caller,
        path: &[&str],
        body: Value,
    ) -> Result<Output, VerbError> {
        let verb = crate::probe::with_all()
            .iter()
            .flat_map(|feature| feature.verbs)
            .find(|verb| verb.path == path);
        let verb = verb.unwrap_or_else(|| panic!("no verb {path:?}"));
        let mut facts = self.facts.clone();
        loop {
            let mut tx = self.writer.begin(Durability::Normal).unwrap();
            let mut cx = Cx {
                facts: &facts,
                world: &self.machine,
                ..Cx::new(self.now, &mut tx, &self.settings)
            };
            cx.who = engine::identify(crate::probe::with_all(), &mut cx, caller).unwrap();
            verb::admit(verb.path, verb.audience, &cx.standing)?;
            let out = (verb.run)(&mut cx, caller, body.clone());
            let missing = cx.missing.take();
            if !missing.is_empty() {
                drop(tx);
                self.machine.find(&missing, &mut facts);
                continue;
            }
            self.effects = std::mem::take(&mut cx.effects);
            if out.is_ok() {
                tx.commit().unwrap();
            }
            return out;
        }
    }

    /// A look of the user's, as the dashboard takes it, and how many steps of SQLite's machine it took.
    pub(crate) fn looked<T>(&self, body: impl FnOnce(&mut Cx<'_>) -> T) -> (T, u64) {
        let readers = Database::at(&self.folder.path().join("db"));
        let counted = readers.read_counted(|db| {
            let mut cx = Cx { world: &self.machine, ..Cx::new(self.now, db, &self.settings) };
            let user = Caller::default();
            cx.who = engine::identify(crate::probe::with_all(), &mut cx, &user).unwrap();
            Ok::<T, DbError>(body(&mut cx))
        });
        counted.unwrap()
    }

    /// Something in a transaction of its own.
    pub(crate) fn with<T>(&mut self, body: impl FnOnce(&mut Cx<'_>) -> T) -> T {
        let mut tx = self.writer.begin(Durability::Normal).unwrap();
        let mut cx = Cx {
            facts: &self.facts,
            world: &self.machine,
            ..Cx::new(self.now, &mut tx, &self.settings)
        };
        let out = body(&mut cx);
        self.effects = std::mem::take(&mut cx.effects);
        tx.commit().unwrap();
        out
    }
}

/// The processes above a caller: pid, beginning and command line, nearest first; the caller itself comes first.
pub(crate) fn lineage(all: &[(u32, i64, &str)]) -> Lineage {
    let one = |(pid, began, line): &(u32, i64, &str)| Ancestor {
        id: ProcessId { pid: *pid, began: *began },
        line: (*line).to_owned(),
    };
    Lineage { processes: all.iter().map(one).collect(), named_client: None }
}

/// A caller in a shell with that command line.
pub(crate) fn in_shell(line: &str) -> Option<Arc<Lineage>> {
    Some(Arc::new(lineage(&[(900, 9, "substrate"), (800, 8, line), (1, 0, "init")])))
}

fn settings(toml: &str) -> Settings {
    layered(&[(Scope::User, toml)])
}

fn layered(files: &[(Scope, &str)]) -> Settings {
    let keys = crate::probe::keys();
    let read = |(scope, toml): &(Scope, &str)| Layer::read(*scope, "test", toml, &keys);
    let layers: Vec<Layer> = files.iter().map(read).collect();
    let settings = Settings::resolve(&keys, &layers.iter().collect::<Vec<_>>());
    assert!(settings.problems.is_empty(), "{:?}", settings.problems);
    settings
}

/// The file that a path means, by its words. Home is `/home/me`.
pub(crate) fn place(path: &str, cwd: &str) -> Place {
    let at_home = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let path = &at_home.map_or_else(|| path.to_owned(), |rest| format!("/home/me{rest}"));
    let joined = if path.starts_with('/') { path.to_owned() } else { format!("{cwd}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let path = format!("/{}", parts.join("/"));
    for root in ["/repo", "/other"] {
        if let Some(relative) = path.strip_prefix(&format!("{root}/")) {
            let (root, relative) = (root.to_owned(), relative.to_owned());
            let is_ignored = relative.starts_with("target/");
            let project = root.clone();
            return Place { path, root, relative, is_ignored, project, ..Place::default() };
        }
    }
    Place { relative: path.clone(), path, ..Place::default() }
}
