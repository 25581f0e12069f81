//! `substrate tmux on|off|status`: what the database knows. The command line talks to the tmux server.

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Effect, Output, Pane, VerbError};

use super::fleet;
use crate::fleet::{ops, paint};

/// A tmux server, as the environment or the caller names it.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
struct Server {
    /// The server's socket (default: the tmux that you are in)
    #[arg(long)]
    socket: Option<String>,
}

impl Server {
    fn socket(self) -> Result<String, VerbError> {
        let given = self.socket.unwrap_or_default();
        Pane::of(&given, "%0").map(|pane| pane.socket).ok_or_else(|| {
            VerbError::user(
                "you are not in tmux",
                "run it in a pane of tmux, or name the server: `--socket /tmp/tmux-1000/default`",
            )
        })
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(in crate::fleet) struct On {
    #[command(flatten)]
    #[serde(flatten)]
    server: Server,
}

impl VerbArgs for On {
    const PATH: &'static [&'static str] = &["tmux", "on"];
    const ABOUT: &'static str =
        "Colour the panes and tabs of this tmux server by the status of their agents";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::User;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let socket = self.server.socket()?;
        ops::switch_on(cx.db, &socket, cx.now)?;
        let mut panes: Vec<Pane> = Vec::new();
        for kept in ops::with_panes(cx.db, 500)? {
            if let Some(pane) = kept.pane
                && pane.socket == socket
                && !panes.contains(&pane)
            {
                panes.push(pane);
            }
        }
        for pane in &panes {
            paint::pane(cx, pane)?;
        }
        let is_painted = |effect: &&Effect| matches!(effect, Effect::Paint { look: Some(_), .. });
        let n = cx.effects.iter().filter(is_painted).count();
        let panes = if n == 1 { "1 pane".to_owned() } else { format!("{n} panes") };
        Ok(Output::new(
            format!("Colours are on for {socket}; agents are in {panes} of it.\n"),
            json!({"socket": socket, "on": true, "panes": n}),
        ))
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(in crate::fleet) struct Off {
    #[command(flatten)]
    #[serde(flatten)]
    server: Server,
}

impl VerbArgs for Off {
    const PATH: &'static [&'static str] = &["tmux", "off"];
    const ABOUT: &'static str =
        "Give the panes and tabs of this tmux server their own colours back";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::User;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let socket = self.server.socket()?;
        let was_on = ops::switch_off(cx.db, &socket)?;
        let text = if was_on {
            format!("Colours are off for {socket}.\n")
        } else {
            format!("Colours were not on for {socket}.\n")
        };
        Ok(Output::new(text, json!({"socket": socket, "on": false, "was_on": was_on})))
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(in crate::fleet) struct Status {
    #[command(flatten)]
    #[serde(flatten)]
    server: Server,
}

impl VerbArgs for Status {
    const PATH: &'static [&'static str] = &["tmux", "status"];
    const ABOUT: &'static str =
        "Show whether colours are on, for which panes, and whether looking at one is noticed";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let socket = self.server.socket()?;
        let on = ops::is_on(cx.db, &socket)?;
        let (panes, list) = fleet::panes(cx, &socket)?;
        let word = if on { "on" } else { "off" };
        let others: Vec<String> =
            ops::servers(cx.db)?.into_iter().filter(|other| *other != socket).collect();
        let mut text = format!("Colours are {word} for {socket}.\n{panes}");
        if !others.is_empty() {
            let _infallible = writeln!(text, "Also on for {}.", others.join(", "));
        }
        Ok(Output::new(text, json!({"socket": socket, "on": on, "panes": list, "also_on": others})))
    }
}
