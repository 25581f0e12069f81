//! Makes things happen as the client would, and tells what came of them.

use std::cell::RefCell;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use substrate_core::time::Took;

use super::client::{self, Call, Event, Session, stopping};
use super::sandbox::{Sandbox, json, output, wait_until};
use crate::error::{AppError, Kind, Result};
use crate::ui;

/// The width of the column that says who acts.
const WHO: usize = 12;

/// The longest line of prose.
const WIDTH: usize = 100;

pub(super) struct Teller<'a> {
    pub(super) sandbox: &'a Sandbox,
    /// Print while it happens.
    prints: bool,
    told: RefCell<Vec<String>>,
}

/// Who acts: a session's main thread, or one of its subagents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Actor<'s> {
    /// As the story calls it.
    pub(super) called: &'static str,
    pub(super) session: &'s Session,
    /// The id and the type of a subagent.
    pub(super) subagent: Option<(&'static str, &'static str)>,
}

/// A waiter beside an idle session.
pub(super) struct Waiter {
    of: &'static str,
    process: Child,
}

impl<'a> Teller<'a> {
    pub(super) fn new(sandbox: &'a Sandbox, prints: bool) -> Self {
        Self { sandbox, prints, told: RefCell::default() }
    }

    /// Everything that was told.
    pub(super) fn told(&self) -> Vec<String> {
        self.told.borrow().clone()
    }

    pub(super) fn say(&self, line: &str) {
        if self.prints {
            ui::data(&format!("{}\n", ui::painted(line)));
        }
        self.told.borrow_mut().push(line.to_owned());
    }

    /// The title of a scene.
    pub(super) fn scene(&self, title: &str) {
        self.say("");
        if self.prints {
            ui::data(&format!("{}\n", ui::heading(title)));
        }
        self.told.borrow_mut().push(title.to_owned());
    }

    /// One event and what came of it. Whether it was refused.
    pub(super) fn tell(
        &self,
        who: &Actor<'_>,
        event: Event,
        what: &str,
        more: Value,
    ) -> Result<bool> {
        let (answer, took) = self.hook(who, event, more)?;
        self.say(&format!("{:<WHO$}{what}  ({}, {})", who.called, event.name(), Took::of(took)));
        self.hear(&answer);
        Ok(client::is_refusal(&answer))
    }

    /// A tool call: the hook before it and, unless that refuses, the one after. Whether it was refused.
    pub(super) fn tool(&self, who: &Actor<'_>, call: &Call, what: &str) -> Result<bool> {
        let refused = self.tell(who, Event::BeforeTool, what, call.fields.clone())?;
        if !refused {
            self.after(who, call)?;
        }
        Ok(refused)
    }

    /// A command of ours in an agent's own shell, with the hooks around it. What it printed.
    pub(super) fn shell(&self, who: &Actor<'_>, args: &[&str]) -> Result<String> {
        let typed = typed(args);
        let call = Call::shell(&typed);
        self.hook(who, Event::BeforeTool, call.fields.clone())?;
        let mut command = self.sandbox.substrate(args);
        who.session.around_shell(&mut command);
        let printed = output(&mut command)?;
        self.say(&format!("{:<WHO$}runs `{typed}`", who.called));
        self.quote(&printed);
        self.after(who, &call)?;
        Ok(printed)
    }

    /// A command that the person runs in a terminal of their own.
    pub(super) fn person(&self, args: &[&str]) -> Result<()> {
        self.say(&format!("{:<WHO$}run `{}`", "you", typed(args)));
        self.quote(&output(&mut self.sandbox.substrate(args))?);
        Ok(())
    }

    /// The name that a session's agent was given.
    pub(super) fn name(&self, session: &Session) -> Result<String> {
        let mut command = self.sandbox.substrate(&["agent", "whoami", "--session-id", session.id]);
        let found = json(&mut command)?;
        found["agent"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| went_wrong("the agent has no name"))
    }

    /// Starts the waiter that the client runs beside a session whose turn has ended.
    pub(super) fn wait(&self, who: &Actor<'_>, what: &str) -> Result<Waiter> {
        let mut command = self.around(who, &["Stop", "--wake"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(|error| went_wrong(&error.to_string()))?;
        feed(&mut process, &self.payload(who, Event::Stop, stopping(true, what)));
        let is_waiting = || {
            let status = json(&mut self.sandbox.substrate(&["daemon", "status"]));
            status.is_ok_and(|status| status["n_waiting"].as_u64().is_some_and(|n| n > 0))
        };
        let waiter = Waiter { of: who.called, process };
        if !wait_until(is_waiting) {
            return Err(went_wrong("the waiter does not wait"));
        }
        self.say(&format!("{:<WHO$}{what}", who.called));
        Ok(waiter)
    }

    /// Hears out a waiter that a message has woken.
    pub(super) fn woken(&self, mut waiter: Waiter, since: Instant) -> Result<()> {
        let ended = wait_until(|| matches!(waiter.process.try_wait(), Ok(Some(_))));
        let took = since.elapsed();
        let status = waiter.process.try_wait().ok().flatten().and_then(|status| status.code());
        let mut words = String::new();
        if let (true, Some(mut pipe)) = (ended, waiter.process.stderr.take()) {
            let _not_text = pipe.read_to_string(&mut words);
        }
        // The client begins a turn when the waiter ends with 2.
        if status != Some(2) {
            return Err(went_wrong("the idle session was not woken"));
        }
        self.say(&format!(
            "{:<WHO$}is woken {} after the sender pressed return: the client starts a turn",
            waiter.of,
            Took::of(took)
        ));
        self.quote(&format!("→ the model is told: {words}"));
        Ok(())
    }

    fn after(&self, who: &Actor<'_>, call: &Call) -> Result<()> {
        let mut done = call.fields.clone();
        done["tool_response"] = json!({"ok": true});
        let (answer, _) = self.hook(who, Event::AfterTool, done)?;
        self.hear(&answer);
        Ok(())
    }

    /// Runs the real hook as the client does. Its answer, and how long it took.
    fn hook(&self, who: &Actor<'_>, event: Event, more: Value) -> Result<(Value, Duration)> {
        let mut command = self.around(who, &[event.name()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let fail = |error: std::io::Error| AppError::from_error(Kind::State, &error);
        let begun = Instant::now();
        let mut process = command.spawn().map_err(fail)?;
        feed(&mut process, &self.payload(who, event, more));
        let done = process.wait_with_output().map_err(fail)?;
        let took = begun.elapsed();
        if !done.status.success() {
            return Err(went_wrong(&format!(
                "the hook for {} ended with {}",
                event.name(),
                done.status
            )));
        }
        if done.stdout.is_empty() {
            return Ok((Value::Null, took));
        }
        let answer = serde_json::from_slice(&done.stdout);
        Ok((answer.map_err(|error| AppError::from_error(Kind::Internal, &error))?, took))
    }

    fn payload(&self, who: &Actor<'_>, event: Event, more: Value) -> Vec<u8> {
        who.session.payload(who.subagent, event, &self.sandbox.project(), more)
    }

    fn around(&self, who: &Actor<'_>, args: &[&str]) -> Command {
        let mut command = self.sandbox.hook(&[&[client::NAME], args].concat());
        who.session.around_hook(&mut command, &self.sandbox.project());
        command
    }

    /// What the client is told.
    fn hear(&self, answer: &Value) {
        for (word, text) in client::told(answer) {
            self.quote(&format!("→ {word}: {text}"));
        }
    }

    /// Lines below the actor's, wrapped unless they are a table.
    fn quote(&self, text: &str) {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let is_table = line.trim_start().contains("  ");
            let width = if is_table { usize::MAX } else { WIDTH - WHO - 2 };
            for line in wrapped(line, width) {
                self.say(&format!("{:<WHO$}  {line}", ""));
            }
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let _ended_already = self.process.kill().and_then(|()| self.process.wait());
    }
}

fn feed(process: &mut Child, payload: &[u8]) {
    if let Some(mut stdin) = process.stdin.take() {
        // A payload is far smaller than a pipe, so this does not block.
        let _ended_early = stdin.write_all(payload);
    }
}

/// The line in pieces of at most `width` characters, broken between words.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let mut out = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let last = out.last_mut().map_or(0, |last| last.chars().count());
        if last > 0 && last.saturating_add(word.trim_end().chars().count()) > width {
            out.push(String::new());
        }
        if let Some(last) = out.last_mut() {
            last.push_str(word);
        }
    }
    out.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// As a person would type it.
fn typed(args: &[&str]) -> String {
    let quoted = |arg: &&str| {
        if arg.contains([' ', '(']) { format!("\"{arg}\"") } else { (*arg).to_owned() }
    };
    let words: Vec<String> = args.iter().map(quoted).collect();
    format!("substrate {}", words.join(" "))
}

fn went_wrong(what: &str) -> AppError {
    AppError::new(Kind::Internal, format!("the demo went wrong: {what}"))
        .hint("nothing of yours was touched; `substrate doctor` checks your installation")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("  averylongword x", 5), ["", "averylongword", "x"]);
        assert_eq!(wrapped("a  b", usize::MAX), ["a  b"]);
    }

    #[test]
    fn arguments_with_spaces_are_quoted() {
        assert_eq!(typed(&["send", "A", "two words"]), "substrate send A \"two words\"");
    }
}
