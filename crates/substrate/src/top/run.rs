//! Joins the terminal, the daemon, signals and the model. One thread draws; it sleeps until one of them has something.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use ratatui::buffer::Buffer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;
use substrate_core::Output;
use substrate_core::need::PaneView;
use tokio::signal::unix::{SignalKind, signal};

use super::draw::{self, Theme};
use super::feed;
use super::keys::{Key, KeyReader};
use super::model::{Event, Model, Todo};
use super::screen::Screen;
use super::views::View;
use crate::cli::{Context, Line, request};
use crate::error::{AppError, Kind, Result};
use crate::tmux::Server;
use crate::{clock, daemon};

/// How long an Escape waits for the rest of a sequence.
const SEQUENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 30_000_000 };

/// How long the first frame waits for the daemon: then it says that it is asked.
const FIRST: Duration = Duration::from_millis(30);

/// What the user asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Below the prompt, not on a screen of its own.
    pub(crate) is_inline: bool,
    pub(crate) has_colour: bool,
    /// Rings the bell when something new waits for the user.
    pub(crate) rings: bool,
}

/// What wakes the loop, other than the keyboard.
#[derive(Debug)]
enum Wake {
    Event(Event),
    /// The terminal has another size.
    Resized,
    /// The process is to end.
    End,
}

/// Where other threads leave what they have.
#[derive(Clone, Debug)]
pub(super) struct Outbox {
    send: Sender<Wake>,
    wakes: Arc<UnixStream>,
}

impl Outbox {
    /// Whether it will be read.
    pub(super) fn send(&self, event: Event) -> bool {
        self.wake(Wake::Event(event))
    }

    fn wake(&self, wake: Wake) -> bool {
        let is_read = self.send.send(wake).is_ok();
        // A full pipe wakes it just as well.
        let _or_full = (&*self.wakes).write(&[0]);
        is_read
    }
}

/// Runs until the user has seen enough.
pub(crate) fn run(context: &Context, options: Options) -> Result<()> {
    let internal = |error: std::io::Error| AppError::from_error(Kind::Internal, &error);
    let mut screen = Screen::take(options.is_inline)?;
    let (wakes, woken) = UnixStream::pair().map_err(internal)?;
    wakes.set_nonblocking(true).and_then(|()| woken.set_nonblocking(true)).map_err(internal)?;
    let (send, inbox) = mpsc::channel();
    let outbox = Outbox { send, wakes: Arc::new(wakes) };
    // Nothing may write to this terminal but the screen.
    let context = Context { verbose: false, ..context.clone() };
    let mut model = Model::new(screen.area(), clock::now(), context.caller.tz_offset_s);
    let (fed, signalled) = (outbox.clone(), outbox.clone());
    let feeding = context.clone();
    std::thread::spawn(move || feed::follow(&feeding, &fed));
    std::thread::spawn(move || signals(&signalled));
    let host = Host { context, outbox, options };
    if let Ok(first) = inbox.recv_timeout(FIRST) {
        host.take(&mut model, &mut screen, first).map_err(internal)?;
    }
    host.live(&mut model, &mut screen, &inbox, &woken).map_err(internal)
}

struct Host {
    context: Context,
    outbox: Outbox,
    options: Options,
}

impl Host {
    fn live(
        &self,
        model: &mut Model,
        screen: &mut Screen,
        inbox: &Receiver<Wake>,
        woken: &UnixStream,
    ) -> std::io::Result<()> {
        let mut keys = KeyReader::default();
        loop {
            self.show(model, screen)?;
            let (has_keys, is_woken) = wait(woken, keys.is_waiting())?;
            if is_woken {
                drain(woken);
                while let Ok(wake) = inbox.try_recv() {
                    if self.take(model, screen, wake)? {
                        return Ok(());
                    }
                }
            }
            let typed = match has_keys {
                true => match read()? {
                    bytes if bytes.is_empty() => return Ok(()),
                    bytes => keys.read(&bytes),
                },
                false if !is_woken => keys.give_up().into_iter().collect(),
                false => Vec::new(),
            };
            for key in typed {
                if self.press(model, screen, key)? {
                    return Ok(());
                }
            }
        }
    }

    fn show(&self, model: &Model, screen: &mut Screen) -> std::io::Result<()> {
        let mut buffer = Buffer::empty(model.area);
        let theme = Theme { has_colour: self.options.has_colour };
        let cursor = draw::draw(model, theme, &mut buffer);
        screen.show(buffer, cursor)
    }

    fn press(&self, model: &mut Model, screen: &mut Screen, key: Key) -> std::io::Result<bool> {
        let todo = model.update(Event::Key(key), clock::now());
        self.carry_out(todo, screen)
    }

    /// Whether it is the end.
    fn take(&self, model: &mut Model, screen: &mut Screen, wake: Wake) -> std::io::Result<bool> {
        let event = match wake {
            Wake::End => return Ok(true),
            Wake::Resized => Event::Resized(screen.resize()?),
            Wake::Event(event) => event,
        };
        let n_new = model.n_new;
        let todo = model.update(event, clock::now());
        if self.options.rings && model.n_new > n_new {
            Screen::ring();
        }
        self.carry_out(todo, screen)
    }

    fn carry_out(&self, todo: Option<Todo>, screen: &mut Screen) -> std::io::Result<bool> {
        match todo {
            None => {}
            Some(Todo::Quit) => return Ok(true),
            Some(Todo::Repaint) => screen.repaint()?,
            Some(Todo::Act { verb, body }) => {
                self.beside(move |context| act(context, &verb, body));
            }
            Some(Todo::Find { view, words }) => {
                let (context, outbox) = (self.context.clone(), self.outbox.clone());
                std::thread::spawn(move || {
                    let answer = find(&context, view, &words);
                    outbox.send(Event::Found { view, words, answer })
                });
            }
            Some(Todo::Jump { pane, who }) => {
                self.beside(move |context| jump(context, &pane, &who));
            }
        }
        Ok(false)
    }

    /// Does something that may take a moment, and tells what came of it.
    fn beside(
        &self,
        body: impl FnOnce(&Context) -> std::result::Result<String, String> + Send + 'static,
    ) {
        let (context, outbox) = (self.context.clone(), self.outbox.clone());
        std::thread::spawn(move || outbox.send(Event::Done(body(&context))));
    }
}

fn act(context: &Context, verb: &[String], body: Value) -> std::result::Result<String, String> {
    call(context, verb, body).map(|output| output.text)
}

fn find(context: &Context, view: View, words: &str) -> std::result::Result<Value, String> {
    let Some((path, body)) = view.finds(words) else { return Ok(Value::Null) };
    let verb: Vec<String> = path.iter().map(|word| (*word).to_owned()).collect();
    call(context, &verb, body).map(|output| output.json)
}

fn call(context: &Context, verb: &[String], body: Value) -> std::result::Result<Output, String> {
    let known =
        daemon::find(verb).ok_or_else(|| format!("there is no command `{}`", verb.join(" ")))?;
    Line::silent(context, known).call(body, &request()).map_err(|error| error.in_one_line())
}

/// Shows a pane: in this terminal if it is in the same tmux, otherwise wherever that tmux is shown.
fn jump(context: &Context, pane: &PaneView, who: &str) -> std::result::Result<String, String> {
    let server = Server::new(&pane.socket, &context.env);
    let is_here =
        context.env.text("TMUX").and_then(|tmux| tmux.split(',').next()) == Some(&pane.socket);
    let id = pane.id.as_str();
    let said = match is_here {
        true => server.run(&["switch-client", "-t", id]),
        false => server.show(id),
    };
    match said {
        Err(error) => Err(error.to_string()),
        Ok(_) if is_here => Ok(format!("{who} is in pane {id}.")),
        Ok(_) => {
            Ok(format!("{who}'s pane {id} is selected: `tmux -S {} attach` shows it.", pane.socket))
        }
    }
}

/// Waits for the keyboard or another thread, without a limit unless a sequence is unfinished.
fn wait(woken: &UnixStream, is_in_sequence: bool) -> std::io::Result<(bool, bool)> {
    let stdin = std::io::stdin();
    let mut files = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(woken, PollFlags::IN)];
    match poll(&mut files, is_in_sequence.then_some(&SEQUENCE)) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok((false, true)),
        Err(error) => return Err(error.into()),
    }
    Ok((!files[0].revents().is_empty(), !files[1].revents().is_empty()))
}

/// What was typed. Nothing: the terminal is gone.
fn read() -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4_096];
    match rustix::io::read(rustix::stdio::stdin(), &mut bytes[..]) {
        Ok(n) => bytes.truncate(n),
        Err(rustix::io::Errno::IO) => bytes.clear(),
        Err(error) => return Err(error.into()),
    }
    Ok(bytes)
}

fn drain(woken: &UnixStream) {
    let (mut bytes, mut from) = ([0; 256], woken);
    loop {
        match from.read(&mut bytes) {
            Ok(256) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}

/// Tells of signals until the process ends.
fn signals(outbox: &Outbox) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        let of = |kind| signal(kind).ok();
        let (Some(mut size), Some(mut term), Some(mut int), Some(mut hup)) = (
            of(SignalKind::window_change()),
            of(SignalKind::terminate()),
            of(SignalKind::interrupt()),
            of(SignalKind::hangup()),
        ) else {
            return;
        };
        loop {
            let wake = tokio::select! {
                _ = size.recv() => Wake::Resized,
                _ = term.recv() => Wake::End,
                _ = int.recv() => Wake::End,
                _ = hup.recv() => Wake::End,
            };
            if !outbox.wake(wake) {
                return;
            }
        }
    });
}
