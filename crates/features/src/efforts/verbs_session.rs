//! `substrate session list`, `session show`

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Output, SafeId, VerbError};

use super::ops_windows::{self, Window};
use super::render;
use crate::context;

/// Rows of a list at the most.
const MAX_LISTED: i64 = 200;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct List {
    /// Ended ones and those of other projects too
    #[arg(long)]
    all: bool,
}

impl VerbArgs for List {
    const PATH: &'static [&'static str] = &["session", "list"];
    const ABOUT: &'static str =
        "The context windows that are open in the project: of sessions and their subagents";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let project = (!self.all && !caller.project.is_empty()).then_some(caller.project.as_str());
        let windows = ops_windows::list(cx.db, project, !self.all, MAX_LISTED)?;
        let (text, list) = shown(cx, &windows, true)?;
        let text = match text.is_empty() {
            true => {
                "No session is open here. They are noted while `efforts.on` is true.\n".to_owned()
            }
            false => text,
        };
        Ok(Output::new(text, json!({"windows": list})))
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Show {
    /// The session's id (default: your own)
    session: Option<String>,
}

impl VerbArgs for Show {
    const PATH: &'static [&'static str] = &["session", "show"];
    const ABOUT: &'static str = "The context windows of a session, in their order";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let named = self.session.as_deref().and_then(SafeId::new);
        let Some(session) = named.or_else(|| caller.session_id()) else {
            return Err(VerbError::user(
                "it is not known which session you mean",
                "name one: `substrate session list --all` shows them",
            ));
        };
        let windows = ops_windows::of_session(cx.db, session.as_str())?;
        if windows.is_empty() {
            return Err(VerbError::user(
                format!("no window of session `{}` is known", one_line(session.as_str(), 60)),
                "`substrate session list --all` shows those that are; they are noted while `efforts.on` is true",
            ));
        }
        let usage = context::face::said(cx, session.as_str())?;
        let (mut text, list) = shown(cx, &windows, false)?;
        if let Some(usage) = usage {
            let _infallible = writeln!(
                text,
                "Its context was at {} % of the window when the client last said so.",
                usage.percent_of_window
            );
        }
        let percent = usage.map(|usage| usage.percent_of_window);
        let json = json!({"session": session.as_str(), "windows": list, "percent": percent});
        Ok(Output::new(text, json))
    }
}

fn shown(
    cx: &mut Cx<'_>,
    windows: &[Window],
    with_session: bool,
) -> Result<(String, Vec<Value>), VerbError> {
    let (mut text, mut list) = (String::new(), Vec::new());
    for window in windows {
        text.push_str(&render::window_line(cx, window, with_session)?);
        list.push(render::window_json(cx, window)?);
    }
    Ok((text, list))
}
