//! The loop: a client, its changes, signals, and the engine's word; then the policy decides.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_current_process_group};
use substrate_clients::Relaunch;
use tokio::signal::unix::{Signal as Listener, SignalKind, signal};

use super::channel::{Asks, Channel, Wanted};
use super::child::{Change, Child};
use super::policy::{End, Ended, Next, Policy};
use super::terminal::Terminal;
use super::words;
use crate::config::Env;
use crate::daemon::Process;
use crate::error::{AppError, Kind, Result};

/// How long a client may take to exit cleanly.
const GRACE: Duration = Duration::from_secs(5);

/// How often we check whether a client below a wrapper has ended: it is not our child.
const LOOK: Duration = Duration::from_millis(10);

/// What the person asked for.
pub(crate) struct Orders {
    /// The client and its arguments.
    pub(crate) line: Vec<OsString>,
    pub(crate) agent: Option<String>,
    pub(crate) effort: Option<String>,
    pub(crate) persists: bool,
    /// Our identity to the engine.
    pub(crate) token: String,
    pub(crate) env: Env,
}

/// Runs the client until it is not restarted any more. Returns the exit code.
pub(crate) fn supervise(orders: &Orders, asks: Arc<Asks>) -> Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| AppError::from_error(Kind::Internal, &error))?;
    runtime.block_on(async {
        let terminal = Terminal::find();
        let signals = Signals::listen(terminal.is_some())
            .map_err(|error| AppError::from_error(Kind::Internal, &error))?;
        let channel = Channel::new(asks, orders.token.clone());
        let (is_leaving, is_stopped) = (false, false);
        let mut supervisor =
            Supervisor { orders, terminal, signals, channel, is_leaving, is_stopped };
        Ok(supervisor.run().await)
    })
}

struct Supervisor<'a> {
    orders: &'a Orders,
    /// What can be lent to the child.
    terminal: Option<Terminal>,
    signals: Signals,
    channel: Channel,
    /// We were told to end.
    is_leaving: bool,
    /// The child is stopped and was not continued.
    is_stopped: bool,
}

impl Supervisor<'_> {
    async fn run(&mut self) -> u8 {
        let begun = Instant::now();
        let mut policy = Policy::new(self.orders.persists);
        let mut line = self.orders.line.clone();
        let mut agent = self.orders.agent.clone();
        let mut effort = self.orders.effort.clone();
        let mut n_restarts = 0;
        loop {
            let vars = self.vars(agent.as_deref(), effort.as_deref());
            let child = match Child::start(&line, &vars) {
                Ok(child) => child,
                Err(error) => return not_started(&line, &error),
            };
            if let Some(terminal) = &mut self.terminal {
                terminal.lend(child.group());
            }
            self.channel.started(child.id(), n_restarts);
            let started = child.begun;
            let (end, wanted) = self.attend(child).await;
            let ended = Ended {
                end,
                lasted: started.elapsed(),
                is_wanted: wanted.why.is_some(),
                is_leaving: self.is_leaving,
            };
            // Also after a failure: the agent's mail and work are waiting for it.
            agent = self.orders.agent.clone().or(wanted.agent).or(agent);
            n_restarts += 1;
            match policy.next(begun.elapsed(), ended) {
                Next::Leave => return end.exit_code(),
                Next::Fresh => {
                    let why = wanted.why.as_deref().unwrap_or_default();
                    words::say(&words::fresh(why, agent.as_deref()));
                    // Before it starts: its first hook asks what to continue with.
                    if !self.channel.announce(n_restarts, wanted.effort).await {
                        words::say(words::UNTOLD);
                    }
                    effort = wanted.effort.map(|id| id.to_string()).or(effort);
                    line = Relaunch::fresh(&line);
                }
                Next::Again { pause, n_failures } => {
                    words::say(&words::again(end, pause, n_failures));
                    if !self.rest(pause).await {
                        return end.exit_code();
                    }
                    // A client without the engine still runs.
                    let _known = self.channel.announce(n_restarts, None).await;
                    line = Relaunch::again(&line);
                }
                Next::GiveUp(why) => {
                    words::say(&words::given_up(why, end));
                    return end.exit_code().max(1);
                }
            }
        }
    }

    /// Runs until the child has ended. Returns how it ended, and the engine's word on it.
    async fn attend(&mut self, child: Child) -> (End, Wanted) {
        let mut wanted: Option<Wanted> = None;
        let mut kill_at: Option<tokio::time::Instant> = None;
        let was_killed = loop {
            match child.look() {
                Some(Change::Ended { was_killed }) => break was_killed,
                Some(Change::Stopped(by)) => {
                    self.stopped(&child, by, wanted.is_some());
                    continue;
                }
                None => {}
            }
            let patience = kill_at.unwrap_or_else(|| tokio::time::Instant::now() + GRACE);
            tokio::select! {
                heard = self.signals.next() => {
                    self.heard(&child, heard);
                    // Ctrl+C may mean something else to a client. SIGTERM means its end.
                    if matches!(heard, Wakeup::End(Signal::TERM)) {
                        kill_at = kill_at.or_else(|| Some(tokio::time::Instant::now() + GRACE));
                    }
                }
                Some((id, said)) = self.channel.wanted.recv() => {
                    if id == child.id() && wanted.is_none() {
                        kill_at = Some(tokio::time::Instant::now() + GRACE);
                        self.end(&child, Signal::TERM);
                        if let Some(client) = said.client {
                            child.signal_client(client, Signal::TERM);
                        }
                        wanted = Some(said);
                    }
                }
                () = tokio::time::sleep_until(patience), if kill_at.is_some() => {
                    kill_at = None;
                    self.end(&child, Signal::KILL);
                }
            }
        };
        if let Some(client) = wanted.as_ref().and_then(|wanted| wanted.client) {
            outlasted(&child, client, kill_at).await;
        }
        if let Some(terminal) = &self.terminal {
            terminal.take_back(&self.orders.env, child.group(), was_killed);
        }
        self.is_stopped = false;
        let id = child.id();
        let end = child.reap();
        let last = self.channel.ended(id).await.unwrap_or_default();
        let heard = wanted.unwrap_or_default();
        let why = heard.why.or(last.why);
        let (agent, effort) = (heard.agent.or(last.agent), heard.effort.or(last.effort));
        (end, Wanted { why, agent, effort, client: None })
    }

    fn heard(&mut self, child: &Child, heard: Wakeup) {
        match heard {
            Wakeup::Child => {}
            Wakeup::End(signal) => {
                self.is_leaving = true;
                self.end(child, signal);
            }
            Wakeup::Stop => child.signal(Signal::TSTP),
            Wakeup::Continue => {
                if let Some(terminal) = &mut self.terminal {
                    terminal.lend(child.group());
                }
                self.go_on(child);
            }
        }
    }

    /// A stopped process receives no signal before it is continued.
    fn end(&mut self, child: &Child, signal: Signal) {
        child.signal(signal);
        self.go_on(child);
    }

    fn go_on(&mut self, child: &Child) {
        if std::mem::take(&mut self.is_stopped) {
            child.signal(Signal::CONT);
        }
    }

    /// The child was stopped, so we stop too. The shell has the terminal until it continues us.
    fn stopped(&mut self, child: &Child, by: i32, is_ending: bool) {
        self.is_stopped = true;
        let by_terminal = [Signal::TTIN, Signal::TTOU].iter().any(|signal| signal.as_raw() == by);
        let is_lent =
            self.terminal.as_ref().is_some_and(|terminal| terminal.is_lent_to(child.group()));
        // It wanted the terminal before it was lent, or it should end.
        if is_ending || self.is_leaving || (by_terminal && is_lent) {
            return self.go_on(child);
        }
        // Not SIGSTOP: SIGTSTP does nothing if there is no shell that could continue us.
        let own = if self.terminal.is_some() { Signal::TSTP } else { Signal::TTIN };
        let _gone = kill_current_process_group(own);
        // We continue here, at once if there was no shell to stop us. Continuing us continues the child as well.
        if by != Signal::STOP.as_raw() {
            if let Some(terminal) = &mut self.terminal {
                terminal.lend(child.group());
            }
            self.go_on(child);
        }
    }

    /// `false`: we should end.
    async fn rest(&mut self, pause: Duration) -> bool {
        let until = tokio::time::Instant::now() + pause;
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(until) => return true,
                heard = self.signals.next() => if let Wakeup::End(_) = heard { return false },
            }
        }
    }

    fn vars(&self, agent: Option<&str>, effort: Option<&str>) -> Vec<(&'static str, String)> {
        let mut out = Vec::new();
        out.extend(agent.map(|agent| ("AGENT_ID", agent.to_owned())));
        out.extend(effort.map(|id| ("SUBSTRATE_EFFORT", id.to_owned())));
        if self.orders.persists {
            out.push(("SUBSTRATE_PERSIST", "poll".to_owned()));
        }
        out
    }
}

/// Waits for a client whose wrapper has ended before it: two clients would share the terminal, and the new one could
/// not be the same agent. The wrapper is not reaped yet, so its group can't be reused.
async fn outlasted(child: &Child, client: Process, kill_at: Option<tokio::time::Instant>) {
    let mut kill_at = kill_at.unwrap_or_else(tokio::time::Instant::now);
    for signals_left in [true, false] {
        while client.is_there() && tokio::time::Instant::now() < kill_at {
            tokio::time::sleep(LOOK).await;
        }
        if signals_left && client.is_there() {
            child.signal(Signal::KILL);
            child.signal_client(client, Signal::KILL);
            kill_at = tokio::time::Instant::now() + GRACE;
        }
    }
}

/// As in shells: 127 for a missing program, 126 for one that can't be run.
fn not_started(line: &[OsString], error: &std::io::Error) -> u8 {
    let program = line.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    words::say(&words::not_started(&program, error));
    if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 }
}

#[derive(Clone, Copy)]
enum Wakeup {
    /// A child changed its state.
    Child,
    /// A signal to pass on, and to end with.
    End(Signal),
    Stop,
    Continue,
}

struct Signals {
    child: Listener,
    interrupt: Listener,
    terminate: Listener,
    hangup: Listener,
    quit: Listener,
    go_on: Listener,
    /// Only where the system does not stop the child by itself.
    stop: Option<Listener>,
}

impl Signals {
    fn listen(has_terminal: bool) -> std::io::Result<Self> {
        let other = |wanted: Signal| signal(SignalKind::from_raw(wanted.as_raw()));
        Ok(Self {
            child: signal(SignalKind::child())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            quit: signal(SignalKind::quit())?,
            go_on: other(Signal::CONT)?,
            stop: if has_terminal { None } else { Some(other(Signal::TSTP)?) },
        })
    }

    async fn next(&mut self) -> Wakeup {
        let stop = async {
            match &mut self.stop {
                Some(stop) => stop.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.child.recv() => Wakeup::Child,
            _ = self.interrupt.recv() => Wakeup::End(Signal::INT),
            _ = self.terminate.recv() => Wakeup::End(Signal::TERM),
            _ = self.hangup.recv() => Wakeup::End(Signal::HUP),
            _ = self.quit.recv() => Wakeup::End(Signal::QUIT),
            _ = self.go_on.recv() => Wakeup::Continue,
            _ = stop => Wakeup::Stop,
        }
    }
}
