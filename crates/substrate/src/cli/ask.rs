//! Asking the person at the terminal.

use std::io::{BufRead as _, IsTerminal as _};

use crate::ui;

/// Whether somebody is there to answer.
pub(super) fn is_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// A plain answer means no.
pub(super) fn yes(question: &str) -> bool {
    ui::talk(&format!("{question} [y/N] "));
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.is_ok() && matches!(line.trim(), "y" | "Y" | "yes" | "Yes")
}
