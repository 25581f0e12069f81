//! `substrate tmux on|off|status`: the tmux server's side. The fleet's verbs of the same names are the database's side.

use std::time::Duration;

use clap::{Arg, ArgMatches, Command};
use serde_json::json;
use substrate_core::{Audience, Output, Pane};

use super::call::Line;
use super::table::Definition;
use super::{Context, print};
use crate::daemon::find;
use crate::error::{AppError, Kind, Result};
use crate::tmux::{self, Server, TmuxError};
use crate::{daemon, ui};

/// A painter that is in the middle of a pane has finished after this.
const PAINTED: Duration = Duration::from_millis(150);

/// The server's side of the verbs of the same names, which know what the database knows.
pub(super) const COMMANDS: &[Definition] = &[
    Definition::new(
        &["tmux", "on"],
        Audience::User,
        "Colour the panes and tabs of this tmux server by what their agents do",
        |context, flags| on(context, &server(context, flags)?),
    )
    .taking(flags),
    Definition::new(
        &["tmux", "off"],
        Audience::User,
        "Give all panes and tabs of this tmux server their own colours back",
        |context, flags| off(context, &server(context, flags)?),
    )
    .taking(flags),
    Definition::new(
        &["tmux", "status"],
        Audience::Both,
        "Show whether colours are on, for which panes, and whether looking at one is noticed",
        |context, flags| status(context, &server(context, flags)?),
    )
    .taking(flags),
];

fn flags(command: Command) -> Command {
    let help = "The server's socket (default: that of the tmux you are in)";
    command.arg(Arg::new("socket").long("socket").value_name("SOCKET").help(help))
}

fn server(context: &Context, flags: &ArgMatches) -> Result<Server> {
    let given = flags.get_one::<String>("socket").map(String::as_str);
    let given = given.or_else(|| context.env.text("TMUX")).unwrap_or_default();
    let socket = Pane::of(given, "%0").map(|pane| pane.socket).ok_or_else(|| {
        AppError::new(Kind::User, "you are not in tmux")
            .hint("run it in a tmux pane, or name the server: `--socket /tmp/tmux-1000/default`")
    })?;
    Ok(Server::new(&socket, &context.env))
}

fn on(context: &Context, server: &Server) -> Result<()> {
    let version =
        server.run(&["display-message", "-p", "#{version}"]).map_err(|error| failed(&error))?;
    if version.starts_with(['1', '2']) {
        let error = format!("tmux {} can't colour a single pane", version.trim());
        return Err(AppError::new(Kind::User, error).hint("tmux 3.0 and later can"));
    }
    tmux::hook(server, &daemon::this_program()?, context.home.root())
        .map_err(|error| failed(&error))?;
    tmux::switch(server, true).map_err(|error| failed(&error))?;
    let output = ask(context, "on", server)?;
    let text =
        format!("{}`substrate tmux off` gives every pane and tab back what it had.\n", output.text);
    say(context, &Output { text, ..output })
}

fn off(context: &Context, server: &Server) -> Result<()> {
    let output = ask(context, "off", server)?;
    let given_back = switch_off(server);
    let n = match given_back {
        Ok(n) => n,
        // A server that has ended took its colours along.
        Err(TmuxError::Refused(_)) => 0,
        Err(error) => return Err(failed(&error)),
    };
    let panes = if n == 1 { "1 pane".to_owned() } else { format!("{n} panes") };
    let text = format!("{}{panes} got back what they had.\n", output.text);
    let mut json = output.json;
    json["restored"] = n.into();
    say(context, &Output::new(text, json))
}

/// Removes our hooks and colours from a server.
pub(super) fn leave(context: &Context, socket: &str) -> Result<()> {
    let server = Server::new(socket, &context.env);
    switch_off(&server).map_err(|error| failed(&error))?;
    // Without a daemon the server stays noted, but nothing paints it.
    if let Some(verb) = find(&["tmux".to_owned(), "off".to_owned()]) {
        let body = json!({"socket": socket});
        let _stays_noted = Line::quiet(context, verb).call(body, &context.caller.request);
    }
    ui::talk(&format!("tmux server {socket}: our hooks and colours are gone\n"));
    Ok(())
}

fn switch_off(server: &Server) -> std::result::Result<usize, TmuxError> {
    tmux::switch(server, false)?;
    tmux::unhook(server)?;
    let mut n = tmux::restore_all(server)?;
    // The daemon may have been painting at that moment.
    for _ in 0..3 {
        std::thread::sleep(PAINTED);
        match tmux::restore_all(server)? {
            0 => break,
            more => n += more,
        }
    }
    Ok(n)
}

fn status(context: &Context, server: &Server) -> Result<()> {
    let output = ask(context, "status", server)?;
    let (is_hooked, has_focus) = tmux::hooked(server).map_err(|error| failed(&error))?;
    let looking = match (is_hooked, has_focus) {
        (false, _) => "Looking at a pane does not mark it as checked.",
        (true, true) => "Looking at a pane marks it as checked.",
        (true, false) => {
            "Turning to a pane or window marks it as checked; coming back to the terminal does not, as `focus-events` is off in tmux."
        }
    };
    let mut json = output.json;
    let mut text = output.text;
    if json["on"] == json!(true) && !tmux::is_on(server).map_err(|error| failed(&error))? {
        text =
            "Colours were on for a tmux server that has ended: `substrate tmux on` for this one.\n"
                .to_owned();
        json["on"] = false.into();
    }
    let text = format!("{text}{looking}\n");
    json["notices_looking"] = is_hooked.into();
    json["focus_events"] = has_focus.into();
    say(context, &Output::new(text, json))
}

/// The verb of the fleet.
fn ask(context: &Context, action: &str, server: &Server) -> Result<Output> {
    let path = ["tmux".to_owned(), action.to_owned()];
    let verb = find(&path).ok_or_else(|| {
        AppError::new(Kind::Internal, format!("no verb is called `tmux {action}`"))
    })?;
    Line::new(context, verb).call(json!({"socket": server.socket()}), &context.caller.request)
}

fn say(context: &Context, output: &Output) -> Result<()> {
    print::output(context.format, output)?;
    Ok(())
}

fn failed(error: &TmuxError) -> AppError {
    AppError::new(Kind::User, error.to_string())
        .hint("is that server running? `tmux -S SOCKET list-sessions` shows it")
}
