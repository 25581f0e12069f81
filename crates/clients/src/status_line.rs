//! How a client's settings name the command behind its status line. Pure: texts.

use crate::claude_code;

/// What a client with a status line needs.
#[derive(Clone, Copy, Debug)]
pub struct StatusLine {
    /// The client's name.
    pub client: &'static str,
    /// The part of its settings, given the path of our program.
    pub text: fn(&str) -> String,
}

/// The clients that have a status line.
pub const ALL: &[StatusLine] = &[claude_code::STATUS_LINE];
