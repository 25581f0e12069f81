//! `substrate fleet`, `fleet check` and `fleet go`

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::ids::checksum;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Effect, Local, Output, Pane, VerbError};

use crate::fleet::lanes::{then, when};
use crate::fleet::{ops, paint, render, view};
use crate::identity::book::{self, Address, Lookup};
use crate::team::face as team;

/// Clears the screen and begins at its top.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J\u{1b}[3J";

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(in crate::fleet) struct List {
    /// Include agents whose session has ended, and how to resume them
    #[arg(long)]
    all: bool,
    /// As it was at that moment: `14:40`, `15m` (ago), a date, or `#4711`, an entry of the journal
    #[arg(long, value_name = "TIME", conflicts_with_all = ["all", "watch"])]
    at: Option<String>,
    /// Redraw whenever something changes, in a terminal; Ctrl+C ends it
    #[arg(long, short)]
    watch: bool,
    /// What was shown last.
    #[arg(skip)]
    shown: Option<String>,
    /// The rows and columns available.
    #[arg(skip)]
    screen: Option<(u16, u16)>,
}

impl VerbArgs for List {
    const PATH: &'static [&'static str] = &["fleet", "list"];
    const ABOUT: &'static str = "Show who needs you, who works, and who is done";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        // Redrawing makes sense only in a terminal.
        self.watch &= local.is_terminal();
        self.screen = local.screen();
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        if let Some(text) = self.at.as_deref() {
            let at = when::moment(cx, text, caller.tz_offset_s)?;
            let then = then::then(cx, at, None)?;
            return Ok(Output::new(then::text(&then), json!(then)));
        }
        let view = view::view(cx, self.all)?;
        let (mut text, mut json) = (render::text(&view, cx.now), render::json(&view));
        if let Some(roster) = team::roster(cx)? {
            let far = roster.text(cx);
            if !far.is_empty() {
                text = format!("{text}\n{far}");
            }
            json["team"] = json!(roster.json());
        }
        if !self.watch {
            return Ok(Output::new(text, json));
        }
        let text = match self.screen {
            Some((rows, columns)) => render::fitted(&text, rows.into(), columns.into()),
            None => text,
        };
        let shown = checksum(&text);
        let is_same = self.shown.as_ref() == Some(&shown);
        let mut out = if is_same {
            Output::new(String::new(), json!([]))
        } else {
            Output::new(format!("{CLEAR}{text}"), json!([json]))
        };
        out.follow = Some(json!(Self { shown: Some(shown), ..self }));
        Ok(out)
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(in crate::fleet) struct Check {
    /// Whose work you have looked at, e.g. `NobleLion` or `NobleLion/reviewer-1`
    #[arg(required_unless_present = "pane")]
    names: Vec<String>,
    /// The agents in this tmux pane, such as `%3`
    #[arg(long, requires = "socket")]
    pane: Option<String>,
    /// The tmux server of the pane
    #[arg(long)]
    socket: Option<String>,
}

impl VerbArgs for Check {
    const PATH: &'static [&'static str] = &["fleet", "check"];
    const ABOUT: &'static str = "Mark agents as checked until something changes";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::User;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let seats = match (&self.pane, &self.socket) {
            (Some(pane), Some(socket)) => in_pane(cx, socket, pane)?,
            _ => Vec::new(),
        };
        let named = named(cx, &self.names)?;
        let (mut n_checked, mut panes) = (0, Vec::new());
        for (session, actor) in seats.into_iter().chain(named) {
            if ops::check(cx.db, &session, &actor, cx.now)? {
                n_checked += 1;
                let kept = ops::one(cx.db, &session, &actor)?;
                if let Some(pane) = kept.and_then(|kept| kept.pane)
                    && !panes.contains(&pane)
                {
                    panes.push(pane);
                }
            }
        }
        for pane in panes {
            paint::pane(cx, &pane)?;
        }
        let text = match n_checked {
            0 => "Nothing there was waiting to be looked at.\n".to_owned(),
            n => format!("{n} checked.\n"),
        };
        Ok(Output::new(text, json!({ "checked": n_checked })))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::fleet) struct Go {
    /// The agent, e.g. `NobleLion`
    name: String,
}

impl VerbArgs for Go {
    const PATH: &'static [&'static str] = &["fleet", "go"];
    const ABOUT: &'static str = "Bring an agent's tmux pane to the front, where that tmux is shown";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::User;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let address = agent_named(cx, &self.name)?;
        let lines = view::of_agent(cx, address.agent)?;
        // Subagents run where their agent does.
        let Some(pane) = lines.into_iter().find_map(|line| line.pane) else {
            return Err(VerbError::user(
                format!("it is not known in which tmux pane {} runs", address.name),
                "only clients that run inside tmux have one",
            ));
        };
        let Pane { socket, id } = &pane;
        let text = format!(
            "{} is in pane {id}. `tmux -S {socket} attach` shows it, if no terminal does.\n",
            address.name
        );
        let json = json!({"agent": address.name, "pane": id, "pane_socket": socket});
        cx.effects.push(Effect::Show { pane });
        Ok(Output::new(text, json))
    }
}

fn in_pane(cx: &mut Cx<'_>, socket: &str, id: &str) -> Result<Vec<(String, String)>, VerbError> {
    let pane = Pane::of(socket, id).ok_or_else(|| {
        VerbError::user(
            "that is not a tmux pane",
            "e.g. `--pane %3 --socket /tmp/tmux-1000/default`",
        )
    })?;
    let found = ops::in_pane(cx.db, &pane)?;
    Ok(found.into_iter().map(|kept| (kept.session, kept.actor)).collect())
}

/// The seats of these names. An unknown name is an error, and then nothing is checked.
fn named(cx: &mut Cx<'_>, names: &[String]) -> Result<Vec<(String, String)>, VerbError> {
    let mut out = Vec::new();
    for name in names {
        let found = agent_named(cx, name)?;
        let is_it =
            |line: &view::FleetRow| line.seat.agent == found.agent && line.seat.sub == found.sub;
        let seats = view::view(cx, false)?.lines.into_iter().filter(is_it);
        let before = out.len();
        out.extend(seats.map(|line| (line.seat.session, line.seat.actor)));
        if out.len() == before {
            return Err(VerbError::user(
                format!("{} is not there", found.text()),
                "`substrate fleet` shows who is",
            ));
        }
    }
    Ok(out)
}

/// The agent or subagent of that name. An unknown name is an error with the nearest ones.
pub(in crate::fleet) fn agent_named(cx: &mut Cx<'_>, name: &str) -> Result<Address, VerbError> {
    match book::find(cx.db, name)? {
        Lookup::Found(address) | Lookup::Ended(address) => Ok(address),
        Lookup::Unknown { nearest } => {
            let near = if nearest.is_empty() {
                "`substrate fleet` shows who is there".to_owned()
            } else {
                format!("did you mean {}?", nearest.join(", "))
            };
            let name = substrate_core::text::one_line(name, 60);
            Err(VerbError::user(format!("no agent is called `{name}`"), near))
        }
    }
}

/// A line of the fleet by its pane, for `substrate tmux status`.
pub(in crate::fleet) fn panes(
    cx: &mut Cx<'_>,
    socket: &str,
) -> Result<(String, Vec<Value>), VerbError> {
    let view = view::view(cx, false)?;
    let there =
        |line: &&view::FleetRow| line.pane.as_ref().is_some_and(|pane| pane.socket == socket);
    let (mut text, mut list) = (String::new(), Vec::new());
    for line in view.lines.iter().filter(there) {
        let id = line.pane.as_ref().map_or("", |pane| &pane.id);
        let _infallible = writeln!(text, "  {id:<5} {:<9}  {}", line.word(), line.address());
        list.push(render::one_json(line));
    }
    Ok((text, list))
}
