//! `substrate statusline`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::dialect::ClientStatus;
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Local, Output, SafeId, VerbError};

use super::ops::{self, ReportedUsage};
use super::window::{Usage, guessed};
use crate::identity::book;
use crate::{efforts, mail};

/// The longest error that the line shows.
const MAX_WHY: usize = 120;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Statusline {
    /// What the client says.
    #[arg(skip)]
    status: ClientStatus,
}

impl VerbArgs for Statusline {
    const PATH: &'static [&'static str] = &["statusline"];
    const ABOUT: &'static str =
        "Print one line for the client's status bar, from the JSON on standard input";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        let text = local.read("-")?;
        self.status = local.client_status(&text).ok_or_else(|| {
            VerbError::user(
                "standard input is not what a client tells its status line",
                "set `substrate statusline` as the status line's command in the client's settings",
            )
        })?;
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let status = self.status;
        let session = SafeId::new(&status.session).ok_or_else(|| {
            VerbError::user("the status names no session", "run it as the client's status line")
        })?;
        let session = session.as_str();
        let usage = status.used.map(|used| {
            let size = status.size.unwrap_or_else(|| guessed(&status.model, used));
            Usage::of(used, size, cx.settings)
        });
        if let Some(usage) = usage {
            let report = ReportedUsage {
                used: Some(usage.used),
                size: usage.size,
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
