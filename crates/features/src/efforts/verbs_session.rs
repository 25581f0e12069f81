//! `substrate session list`, `session show`

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Output, SafeId, VerbError};

use super::{ops_files, ops_windows, render};
use crate::context;

/// Rows of a list at the most.
const MAX_LISTED: i64 = 200;

/// Files of a window that are named.
const MAX_FILES: i64 = 100;

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
        let (mut text, mut list) = (String::new(), Vec::new());
        for window in &windows {
            text.push_str(&render::window_line(cx, window, true)?);
            list.push(render::window_json(cx, window)?);
        }
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
        let (mut text, mut list) = (String::new(), Vec::new());
        for window in &windows {
            let files = ops_files::of_window(cx.db, window.id, MAX_FILES)?;
            text.push_str(&render::window_line(cx, window, false)?);
            if !files.is_empty() {
                let names: Vec<String> = files.iter().map(|path| one_line(path, 240)).collect();
                let _infallible = writeln!(text, "         read or changed: {}", names.join(", "));
            }
            let mut json = render::window_json(cx, window)?;
            json["loaded_files"] = json!(files);
            list.push(json);
        }
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
