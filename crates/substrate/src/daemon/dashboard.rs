//! The dashboard inside the daemon: its listener, its keys, and what it may ask of us.
//!
//! It runs on threads of its own and reads through the readers' pool. Commands that write come to the event loop as any
//! other command does. Whether it is on, and on which port, is kept in the state home, so the next daemon goes on.

use std::cell::RefCell;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::facts::Place;
use substrate_core::{Caller, Cx, DbError, Feature, Output, Timestamp, Verb, engine};
use substrate_store::Database;
use substrate_web::{Host, Listening, Refusal, Site, listen};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_local;

use super::conn::{self, Call};
use super::state::State;
use crate::config::{Home, SettingsFiles};
use crate::error::{AppError, Kind};
use crate::host::{self, Gathered, VerbRun};
use crate::machine::Machine;
use crate::{cli, clock, fsx, gather, proc};

/// How often a port that the last daemon may still hold is tried.
const TRIES: u32 = 20;

/// A question about the dashboard.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub(crate) enum UiAsk {
    /// Start it if it is off, and make an address for a browser.
    Open {
        port: Option<u16>,
    },
    Stop,
    Keys,
    /// Withdraw one key, or all.
    Revoke {
        id: Option<i64>,
    },
    /// Make an address for another device.
    Pair {
        name: String,
        lasts_ms: i64,
        may_act: bool,
    },
}

/// What the next daemon needs to know.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Kept {
    on: bool,
    port: u16,
}

/// The dashboard of a daemon, on or off.
pub(super) struct Dashboard {
    running: RefCell<Option<Running>>,
    calls: mpsc::UnboundedSender<WebCall>,
}

struct Running {
    port: u16,
    site: Arc<Site>,
    _listening: Listening,
}

/// A command from a page.
pub(super) struct WebCall {
    call: Call,
    reply: oneshot::Sender<Result<Output, Refusal>>,
}

impl Dashboard {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<WebCall>) {
        let (calls, queue) = mpsc::unbounded_channel();
        (Self { running: RefCell::default(), calls }, queue)
    }
}

/// Looks after the dashboard until the daemon ends: goes on where the last daemon stopped, and runs the commands of pages.
pub(super) async fn tend(state: Rc<State>, calls: mpsc::UnboundedReceiver<WebCall>) {
    if !state.is_brief {
        resume(&state).await;
    }
    run_calls(state, calls).await;
}

/// Runs the commands of pages, as the user's.
async fn run_calls(state: Rc<State>, mut calls: mpsc::UnboundedReceiver<WebCall>) {
    while let Some(WebCall { call, reply }) = calls.recv().await {
        let state = Rc::clone(&state);
        drop(spawn_local(async move {
            let _in_flight = super::state::Counted::begin(&state, |counts| &counts.in_flight);
            let result = match conn::command(&state, &call).await {
                Some(Ok(Output { wait: Some(_), .. })) => {
                    Err(Refusal::new(409, "this would wait, and a page can't"))
                }
                Some(Ok(output)) => Ok(output),
                Some(Err(error)) => Err(refusal(&error)),
                None => Err(Refusal::new(503, "nothing could be written; try again")),
            };
            let _page_gone = reply.send(result);
        }));
    }
}

/// Goes on where the last daemon stopped, or begins as the settings say.
async fn resume(state: &Rc<State>) {
    let settings = state.settings.borrow_mut().at(Path::new("/"));
    let kept = kept(&state.home);
    if !kept.on && !settings.on("ui.autostart") {
        return;
    }
    for _ in 0..TRIES {
        match start(state, None) {
            Ok(port) => return tracing::info!(port, "the dashboard is on"),
            Err(error) => tracing::warn!(error = %error.render(), "the dashboard does not start"),
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

/// Answers a question about the dashboard.
pub(super) fn ask(state: &Rc<State>, ask: UiAsk) -> Result<Value, AppError> {
    match ask {
        UiAsk::Open { port } => {
            let port = start(state, port)?;
            let issued = changed(state, |keys, now, random| keys.for_browser(now, random))?;
            Ok(json!({"port": port, "url": url(port, &issued.key)}))
        }
        UiAsk::Pair { name, lasts_ms, may_act } => {
            let port = start(state, None)?;
            let issued = changed(state, |keys, now, random| {
                keys.for_device(now, random, &name, lasts_ms, may_act)
            })?;
            Ok(
                json!({"port": port, "url": url(port, &issued.key), "may_act": may_act, "lasts_ms": lasts_ms}),
            )
        }
        UiAsk::Stop => {
            let was_on = state.dashboard.running.borrow_mut().take().is_some();
            keep(&state.home, Kept { on: false, ..kept(&state.home) });
            Ok(json!({"stopped": was_on}))
        }
        UiAsk::Keys => {
            let port = state.dashboard.running.borrow().as_ref().map(|running| running.port);
            let keys = changed(state, |keys, now, _| keys.all(now))?;
            Ok(json!({"port": port, "keys": keys}))
        }
        UiAsk::Revoke { id } => {
            let n = changed(state, |keys, _, _| keys.revoke(id))?;
            match id {
                Some(id) if n == 0 => {
                    Err(AppError::new(Kind::User, format!("there is no key {id}"))
                        .hint("`substrate ui keys` lists them"))
                }
                _ => Ok(json!({"revoked": n})),
            }
        }
    }
}

fn url(port: u16, key: &str) -> String {
    format!("http://127.0.0.1:{port}/enter?key={key}")
}

/// Changes the keys of the running dashboard, or those in the file.
fn changed<T>(
    state: &State,
    body: impl FnOnce(&mut substrate_web::Keys, Timestamp, [u8; 16]) -> T,
) -> Result<T, AppError> {
    if let Some(running) = state.dashboard.running.borrow().as_ref() {
        return Ok(running.site.change_keys(body));
    }
    Ok(Site::new(host(state), &keys_text(&state.home), 0).change_keys(body))
}

/// Listens, on the port that is asked for, or that was used before, or that the settings name, or any.
fn start(state: &Rc<State>, wanted: Option<u16>) -> Result<u16, AppError> {
    if state.is_brief {
        return Err(AppError::new(Kind::User, "the daemon stays only for the requests at hand")
            .hint(
                "`substrate config set daemon.autostart true`, or `substrate daemon start` first",
            ));
    }
    let on = state.dashboard.running.borrow().as_ref().map(|running| running.port);
    if let Some(port) = on.filter(|port| wanted.is_none_or(|wanted| wanted == *port)) {
        return Ok(port);
    }
    let settings = state.settings.borrow_mut().at(Path::new("/"));
    let of_settings = u16::try_from(settings.int("ui.port")).unwrap_or(0);
    let port =
        wanted.or(Some(of_settings).filter(|port| *port > 0)).unwrap_or(kept(&state.home).port);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
        AppError::from_error(Kind::State, &error).hint(format!(
            "port {port} of 127.0.0.1 can't be used; `substrate ui --port N` takes another"
        ))
    })?;
    let internal = |error: std::io::Error| AppError::from_error(Kind::Internal, &error);
    let port = listener.local_addr().map_err(internal)?.port();
    let site = Arc::new(Site::new(host(state), &keys_text(&state.home), port));
    let listening = listen(Arc::clone(&site), listener).map_err(internal)?;
    state.dashboard.running.replace(Some(Running { port, site, _listening: listening }));
    keep(&state.home, Kept { on: true, port });
    Ok(port)
}

fn kept(home: &Home) -> Kept {
    let text = std::fs::read_to_string(home.dashboard()).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn keep(home: &Home, kept: Kept) {
    let text = json!(kept).to_string();
    if let Err(error) = fsx::replace(&home.dashboard(), text.as_bytes(), 0o600) {
        tracing::error!(%error, "the next daemon will not know about the dashboard");
    }
}

fn keys_text(home: &Home) -> String {
    std::fs::read_to_string(home.dashboard_keys()).unwrap_or_default()
}

fn refusal(error: &AppError) -> Refusal {
    let status = match error.kind {
        Kind::User if error.question.is_some() => 409,
        Kind::User => 422,
        Kind::Daemon | Kind::State => 503,
        Kind::Internal => 500,
    };
    Refusal { status, message: error.message.clone(), hints: error.hints.clone() }
}

fn host(state: &State) -> Box<dyn Host> {
    Box::new(DaemonHost {
        readers: Arc::clone(&state.readers),
        machine: state.machine.clone(),
        settings: Mutex::new(SettingsFiles::new(state.home.config())),
        database: state.home.database(),
        keys: state.home.dashboard_keys(),
        calls: state.dashboard.calls.clone(),
    })
}

/// The daemon as the dashboard sees it, from another thread.
struct DaemonHost {
    readers: Arc<Database>,
    machine: Machine,
    settings: Mutex<SettingsFiles>,
    database: PathBuf,
    keys: PathBuf,
    calls: mpsc::UnboundedSender<WebCall>,
}

impl DaemonHost {
    fn around(&self, dir: &Path) -> crate::config::Around {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).around(dir)
    }
}

impl Host for DaemonHost {
    fn features(&self) -> &'static [&'static Feature] {
        substrate_features::ALL
    }

    fn now(&self) -> Timestamp {
        clock::now()
    }

    fn random(&self) -> [u8; 16] {
        proc::random_id()
    }

    fn look(&self, body: &mut dyn FnMut(&mut Cx<'_>)) -> Result<(), DbError> {
        let (settings, _) = self.around(Path::new("/"));
        self.readers.read(|db| {
            let mut cx = Cx { world: &self.machine, ..Cx::new(clock::now(), db, &settings) };
            let user = engine::identify(substrate_features::ALL, &mut cx, &self.caller(None));
            cx.who = user.ok().flatten();
            body(&mut cx);
            Ok(())
        })
    }

    fn read(&self, verb: &'static Verb, caller: &Caller, body: Value) -> Result<Output, Refusal> {
        let dir = caller.project_dir.as_deref().unwrap_or(&caller.cwd);
        let (settings, project) = self.around(Path::new(dir));
        let caller = Caller { project: project.as_ref().to_owned(), ..caller.clone() };
        let closed = Gathered::closed();
        let ran = self
            .readers
            .read(|db| host::run_verb(db, &self.machine, &settings, &closed, verb, &caller, body));
        match ran.map_err(|error| refusal(&error))? {
            VerbRun::Done(output, _) => Ok(*output),
            VerbRun::Look(_) => Err(Refusal::new(500, "a command that reads asked for facts")),
        }
    }

    fn act(
        &self,
        verb: &'static Verb,
        caller: Caller,
        body: Value,
    ) -> oneshot::Receiver<Result<Output, Refusal>> {
        let (reply, answered) = oneshot::channel();
        let path = verb.path.iter().map(|word| (*word).to_owned()).collect();
        let _daemon_ends =
            self.calls.send(WebCall { call: Call { path, body, caller, repeated: false }, reply });
        answered
    }

    fn caller(&self, project_dir: Option<String>) -> Caller {
        Caller {
            project_dir,
            cwd: "/".to_owned(),
            tz_offset_s: clock::tz_offset_s(clock::now()),
            request: substrate_core::RequestId(proc::random_id()).to_string(),
            ..Caller::default()
        }
    }

    fn place(&self, path: &str) -> Place {
        gather::place(path, "/")
    }

    fn marker(&self) -> u64 {
        use std::os::unix::fs::MetadataExt as _;
        let mut log = self.database.clone().into_os_string();
        log.push("-wal");
        let seen = |path: &Path| {
            path.metadata().map_or(0, |found| {
                found.len().wrapping_mul(31)
                    ^ found.mtime_nsec().unsigned_abs()
                    ^ (found.mtime().unsigned_abs() << 20)
            })
        };
        seen(Path::new(&log)).rotate_left(1) ^ seen(&self.database)
    }

    fn save_keys(&self, text: &str) {
        if let Err(error) = fsx::replace(&self.keys, text.as_bytes(), 0o600) {
            tracing::error!(%error, "the keys of the dashboard could not be kept");
        }
    }

    fn printed(&self, json: &Value) -> String {
        cli::pretty(json)
    }

    fn about(&self) -> String {
        format!("Substrate {}", env!("CARGO_PKG_VERSION"))
    }
}
