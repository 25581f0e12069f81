//! `substrate daemon run`: from the lock to the last reply.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use substrate_core::DbError;
use substrate_core::engine::once;
use substrate_store::{Durability, Readers, Writer};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, mpsc};
use tokio::task::{LocalSet, spawn_local};

use super::carry::Carrier;
use super::lock::Lock;
use super::lot::Lot;
use super::state::{Counted, Counts, Ending, How, State};
use super::threads::Threads;
use super::{conn, group, log, socket, start, take_over, upkeep, waiting};
use crate::config::{Env, Home, SettingsFiles};
use crate::error::{AppError, Kind, Result};
use crate::machine::Machine;
use crate::tmux::Painter;
use crate::{clock, host, ui};

/// How the daemon was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunOptions {
    /// By a person, in a terminal.
    Foreground,
    /// By a hook or a command, which put the lock on stdout.
    Detached,
    /// By an older daemon, which put its socket on stdin as well.
    TakeOver,
}

/// How long requests that are under way may still take when the daemon ends.
const LAST_REPLIES: Duration = Duration::from_secs(5);

/// How long those who have connected may take to say what they want.
const LAST_REQUESTS: Duration = Duration::from_millis(500);

/// Threads at the most. A folder that hangs keeps a few of them for itself.
const MAX_THREADS: usize = 128;

/// How long a write waits for another process (a hook without a daemon, a backup).
const BUSY: Duration = Duration::from_secs(2);

/// Runs the daemon to its end.
pub(crate) fn run(env: Env, home: &Home, options: RunOptions) -> Result<()> {
    home.ensure()?;
    let lock = match options {
        RunOptions::Foreground => Lock::try_take(home)?.ok_or_else(|| {
            AppError::new(Kind::User, "a daemon is running already")
                .hint("`substrate daemon status` shows it, `substrate daemon restart` replaces it")
        })?,
        RunOptions::Detached | RunOptions::TakeOver => Lock::inherited()?,
    };
    if options != RunOptions::Foreground {
        detach();
    }
    log::begin(home);
    raise_file_limit();
    let result = serve_all(env, home, lock, options);
    if let Err(error) = &result {
        tracing::error!(error = %error.render(), "daemon ended");
        ipc::place::leave_trace(
            home.root(),
            &format!("{} daemon: {}", clock::now().0, error.render()),
        );
    }
    result
}

fn serve_all(env: Env, home: &Home, lock: Lock, options: RunOptions) -> Result<()> {
    let internal = |error: &std::io::Error| AppError::from_error(Kind::Internal, error);
    let mut writer = host::open(home, BUSY)?;
    writer.leave_checkpoints()?;
    let checkpoint = upkeep::checkpointer(Writer::open(&home.database(), BUSY)?);
    let slot = next_slot(&mut writer)?;
    let runtime = runtime().map_err(|error| internal(&error))?;
    let listener = match options {
        RunOptions::TakeOver => take_over::inherited_listener(),
        RunOptions::Foreground | RunOptions::Detached => socket::bind(home),
    };
    let listener = listener.map_err(|error| {
        AppError::from_error(Kind::State, &error)
            .hint(format!("`{}` must be writable for you", home.root().display()))
    })?;
    let (jobs, queue) = mpsc::unbounded_channel();
    let machine = Machine::default();
    let state = Rc::new(State {
        painter: Painter::new(&env),
        env,
        home: home.clone(),
        lock,
        program: start::this_program()?,
        uid: rustix::process::geteuid().as_raw(),
        started: clock::now(),
        settings: RefCell::new(settings(home)),
        writer: RefCell::new(writer),
        readers: Arc::new(Readers::new(&home.database())),
        jobs,
        scratch: RefCell::new(vec![0; 64 << 10].into_boxed_slice()),
        slot: Cell::new(slot),
        twins: RefCell::default(),
        lot: RefCell::new(Lot::new(machine.clone())),
        machine,
        threads: Threads::default(),
        carrier: Carrier::default(),
        known: RefCell::default(),
        parked: Notify::new(),
        counts: Counts::default(),
        ending: Ending::default(),
        look_for_socket: Notify::new(),
        listening: RefCell::new(None),
        new_listener: Notify::new(),
    });
    LocalSet::new().block_on(&runtime, async {
        state.listen_on(listener).map_err(|error| internal(&error))?;
        if options == RunOptions::TakeOver {
            ui::talk(&format!("{}\n", take_over::READY));
        }
        if options != RunOptions::Foreground {
            forget_terminal();
        }
        tracing::info!(
            pid = std::process::id(),
            version = env!("CARGO_PKG_VERSION"),
            ?options,
            "daemon began"
        );
        let committing = spawn_local(group::commit_groups(Rc::clone(&state), queue, checkpoint));
        let keeping_up = spawn_local(upkeep::keep_up(Rc::clone(&state)));
        let looking_after = spawn_local(waiting::look_after(Rc::clone(&state)));
        let signals = spawn_local(obey_signals(Rc::clone(&state)));
        accept_all(&state).await;
        keeping_up.abort();
        looking_after.abort();
        // Those who wait are not answered but left: they ask whoever comes after us.
        drop(state.lot.borrow_mut().all());
        signals.abort();
        last_replies(&state).await;
        committing.abort();
        Ok::<(), AppError>(())
    })?;
    if state.ending.how.get() == How::Stop {
        tidy_up(&state);
    }
    tracing::info!(how = ?state.ending.how.get(), "daemon ended");
    runtime.shutdown_background();
    Ok(())
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_THREADS)
        .thread_keep_alive(Duration::from_secs(1))
        .build()
}

/// With those of no project, which count wherever a project's own can't be read.
fn settings(home: &Home) -> SettingsFiles {
    let mut settings = SettingsFiles::new(home.config());
    settings.at(Path::new("/"));
    settings
}

/// Nobody goes on in our place.
fn tidy_up(state: &State) {
    state.painter.end();
    let _maybe_gone = std::fs::remove_file(state.home.socket());
    let _log_stays = state.writer.borrow_mut().checkpoint();
}

fn next_slot(writer: &mut Writer) -> std::result::Result<i64, DbError> {
    let mut tx = writer.begin(Durability::Normal)?;
    let slot = once::next_slot(&mut tx)?;
    tx.commit()?;
    Ok(slot)
}

/// A session of our own, so that no terminal's signals reach us.
fn detach() {
    let _already_one = rustix::process::setsid();
}

/// What we inherited on the standard streams has been copied; nothing shall be written there by accident.
fn forget_terminal() {
    let Ok(nothing) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") else {
        return;
    };
    let _stdin = rustix::stdio::dup2_stdin(&nothing);
    let _stdout = rustix::stdio::dup2_stdout(&nothing);
    let _stderr = rustix::stdio::dup2_stderr(&nothing);
}

/// Every waiting agent holds a connection.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let _stays_as_it_is =
        setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum });
}

/// Accepts connections until the end is wanted.
async fn accept_all(state: &Rc<State>) {
    loop {
        let Some(listener) = state.listening.borrow().clone() else { return };
        let ended = state.ending.wanted.notified();
        if state.ending.how.get() != How::NotYet {
            return;
        }
        tokio::select! {
            accepted = listener.accepting.accept() => match accepted {
                Ok((stream, _)) => {
                    // Counted before it runs for the first time, so that an end waits for it.
                    let open = Counted::begin(state, |counts| &counts.open);
                    drop(spawn_local(conn::serve(Rc::clone(state), stream, open)));
                }
                Err(error) => {
                    // Out of file descriptors, most likely: those who wait will find us again.
                    tracing::error!(%error, "accept failed");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            },
            () = state.new_listener.notified() => {}
            () = ended => return,
        }
    }
}

/// Lets those finish who have been heard.
async fn last_replies(state: &State) {
    let begun = std::time::Instant::now();
    let is_waited_for =
        |passed: Duration| match (state.counts.in_flight.get(), state.counts.open.get()) {
            (0, 0) => false,
            // A hook connects first and then reads its input: its request is about to come.
            (0, _) => passed < LAST_REQUESTS,
            _ => passed < LAST_REPLIES,
        };
    while is_waited_for(begun.elapsed()) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn obey_signals(state: Rc<State>) {
    let (Ok(mut term), Ok(mut int)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    state.end(How::Stop);
}
