//! The features' verbs as commands.

use std::time::Duration;

use clap::ArgMatches;
use serde_json::{Value, json};
use substrate_core::{Format, Verb};

use super::call::Line;
use super::dispatch::request;
use super::local::ThisProcess;
use super::{Context, lines, print};
use crate::error::{AppError, Kind, Result};
use crate::ui;

/// How soon a verb that follows something asks again: after news, and after a long silence.
const FOLLOW: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(3));

/// Verbs that may take over a second, and what a person sees meanwhile.
const SLOW: &[(&[&str], &str)] = &[
    (&["guard", "backtest"], "Testing the rules against the journal"),
    (&["guard", "check"], "Checking the rules"),
    (&["journal", "list"], "Reading the journal"),
    (&["journal", "stats"], "Reading the journal"),
    (&["search"], "Searching the mail"),
];

/// Prints what the verb says if the state can't be used. If it says nothing, the error stays.
pub(super) fn without_state(format: Format, verb: &Verb, error: AppError) -> Result<()> {
    let is_state = matches!(error.kind, Kind::State | Kind::Daemon);
    let said = is_state.then(|| (verb.without_state)(&error.in_one_line())).flatten();
    match said {
        Some(output) => print::output(format, &output).map(drop),
        None => Err(error),
    }
}

/// Clients and tmux servers run these by themselves. They must not bring back a daemon or a state home that the user has
/// removed.
fn runs_by_itself(context: &Context, verb: &Verb, body: &Value) -> bool {
    match verb.path {
        ["statusline"] => !context.home.root().is_dir(),
        ["fleet", "check"] => body["pane"].is_string(),
        _ => false,
    }
}

pub(super) fn run(context: &Context, verb: &'static Verb, matches: &ArgMatches) -> Result<()> {
    // Relative paths start here, whatever the client says about its project.
    let dir = matches.get_one::<String>("project-dir").cloned();
    let mut body = (verb.body)(matches, &mut ThisProcess::new(context).from(dir))?;
    if let Some(source) = (verb.streams)(&body) {
        return lines::run(context, verb, &source);
    }
    let mut line = if runs_by_itself(context, verb, &body) {
        Line::quiet(context, verb)
    } else {
        Line::new(context, verb)
    };
    let mut pause = FOLLOW.0;
    let mut id = context.caller.request.clone();
    loop {
        let slow = SLOW.iter().find(|(path, _)| *path == verb.path);
        let progress = slow.map(|(_, what)| ui::progress(what, || None));
        let answered = line.call(body, &id);
        drop(progress);
        let output = match answered {
            Ok(output) => output,
            Err(AppError { question: Some(question), .. }) if ui::can_ask() => {
                if !ui::confirm(&question.text) {
                    return Err(AppError::new(Kind::User, "nothing was changed"));
                }
                // A new request, because the first one was refused.
                (body, id) = (question.body, request());
                continue;
            }
            Err(error) => return without_state(context.format, verb, error),
        };
        let printed = print::output(context.format, &output)?;
        if !printed && output.after.is_some() {
            return Err(AppError::new(Kind::State, "the output could not be written")
                .hint("nothing was marked as seen or read; run the command again"));
        }
        if let Some(after) = output.after {
            line.call(after, &id)?;
        }
        match output.follow {
            Some(next) => body = next,
            None => return Ok(()),
        }
        pause = if output.text.is_empty() { (pause * 2).min(FOLLOW.1) } else { FOLLOW.0 };
        std::thread::sleep(pause);
        // The terminal may have been resized.
        if let Some(screen) = body.get_mut("screen") {
            *screen = json!(ui::screen());
        }
    }
}
