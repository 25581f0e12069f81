//! What both hosts of the engine do with a request: decode, apply, encode. One code path, whoever runs it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use ipc::HookRequest;
use serde_json::Value;
use substrate_clients::{Answer, Client, Exports, Input};
use substrate_core::engine::{HostKind, Surroundings, once};
use substrate_core::text::one_line;
use substrate_core::verdict::Wait;
use substrate_core::{
    Actor, Caller, Cx, Db, Delivery, Detail, Effect, Event, EventKind, Facts, FeatureError,
    Migration, Need, Output, RequestId, SafeId, Settings, Timestamp, Verb, engine,
};
use substrate_store::Schema;

use crate::error::{AppError, Kind, Result};
use crate::machine::Machine;
use crate::{clock, gather};

/// A request as an event.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) event: Event,
    client: Option<&'static Client>,
    request: RequestId,
    scope: Scope,
    begun_us: u64,
    /// The hook asks again, because whoever let it wait has ended.
    is_repeated: bool,
}

/// Whose request it is, and in whose words it is answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    client: Option<&'static Client>,
    request: RequestId,
    scope: Scope,
}

/// Which registration brought the event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    /// The same for the same event from two scopes.
    pub(crate) digest: u64,
    /// Whose registration: the user's own (0), the user's for this project, the project's.
    pub(crate) origin: u8,
}

/// An event with everything that is needed to consider it.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) decoded: Decoded,
    pub(crate) settings: Arc<Settings>,
    pub(crate) gathered: Gathered,
    /// What went wrong before; it is recorded with the event.
    pub(crate) troubles: Vec<String>,
}

/// How often an event or a command may ask for facts inside its transaction.
const MAX_LOOKS: u8 = 2;

/// What was looked up for an event or a command.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) facts: Facts,
    n_looks: u8,
}

impl Gathered {
    /// Nothing more will be looked up.
    pub(crate) fn closed() -> Self {
        Self { facts: Facts::default(), n_looks: MAX_LOOKS }
    }

    /// What a transaction asked for. Needs without an answer are not asked for again.
    pub(crate) fn add(&mut self, needs: Vec<Need>, found: Facts) {
        self.facts.extend(found);
        self.facts.close(needs);
        self.n_looks += 1;
    }

    /// No transaction has asked for anything yet.
    pub(crate) const fn is_first(&self) -> bool {
        self.n_looks == 0
    }

    const fn may_look(&self) -> bool {
        self.n_looks < MAX_LOOKS
    }
}

/// Every table that the database must have.
pub(crate) fn schema() -> Vec<(&'static str, &'static [Migration])> {
    let features = substrate_features::ALL.iter().map(|feature| (feature.name, feature.migrations));
    std::iter::once(("engine", engine::MIGRATIONS)).chain(features).collect()
}

/// Opens the database and brings it to our schema.
pub(crate) fn open(
    home: &crate::config::Home,
    patience: std::time::Duration,
) -> std::result::Result<substrate_store::Writer, substrate_store::StoreError> {
    let mut writer = substrate_store::Writer::open(&home.database(), patience)?;
    let schema = schema();
    let schema: Schema<'_> = &schema;
    if let Some(backup) =
        substrate_store::prepare(&mut writer, schema, clock::now(), &home.backups())?
    {
        tracing::info!(backup = %backup.display(), "database migrated");
    }
    Ok(writer)
}

/// Bytes become an event; what is no event becomes one that says so.
pub(crate) fn decode(request: &HookRequest<'_>, at: Timestamp, begun_us: u64) -> Decoded {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let args: Vec<String> = request.each_arg().map(text).collect();
    let env: Vec<(String, String)> =
        request.each_var().map(|(name, value)| (text(name), text(value))).collect();
    let cwd = text(request.cwd);
    let name = args.get(1).map_or("", String::as_str);
    let waits = args.iter().skip(2).any(|arg| arg == "--wake");
    let input = Input { event: name, stdin: request.stdin, cwd: &cwd, env: &env, at, waits };
    let client: Option<&'static Client> =
        args.first().and_then(|name| substrate_clients::named(name));
    let decoded = match client {
        Some(client) => (client.decode)(&input).map_err(|error| error.to_string()),
        None => Err(format!(
            "no client is called `{}`",
            one_line(args.first().map_or("", String::as_str), 40)
        )),
    };
    let event =
        decoded.unwrap_or_else(|error| malformed(&input, client, &error, request.truncated));
    let origin =
        ["--shared", "--local"].iter().position(|flag| args.iter().skip(2).any(|arg| arg == flag));
    let origin = origin.map_or(0, |at| u8::from(at == 0) + 1);
    let scope = Scope { digest: digest(&event, request.stdin), origin };
    let mut event = event;
    if request.waited_ms > 0 {
        event.waiting_since = Some(at.plus_ms(-i64::from(request.waited_ms)));
    }
    let is_repeated = request.waited_ms > 0;
    Decoded { event, client, request: RequestId(request.id), scope, begun_us, is_repeated }
}

/// A number that two hooks of one event share. Both ends of the payload have its ids; the middle may be a whole file.
fn digest(event: &Event, stdin: &[u8]) -> u64 {
    const END: usize = 512;
    let mut hasher = DefaultHasher::new();
    event.name.hash(&mut hasher);
    event.client_pid.hash(&mut hasher);
    stdin.len().hash(&mut hasher);
    stdin[..stdin.len().min(END)].hash(&mut hasher);
    stdin[stdin.len().saturating_sub(END)..].hash(&mut hasher);
    hasher.finish()
}

fn malformed(input: &Input<'_>, client: Option<&Client>, error: &str, truncated: bool) -> Event {
    let excerpt = String::from_utf8_lossy(&input.stdin[..input.stdin.len().min(512)]).into_owned();
    let cut = if truncated { " (longer than a hook passes on)" } else { "" };
    let error = format!("{}: {error}{cut}", one_line(input.event, 60));
    Event {
        cwd: input.cwd.to_owned(),
        session: input.env("CLAUDE_CODE_SESSION_ID").and_then(SafeId::new),
        detail: Detail::Malformed { error, excerpt: one_line(&excerpt, 512) },
        n_bytes: input.stdin.len(),
        ..Event::bare(
            client.map_or("unknown", |client| client.name),
            EventKind::Malformed,
            input.at,
        )
    }
}

impl Decoded {
    /// The event, and how its answer finds its way.
    pub(crate) fn split(self) -> (Event, Route) {
        let Self { event, client, request, scope, .. } = self;
        (event, Route { client, request, scope })
    }

    /// The opposite, at another time.
    pub(crate) fn join(event: Event, route: Route, begun_us: u64) -> Self {
        let Route { client, request, scope } = route;
        Self { event, client, request, scope, begun_us, is_repeated: false }
    }

    /// This event has to wait, if it does not already.
    pub(crate) fn keep_waiting(&mut self) {
        self.event.waiting_since.get_or_insert(self.event.at);
    }

    /// The folder whose settings count.
    pub(crate) fn dir(&self) -> &Path {
        Path::new(self.event.project_dir.as_deref().unwrap_or(&self.event.cwd))
    }

    pub(crate) fn request(&self) -> RequestId {
        self.request
    }

    pub(crate) fn is_repeated(&self) -> bool {
        self.is_repeated
    }

    pub(crate) fn scope(&self) -> Scope {
        self.scope
    }
}

impl Prepared {
    pub(crate) fn new(decoded: Decoded, settings: Arc<Settings>) -> Self {
        Self { decoded, settings, gathered: Gathered::default(), troubles: Vec::new() }
    }

    /// Looks up at once what a transaction asked for. A daemon does it elsewhere.
    pub(crate) fn look_up(&mut self, needs: Vec<Need>) {
        self.gathered.add(needs.clone(), gather::gather(needs));
    }

    /// Everything that the engine wants to know beside the event.
    pub(crate) fn around<'a>(
        &'a self,
        machine: &'a Machine,
        host: HostKind,
        when: When,
    ) -> Surroundings<'a> {
        Surroundings {
            features: substrate_features::ALL,
            settings: &self.settings,
            facts: &self.gathered.facts,
            world: machine,
            delivers: match (self.decoded.client, when) {
                (Some(client), When::Now) => client.delivers,
                _ => |_, _| Delivery::NotDeliverable,
            },
            micros: clock::micros,
            host,
            request: self.decoded.request,
            begun_us: self.decoded.begun_us,
            may_look: self.gathered.may_look(),
            troubles: &self.troubles,
        }
    }
}

/// What came of an event.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    pub(crate) answer: Answer,
    /// No answer yet: it is asked again when this is over.
    pub(crate) wait: Option<Wait>,
    /// A feature wants to know whether the answer was printed.
    pub(crate) receipt: bool,
    pub(crate) effects: Vec<Effect>,
    /// Nothing happened: this has to be looked up first.
    pub(crate) look: Vec<Need>,
}

impl Applied {
    /// An answer that was given before. Whether somebody wants to know that it is printed is not kept; it does no harm to
    /// say it.
    pub(crate) fn again(given: once::Given) -> Self {
        let once::Given { exit, stdout, stderr } = given;
        let answer = Answer { exit, stdout, stderr, exports: None };
        Self { answer, receipt: true, ..Self::default() }
    }
}

/// Whether somebody waits for the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Now,
    /// It was answered long ago: whatever is said now reaches nobody, and must not count as told.
    TooLate,
}

/// Considers the event in the open transaction. Whatever happens, there is an answer.
pub(crate) fn apply(
    db: &mut dyn Db,
    prepared: &Prepared,
    machine: &Machine,
    host: HostKind,
    when: When,
) -> Applied {
    let Decoded { event, client, .. } = &prepared.decoded;
    let mut around = prepared.around(machine, host, when);
    if when == When::TooLate && is_outdated(db, event) {
        around.features = substrate_features::RECORD_ONLY;
    }
    let outcome = engine::run(&around, db, event);
    if !outcome.look.is_empty() {
        return Applied { look: outcome.look, ..Applied::default() };
    }
    for failure in &outcome.failures {
        tracing::error!(feature = failure.feature, panicked = failure.panicked, error = %failure.message, "feature failed");
    }
    Applied {
        answer: client
            .map_or_else(Answer::default, |client| (client.encode)(event, &outcome.verdict)),
        wait: outcome.verdict.wait,
        receipt: outcome.verdict.receipt,
        effects: outcome.effects,
        look: Vec::new(),
    }
}

/// The main thread has gone on since: what it was about to do or to end then says nothing about now.
fn is_outdated(db: &mut dyn Db, event: &Event) -> bool {
    let says_how_it_stands =
        matches!(event.kind, EventKind::Stop | EventKind::SessionEnd | EventKind::PreToolUse)
            && matches!(event.actor, Actor::Main { .. });
    let Some(session) = event.session.as_ref().filter(|_| says_how_it_stands) else { return false };
    substrate_features::journal::heard_since(db, session.as_str(), event.at).unwrap_or(false)
}

/// What came of a verb.
#[derive(Debug)]
pub(crate) enum Ran {
    Done(Box<Output>, Vec<Effect>),
    /// Nothing happened: this has to be looked up first.
    Look(Vec<Need>),
}

/// Why a verb's savepoint is rolled back.
enum NotDone {
    Look(Vec<Need>),
    Failed(AppError),
}

impl<E: Into<AppError>> From<E> for NotDone {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Runs a verb as its caller, in the open transaction. What fails changes nothing.
pub(crate) fn run_verb(
    db: &mut dyn Db,
    machine: &Machine,
    settings: &Settings,
    gathered: &Gathered,
    verb: &Verb,
    caller: &Caller,
    body: Value,
) -> Result<Ran> {
    let ran = db.savepoint(|db| {
        let facts = &gathered.facts;
        let mut cx = Cx { world: machine, facts, ..Cx::new(clock::now(), db, settings) };
        // Who it is matters only to verbs that ask; then not knowing is why they fail.
        let who = engine::identify(substrate_features::ALL, &mut cx, caller);
        let unknown = match who {
            Ok(who) => {
                cx.who = who;
                None
            }
            Err(FeatureError::Db(error)) => return Err(error.into()),
            Err(error) => Some(AppError::new(Kind::User, error.to_string())),
        };
        let output = (verb.run)(&mut cx, caller, body);
        let missing = cx.missing.take();
        if !missing.is_empty() && gathered.may_look() {
            return Err(NotDone::Look(missing));
        }
        let output = output.map_err(|error| unknown.unwrap_or_else(|| error.into()))?;
        Ok((output, cx.effects))
    });
    match ran {
        Ok((output, effects)) => Ok(Ran::Done(Box::new(output), effects)),
        Err(NotDone::Look(needs)) => Ok(Ran::Look(needs)),
        Err(NotDone::Failed(error)) => Err(error),
    }
}

/// Tells the features whether an answer was printed.
pub(crate) fn printed(
    db: &mut dyn Db,
    machine: &Machine,
    settings: &Settings,
    request: RequestId,
    reached: bool,
) -> std::result::Result<Vec<Effect>, FeatureError> {
    let mut cx = Cx { world: machine, ..Cx::new(clock::now(), db, settings) };
    engine::printed(substrate_features::ALL, &mut cx, request, reached)?;
    Ok(cx.effects)
}

/// Appends to the session's environment file, before the client reads our answer.
pub(crate) fn export(exports: &Exports) {
    // Opening a pipe would wait for its other end.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let mut options = std::fs::OpenOptions::new();
    let file = options.append(true).create(true).custom_flags(flags).open(&exports.file);
    if let Err(error) = file.and_then(|mut file| file.write_all(exports.text.as_bytes())) {
        tracing::error!(file = %exports.file, %error, "exports could not be written");
    }
}

/// An answer in the form in which it is kept for a hook that did not wait.
pub(crate) fn given(answer: &Answer) -> once::Given {
    once::Given { exit: answer.exit, stdout: answer.stdout.clone(), stderr: answer.stderr.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use substrate_store::{Durability, Writer};

    fn heard(db: &mut Writer, event: &str, at: i64, when: When) {
        let stdin = format!(
            r#"{{"session_id":"s1","cwd":"/","hook_event_name":"{event}","tool_name":"Bash","tool_input":{{"command":"ls"}},"tool_use_id":"t{at}"}}"#
        );
        let args = format!("claude-code\0{event}\0");
        let request = HookRequest {
            id: [u8::try_from(at).unwrap(); 16],
            args: args.as_bytes(),
            cwd: b"/",
            stdin: stdin.as_bytes(),
            ..HookRequest::default()
        };
        let decoded = decode(&request, Timestamp(at), 0);
        let settings = Arc::new(Settings::resolve(&substrate_features::keys(), &[]));
        let prepared = Prepared::new(decoded, settings);
        let mut tx = db.begin(Durability::Normal).unwrap();
        apply(&mut tx, &prepared, &Machine::default(), HostKind::Daemon, when);
        tx.commit().unwrap();
    }

    fn has_stopped(db: &mut Writer) -> bool {
        let mut tx = db.begin(Durability::Normal).unwrap();
        let tx: &mut dyn Db = &mut tx;
        let sql = "select stopped_ms is not null from agent_sessions where session = 's1'";
        tx.first(sql, &[], |row| row.int(0)).unwrap() == Some(1)
    }

    /// A Stop that had to be kept: whether it counts, after what the session did since.
    fn counts_after(since: Option<&str>) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let mut db =
            Writer::open(&folder.path().join("db"), std::time::Duration::from_secs(5)).unwrap();
        let schema = schema();
        substrate_store::prepare(&mut db, &schema, Timestamp(0), folder.path()).unwrap();
        heard(&mut db, "PreToolUse", 1, When::Now);
        if let Some(since) = since {
            heard(&mut db, since, 3, When::Now);
        }
        heard(&mut db, "Stop", 2, When::TooLate);
        has_stopped(&mut db)
    }

    #[test]
    fn a_late_stop_ends_no_newer_turn() {
        assert!(counts_after(None));
        assert!(!counts_after(Some("PreToolUse")));
    }
}
