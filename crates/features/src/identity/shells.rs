//! Which actor of a session runs a command: a subagent's shell has the environment of its parent's, so the command
//! lines above the command are compared with the shell calls that are open.

use substrate_core::{Cx, DbError, SafeId};

use super::actors::{self, Call};

/// How much of a command is kept.
pub(super) const MAX_COMMAND: usize = 4_096;

/// Who runs it. The empty name is the main thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    One(String),
    /// Different actors run the very same command.
    Several(Vec<String>),
}

pub(super) fn actor(cx: &mut Cx<'_>, session: &SafeId, shells: &[String]) -> Result<Runs, DbError> {
    let calls = actors::running_calls(cx.db, session, cx.now)?;
    if calls.is_empty() {
        return Ok(Runs::One(String::new()));
    }
    Ok(among(&calls, shells))
}

/// Decides between the calls that may be running.
fn among(calls: &[Call], shells: &[String]) -> Runs {
    let mut found: Vec<String> = Vec::new();
    let lines: Vec<Line> = shells.iter().map(|line| Line::read(line)).collect();
    // Where the client's own wrapper is seen, it says exactly what the call's command is.
    let is_exact = lines.iter().any(|line| line.inside.is_some());
    for call in calls {
        let fits = if shells.is_empty() {
            call.is_open && mentions_us(&call.command)
        } else {
            let command = Command::read(&call.command);
            lines.iter().any(|line| line.runs(&command, is_exact))
        };
        if fits && !found.contains(&call.sub) {
            found.push(call.sub.clone());
        }
    }
    match found.len() {
        0 => Runs::One(String::new()),
        1 => Runs::One(found.remove(0)),
        // Without command lines it is a guess, and several guesses are none.
        _ if shells.is_empty() => Runs::One(String::new()),
        _ => {
            found.sort();
            Runs::Several(found)
        }
    }
}

/// Whether a command may be one of ours.
pub(super) fn mentions_us(command: &str) -> bool {
    command.contains("substrate")
}

/// Whether a command is likely to outlive its call.
pub(super) fn is_background(command: &str, input: &str) -> bool {
    let asked = serde_json::from_str::<serde_json::Value>(input)
        .ok()
        .and_then(|input| input.get("run_in_background")?.as_bool())
        .unwrap_or(false);
    let bytes = command.as_bytes();
    let at = |i: Option<usize>| i.and_then(|i| bytes.get(i)).copied().unwrap_or(b' ');
    let lone = |i: usize| {
        !matches!(at(i.checked_sub(1)), b'&' | b'>' | b'<' | b'|')
            && !matches!(at(Some(i + 1)), b'&' | b'>')
    };
    asked || command.bytes().enumerate().any(|(i, byte)| byte == b'&' && lone(i))
}

struct Command {
    text: String,
    is_cut: bool,
}

impl Command {
    fn read(command: &str) -> Self {
        Self { text: plain(command), is_cut: command.len() + 4 > MAX_COMMAND }
    }
}

/// A process's command line.
struct Line {
    text: String,
    /// What the client's wrapper runs, if it is one: `… && eval '<command>' < /dev/null && pwd -P >| <file>`.
    inside: Option<String>,
}

impl Line {
    fn read(line: &str) -> Self {
        let text = plain(line);
        let inside = text.find("&&eval").and_then(|from| {
            let rest = &text[from + "&&eval".len()..];
            rest.rfind("&&pwd-P>|").map(|to| rest[..to].to_owned())
        });
        Self { text, inside }
    }

    fn runs(&self, command: &Command, is_exact: bool) -> bool {
        if command.text.is_empty() {
            return false;
        }
        match &self.inside {
            Some(inside) if command.is_cut => inside.starts_with(&command.text),
            Some(inside) => *inside == command.text,
            None => !is_exact && self.text.contains(&command.text),
        }
    }
}

/// A command line without what quoting changes: quotes, backslashes, white space; and without the standard input that
/// the client gives it, since it puts that inside the command where there is a pipe.
fn plain(text: &str) -> String {
    let drops = |c: &char| !(c.is_whitespace() || c.is_control() || matches!(c, '\'' | '"' | '\\'));
    text.chars().filter(drops).collect::<String>().replace("</dev/null", "")
}

#[cfg(test)]
mod tests;
