//! `substrate statusline`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Local, Output, SafeId, VerbError};

use super::ops::{self, ReportedUsage};
use super::window::Usage;
use crate::identity::book;
use crate::{efforts, mail};

/// The longest error that the line shows.
const MAX_WHY: usize = 120;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Statusline {
    /// The client's JSON.
    #[arg(skip)]
    input: Value,
}

impl VerbArgs for Statusline {
    const PATH: &'static [&'static str] = &["statusline"];
    const ABOUT: &'static str =
        "Print one line for the client's status bar, from the JSON on standard input";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        let text = local.read("-")?;
        let hint = "in the client's settings: \"statusLine\": {\"type\": \"command\", \"command\": \"substrate statusline\"}";
        self.input = serde_json::from_str(&text).map_err(|error| {
            VerbError::user(format!("standard input is not a client's status: {error}"), hint)
        })?;
        // The daemon needs nothing else.
        if let Some(input) = self.input.as_object_mut() {
            input
                .retain(|key, _| matches!(key.as_str(), "session_id" | "model" | "context_window"));
        }
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let session = self.input["session_id"].as_str().and_then(SafeId::new);
        let Some(session) = session else {
            return Err(VerbError::user(
                "the status names no session",
                "pass the JSON that the client gives its status line",
            ));
        };
        let session = session.as_str();
        let usage = self.usage(cx);
        if let Some(usage) = usage {
            let report = ReportedUsage {
                used: Some(usage.used),
                size: self.size(usage.used),
                source: "statusline".to_owned(),
                at: cx.now,
            };
            ops::report(cx.db, session, book::MAIN, &report)?;
        }
        let agent = book::of_session(cx.db, session)?;
        let effort = efforts::face::of_session(cx.db, session)?;
        let n_unread = match &agent {
            Some((agent, _)) => mail::face::n_unread(cx.db, (*agent, ""), cx.now)?,
            None => 0,
        };
        let mut parts: Vec<String> = Vec::new();
        parts.extend(agent.as_ref().map(|(_, name)| name.clone()));
        parts.extend(effort.as_ref().map(efforts::face::Effort::label));
        parts.extend(usage.map(|usage| format!("{} %", usage.percent_of_window)));
        parts.extend((n_unread > 0).then(|| format!("{n_unread} mail")));
        let text = one_line(&parts.join(" · "), 200);
        let json = json!({
            "session": session,
            "agent": agent.map(|(_, name)| name),
            "effort": effort.map(|effort| effort.id),
            "percent": usage.map(|usage| usage.percent_of_window),
            "unread": n_unread,
        });
        Ok(Output::new(format!("{text}\n"), json))
    }

    fn without_state(why: &str) -> Option<Output> {
        let why = one_line(why, MAX_WHY);
        let text = format!("Substrate: state not usable ({why}) · substrate doctor\n");
        Some(Output::new(text, json!({"state": "not usable", "why": why})))
    }
}

impl Statusline {
    fn usage(&self, cx: &Cx<'_>) -> Option<Usage> {
        let window = &self.input["context_window"];
        let count = |name: &str| window["current_usage"][name].as_i64().filter(|n| *n >= 0);
        let parts = [
            count("input_tokens"),
            count("cache_creation_input_tokens"),
            count("cache_read_input_tokens"),
        ];
        // There is no usage before the first answer.
        parts[0].or(parts[1]).or(parts[2])?;
        let used = parts.into_iter().flatten().fold(0, i64::saturating_add);
        Some(Usage::of(used, self.size(used), cx.settings))
    }

    fn size(&self, used: i64) -> i64 {
        let stated = self.input["context_window"]["context_window_size"].as_i64();
        let model = self.input["model"]["id"].as_str().unwrap_or_default();
        stated.filter(|size| *size > 0).unwrap_or_else(|| super::window::guessed(model, used))
    }
}
