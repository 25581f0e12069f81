//! The terminal: taken over at the start, and given back in any case.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::backend::{Backend, ClearType, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use ratatui::layout::{Position, Rect};
use ratatui::{Terminal, TerminalOptions, Viewport};

use crate::error::{AppError, Kind, Result};

/// How many rows the inline mode takes.
const INLINE: u16 = 16;

/// Whether the terminal is ours, and whether we left its usual screen.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
static IS_ALTERNATE: AtomicBool = AtomicBool::new(false);

pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<std::io::Stdout>>,
    is_inline: bool,
    /// What is on it.
    drawn: Option<(Buffer, Option<Position>)>,
}

impl Screen {
    /// Takes the terminal over.
    pub(super) fn take(is_inline: bool) -> Result<Self> {
        if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return Err(AppError::new(Kind::User, "`substrate top` needs a terminal").hint(
                "`substrate needs` and `substrate fleet` print the same, with `--format json` for programs",
            ));
        }
        restore_on_panic();
        let taken = take(is_inline);
        taken.map_err(|error| {
            restore();
            AppError::new(Kind::User, format!("this terminal can't be used: {error}"))
        })
    }

    /// The part of the terminal that is ours.
    pub(super) fn area(&mut self) -> Rect {
        self.terminal.get_frame().area()
    }

    /// The terminal has another size.
    pub(super) fn resize(&mut self) -> std::io::Result<Rect> {
        self.terminal.autoresize()?;
        self.repaint()?;
        Ok(self.area())
    }

    /// Forgets what is on it, so that the next frame is drawn whole.
    pub(super) fn repaint(&mut self) -> std::io::Result<()> {
        self.drawn = None;
        self.wipe()?;
        // Both of its buffers are empty after this.
        self.terminal.swap_buffers();
        Ok(())
    }

    /// Empties our part. `Terminal::clear` would ask the terminal where the cursor is, and take typed keys for the answer.
    fn wipe(&mut self) -> std::io::Result<()> {
        let at = self.area().as_position();
        let backend = self.terminal.backend_mut();
        backend.set_cursor_position(at)?;
        backend.clear_region(ClearType::AfterCursor)?;
        Backend::flush(backend)
    }

    /// Shows a frame, if it is another one than before.
    pub(super) fn show(&mut self, buffer: Buffer, cursor: Option<Position>) -> std::io::Result<()> {
        if self.drawn.as_ref().is_some_and(|(known, at)| *known == buffer && *at == cursor) {
            return Ok(());
        }
        self.terminal.draw(|frame| {
            frame.buffer_mut().merge(&buffer);
            if let Some(at) = cursor {
                frame.set_cursor_position(at);
            }
        })?;
        self.drawn = Some((buffer, cursor));
        Ok(())
    }

    pub(super) fn ring(&self) {
        let mut out = std::io::stdout().lock();
        let _not_heard = out.write_all(b"\x07").and_then(|()| out.flush());
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if self.is_inline {
            let _stays = self.wipe();
        }
        restore();
    }
}

fn take(is_inline: bool) -> std::io::Result<Screen> {
    enable_raw_mode()?;
    IS_TAKEN.store(true, Ordering::SeqCst);
    let mut out = std::io::stdout();
    let viewport = match is_inline {
        true => {
            let (_, rows) = ratatui::crossterm::terminal::size()?;
            Viewport::Inline(INLINE.min(rows))
        }
        false => {
            IS_ALTERNATE.store(true, Ordering::SeqCst);
            execute!(out, EnterAlternateScreen)?;
            Viewport::Fullscreen
        }
    };
    execute!(out, EnableBracketedPaste, cursor::Hide)?;
    let backend = CrosstermBackend::new(out);
    let terminal = Terminal::with_options(backend, TerminalOptions { viewport })?;
    Ok(Screen { terminal, is_inline, drawn: None })
}

/// Gives the terminal back as it was. Twice does no harm.
fn restore() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = std::io::stdout();
    let _hung_up = execute!(out, DisableBracketedPaste, cursor::Show);
    if IS_ALTERNATE.load(Ordering::SeqCst) {
        let _hung_up = execute!(out, LeaveAlternateScreen);
    }
    let _hung_up = disable_raw_mode();
}

/// A panic is read in a terminal that works.
fn restore_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        restore();
        before(info);
    }));
}
