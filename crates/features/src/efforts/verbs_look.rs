//! `substrate effort show`, `effort list`

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Output, VerbError};

use super::ops::{self, Effort};
use super::{ops_files, ops_pending, ops_windows, render, target, words};

/// Rows of a list at the most.
const MAX_LISTED: i64 = 200;

/// Messages that are shown: a few, or all that anybody reads.
const N_MESSAGES: i64 = 5;
const MAX_MESSAGES: i64 = 200;

/// Files that are named.
const MAX_FILES: i64 = 50;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Show {
    /// Which effort (default: yours)
    id: Option<i64>,
    /// Only what an earlier session left, all of it
    #[arg(long)]
    dehydrated: bool,
    /// All that was logged, asked and injected, not only the latest
    #[arg(long)]
    messages: bool,
}

impl VerbArgs for Show {
    const PATH: &'static [&'static str] = &["effort", "show"];
    const ABOUT: &'static str = "An effort: its phase, task, artifacts, windows and latest entries";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let worker = target::worker(cx)?;
        let effort = target::effort(cx, caller, &worker, self.id)?;
        if self.dehydrated {
            return dehydrated(&effort);
        }
        let n = if self.messages { MAX_MESSAGES } else { N_MESSAGES };
        let messages = ops_pending::said(cx.db, effort.id, "", n)?;
        let windows = ops_windows::of_effort(cx.db, effort.id)?;
        let n_pending = ops_pending::n_open(cx.db, effort.id)?;
        let mut text = format!("{}\n", words::briefing(&effort, &[], false));
        let line = render::line(cx, &effort)?;
        let _infallible = write!(text, "{line}");
        if let Some(at) = effort.payload_at {
            let told =
                if effort.payload_told.is_some() { "told" } else { "waits for the next session" };
            let _infallible = writeln!(text, "Dehydrated {}: {told}.", words::ago(cx.now, at));
        }
        if n_pending > 0 {
            let _infallible = writeln!(text, "{n_pending} injections wait.");
        }
        for file in &effort.config.preload {
            let _infallible = writeln!(text, "Preloads `{file}`.");
        }
        let files = ops_files::of_effort(cx.db, effort.id, MAX_FILES)?;
        if !files.is_empty() {
            let _infallible = writeln!(text, "Read or changed: {}", files.join(", "));
        }
        let mut shown: Vec<Value> = Vec::new();
        text.push_str("Windows:\n");
        for window in &windows {
            text.push_str(&render::window_line(cx, window, true)?);
            shown.push(render::window_json(cx, window)?);
        }
        if !messages.is_empty() {
            text.push_str("Latest:\n");
        }
        for message in &messages {
            text.push_str(&render::message(message, cx.now));
        }
        let json = json!({
            "effort": render::json(cx, &effort)?,
            "pending": n_pending,
            "windows": shown,
            "loaded_files": files,
            "messages": messages.iter().map(render::message_json).collect::<Vec<_>>(),
        });
        Ok(Output::new(text, json))
    }
}

fn dehydrated(effort: &Effort) -> Result<Output, VerbError> {
    let Some(text) = &effort.payload else {
        return Err(VerbError::user(
            format!("no session has left anything for effort {}", effort.id),
            "`substrate effort dehydrate` leaves something for the next one",
        ));
    };
    let json =
        json!({"effort": effort.id, "dehydrated": text, "at_ms": effort.payload_at.map(|at| at.0)});
    Ok(Output::new(format!("{text}\n"), json))
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct List {
    /// Finished ones and those of other projects too
    #[arg(long)]
    all: bool,
}

impl VerbArgs for List {
    const PATH: &'static [&'static str] = &["effort", "list"];
    const ABOUT: &'static str = "The efforts of the project that are not finished";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let project = (!self.all && !caller.project.is_empty()).then_some(caller.project.as_str());
        let efforts = ops::list(cx.db, project, self.all, MAX_LISTED)?;
        let (mut text, mut list) = (String::new(), Vec::new());
        for effort in &efforts {
            text.push_str(&render::line(cx, effort)?);
            list.push(render::json(cx, effort)?);
        }
        if text.is_empty() {
            text = format!("No efforts here. {}\n", words::how_to_begin(cx.settings));
        }
        Ok(Output::new(text, json!({"efforts": list})))
    }
}
