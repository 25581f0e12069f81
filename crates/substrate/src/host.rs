//! What every host of the engine does with a request: decode, consider, encode. The daemon, `hook --explain` and a hook
//! without a daemon share this code.

use std::borrow::Cow;
use std::hash::{Hash as _, Hasher as _};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use ipc::{HookRequest, Reply};
use serde_json::Value;
use substrate_clients::{Answer, Client, Exports, Input};
use substrate_core::engine::Surroundings;
use substrate_core::engine::processed::Scope;
use substrate_core::quick::Quick;
use substrate_core::redact::clean;
use substrate_core::text::one_line;
use substrate_core::verdict::{Permission, Wait};
use substrate_core::wish::WishKind;
use substrate_core::{
    Caller, Cx, Db, Delivery, Detail, Dialect, Effect, Event, EventKind, Facts, Feature,
    FeatureError, Migration, Need, Output, RequestId, SafeId, Settings, Timestamp, Verb, Verdict,
    Wish, engine, verb,
};
use substrate_store::{Database, Setup};

use crate::error::{AppError, Kind, Result};
use crate::machine::Machine;
use crate::{clock, gather};

/// A request, decoded into an event.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) event: Event,
    client: Option<&'static Client>,
    request: RequestId,
    /// `None`: no hook brought the event.
    scope: Option<Scope>,
    begun_us: u64,
    /// The hook asks again: a daemon that has ended may have processed it.
    is_repeated: bool,
    /// A tool call that can't be read, so no guard can judge it.
    is_unjudged: bool,
}

/// The client that sent the request, and in whose format it is answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    client: Option<&'static Client>,
    request: RequestId,
    scope: Option<Scope>,
}

impl Route {
    pub(crate) const fn request(&self) -> RequestId {
        self.request
    }
}

/// An event with everything that is needed to consider it.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) decoded: Decoded,
    pub(crate) settings: Arc<Settings>,
    pub(crate) gathered: Gathered,
    /// What went wrong before. It is recorded with the event.
    pub(crate) troubles: Vec<String>,
}

/// How often an event or a command may ask for facts inside its transaction.
const MAX_LOOKS: u8 = 2;

/// The facts that were looked up for an event or a command.
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

    /// Adds what a transaction asked for. Needs without an answer are not asked for again.
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

/// How long a write waits for another process: `hook --explain`, or a person's own tool.
pub(crate) const BUSY: std::time::Duration = std::time::Duration::from_secs(2);

/// Opens the database and migrates it to our schema. Only for the holder of the lock.
pub(crate) fn open(
    home: &crate::config::Home,
) -> std::result::Result<substrate_store::Writer, substrate_store::StoreError> {
    let setup =
        Setup { schema: &schema(), now: clock::now(), backups: &home.backups(), patience: BUSY };
    let opened = Database::at(&home.database()).prepare(&setup)?;
    if let Some(backup) = opened.backup {
        tracing::info!(backup = %backup.display(), "database migrated");
    }
    Ok(opened.writer)
}

/// Decodes bytes into an event. Malformed input becomes an event that says so.
pub(crate) fn decode(request: &HookRequest<'_>, at: Timestamp, begun_us: u64) -> Decoded {
    let args: Vec<Cow<'_, str>> = request.each_arg().map(text).collect();
    let environment = text(request.env);
    let mut env = Vec::with_capacity(MANY_VARS);
    env.extend(ipc::variables(&environment));
    let cwd = text(request.cwd);
    let name = args.get(1).map_or("", |name| &**name);
    let waits = args.iter().skip(2).any(|arg| arg == "--wake");
    let input = Input { event: name, stdin: request.stdin, cwd: &cwd, env: &env, at, waits };
    let client: Option<&'static Client> =
        args.first().and_then(|name| substrate_clients::named(name));
    let client = client.map(|client| substrate_clients::running(client, &input));
    let decoded = match client {
        Some(client) => (client.decode)(&input).map_err(|error| error.to_string()),
        None => Err(format!(
            "no client is called `{}`",
            one_line(args.first().map_or("", |name| &**name), 40)
        )),
    };
    let event =
        decoded.unwrap_or_else(|error| malformed(&input, client, &error, request.truncated));
    let carriers = [("--local", 1), ("--shared", 2), ("--plugin", PLUGIN)];
    let named = carriers.iter().find(|(flag, _)| args.iter().skip(2).any(|arg| arg == flag));
    let origin = named.map_or(0, |(_, origin)| *origin);
    let scope = Some(Scope { digest: digest(&event, request.stdin), origin });
    let mut event = event;
    event.hide_keys();
    if request.waited_ms > 0 {
        event.waiting_since = Some(at.plus_ms(-i64::from(request.waited_ms)));
    }
    // A payload that did not come in time is empty.
    let is_unread = event.kind == EventKind::Malformed || request.stdin.trim_ascii().is_empty();
    let is_unjudged = is_unread && is_call(name);
    let (request, is_repeated) = (RequestId(request.id), request.repeated);
    Decoded { event, client, request, scope, begun_us, is_repeated, is_unjudged }
}

/// The origin of an event that our plugin brings.
pub(crate) const PLUGIN: u8 = 3;

/// How many variables a hook passes on at most, as far as we know.
const MANY_VARS: usize = 32;

/// Bytes as text. What is text, as nearly everything is, is not copied.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Whether an event of that name comes before a tool call.
fn is_call(name: &str) -> bool {
    EventKind::named(name) == EventKind::PreToolUse
}

/// A digest that both hooks of one event share. The ids are near both ends of the payload; the middle may be a whole
/// file.
fn digest(event: &Event, stdin: &[u8]) -> u64 {
    const END: usize = 512;
    let mut hasher = Quick::default();
    event.name.hash(&mut hasher);
    // Not every registration names the client's process. The payload names the session.
    if event.session.is_none() {
        event.client_pid.hash(&mut hasher);
    }
    stdin.len().hash(&mut hasher);
    // What is short is looked at once.
    let (first, last) = stdin.split_at(stdin.len().min(END));
    first.hash(&mut hasher);
    last[last.len().saturating_sub(END)..].hash(&mut hasher);
    hasher.finish() >> 2
}

fn malformed(input: &Input<'_>, client: Option<&Client>, error: &str, truncated: bool) -> Event {
    let excerpt = String::from_utf8_lossy(&input.stdin[..input.stdin.len().min(512)]).into_owned();
    let cut = if truncated { " (longer than a hook passes on)" } else { "" };
    let error = format!("{}: {error}{cut}", one_line(input.event, 60));
    Event {
        cwd: input.cwd.to_owned(),
        session: client
            .and_then(|client| input.env(client.variables.session.first()?))
            .and_then(SafeId::new),
        dialect: client.map_or(&Dialect::UNKNOWN, |client| client.dialect),
        detail: Detail::Malformed { error, excerpt: one_line(&excerpt, 512) },
        n_bytes: input.stdin.len(),
        ..Event::bare(
            client.map_or(Dialect::UNKNOWN.client, |client| client.name),
            EventKind::Malformed,
            input.at,
        )
    }
}

impl Decoded {
    /// The event, and how its answer is delivered.
    pub(crate) fn split(self) -> (Event, Route) {
        let Self { event, client, request, scope, .. } = self;
        (event, Route { client, request, scope })
    }

    /// The reverse, at another time.
    pub(crate) fn join(event: Event, route: Route, begun_us: u64) -> Self {
        let Route { client, request, scope } = route;
        Self { event, client, request, scope, begun_us, is_repeated: false, is_unjudged: false }
    }

    /// An event that did not come from a hook.
    pub(crate) fn of_our_own(mut event: Event, client: &'static Client, begun_us: u64) -> Self {
        event.hide_keys();
        let said = format!("{} {:?} {}", event.name, event.session, event.at.0);
        let (client, request) = (Some(client), RequestId::of(&said));
        Self::join(event, Route { client, request, scope: None }, begun_us)
    }

    /// The folder whose settings apply.
    pub(crate) fn dir(&self) -> &Path {
        Path::new(self.event.project_dir.as_deref().unwrap_or(&self.event.cwd))
    }

    pub(crate) fn client(&self) -> Option<&'static Client> {
        self.client
    }

    pub(crate) fn request(&self) -> RequestId {
        self.request
    }

    /// Whether the client shows a notice at this event.
    pub(crate) fn delivers_notice(&self) -> bool {
        self.client.is_some_and(|client| {
            (client.delivers)(self.event.kind, WishKind::Notice) == Delivery::Delivered
        })
    }

    pub(crate) fn is_repeated(&self) -> bool {
        self.is_repeated
    }

    pub(crate) fn scope(&self) -> Option<Scope> {
        self.scope
    }
}

/// How an event is considered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host<'a> {
    pub(crate) features: &'a [&'a Feature],
    /// The host's own wishes.
    pub(crate) wishes: &'a [Wish],
    /// Its caller still waits for the answer. Otherwise no answer is delivered, and nothing counts as told.
    pub(crate) is_heard: bool,
}

impl Host<'_> {
    /// Everything works.
    pub(crate) const USUAL: Self =
        Host { features: substrate_features::ALL, wishes: &[], is_heard: true };

    /// The caller has gone: only the journal records the event.
    pub(crate) const LATE: Self =
        Host { features: substrate_features::RECORD_ONLY, is_heard: false, ..Self::USUAL };
}

impl Prepared {
    pub(crate) fn new(decoded: Decoded, settings: Arc<Settings>) -> Self {
        Self { decoded, settings, gathered: Gathered::default(), troubles: Vec::new() }
    }

    /// Looks up at once what a transaction asked for. A daemon does it on a thread.
    pub(crate) fn look_up(&mut self, needs: Vec<Need>) {
        self.gathered.add(needs.clone(), gather::gather(needs));
    }

    /// Everything that the engine needs beside the event.
    pub(crate) fn around<'a>(&'a self, machine: &'a Machine, host: Host<'a>) -> Surroundings<'a> {
        Surroundings {
            features: host.features,
            settings: &self.settings,
            facts: &self.gathered.facts,
            world: machine,
            delivers: match self.decoded.client {
                Some(client) if host.is_heard => client.delivers,
                _ => |_, _| Delivery::NotDeliverable,
            },
            wishes: host.wishes,
            micros: clock::micros,
            is_late: !host.is_heard,
            request: self.decoded.request,
            scope: self.decoded.scope.filter(|_| host.is_heard),
            begun_us: self.decoded.begun_us,
            may_look: self.gathered.may_look(),
            troubles: &self.troubles,
        }
    }
}

/// The result of an event.
#[derive(Debug, Default)]
pub(crate) struct Considered {
    pub(crate) answer: Answer,
    /// No answer yet: ask again when this is over.
    pub(crate) wait: Option<Wait>,
    /// A feature wants to know whether the answer was printed.
    pub(crate) receipt: bool,
    pub(crate) effects: Vec<Effect>,
    /// The journal's row stands for the request.
    pub(crate) is_stood_for: bool,
    /// Nothing happened: these facts have to be looked up first.
    pub(crate) look: Vec<Need>,
}

impl Considered {
    /// The answer as it goes over the wire, and as it is stored for a caller that asks again. Empty if there is nothing
    /// to say.
    pub(crate) fn reply(&self) -> Vec<u8> {
        let Answer { exit, stdout, stderr, .. } = &self.answer;
        if *exit == 0 && stdout.is_empty() && stderr.is_empty() {
            return Vec::new();
        }
        Reply { exit: *exit, stdout: stdout.as_bytes(), stderr: stderr.as_bytes() }.bytes()
    }

    /// The reply as it is stored for a caller that asks again: without secrets, since it stays on disk for thousands of
    /// commits.
    pub(crate) fn kept_reply(&self) -> Vec<u8> {
        let Answer { exit, stdout, stderr, .. } = &self.answer;
        if *exit == 0 && stdout.is_empty() && stderr.is_empty() {
            return Vec::new();
        }
        let (stdout, stderr) = (clean(stdout), clean(stderr));
        Reply { exit: *exit, stdout: stdout.as_bytes(), stderr: stderr.as_bytes() }.bytes()
    }

    /// An answer that was given before. Whether a feature wants the confirmation is not stored; confirming anyway does
    /// no harm.
    pub(crate) fn again(reply: &[u8]) -> Self {
        let reply = Reply::read(reply).unwrap_or_default();
        let (stdout, stderr) = (text(reply.stdout).into_owned(), text(reply.stderr).into_owned());
        let answer = Answer { exit: reply.exit, stdout, stderr, exports: None };
        let receipt = answer != Answer::default();
        Self { answer, receipt, ..Self::default() }
    }
}

/// Considers the event in the open transaction. There is always an answer.
pub(crate) fn consider(
    db: &mut dyn Db,
    prepared: &Prepared,
    machine: &Machine,
    host: Host<'_>,
) -> Considered {
    let Decoded { event, client, is_unjudged, .. } = &prepared.decoded;
    let outcome = engine::run(&prepared.around(machine, host), db, event);
    if !outcome.look.is_empty() {
        return Considered { look: outcome.look, ..Considered::default() };
    }
    for failure in &outcome.failures {
        tracing::error!(feature = failure.feature, panicked = failure.panicked, error = %failure.message, "feature failed");
    }
    let answer = match client {
        Some(client) if *is_unjudged && host.is_heard => unjudged(client, event),
        Some(client) => (client.encode)(event, &outcome.verdict),
        None => Answer::default(),
    };
    Considered {
        answer,
        wait: outcome.verdict.wait,
        receipt: outcome.verdict.receipt,
        effects: outcome.effects,
        is_stood_for: outcome.is_stood_for,
        look: Vec::new(),
    }
}

/// No guard could judge the call, so the person decides.
pub(crate) fn unjudged(client: &Client, event: &Event) -> Answer {
    let call = Event::bare(event.client, EventKind::PreToolUse, event.at);
    let reason = "Substrate's guards could not judge this call (it is too long, or can't be read). [substrate]";
    let ask = Permission::Ask { reason: reason.to_owned() };
    (client.encode)(&call, &Verdict { permission: Some(ask), ..Verdict::default() })
}

/// The result of a verb.
#[derive(Debug)]
pub(crate) enum VerbRun {
    Done(Box<Output>, Vec<Effect>),
    /// Nothing happened: these facts have to be looked up first.
    Look(Vec<Need>),
}

/// Why a verb's savepoint is rolled back.
enum VerbStopped {
    Look(Vec<Need>),
    Failed(AppError),
}

impl<E: Into<AppError>> From<E> for VerbStopped {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Runs a verb as its caller, in the open transaction. A failure changes nothing.
pub(crate) fn run_verb(
    db: &mut dyn Db,
    machine: &Machine,
    settings: &Settings,
    gathered: &Gathered,
    verb: &Verb,
    caller: &Caller,
    body: Value,
) -> Result<VerbRun> {
    let ran = db.savepoint(|db| {
        let facts = &gathered.facts;
        let mut cx = Cx { world: machine, facts, ..Cx::new(clock::now(), db, settings) };
        // Only verbs that need the caller's identity fail without it.
        let who = engine::identify(substrate_features::ALL, &mut cx, caller);
        let unknown = match who {
            Ok(who) => {
                cx.who = who;
                None
            }
            Err(FeatureError::Db(error)) => return Err(error.into()),
            Err(FeatureError::Refused { message, hint }) => {
                return Err(AppError::new(Kind::User, message).hint(hint).into());
            }
            Err(error) => Some(AppError::new(Kind::User, error.to_string())),
        };
        verb::admit(verb.path, verb.audience, &cx.standing)?;
        let output = (verb.run)(&mut cx, caller, body);
        let missing = cx.missing.take();
        if !missing.is_empty() && gathered.may_look() {
            return Err(VerbStopped::Look(missing));
        }
        let output = output.map_err(|error| unknown.unwrap_or_else(|| error.into()))?;
        Ok((output, cx.effects))
    });
    match ran {
        Ok((output, effects)) => Ok(VerbRun::Done(Box::new(output), effects)),
        Err(VerbStopped::Look(needs)) => Ok(VerbRun::Look(needs)),
        Err(VerbStopped::Failed(error)) => Err(error),
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
    // Opening a pipe would block until its other end is opened.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let mut options = std::fs::OpenOptions::new();
    let file = options.append(true).create(true).custom_flags(flags).open(&exports.file);
    if let Err(error) = file.and_then(|mut file| file.write_all(exports.text.as_bytes())) {
        tracing::error!(file = %exports.file, %error, "could not write the session's exports");
    }
}
