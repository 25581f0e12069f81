//! `substrate daemon run`: from the lock to the last reply.

use std::cell::{Cell, RefCell};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use substrate_store::Database;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, mpsc};
use tokio::task::{JoinHandle, LocalSet, spawn_local};

use super::activity::{Activities, tell_all};
use super::carry::Carrier;
use super::dashboard::{self, Dashboard};
use super::large::Large;
use super::lock::Lock;
use super::state::{Counted, Counts, EndReason, Ending, State, stay_awake};
use super::storage::Storage;
use super::threads::Threads;
use super::twins::Twins;
use super::waiters::Waiters;
use super::{conn, group, log, notify, start, take_over, team, upkeep, waiting};
use substrate_core::redact::clean;

use crate::clock;
use crate::config::{Env, Home, SettingsFiles};
use crate::error::{AppError, Kind, Result};
use crate::machine::Machine;
use crate::tmux::Painter;
use crate::ui;

/// How the daemon was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunOptions {
    /// By a person, in a terminal.
    Foreground,
    /// By a hook or a command, which put the socket on stdin and the lock on stdout.
    Detached,
    /// The same, but only for the requests at hand: `daemon.autostart = false`.
    Brief,
    /// By an older daemon, which put them there as well.
    TakeOver,
}

/// How long requests in flight may still take when the daemon ends.
const LAST_REPLIES: Duration = Duration::from_secs(5);

/// How long connected callers may take to send their request.
const LAST_REQUESTS: Duration = Duration::from_millis(500);

/// The most threads. A folder that hangs occupies a few of them.
const MAX_THREADS: usize = 128;

/// Most requests fit, and are read with one system call. What is longer is read straight to its place.
const SCRATCH: usize = 16 << 10;

/// How long a brief daemon stays after its last request, and how often it looks: hooks often come in pairs.
const BRIEF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(5));

/// The same if it goes on in memory: leases, and what guards remember, would end with it.
const BRIEF_IN_MEMORY: (Duration, Duration) = (Duration::from_secs(600), Duration::from_secs(1));

/// The same as `substrate daemon run` with one of these flags.
pub(crate) fn run_detached(options: RunOptions) -> ExitCode {
    let env = Env::of_this_process();
    match Home::find(&env).and_then(|home| run(env, &home, options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            ui::talk(&error.render());
            error.exit_code()
        }
    }
}

/// Runs the daemon to its end.
pub(crate) fn run(env: Env, home: &Home, options: RunOptions) -> Result<()> {
    home.ensure()?;
    let runtime = runtime().map_err(|error| AppError::from_error(Kind::Internal, &error))?;
    outlive_limits(&runtime);
    let lock = match options {
        RunOptions::Foreground => Lock::try_take(home)?.ok_or_else(|| {
            AppError::new(Kind::User, "a daemon is running already")
                .hint("see it with `substrate daemon status`, or replace it with `substrate daemon restart`")
        })?,
        RunOptions::Detached | RunOptions::Brief | RunOptions::TakeOver => Lock::inherited()?,
    };
    if options == RunOptions::TakeOver {
        // There is one writer: open nothing before the old daemon has gone.
        take_over::wait_for_our_turn(home)?;
    }
    lock.sign();
    if options != RunOptions::Foreground {
        detach();
    }
    log::begin(home);
    raise_file_limit();
    let result = serve_all(env, home, lock, options, runtime);
    if let Err(error) = &result {
        tracing::error!(error = %error.render(), "daemon ended");
        ipc::place::leave_trace(
            home.root(),
            &clean(&format!("{} daemon: {}", clock::now().0, error.render())),
        );
    }
    result
}

fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_THREADS)
        .thread_keep_alive(Duration::from_secs(1))
        .build()
}

/// The socket that we were given, or one of our own.
fn listener(home: &Home, options: RunOptions) -> Result<UnixListener> {
    let listener = match options {
        RunOptions::Foreground => start::bind(home),
        RunOptions::Detached | RunOptions::Brief | RunOptions::TakeOver => {
            take_over::inherited_listener()
        }
    };
    listener.map_err(|error| {
        AppError::from_error(Kind::State, &error)
            .hint(format!("`{}` must be writable for you", home.root().display()))
    })
}

/// The settings without any project. They apply wherever a project's own can't be read.
fn settings(home: &Home) -> SettingsFiles {
    let mut settings = SettingsFiles::new(home.config());
    settings.at(Path::new("/"));
    settings
}

fn serve_all(
    env: Env,
    home: &Home,
    lock: Lock,
    options: RunOptions,
    runtime: Runtime,
) -> Result<()> {
    let internal = |error: &std::io::Error| AppError::from_error(Kind::Internal, error);
    let storage = Storage::open(home)?;
    let listener = listener(home, options)?;
    let (jobs, queue) = mpsc::unbounded_channel();
    let machine = Machine::with_state(home.root());
    let (activities, seen) = Activities::new();
    let (dashboard, of_pages) = Dashboard::new();
    let state = Rc::new(State {
        painter: Painter::new(&env),
        env,
        home: home.clone(),
        lock,
        program: start::this_program()?,
        uid: rustix::process::geteuid().as_raw(),
        started: clock::now(),
        is_brief: options == RunOptions::Brief,
        settings: RefCell::new(settings(home)),
        notices: RefCell::default(),
        twins: RefCell::new(Twins::of(&storage.scopes, clock::micros())),
        storage: RefCell::new(storage),
        readers: Arc::new(Database::at(&home.database())),
        jobs,
        scratch: RefCell::new(vec![0; SCRATCH].into_boxed_slice()),
        large: Large::default(),
        waiters: RefCell::new(Waiters::new(machine.clone())),
        looked_us: Cell::new(0),
        machine,
        activities,
        dashboard,
        threads: Threads::default(),
        carrier: Carrier::default(),
        paths: RefCell::default(),
        parked: Notify::new(),
        committed: Notify::new(),
        working: Notify::new(),
        counts: Counts::default(),
        ending: Ending::default(),
        look_for_socket: Notify::new(),
        soon: RefCell::default(),
        successor: RefCell::default(),
        listening: RefCell::new(None),
        new_listener: Notify::new(),
    });
    LocalSet::new().block_on(&runtime, async {
        state.listen_on(listener).map_err(|error| internal(&error))?;
        if options != RunOptions::Foreground {
            forget_terminal();
        }
        tracing::info!(
            pid = std::process::id(),
            version = env!("CARGO_PKG_VERSION"),
            ?options,
            "daemon began"
        );
        let committing = spawn_local(group::commit_groups(Rc::clone(&state), queue));
        // In the foreground a supervisor, a debugger or a profiler means this very process.
        let follows_program = options != RunOptions::Foreground;
        let beside = [
            spawn_local(upkeep::keep_up(Rc::clone(&state), follows_program)),
            spawn_local(waiting::look_after(Rc::clone(&state))),
            spawn_local(tell_all(Rc::clone(&state), seen)),
            spawn_local(dashboard::tend(Rc::clone(&state), of_pages)),
            spawn_local(notify::tell(Rc::clone(&state))),
            spawn_local(team::tend(Rc::clone(&state))),
            spawn_local(stay_awake(Rc::clone(&state))),
            spawn_local(obey_signals(Rc::clone(&state))),
        ];
        let ends_itself =
            (options == RunOptions::Brief).then(|| spawn_local(end_when_idle(Rc::clone(&state))));
        accept_all(&state).await;
        drop(ends_itself);
        beside.iter().for_each(JoinHandle::abort);
        // Parked callers are not answered but disconnected. They ask our successor.
        drop(state.waiters.borrow_mut().all());
        last_replies(&state).await;
        committing.abort();
        Ok::<(), AppError>(())
    })?;
    leave(&state);
    runtime.shutdown_background();
    Ok(())
}

/// What is left to do depends on why the daemon ends.
fn leave(state: &State) {
    let how = state.ending.how.get();
    match how {
        EndReason::Stop => tidy_up(state),
        EndReason::Displaced => displaced(state),
        EndReason::HandedOver | EndReason::NotYet => {}
    }
    tracing::info!(?how, "daemon ended");
}

/// No successor takes over.
fn tidy_up(state: &State) {
    state.painter.end();
    state.remove_socket();
    if let Some(writer) = state.storage.borrow_mut().disk() {
        let _log_stays = writer.empty_log();
    }
}

/// The next caller starts a daemon on the home that is there now. The file at our socket's path is that daemon's
/// business.
fn displaced(state: &State) {
    let line = "the state home, its lock or its database was removed or replaced; this daemon ends, and the next hook starts one";
    tracing::error!("{line}");
    if state.home.logs().is_dir() {
        ipc::place::leave_trace(state.home.root(), &format!("{} daemon: {line}\n", clock::now().0));
    }
}

/// A brief daemon: it ends when the last caller has its answer.
async fn end_when_idle(state: Rc<State>) {
    let mut idle_since = Instant::now();
    loop {
        let is_in_memory = state.storage.borrow().is_in_memory();
        let (stays, look) = if is_in_memory { BRIEF_IN_MEMORY } else { BRIEF };
        if idle_since.elapsed() >= stays {
            break;
        }
        tokio::time::sleep(look).await;
        let has_served = state.counts.hooks.get() + state.counts.commands.get() > 0;
        let is_busy = state.counts.open.get() > 0 || state.waiters.borrow().len() > 0;
        if is_busy || !(has_served || state.started.0 + LAST_REPLIES_MS < clock::now().0) {
            idle_since = Instant::now();
        }
    }
    state.end(EndReason::Stop);
}

/// It also ends if no request ever comes.
const LAST_REPLIES_MS: i64 = 5_000;

/// A session of our own, so that no terminal's signals reach us.
fn detach() {
    let _already_one = rustix::process::setsid();
}

/// The inherited standard streams have been copied. Replace them, so that nothing is written there by accident.
fn forget_terminal() {
    let Ok(nothing) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") else {
        return;
    };
    let _stdin = rustix::stdio::dup2_stdin(&nothing);
    let _stdout = rustix::stdio::dup2_stdout(&nothing);
    let _stderr = rustix::stdio::dup2_stderr(&nothing);
}

/// Makes a write past `ulimit -f` fail instead of killing us. A handler that was set once stays.
fn outlive_limits(runtime: &Runtime) {
    let _in_it = runtime.enter();
    let _stays = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}

/// Every waiting agent holds a connection, so raise the limit.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let _stays_as_it_is =
        setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum });
}

/// Accepts connections until the daemon should end.
async fn accept_all(state: &Rc<State>) {
    loop {
        let Some(listener) = state.listening.borrow().clone() else { return };
        let ended = state.ending.wanted.notified();
        if state.ending.how.get() != EndReason::NotYet {
            return;
        }
        tokio::select! {
            accepted = listener.accepting.accept() => match accepted {
                Ok(stream) => {
                    // Count it before it first runs, so that a shutdown waits for it.
                    let open = Counted::begin(state, |counts| &counts.open);
                    drop(spawn_local(conn::serve(Rc::clone(state), stream, open)));
                }
                Err(error) => {
                    // Most likely out of file descriptors. Callers that wait will find us again.
                    tracing::error!(%error, "accept failed");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            },
            () = state.new_listener.notified() => {}
            () = ended => return,
        }
    }
}

/// Lets requests finish that have been received.
async fn last_replies(state: &State) {
    let begun = Instant::now();
    let is_waited_for =
        |passed: Duration| match (state.counts.in_flight.get(), state.counts.open.get()) {
            (0, 0) => false,
            // A hook connects first and then reads its input, so its request is about to come.
            (0, _) => passed < LAST_REQUESTS,
            _ => passed < LAST_REPLIES,
        };
    while is_waited_for(begun.elapsed()) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn obey_signals(state: Rc<State>) {
    let of = |kind| signal(kind).ok();
    let (Some(mut term), Some(mut int), Some(mut hup)) =
        (of(SignalKind::terminate()), of(SignalKind::interrupt()), of(SignalKind::hangup()))
    else {
        return;
    };
    loop {
        tokio::select! {
            _ = term.recv() => break,
            _ = int.recv() => break,
            _ = hup.recv() => state.look_for_socket.notify_one(),
        }
    }
    state.end(EndReason::Stop);
}
